"""What the book adds to Sphinx.

Framework divisions, folds, anchors, finished images, links across languages, and search in
languages that put no spaces between words.
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path

from docutils import nodes
from snowballstemmer import stemmer
from sphinx.addnodes import pending_xref
from sphinx.search import SearchLanguage, languages
from sphinx.search._stopwords.en import ENGLISH_STOPWORDS
from sphinx.transforms import SphinxTransform
from sphinx.util.images import get_image_size
from sphinx.util.logging import getLogger

WARN = getLogger(__name__).warning  # Sphinx then fails, once it has read everything


class details(nodes.container):  # noqa: N801, as docutils calls its nodes
    """A fold; its attribute `title` is what shows while it is closed, as HTML."""


def visit_details(self, node):
    self.body.append(self.starttag(node, "details"))
    self.body.append(f"<summary>{node['title']}</summary>\n")


def depart_details(self, node):
    self.body.append("</details>\n")


def fold(title: str, *children: nodes.Node, kind: str = "", **attributes: object) -> details:
    """Return a fold of the children; what it is for is one of its classes."""
    made = details("", *children, title=title, **attributes)
    made["classes"] = ["fold", *kinds(kind), *made["classes"]]
    return made


def kinds(kind: str) -> list[str]:
    return [f"kind-{kind}"] if kind else []


class Divide(SphinxTransform):
    """Make divisions, folds and anchors of the lines `+++ {...}` that `merge.py` writes."""

    default_priority = 100  # Before Sphinx collects titles and anchors

    def apply(self, **kwargs):
        self.mark: dict = {}
        self.marks: dict[nodes.Node, dict] = {}
        self.read(self.document)
        self.gather(self.document)

    def read(self, parent):
        """Take the marks out of the document; note which one holds for what."""
        for child in list(parent.children):
            if isinstance(child, nodes.comment) and "block_break" in child["classes"]:
                self.mark = json.loads(child.astext()) | {"headings": 0}
                parent.remove(child)
                continue
            self.marks[child] = self.mark
            if isinstance(child, nodes.section):
                self.name(child)
                self.read(child)

    def name(self, section):
        """Give a section the anchor that its mark says; headings after the first are numbered."""
        if "fold" in self.mark:
            WARN(f"a heading in the fold {self.mark['fold']['title']!r}", location=section)
        if "id" in self.mark:
            self.mark["headings"] += 1
            count = self.mark["headings"]
            section["ids"] = [self.mark["id"] + (f"-{count}" if count > 1 else "")]

    def gather(self, parent):
        """Put what stands under a heading into its folds, and in them into divisions."""
        children, parent.children = parent.children, []
        for mark, folded in groupby(children, self.fold_of):
            place = parent
            if mark:
                place = fold(
                    mark["title"], kind=mark.get("kind", ""), ids=[mark["id"]], classes=who(mark)
                )
                parent += place
            for classes, alike in groupby(folded, self.division_of):
                group = list(alike)
                if set(classes) <= set(place["classes"]):
                    place += group
                else:
                    place += nodes.container("", *group, classes=classes)
                for child in group:
                    self.finish(child)

    def fold_of(self, child: nodes.Node) -> dict | None:
        return None if isinstance(child, HEADED) else self.marks[child].get("fold")

    def division_of(self, child: nodes.Node) -> list[str]:
        """Return the classes of the division that a child belongs into."""
        mark = self.marks[child]
        return [] if isinstance(child, HEADED) else [*who(mark), *kinds(mark.get("kind", ""))]

    def finish(self, child):
        """Mark a title, gather in a section, fold the parts of a cell."""
        mark = self.marks[child]
        if isinstance(child, nodes.title):
            child["classes"] += who(mark)
        elif isinstance(child, nodes.section):
            self.gather(child)
        else:
            for name, title in mark.get("parts", {}).items():
                for part in list(child.findall(nodes.container)):
                    if f"cell_{name}" in part["classes"]:
                        folded = fold(title, kind=name)
                        part.parent.replace(part, folded)
                        folded += part


HEADED = (nodes.title, nodes.section)


def who(mark: dict) -> list[str]:
    """Return the classes of what only some frameworks have."""
    names = mark.get("frameworks", [])
    return ["framework", *(f"framework-{name}" for name in names)] if names else []


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


def visit_image(self, node):
    """Write an image with a text and its size, to be loaded when needed.

    So nothing moves while images load, and those of other frameworks or far below do not. Those
    that a phone would make too small to read are marked.
    """
    image = Path(self.builder.srcdir, node["uri"]).resolve()
    # MyST-NB puts the pictures among the outputs beside the pages
    ours = (self.builder.srcdir, Path(self.builder.outdir).parent)
    if not any(image.is_relative_to(Path(folder).resolve()) for folder in ours):
        WARN(f"the image {node['uri']} is not one of the book's", location=node)
        raise nodes.SkipNode
    size = svg_size(image) if image.suffix == ".svg" else get_image_size(image)
    if size:
        node["width"], node["height"] = map(str, size)
        node["classes"] += ["wide"] * (size[0] > 500)
    node["loading"] = "lazy"
    if not node.get("alt"):  # A picture among the outputs
        node["alt"] = self.config.html_context["label"]["picture"]
    scrolls = image.suffix == ".png" and not isinstance(node.parent, nodes.TextElement)
    self.body.append('<div class="picture">' if scrolls else "")
    type(self).visit_image(self, node)
    self.body.append("</div>\n" if scrolls else "")


def depart_image(self, node):
    pass


def svg_size(image: Path) -> tuple[int, int] | None:
    """Return width and height of an SVG, in pixels as its own coordinates count them."""
    box = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', image.read_text("utf-8"))
    return (round(float(box[1])), round(float(box[2]))) if box else None


class OtherLanguages(SphinxTransform):
    """Makes links to pages of other languages, which this site lacks, of `language:...`."""

    default_priority = 900

    def apply(self, **kwargs):
        for link in list(self.document.findall(pending_xref)):
            if link["reftarget"].startswith("language:"):
                place = "../" + link["reftarget"].removeprefix("language:")
                link.replace_self(nodes.reference("", "", *link.children, refuri=place))


class Pairs(SearchLanguage):
    """Indexes words by pairs of characters where no spaces divide them, as in Chinese.

    A dictionary cuts a sentence into other words than the browser, or the reader, would; with pairs
    on both sides any part of a sentence is found.
    """

    language_name = "English"  # The language of the stemmer
    js_stemmer_rawcode = "english-stemmer.js"
    stopwords = ENGLISH_STOPWORDS
    js_splitter_code = """
