"""Build the chapter as a static web site from the committed notebooks; execute nothing.

    python -m book.web [--root DIR] [--out DIR]

Each language becomes a site of its own, `<out>/<language>`, of the notebooks in
`chapters/<framework>/<language>`: one page a section, whatever its frameworks. What Sphinx reads is
written to `build/web` first. The site replaces the one that was there once it is complete.
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
import struct
import subprocess
import sys
import tomllib
from pathlib import Path

from book.web.merge import page, title
from d2l_local import frameworks

import jinja2
import nbformat
import yaml

WEB = Path(__file__).resolve().parent
IMAGE = re.compile(r"(!\[[^\]]*\]\()([^):\s]+)(\))")
LINK = re.compile(r"(?<!!)(\[[^\]]*\]\()([^):\s#]+)(\))")
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


class BuildError(Exception):
    """What is wrong, and what to do about it."""


class Book:
    """The notebooks of the chapter, and what the project says about itself."""

    def __init__(self, root: Path):
        self.root = root
        glossary = yaml.safe_load((root / "chapters/text/glossary.yml").read_text("utf-8"))
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
        self.repository = project["urls"]["Repository"].rstrip("/")
        table = frameworks.load(root / "d2l_local/frameworks.ini")
        self.frameworks = {name: framework.title for name, framework in table.items()}
        self.labels = yaml.safe_load((WEB / "labels.yml").read_text("utf-8"))
        found = {path.parent.name for path in root.glob("chapters/*/*/*.ipynb")}
        self.languages = {
            lang: words for lang, words in glossary["languages"].items() if lang in found
        }
        if not self.languages:
            raise BuildError(f"no notebooks in {root}/chapters; make them with `make notebooks`")
        for lang in set(self.languages) - set(self.labels):
            raise BuildError(f"book/web/labels.yml has nothing for {lang!r}; add it, as for 'en'")

    def notebooks(self, lang: str) -> dict[str, dict]:
        """Return the sections in reading order, each a map from its frameworks to notebooks."""
        sections: dict[str, dict] = {}
        for framework in self.frameworks:
            for path in sorted((self.root / "chapters" / framework / lang).glob("*.ipynb")):
                notebook = nbformat.read(path, as_version=4)
                sections.setdefault(path.stem, {})[framework] = notebook
        if "index" not in sections:
            raise BuildError(f"no index.ipynb in chapters/*/{lang}; it says in which order to read")
        order = ["index"]
        for notebook in sections["index"].values():
            for cell in notebook.cells[1:]:
                if cell.cell_type == "markdown":
                    order += [Path(link[2]).stem for link in LINK.finditer(cell.source)]
        order += sections
        return {name: sections[name] for name in dict.fromkeys(order) if name in sections}

    def path(self, framework: str, lang: str, name: str) -> str:
        return f"chapters/{framework}/{lang}/{name}.ipynb"


def stamp(book: Book, lang: str, framework: str, notebook) -> dict[str, str]:
    """Return when, on what and with what a notebook was executed, in words of the language."""
    label, ran = book.labels[lang], notebook.metadata.get("d2l_local", {})
    found = ran.get("versions", {})
    names = {framework: book.frameworks[framework], "torch": "PyTorch", "numpy": "NumPy"}
    names["python"] = "Python"
    order = [name for name in [*names, *sorted(set(found) - set(names))] if name in found]
    hardware = re.sub(r"(\d+)-core ", label["cores"], ran.get("hardware", "?"))
    return {
        "date": ran.get("date", "?"),
        "hardware": hardware.replace(", ", label["comma"]),
        "versions": label["comma"].join(f"{names.get(n, n)} {found[n]}" for n in order) or "?",
    }


def head(book: Book, lang: str, name: str, notebooks: dict) -> str:
    """Return what stands below a page's title: the stamp of each notebook, and where to get it."""
    label, words = book.labels[lang], book.languages[lang]
    slug = book.repository.split("github.com/")[-1]
    parts = []
    for framework, notebook in notebooks.items():
        only = f" framework framework-{framework}" if len(notebooks) > 1 else ""
        ran = label["ran"].format(**stamp(book, lang, framework, notebook))
        path = book.path(framework, lang, name)
        links = {
            f"https://colab.research.google.com/github/{slug}/blob/main/{path}": words["colab"],
            f"notebooks/{framework}/{name}.ipynb": label["download"],
        }
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


def find_image(folder: Path, name: str) -> Path:
    image = (folder / name).resolve()
    if not image.is_file():
        raise BuildError(f"{folder}: a notebook shows {name}, and there is no such image")
    return image


def take_images(source: str, folder: Path, target: Path) -> str:
    """Copy the images that some prose shows into ``target``; return the prose with their places."""

    def take(found):
        image = find_image(folder, found[2])
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(image, target / image.name)
        return f"{found[1]}{target.name}/{image.name}{found[3]}"

    return IMAGE.sub(take, source)


def standalone(book: Book, framework: str, lang: str, name: str, notebook) -> str:
    """Return the notebook as a reader downloads it: images inside, links to the repository."""
    notebook = nbformat.from_dict(json.loads(json.dumps(notebook)))
    folder = book.root / "chapters" / framework / lang
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for found in list(IMAGE.finditer(cell.source)):
                image = find_image(folder, found[2])
                kind = mimetypes.guess_type(image.name)[0]
                data = base64.b64encode(image.read_bytes()).decode()
                cell.setdefault("attachments", {})[image.name] = {kind: data}
            cell.source = IMAGE.sub(
                lambda m: f"{m[1]}attachment:{Path(m[2]).name}{m[3]}", cell.source
            )

            def absolute(found):
                path = (folder / found[2]).resolve().relative_to(book.root)
                return f"{found[1]}{book.repository}/blob/main/{path.as_posix()}{found[3]}"

            cell.source = LINK.sub(absolute, cell.source)
    return nbformat.writes(notebook)


