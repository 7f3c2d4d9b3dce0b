"""What the book adds to Sphinx: framework divisions, folds, anchors, and search in Chinese."""

from __future__ import annotations

import json
import re
from pathlib import Path

from docutils import nodes
from snowballstemmer import stemmer
from sphinx.search import SearchLanguage, languages
from sphinx.search._stopwords.en import ENGLISH_STOPWORDS
from sphinx.transforms import SphinxTransform


class details(nodes.container):  # noqa: N801, as docutils calls its nodes
    """A fold; its attribute `title` is what shows while it is closed."""


def visit_details(self, node):
    self.body.append(self.starttag(node, "details"))
    self.body.append(f"<summary>{self.encode(node['title'])}</summary>\n")


def depart_details(self, node):
    self.body.append("</details>\n")


class Divide(SphinxTransform):
    """Make divisions, folds and anchors of the lines `+++ {...}` that `merge.py` writes."""

    default_priority = 100  # Before Sphinx collects titles and anchors

    def apply(self, **kwargs):
        self.mark: dict = {}
        self.divide(self.document)

    def divide(self, parent):
        children, parent.children = parent.children, []
        fold = division = None
        folded = divided = None  # The marks that `fold` and `division` were made for
        for child in children:
            if isinstance(child, nodes.comment) and "block_break" in child["classes"]:
                self.mark = json.loads(child.astext())
                self.count = 0
            elif isinstance(child, nodes.title):
                child["classes"] += classes(self.mark)
                parent += child
            elif isinstance(child, nodes.section):
                if self.mark.get("fold"):
                    raise ValueError(f"a heading in the fold {self.mark['fold']['title']!r}")
                if self.mark.get("id"):
                    self.count += 1
                    number = f"-{self.count}" if self.count > 1 else ""
                    child["ids"] = [self.mark["id"] + number]
                fold = division = folded = divided = None
                parent += child
                self.divide(child)
            else:
                place = parent
                if self.mark.get("fold"):
                    if folded != self.mark["fold"]:
                        folded, divided = self.mark["fold"], None
                        fold = details(title=folded["title"], ids=[folded["id"]])
                        fold["classes"] = ["solution", *classes(folded)]
                        parent += fold
                    place = fold
                else:
                    folded = None
                if classes(self.mark):
                    if divided != (folded, self.mark["frameworks"]):
                        divided = (folded, self.mark["frameworks"])
                        division = nodes.container(classes=classes(self.mark))
                        division["framework"] = True
                        place += division
                    place = division
                else:
                    divided = None
                place += child


def classes(mark: dict) -> list[str]:
    """Return the classes of what only some frameworks have."""
    frameworks = mark.get("frameworks", [])
    return ["framework", *(f"framework-{name}" for name in frameworks)] if frameworks else []


OPENING, CLOSING = "(\\[（《“‘「", ")\\].,;:!?…）》”’」，。、；：！？"
BEFORE = re.compile(rf"[{OPENING}]+$")
AFTER = re.compile(rf"[-’'][a-z]+|[{CLOSING}]+")


class Unbroken(SphinxTransform):
    """Keeps short formulas on one line, and with the punctuation around them, like words."""

    default_priority = 900

    def apply(self, **kwargs):
        for math in list(self.document.findall(nodes.math)):
            if len(math.astext()) > 30:  # A phone may be too narrow
                continue
            parent, here = math.parent, math.parent.index(math)
            before, after = "", ""
            if here and isinstance(parent[here - 1], nodes.Text):
                text = parent[here - 1].astext()
                before = "".join(BEFORE.findall(text))
                parent[here - 1] = nodes.Text(text.removesuffix(before))
            if here + 1 < len(parent) and isinstance(parent[here + 1], nodes.Text):
                text = parent[here + 1].astext()
                found = AFTER.match(text)
                after = found[0] if found else ""
                parent[here + 1] = nodes.Text(text.removeprefix(after))
            parent[here] = around = nodes.inline("", "", classes=["unbroken"])
            around += [nodes.Text(before), math, nodes.Text(after)]


