"""How long a section is, and how long it takes: what a reader has to get through.

Counted are prose without code and math, and code cells without the set-up and what keeps score.
Asides, which are folded, count apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from book.builder.prose import read

if TYPE_CHECKING:
    from book.builder.model import Section

HAN_PER_WORD = 1.5  # Han characters that translate an English word
WORDS_PER_MINUTE = 200
PREDICTING = 2  # Minutes for a question: think, run the cell, compare
EXERCISE = 5  # Minutes of an exercise that does not say how many


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


def minutes(section: Section, framework: str) -> dict[str, int]:
    """Return the minutes that a section takes: to read, to predict and run, for the exercises.

    They are those of the original, whatever the language.
    """
    size = measure(section, framework, section.langs[0])
    kinds = [b for b in section.blocks_of(framework, section.langs[0]) if b.lang]
    found = {
        "reading": round(size.words / WORDS_PER_MINUTE) + len(size.cells),
        "doing": PREDICTING * sum(block.kind == "predict" for block in kinds),
        "exercises": sum(b.minutes or EXERCISE for b in kinds if b.kind == "exercise"),
    }
    return {"all": sum(found.values()), **found}
