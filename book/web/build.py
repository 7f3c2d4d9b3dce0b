"""Build the chapter as a static web site from the committed notebooks; execute nothing.

    python -m book.web [--root DIR] [--out DIR]

Each language becomes a site of its own, `<out>/<language>`, of the notebooks in
`chapters/<framework>/<language>`: one page a section, whatever its frameworks. What Sphinx reads is
written to `build/web` first. The site replaces the one that was there once it is complete; a folder
with anything else in it is left alone.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import mimetypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from book.builder.model import Settings, reading_order
from book.builder.notebook import BuildError, code_cells, with_answers
from book.web.merge import merged_page, title_of
from d2l_local.base.language import SKIPPED, beginnings
from d2l_local.base.processes import temporary_folder
from d2l_local.machine.facts import in_words

import jinja2
import nbformat
import yaml
from nbformat import NotebookNode

WEB = Path(__file__).resolve().parent
IMAGE = re.compile(r"(!\[[^\]]*\]\()([^):\s]+)(\))")
# Or code, in which brackets and parentheses are no link: then there is no second group.
LINK = re.compile(
    r"(?<!!)(\[[^\]]*\]\()([^):\s#]+)((?:#[^)\s]*)?\))|(`+)(?!`).+?(?<!`)\4(?!`)", re.DOTALL
)
# What the pages load from npm's packages, and where the site has it.
VENDOR = {
    **{
        f"mathjax/{part}.js": f"mathjax/{part}.js"
        for part in ["startup", "core", "input/tex-base", "output/chtml", "a11y/assistive-mml"]
    },
    "mathjax/input/tex/extensions": "mathjax/input/tex/extensions",
    "@mathjax/mathjax-newcm-font/chtml.js": "mathjax/fonts/mathjax-newcm-font/chtml.js",
    "@mathjax/mathjax-newcm-font/chtml": "mathjax/fonts/mathjax-newcm-font/chtml",
    "uplot/dist/uPlot.iife.min.js": "uplot/uPlot.js",
    "uplot/dist/uPlot.min.css": "uplot/uPlot.css",
}
# The theme's icons; as style sheets, because the theme's own script for them is 1.5 MB.
ICONS = {
    *("angle-left", "angle-right", "arrow-up", "bars", "circle-half-stroke", "list"),
    *("magnifying-glass", "moon", "sun"),
}
# A file of the site that says that it is one, so that the next may replace it.
MARK = ".made-by-book-web"


class Book(Settings):
    """The notebooks of the chapter, and what the project says about itself."""

    def __init__(self, root: Path):
        super().__init__(root)
        for name in [*self.frameworks, *self.languages]:
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", str(name)):
                raise BuildError(f"{name!r} names a folder: letters, digits and hyphens only")
        self.labels = yaml.safe_load((root / "book/web/labels.yml").read_text("utf-8"))
        self.languages = {
            lang: words
            for lang, words in self.languages.items()
            if any(root.glob(f"chapters/*/{lang}/*.ipynb"))
        }
        if not self.languages:
            raise BuildError(f"no notebooks in {root}/chapters; make them with `make notebooks`")
        for lang in set(self.languages) - set(self.labels):
            raise BuildError(f"book/web/labels.yml has nothing for {lang!r}; add it, as for 'en'")
        # What HTML calls the languages
        self.codes = {lang: words.get("html", lang) for lang, words in self.languages.items()}
        self.sections: dict[str, dict[str, dict]] = {}
        for lang in self.languages:
            self.sections[lang] = self.read_sections(lang)

    def read_sections(self, lang: str) -> dict[str, dict]:
        """Return the sections in reading order, each a map from its frameworks to notebooks."""
        sections: dict[str, dict] = {}
        for framework in self.frameworks:
            for path in sorted(self.folder(framework, lang).glob("*.ipynb")):
                notebook = with_answers(nbformat.read(path, as_version=4))
                sections.setdefault(path.stem, {})[framework] = notebook
        pages = self.index_page({**self.sections, lang: sections}, lang).values()
        prose = [c.source for page in pages for c in page.cells[1:] if c.cell_type == "markdown"]
        return {name: sections[name] for name in reading_order(prose, sections)}

    def index_page(self, sections: dict[str, dict[str, dict]], lang: str) -> dict:
        """Return the notebooks of a language's index; if it has none yet, the first language's."""
        for known in [sections[lang], *sections.values()]:
            if "index" in known:
                return known["index"]
        raise BuildError(f"no index.ipynb in chapters/*/{lang}; it says in which order to read")

    def title(self, lang: str) -> str:
        return title_of(self.index_page(self.sections, lang))

    def translations(self, name: str) -> list[str]:
        """Return the languages that have a page; each has an index."""
        return [lang for lang, known in self.sections.items() if name in {*known, "index"}]

    def folder(self, framework: str, lang: str) -> Path:
        return self.root / "chapters" / framework / lang

    def path(self, framework: str, lang: str, name: str) -> str:
        return f"chapters/{framework}/{lang}/{name}.ipynb"

    def target(self, framework: str, lang: str, link: str) -> Path:
        """Return the path from the root that a notebook's link leads to."""
        return self.inside(self.folder(framework, lang), link).relative_to(self.root)

    def inside(self, folder: Path, link: str) -> Path:
        """Return the path of what a notebook in a folder links or shows: a part of the project."""
        path = (folder / link).resolve()
        if not path.is_relative_to(self.root):
            raise BuildError(f"{folder}: a notebook leads out of the project, to {link}")
        return path

    def image(self, folder: Path, link: str) -> Path:
        path = self.inside(folder, link)
        if not path.is_file():
            raise BuildError(f"{folder}: a notebook shows {link}, and there is no such image")
        return path


