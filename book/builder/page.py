"""A section's notebook in one framework and language: what its text makes, what is committed."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from book.builder import render
from book.builder.model import Section
from book.builder.notebook import BuildError, Notebook, read_notebook


@dataclass
class Page:
    """A notebook of a section; each of its two states is made or read once."""

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
        """Return the path from the root, as a reader of messages looks for it."""
        return self.path.relative_to(self.section.chapter.root).as_posix()

    @property
    def is_story(self) -> bool:
        return self.framework in self.section.stories

    @functools.cached_property
    def made(self) -> Notebook:
        """Return what the text makes, which has no outputs before it is built."""
        return render.notebook(self.section, self.framework, self.lang)

    def translations(self) -> dict[str, str]:
        """Return what this language says of the strings of the code."""
        return self.section.translations(self.lang)

    def of_section(self, name: str) -> dict[str, str] | None:
        """Return what the notebook of another section has kept; None if there is no such one."""
        there = self.notebook_of(name)
        return there.kept if there else None

    def notebook_of(self, name: str) -> Notebook | None:
        """Return the committed notebook that a link from here to a section leads to."""
        chapter = self.section.chapter
        if name not in (entry.name for entry in chapter.outline):
            return None
        framework, lang = chapter.edition(name, self.framework, self.lang)
        return read_notebook(chapter.notebook_path(framework, lang, name))

    @functools.cached_property
    def committed(self) -> Notebook | None:
        return read_notebook(self.path)

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Have an error say which notebook it is of."""
        try:
            yield
        except BuildError as error:
            raise BuildError(f"{self.where}, {error}") from None


def pages(section: Section, framework: str) -> list[Page]:
    """Return the notebooks of a section in a framework, the original first."""
    original = Page(section, framework, section.langs[0], None)
    return [original, *(Page(section, framework, lang, original) for lang in section.langs[1:])]