class unsearched(nodes.Element):  # noqa: N801, as docutils calls its nodes
    """HTML, the attribute `html`, whose words the search does not look for."""


def visit_unsearched(self, node):
    self.body.append(node["html"])
    raise nodes.SkipNode


class Stamps(SphinxTransform):
    """Hides the stamps from the search: each would be found on every page."""

    default_priority = 900

    def apply(self, **kwargs):
        for raw in list(self.document.findall(nodes.raw)):
            if raw.astext().startswith('<div class="stamp'):
                raw.replace_self(unsearched(html=raw.astext()))


class Chinese(SearchLanguage):
    """Indexes Chinese by pairs of characters, and splits what the reader looks for likewise.

    A dictionary cuts a sentence into other words than the browser, or the reader, would; with pairs
    on both sides any part of a sentence is found.
    """

    lang = "zh"
    language_name = "English"  # The language of the stemmer
    js_stemmer_rawcode = "english-stemmer.js"
    stopwords = ENGLISH_STOPWORDS
    js_splitter_code = """
var splitQuery = (query) => query.match(/[\\u3400-\\u9fff]+|[^\\W_]\\w*/g)?.flatMap((run) =>
  run[0] < "\\u3400" || run.length < 3 ? [run]
    : Array.from({length: run.length - 1}, (_, i) => run.slice(i, i + 2))) ?? [];

// What is shown and marked of a page is what was typed, undivided.
const {_parseQuery: parse, makeSearchSummary: summarize} = Search;
let typed = [];
Search._parseQuery = (query) => {
  typed = query.toLowerCase().split(/\\s+/).filter(Boolean);
  const [, terms, excluded, , objects] = parse(query);
  localStorage.setItem("sphinx_highlight_terms", typed.join(" "));
  return [query, terms, excluded, new Set(typed), objects];
};
Search.makeSearchSummary = (text, terms, anchor) => summarize(text, [...terms, ...typed], anchor);
"""

    def __init__(self, options):
        super().__init__(options)
        self.stemmer = stemmer("english")

    def split(self, input):
        words = re.findall(r"[A-Za-z0-9]\w*", input, re.ASCII)
        for run in re.findall(r"[\u3400-\u9fff]+", input):
            words += [run[i : i + 2] for i in range(len(run) - 1)] + list(run)
        return words

    def stem(self, word):
        return self.stemmer.stemWord(word.lower())

    def word_filter(self, word):
        return word not in self.stopwords


def add_context(app, pagename, templatename, context, doctree):
    """Give the templates what `build.py` knows, and the page what its timelines need."""
    book = json.loads(Path(app.srcdir, "book.json").read_text("utf-8"))
    page = book["pages"].get(pagename, {})
    context.update(book=book, label=book["labels"], page=page)
    if page.get("timelines"):
        app.add_css_file("uplot/uPlot.css")
        app.add_js_file("uplot/uPlot.js", defer="defer")
        app.add_js_file("timeline.js", defer="defer")


def mark_contents(app, pagename, templatename, context, doctree):
    """Let the page's contents show a framework's headings with the framework only."""
    found = {
        f'href="#{identifier}"': " ".join(title["classes"])
        for title in (doctree.findall(nodes.title) if doctree else ())
        for identifier in title.parent.get("ids", [])
        if "framework" in title["classes"]
    }
    contents = context.get("generate_toc_html")

    def marked(**kwargs):
        def mark(link):
            return f'<a class="{link[1]} {found.get(link[2], "")}" {link[2]}'

        return re.sub(r'<a class="([^"]*)" (href="#[^"]*")', mark, str(contents(**kwargs)))

    if found and contents:
        context["generate_toc_html"] = marked


def setup(app):
    languages["zh"] = Chinese
    app.add_node(details, html=(visit_details, depart_details))
    app.add_node(unsearched, html=(visit_unsearched, None))
    for transform in (Divide, Unbroken, Stamps):
        app.add_transform(transform)
    app.connect("html-page-context", add_context, priority=400)  # Before the theme
    app.connect("html-page-context", mark_contents, priority=900)  # After it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
