"""Whether a section is too long (`book.builder.size`).

Of a translation nothing is limited: it says what the original says.

A count tells nothing of how well a section reads. `check` warns where one is worth a second look,
and refuses only what no reader gets through at one sitting.
"""

from __future__ import annotations

from collections.abc import Iterator

from book.builder.model import Section
from book.builder.size import lines, measure

LONG = {"words": 2600, "cells": 26}  # Worth a warning
TOO_LONG = {"words": 3200, "cells": 32}
CELL_LINES = 15  # Of one cell, not counting blank ones; a class, say, may need more
ASIDE_WORDS = 600  # In all of a section's asides


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
        shown = block.kind not in ("check", "wrong")
        if shown and (count := lines(block.source)) > CELL_LINES:
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