def timelines(notebook) -> None:
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
                script = f'<script type="application/json" class="timeline">{text}</script>'
                script = script.replace("</", "<\\/").replace("<\\/script>", "</script>")
                outputs.append(nbformat.v4.new_output("display_data", data={"text/html": script}))
        cell.outputs = outputs


def skipped(notebook, not_run: str) -> list[tuple[str, str]]:
    """Return the cells that were not executed, or say that they were skipped, and why."""
    result = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            text = "".join(o.get("text", "") for o in cell.outputs)
            found = re.search(r"^skipped: (.+)$", text, re.MULTILINE)
            if found:
                result.append((cell.id, found[1]))
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
            code = [cell for cell in notebook.cells if cell.cell_type == "code"]
            missing = skipped(notebook, label["not_run"])
            named = book.frameworks[framework]
            text = html.escape(title(notebooks))
            link = f'<a href="{name}.html?framework={framework}">{text}</a>'
            ran = stamp(book, lang, framework, notebook).values()
            rows.append([link, named, *ran, f"{len(code) - len(missing)}/{len(code)}"])
            gaps += [[link, named, f"`{cell}`", why] for cell, why in missing]
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


def write_sources(book: Book, lang: str, source: Path) -> None:
    """Write what Sphinx reads to make the site of one language."""
    sections, pages = book.notebooks(lang), {}
    for name, notebooks in sections.items():
        for framework, notebook in notebooks.items():
            target = source / "_extra/notebooks" / framework / f"{name}.ipynb"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(standalone(book, framework, lang, name, notebook), "utf-8")
            folder = book.root / "chapters" / framework / lang
            for cell in notebook.cells:
                if cell.cell_type == "markdown":
                    cell.source = take_images(cell.source, folder, source / "img")
        made = page(notebooks, head(book, lang, name, notebooks))
        timelines(made)
        if name == "index":
            inside = "\n".join([other for other in sections if other != "index"] + ["status"])
            toctree = f"```{{toctree}}\n:hidden:\n\n{inside}\n```"
            made.cells.append(nbformat.v4.new_markdown_cell(toctree))
        nbformat.write(made, source / f"{name}.ipynb")
        pages[name] = {
            "frameworks": list(notebooks),
            "timelines": "application/json" in nbformat.writes(made),
        }
    (source / "status.md").write_text(status(book, lang, sections), "utf-8")
    used = [f for f in book.frameworks if any(f in p["frameworks"] for p in pages.values())]
    facts = {
        "lang": lang,
        "title": title(sections["index"]),
        "repository": book.repository,
        "languages": {code: words["name"] for code, words in book.languages.items()},
        "codes": {c: book.labels[c]["sphinx"].replace("_", "-") for c in book.languages},
        "frameworks": {framework: book.frameworks[framework] for framework in used},
        "labels": book.labels[lang],
        "pages": pages,
    }
    (source / "book.json").write_text(json.dumps(facts, ensure_ascii=False), "utf-8")


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
    book = Book(root)
    work, new = root / "build/web", out.with_name(out.name + ".new")
    for folder in (work, new):
        shutil.rmtree(folder, ignore_errors=True)
    write_vendor(work / "vendor")
    try:
        for lang in book.languages:
            source = work / lang
            source.mkdir(parents=True)
            write_sources(book, lang, source)
            run_sphinx(source, new / lang)
        write_entrance(book, new)
        for page in new.rglob("*.html"):
            page.write_text(finish_images(page, book.labels), "utf-8")
        for needless in [*new.rglob("*.map"), *new.rglob("fontawesome.js")]:
            needless.unlink()
        shutil.rmtree(new / "jupyter_execute", ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
        new.rename(out)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    print(f"{out}: {', '.join(book.languages)}")


def run_sphinx(source: Path, target: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-c", WEB, "-d", source.with_name(f"{source.name}-doctrees"), source, target]
    if subprocess.run(command, env={**os.environ, "BOOK": str(source)}).returncode:
        raise BuildError(f"Sphinx could not build the pages of {source}; it said why above")


def finish_images(page: Path, labels: dict) -> str:
    """Return a page whose images have a size and an alternative text and load when needed.

    So nothing moves while they load, and those of the other framework or far below do not. Those
    that a phone would make too small to read are marked.
    """
    source = page.read_text("utf-8")

    def finish(found):
        alt, src = found[1], found[2]
        if alt == src:  # A picture among the outputs
            alt = html.escape(labels[page.parent.name]["picture"])
        size = image_size(page.parent / src)
        width = re.search(r'width="(\d+)"', size)
        mark = ' class="wide"' if width and int(width[1]) > 500 else ""
        image = f'<img alt="{alt}" src="{src}"{size}{mark} loading="lazy">'
        return f'<div class="picture">{image}</div>' if src.endswith(".png") else image

    return re.sub(r'<img alt="([^"]*)" src="(_images/[^"]*)" />', finish, source)


def image_size(image: Path) -> str:
    """Return the attributes that give the size of a PNG or SVG, in pixels."""
    data = image.read_bytes()
    if image.suffix == ".png":
        width, height = struct.unpack(">II", data[16:24])
    else:
        box = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', data.decode())
        if not box:
            return ""
        width, height = (round(float(number)) for number in box.groups())
    return f' width="{width}" height="{height}"'


def write_entrance(book: Book, out: Path) -> None:
    """Write the page before the languages, which goes on to the one that the reader chose."""
    languages = [
        {
            "lang": lang,
            "code": book.labels[lang]["sphinx"].replace("_", "-"),
            "name": words["name"],
            "title": title(book.notebooks(lang)["index"]),
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