const words = /[\\u3040-\\u30ff\\u3400-\\u9fff]+|[^\\W_]\\w*/g;
var splitQuery = (query) => query.match(words)?.flatMap((run) =>
  run[0] < "\\u3040" || run.length < 3 ? [run]
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
        for run in re.findall(r"[\u3040-\u30ff\u3400-\u9fff]+", input):
            words += [run[i : i + 2] for i in range(len(run) - 1)] + list(run)
        return words

    def stem(self, word):
        return self.stemmer.stemWord(word.lower())

    def word_filter(self, word):
        return word not in self.stopwords


def add_context(app, pagename, templatename, context, doctree):
    """Tell the templates about the page, and give it what its timelines need."""
    context["css_string"] = css_string
    context["page"] = page = context["book"]["pages"].get(pagename, {})
    if page.get("timelines"):
        app.add_css_file("uplot/uPlot.css")
        app.add_js_file("uplot/uPlot.js", defer="defer")
        app.add_js_file("timeline.js", defer="defer")


def mark_contents(app, doctree):
    """Let the page's contents show a framework's headings with the framework only."""
    classes = {
        f"#{identifier}": title["classes"]
        for title in doctree.findall(nodes.title)
        for identifier in title.parent.get("ids", [])
    }
    for link in app.env.tocs[app.env.current_document.docname].findall(nodes.reference):
        link["classes"] += classes.get(link["anchorname"], [])


def choose_search(app, config):
    """Let the book's table of languages say how a language is searched."""
    book = config.html_context["book"]
    if book["search"] == "pairs":
        languages[book["lang"]] = type("Search", (Pairs,), {"lang": book["lang"]})


def css_string(text: str) -> str:
    """Return a text as a CSS string that cannot end its style sheet."""
    return '"' + re.sub(r'["\\<\n]', lambda found: f"\\{ord(found[0]):x} ", text) + '"'


def setup(app):
    app.add_node(details, html=(visit_details, depart_details))
    app.add_node(unsearched, html=(visit_unsearched, None))
    app.add_node(nodes.image, override=True, html=(visit_image, depart_image))
    for transform in (Divide, OtherLanguages, Unbroken, Stamps):
        app.add_transform(transform)
    app.connect("config-inited", choose_search)
    app.connect("doctree-read", mark_contents, priority=900)  # After Sphinx has collected titles
    app.connect("html-page-context", add_context, priority=400)  # Before the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
