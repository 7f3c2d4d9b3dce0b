"""The READMEs' table of notebooks: one row a section, a column for each framework and language."""

from __future__ import annotations

from pathlib import Path

from book.builder.model import Section
from book.builder.notebook import BuildError
from book.builder.text import Chapter

BEGIN, END = "<!-- notebooks: the builder writes this table -->\n", "<!-- end of notebooks -->\n"


def readmes(chapter: Chapter) -> dict[Path, str]:
    """Return the READMEs as they should be: README.md, and README.<language>.md.

    Raises BuildError for one in which the marks that enclose the table are missing.
    """
    result = {}
    for path in sorted(chapter.root.glob("README*.md")):
        text = path.read_text("utf-8")
        before, begin, rest = text.partition(BEGIN)
        _, end, after = rest.partition(END)
        if not (begin and end):
            raise BuildError(f"{path.name}: the lines {BEGIN.strip()} and {END.strip()} are gone")
        lang = (
            path.name.split(".")[1] if path.name.count(".") > 1 else next(iter(chapter.languages))
        )
        result[path] = f"{before}{BEGIN}{table(chapter, lang)}{END}{after}"
    return result


def table(chapter: Chapter, first: str) -> str:
    """Return the table as Markdown, with the columns of the language ``first`` in front."""
    order = [entry.name for entry in chapter.outline]
    sections = sorted(chapter.sections(), key=lambda section: order.index(section.name))
    langs = [lang for lang in chapter.languages if any(lang in s.langs for s in sections)]
    columns = [
        (framework, lang)
        for lang in sorted(langs, key=lambda lang: lang != first)
        for framework in chapter.frameworks
        if any(framework in s.frameworks and lang in s.langs for s in sections)
    ]
    head = [
        chapter.frameworks[framework].title
        + ("" if lang == first else f" · {chapter.languages[lang]['name']}")
        for framework, lang in columns
    ]
    rows = [[link(section, *column) for column in columns] for section in sections]
    lines = [head, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def link(section: Section, framework: str, lang: str) -> str:
    """Return the link to a notebook under its title, or nothing where there is none."""
    if framework not in section.frameworks or lang not in section.langs:
        return ""
    title = next(e.title(lang) for e in section.chapter.outline if e.name == section.name)
    path = section.chapter.notebook_path(framework, lang, section.name)
    return f"[{title}]({path.relative_to(section.chapter.root).as_posix()})"
