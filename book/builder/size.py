"""How long a section takes: to read, to predict and run, and for its exercises."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from book.builder.prose import read

if TYPE_CHECKING:
    from book.builder.model import Section

HAN_PER_WORD = 1.5  # Han characters that translate an English word
WORDS_PER_MINUTE = 200
PREDICTING = 2  # Minutes for a question: think, run the cell, compare
EXERCISE = 5  # Minutes of an exercise that does not say how many


def words(source: str) -> float:
    """Count the words of prose, numbers among them; of Han, so many as translate one are one."""
    text = read(source).text
    latin = re.findall(r"[A-Za-z0-9]+(?:['’.,-][A-Za-z0-9]+)*", text)
    return len(latin) + len(re.findall(r"[\u4e00-\u9fff]", text)) / HAN_PER_WORD


def before_exercises(section: Section, framework: str) -> tuple[float, int]:
    """Count the words and code cells that a reader of the original gets through.

    Without code and math in prose, asides, which are folded, and what keeps score.
    """
    lang, number_of_words, cells = section.langs[0], 0.0, 0
    exercises = section.chapter.languages.get(lang, {}).get("exercises")
    end = re.compile(rf"^## {re.escape(exercises)}$" if exercises else r"(?!)", re.MULTILINE)
    for block in section.blocks_of(framework, lang):
        before, *after = end.split(block.source, maxsplit=1) if block.lang else [block.source]
        if block.lang and block.kind != "aside":
            number_of_words += words(before)
        cells += not block.lang and block.kind not in ("aside", "score")
        if after:
            break
    return number_of_words, cells


def minutes(section: Section, framework: str) -> dict[str, int]:
    """Return the minutes that a section takes: to read, to predict and run, for the exercises.

    They are those of the original, whatever the language.
    """
    number_of_words, cells = before_exercises(section, framework)
    kinds = [b for b in section.blocks_of(framework, section.langs[0]) if b.lang]
    found = {
        "reading": round(number_of_words / WORDS_PER_MINUTE) + cells,
        "doing": PREDICTING * sum(block.kind == "predict" for block in kinds),
        "exercises": sum(b.minutes or EXERCISE for b in kinds if b.kind == "exercise"),
    }
    return {"all": sum(found.values()), **found}
