"""How long a section is: words, cells and their lines, held against its budget.

A section's front matter may set one, `budget: {words: 1800, cells: 20}`, for each of its notebooks.
What counts is what a reader has to get through before the exercises: prose without code and math,
and code cells without the set-up. Asides, which are folded, count apart.

Without a budget, a section is held to the limits alone that name a place: the words of its asides
(`book.builder.units`) and the lines of a cell (`book.builder.check`).
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from book.builder.prose import read

if TYPE_CHECKING:
    from book.builder.text import Section

KEYS = ("words", "cells")  # Of a budget
CELL_LINES = 15  # At most, in any cell, not counting blank ones
LONG_CELL, LONG_CELLS = 10, 3  # So many cells may have more lines than that
MEDIAN_LINES = 6
ASIDE_WORDS = 600  # In all of a section's asides
HAN_PER_WORD = 1.5  # Han characters that translate an English word


@dataclass
class Size:
    """What a notebook holds before its exercises."""

    words: int = 0
    han: int = 0
    cells: list[int] = field(default_factory=list)  # The lines of each
    aside_words: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.cells or [0])

    @property
    def longest(self) -> int:
        return max(self.cells, default=0)


def words(source: str) -> tuple[int, int]:
    """Count the words of prose, numbers among them, and its Han characters."""
    text = read(source).text
    latin = re.findall(r"[A-Za-z0-9]+(?:['’.,-][A-Za-z0-9]+)*", text)
    return len(latin), len(re.findall(r"[\u4e00-\u9fff]", text))


def in_words(source: str) -> float:
    """Count the words of prose; of Han characters, so many as translate one are one."""
    latin, han = words(source)
    return latin + han / HAN_PER_WORD


def lines(source: str) -> int:
    """Count the lines of code that are not blank."""
    return sum(1 for line in source.splitlines() if line.strip())


def measure(section: Section, framework: str, lang: str) -> Size:
    """Count what the notebook of a framework in a language shows before its exercises."""
    size = Size()
    exercises = section.chapter.languages.get(lang, {}).get("exercises")
    end = re.compile(rf"^## {re.escape(exercises)}$" if exercises else r"(?!)", re.MULTILINE)
    for block in section.blocks_of(framework, lang):
        before, *after = end.split(block.source, maxsplit=1) if block.lang else [block.source]
        if block.kind == "aside":
            size.aside_words += in_words(before) if block.lang else 0
        elif block.lang:
            latin, han = words(before)
            size.words, size.han = size.words + latin, size.han + han
        else:
            size.cells.append(lines(block.source))
        if after:
            break
    return size


def sizes(section: Section, framework: str) -> dict[str, Size]:
    """Return the size of each language's notebook; the original comes first."""
    return {lang: measure(section, framework, lang) for lang in section.langs}


def excess(size: Size, budget: dict[str, int], original: Size | None = None) -> Iterator[str]:
    """Say where a notebook exceeds a budget; of a translation, where it exceeds its original.

    Both have the same code, and so only the original is told about its cells.
    """
    if original:
        if size.han > HAN_PER_WORD * original.words:
            at_most = f"at most {HAN_PER_WORD} for each of the original's {original.words} words"
            yield f"{size.han} Han characters before the exercises; {at_most}"
        return
    for what, count in {"words": size.words, "cells": len(size.cells)}.items():
        if count > budget[what]:
            yield f"{count} {what} before the exercises; its budget is {budget[what]}"
    if size.median > MEDIAN_LINES:
        yield f"the median cell has {size.median:g} lines; at most {MEDIAN_LINES}"
    if (count := sum(cell > LONG_CELL for cell in size.cells)) > LONG_CELLS:
        yield f"{count} cells have more than {LONG_CELL} lines; at most {LONG_CELLS}"


def problems(section: Section, framework: str) -> Iterator[tuple[str, str]]:
    """Say where a framework's notebooks exceed the section's budget, each with its language."""
    if section.budget:
        (first, original), *others = sizes(section, framework).items()
        yield from ((first, what) for what in excess(original, section.budget))
        for lang, size in others:
            yield from ((lang, what) for what in excess(size, section.budget, original))


def table(sections: list[Section]) -> list[tuple[str, ...]]:
    """Return the sizes of all notebooks, with what a budget allows, as rows of a table."""
    rows: list[tuple[str, ...]] = [
        ("notebook", "words", "Han/word", "cells", "median", "longest", "aside words")
    ]
    for section in sections:
        allowed = {key: f"/{section.budget[key]}" if section.budget else "" for key in KEYS}
        for framework in section.frameworks:
            found = sizes(section, framework)
            english = found[section.langs[0]].words
            for lang, size in found.items():
                rows.append(
                    (
                        f"{framework}/{lang}/{section.name}",
                        f"{size.words}{allowed['words']}" if lang == section.langs[0] else "-",
                        f"{size.han / english:.2f}" if size.han and english else "-",
                        f"{len(size.cells)}{allowed['cells']}",
                        f"{size.median:g}",
                        f"{size.longest}",
                        f"{size.aside_words:.0f}",
                    )
                )
    return rows