def run_lines(
    book: Book, lang: str, framework: str, notebook: NotebookNode
) -> list[dict[str, str]]:
    """Return when, on what and with what a notebook was executed, for each of its runs."""
    runs = notebook.metadata.get("d2l_local", {}).get("runs", [])
    return [run_line(book, lang, framework, run) for run in runs]


def run_line(book: Book, lang: str, framework: str, run: dict) -> dict[str, str]:
    """Return when, on what and with what a run was, in words of the language."""
    label, found = book.labels[lang], run["versions"]
    used = book.frameworks[framework]
    names = {**dict.fromkeys(used.distributions, used.title), "numpy": "NumPy", "python": "Python"}
    order = [name for name in [*names, *sorted(set(found) - set(names))] if name in found]
    return {
        "date": run["date"],
        "hardware": in_words(run["machine"], label["cores"], label["comma"]),
        "versions": label["comma"].join(f"{names.get(n, n)} {found[n]}" for n in order) or "?",
    }


def head(book: Book, lang: str, name: str, notebooks: dict) -> str:
    """Return what stands below a page's title: the stamp of each notebook, and where to get it.

    A notebook without code has neither.
    """
    label, words = book.labels[lang], book.languages[lang]
    parts = []
    for framework, notebook in notebooks.items():
        if not code_cells(notebook):
            continue
        only = f" framework framework-{framework}" if len(notebooks) > 1 else ""
        ran = " ".join(label["ran"].format(**s) for s in run_lines(book, lang, framework, notebook))
        hosted = book.hosted(framework, lang, name)
        links = {address: words[host] for host, address in hosted.items()}
        links[f"notebooks/{framework}/{name}.ipynb"] = label["download"]
        anchors = [
            f'<a href="{html.escape(href)}"{" download" * (not href.startswith("https:"))}>'
            f"{html.escape(text)}</a>"
            for href, text in links.items()
        ]
        parts.append(
            f'<div class="stamp{only}" data-framework="{framework}"><p>{html.escape(ran)}</p>\n'
            f'<p class="links">{" ".join(anchors)}</p></div>'
        )
    return "\n".join(parts)


def take_images(book: Book, source: str, folder: Path, target: Path) -> str:
    """Copy the images that some prose shows into ``target``; return the prose with their places."""

    def take(found):
        image = book.image(folder, found[2])
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(image, target / image.name)
        return f"{found[1]}{target.name}/{image.name}{found[3]}"

    return IMAGE.sub(take, source)


def place_links(book: Book, source: str, framework: str, lang: str) -> str:
    """Return the prose with its links to notebooks as links to pages.

    `language:en/servers.html` is one of another language, which `extension.py` understands.
    """

    def place(found):
        if not found[2]:
            return found[0]
        path = book.target(framework, lang, found[2])
        other = path.parent.name
        if path.suffix != ".ipynb":  # A document, which the site has no page for
            return f"{found[1]}{book.repository}/blob/main/{path.as_posix()}{found[3]}"
        if path.stem not in book.sections.get(other, {}):
            return found[0]
        # Sphinx knows the anchors of headings only.
        plain = other == lang and found[3] == ")"
        page = f"{path.stem}.ipynb" if plain else f"language:{other}/{path.stem}.html"
        return f"{found[1]}{page}{found[3]}"

    return LINK.sub(place, source)


