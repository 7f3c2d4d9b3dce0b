"""How long a section is: what a reader has to get through before the exercises.

Counted are prose without code and math, and code cells without the set-up and what keeps score.
Asides, which are folded, count apart. Of a translation nothing is limited: it says what the
original says.

A count tells nothing of how well a section reads. `check` warns where one is worth a second look,
and refuses only what no reader gets through at one sitting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from book.builder.prose import read

if TYPE_CHECKING:
    from book.builder.model import Section

LONG = {"words": 2600, "cells": 26}  # Worth a warning
TOO_LONG = {"words": 3200, "cells": 32}
CELL_LINES = 15  # Of one cell, not counting blank ones; a class, say, may need more
ASIDE_WORDS = 600  # In all of a section's asides
HAN_PER_WORD = 1.5  # Han characters that translate an English word


@dataclass
class Size:
    """What a notebook holds before its exercises."""

    words: float = 0.0
    cells: list[int] = field(default_factory=list)  # The lines of each
    aside_words: float = 0.0


def words(source: str) -> float:
    """Count the words of prose, numbers among them; of Han, so many as translate one are one."""
    text = read(source).text
    latin = re.findall(r"[A-Za-z0-9]+(?:['’.,-][A-Za-z0-9]+)*", text)
    return len(latin) + len(re.findall(r"[\u4e00-\u9fff]", text)) / HAN_PER_WORD


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
            size.aside_words += words(before) if block.lang else 0
        elif block.lang:
            size.words += words(before)
        elif block.kind != "score":
            size.cells.append(lines(block.source))
        if after:
            break
    return size


def excess(section: Section, framework: str, limits: dict[str, int]) -> Iterator[str]:
    """Say where a framework's notebook in the original's language is beyond these limits."""
    size = measure(section, framework, section.langs[0])
    for what, count in (("words", size.words), ("cells", len(size.cells))):
        if count > limits[what]:
            yield f"{count:.0f} {what} before the exercises, more than {limits[what]}"


def problems(section: Section, framework: str) -> list[str]:
    """Say what of a framework's notebook no reader gets through."""
    return list(excess(section, framework, TOO_LONG))


def warnings(section: Section, framework: str) -> list[str]:
    """Say what of a framework's notebook is worth a second look."""
    found = [] if problems(section, framework) else list(excess(section, framework, LONG))
    for block in section.code_of(framework):
        if (count := lines(block.source)) > CELL_LINES:
            found.append(f"{count} lines in the cell of line {block.line}, more than {CELL_LINES}")
    asides = measure(section, framework, section.langs[0]).aside_words
    if asides > ASIDE_WORDS:
        found.append(f"{asides:.0f} words of asides, more than {ASIDE_WORDS}")
    return found


def table(sections: list[Section]) -> list[tuple[str, ...]]:
    """Return the sizes of all notebooks as rows of a table."""
    rows: list[tuple[str, ...]] = [("notebook", "words", "cells", "longest", "aside words")]
    for section in sections:
        for framework in section.frameworks:
            for lang in section.langs:
                size = measure(section, framework, lang)
                rows.append(
                    (
                        f"{framework}/{lang}/{section.name}",
                        f"{size.words:.0f}",
                        f"{len(size.cells)}",
                        f"{max(size.cells, default=0)}",
                        f"{size.aside_words:.0f}",
                    )
                )
    return rows
