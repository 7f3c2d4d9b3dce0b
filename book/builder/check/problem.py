"""What the rules of `check` look at, and what they find."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from book.builder import render
from book.builder.model import Block, Section
from book.builder.notebook import Notebook, read_notebook

ERROR = "error"
UNREADY = "unready"  # A warning, and of a release an error
HINT = "hint"  # A warning


class Problem(NamedTuple):
    """What is wrong, and where: in a line of a text, or in a notebook."""

    where: str
    what: str
    level: str = ERROR
    counted: str = ""  # Of all sections only a count is told, under this name
    cure: str = ""  # The command that mends it

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def at(section: Section, block: Block, what: str, level: str = ERROR, counted: str = "") -> Problem:
    """Return a problem of a block."""
    name = f"{block.lang}/{block.id}" if block.lang else "code"
    return Problem(f"{section.path.name}:{block.line}", f"[{name}] {what}", level, counted)


@dataclass
class Page:
    """A notebook of a section, in one framework and language."""

    section: Section
    framework: str
    lang: str
    original: Page | None  # In the text's own language; None if it is that

    @property
    def path(self) -> Path:
        chapter = self.section.chapter
        return chapter.notebook_path(self.framework, self.lang, self.section.name)

    @property
    def where(self) -> str:
        return self.path.relative_to(self.section.chapter.root).as_posix()

    @functools.cached_property
    def made(self) -> Notebook:
        """Return what the text makes, without outputs."""
        return render.notebook(self.section, self.framework, self.lang)

    @functools.cached_property
    def committed(self) -> Notebook | None:
        return read_notebook(self.path)


def pages(section: Section) -> Iterator[Page]:
    """Yield the notebooks of a section, of each framework the original first."""
    for framework in section.frameworks:
        original = Page(section, framework, section.langs[0], None)
        yield original
        for lang in section.langs[1:]:
            yield Page(section, framework, lang, original)