def standalone(book: Book, framework: str, lang: str, notebook: NotebookNode) -> str:
    """Return the notebook as a reader downloads it: images inside, links to the repository."""
    notebook = nbformat.from_dict(json.loads(json.dumps(notebook)))
    folder = book.folder(framework, lang)

    def attached(found):
        return f"{found[1]}attachment:{Path(found[2]).name}{found[3]}"

    def absolute(found):
        if not found[2]:
            return found[0]
        path = book.target(framework, lang, found[2]).as_posix()
        return f"{found[1]}{book.repository}/blob/main/{path}{found[3]}"

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for found in IMAGE.finditer(cell.source):
                image = book.image(folder, found[2])
                kind = mimetypes.guess_type(image.name)[0]
                data = base64.b64encode(image.read_bytes()).decode()
                cell.setdefault("attachments", {})[image.name] = {kind: data}
            cell.source = LINK.sub(absolute, IMAGE.sub(attached, cell.source))
    return nbformat.writes(notebook)


def timelines(notebook: NotebookNode) -> None:
    """Put the data of timelines, which their pictures carry, where the page's script finds them."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        outputs = []
        for output in cell.outputs:
            outputs.append(output)
            data = output.get("metadata", {}).get("d2l_local")
            if data and "charts" in data:
                text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
                text = text.replace("<", "\\u003c")  # Nothing in it ends the script
                script = f'<script type="application/json" class="timeline">{text}</script>'
                outputs.append(nbformat.v4.new_output("display_data", data={"text/html": script}))
        cell.outputs = outputs


def skipped(notebook: NotebookNode, not_run: str) -> list[tuple[str, str]]:
    """Return the cells that were not executed, or say that they were skipped, and why."""
    says = "|".join(map(re.escape, beginnings(SKIPPED)))  # In whatever language was executed
    result = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            text = "".join(o.get("text", "") for o in cell.outputs)
            if found := re.search(rf"^(?:{says}).+$", text, re.MULTILINE):
                result.append((cell.id, re.sub(r"^.*?[:：]\s*", "", found[0])))
            elif cell.execution_count is None:
                result.append((cell.id, not_run))
    return result


def table(columns: list[str], rows: list[list[str]]) -> str:
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def status(book: Book, lang: str, sections: dict) -> str:
    """Return the page that says when, on what and with what each notebook ran."""
    label = book.labels[lang]
    rows, gaps = [], []
    for name, notebooks in sections.items():
        for framework, notebook in notebooks.items():
            code = code_cells(notebook)
            if not code:
                continue
            missing = skipped(notebook, label["not_run"])
            named = html.escape(book.frameworks[framework].title)
            text = html.escape(title_of(notebooks))
            link = f'<a href="{name}.html?framework={framework}">{text}</a>'
            found = run_lines(book, lang, framework, notebook)
            ran = [
                html.escape(label["comma"].join(dict.fromkeys(s[key] for s in found)) or "?")
                for key in ("date", "hardware", "versions")
            ]
            rows.append([link, named, *ran, f"{len(code) - len(missing)}/{len(code)}"])
            gaps += [[link, named, f"`{cell}`", html.escape(why)] for cell, why in missing]
    parts = [
        '+++ {"id": "status"}',
        f"# {label['status']}",
        label["status_intro"],
        table(label["status_columns"], rows),
        '+++ {"id": "skipped"}',
        f"## {label['skipped']}",
        table(label["skipped_columns"], gaps) if gaps else label["skipped_none"],
    ]
    return "\n\n".join(parts) + "\n"


def contents(sections: dict, *options: str) -> str:
    """Return what tells Sphinx the order of the pages, below the index."""
    names = [name for name in sections if name != "index"] + ["status"]
    return "\n".join(["```{toctree}", *options, "", *names, "```"])


def write_sources(book: Book, lang: str, source: Path) -> None:
    """Write what Sphinx reads to make the site of one language."""
    sections = book.sections[lang]
    pages = {
        name: write_page(book, lang, name, notebooks, source)
        for name, notebooks in sections.items()
    }
    if "index" not in sections:
        text = f'+++ {{"id": "title"}}\n# {book.title(lang)}\n\n{contents(sections)}\n'
        (source / "index.md").write_text(text, "utf-8")
        pages["index"] = {"frameworks": [], "languages": book.translations("index")}
    (source / "status.md").write_text(status(book, lang, sections), "utf-8")
    used = [f for f in book.frameworks if any(f in p["frameworks"] for p in pages.values())]
    facts = {
        "lang": lang,
        "title": book.title(lang),
        "repository": book.repository,
        "languages": {code: words["name"] for code, words in book.languages.items()},
        "codes": book.codes,
        "search": book.languages[lang].get("search"),
        "fonts": book.languages[lang].get("font", []),
        "frameworks": {framework: book.frameworks[framework].title for framework in used},
        "colors": {framework: book.frameworks[framework].color for framework in used},
        "labels": book.labels[lang],
        "pages": pages,
    }
    (source / "book.json").write_text(json.dumps(facts, ensure_ascii=False), "utf-8")


def write_page(book: Book, lang: str, name: str, notebooks: dict, source: Path) -> dict:
    """Write the page of a section, its notebooks and images; return what is said of the page."""
    for framework, notebook in notebooks.items():
        target = source / "_extra/notebooks" / framework / f"{name}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(standalone(book, framework, lang, notebook), "utf-8")
        folder = book.folder(framework, lang)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                about = cell.metadata.get("d2l_local", {})
                for prose, key in [(cell, "source"), (about, "template")]:  # With values, without
                    if key in prose:
                        prose[key] = take_images(book, prose[key], folder, source / "img")
                        prose[key] = place_links(book, prose[key], framework, lang)
    made = merged_page(notebooks, head(book, lang, name, notebooks), book.labels[lang]["folds"])
    timelines(made)
    if name == "index":
        hidden = contents(book.sections[lang], ":hidden:")
        made.cells.append(nbformat.v4.new_markdown_cell(hidden))
    nbformat.write(made, source / f"{name}.ipynb")
    return {
        "frameworks": list(notebooks),
        "languages": book.translations(name),
        "timelines": "application/json" in nbformat.writes(made),
    }


def write_vendor(target: Path) -> None:
    """Write what comes from npm: MathJax, uPlot, and a style sheet with the icons."""
    modules = WEB / "node_modules"
    if not modules.is_dir():
        raise BuildError("book/web/node_modules is missing; `make setup-web` installs it")
    for source, place in VENDOR.items():
        path = target / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if (modules / source).is_dir():
            shutil.copytree(modules / source, path, ignore=shutil.ignore_patterns("*.map"))
        else:
            shutil.copyfile(modules / source, path)
    rules = []
    for icon in sorted(ICONS):
        svg = (modules / f"@fortawesome/fontawesome-free/svgs/solid/{icon}.svg").read_text()
        svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
        data = base64.b64encode(svg.encode()).decode()
        rules.append(f'.fa-{icon} {{ --icon: url("data:image/svg+xml;base64,{data}"); }}')
    (target / "icons.css").write_text("\n".join(rules) + "\n")


def build(root: Path, out: Path) -> None:
    """Build the site of the chapter in ``root`` and put it at ``out``, whole or not at all."""
    something = any(out.iterdir()) if out.is_dir() else out.exists()
    if something and not (out / MARK).is_file():
        raise BuildError(f"{out} is not a site of this book; name another folder, or remove it")
    book, work = Book(root), root / "build/web"
    shutil.rmtree(work, ignore_errors=True)
    write_vendor(work / "vendor")
    out.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(out.parent) as beside:
        new, old = Path(beside, "new"), Path(beside, "old")
        for lang in book.languages:
            source = work / lang
            source.mkdir(parents=True)
            write_sources(book, lang, source)
            run_sphinx(source, new / lang)
        write_entrance(book, new)
        for needless in ("*.map", "fontawesome.js", "*webpack-macros.html"):
            for path in list(new.rglob(needless)):
                path.unlink()
        shutil.rmtree(new / "jupyter_execute", ignore_errors=True)
        (new / MARK).touch()
        if out.exists():
            out.rename(old)
        new.rename(out)
    print(f"{out}: {', '.join(book.languages)}")


def run_sphinx(source: Path, target: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    doctrees = source.with_name(f"{source.name}-doctrees")
    command += [*map(str, ["-c", WEB, "-d", doctrees, source, target])]
    if subprocess.run(command, env={**os.environ, "BOOK": str(source)}).returncode:
        raise BuildError(f"Sphinx could not build the pages of {source}; it said why above")


def write_entrance(book: Book, out: Path) -> None:
    """Write the page before the languages, which goes on to the one that the reader chose."""
    languages = [
        {
            "lang": lang,
            "code": book.codes[lang],
            "name": words["name"],
            "title": book.title(lang),
        }
        for lang, words in book.languages.items()
    ]
    template = (WEB / "templates/entrance.html").read_text("utf-8")
    text = jinja2.Template(template, autoescape=True).render(languages=languages)
    (out / "index.html").write_text(text, "utf-8")
    (out / ".nojekyll").touch()  # Else GitHub Pages leaves out what begins with an underscore


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=WEB.parents[1])
    parser.add_argument("--out", type=Path, help="default: build/html in the root")
    args = parser.parse_args()
    root = args.root.resolve()
    try:
        build(root, (args.out or root / "build/html").resolve())
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
