"""How long a section takes: to read, to predict and run, and for its exercises."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from book.builder.prose import read

if TYPE_CHECKING:
    from book.builder.model import Block, Section

HAN_PER_WORD = 1.5  # Han characters that translate an English word
WORDS_PER_MINUTE = 200
STORY_WORDS_PER_MINUTE = 140  # With the numbers worked along, as students were timed
SECONDS_PER_LINE = 7  # Of visible code
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
    number_of_words, cells = 0.0, 0
    for block, source in parts_of(section, framework)["main"]:
        if block.lang and block.kind != "aside":
            number_of_words += words(source)
        cells += not block.lang and block.kind not in ("aside", "score")
    return number_of_words, cells


def parts_of(section: Section, framework: str) -> dict[str, list[tuple[Block, str]]]:
    """Return the original's blocks, and what of each belongs there: `main`, `exercises`, `lab`."""
    lang, part = section.langs[0], "main"
    heads = section.chapter.languages.get(lang, {})
    begins = {heads.get("exercises"): "exercises", heads.get("further"): "lab"}
    found: dict[str, list[tuple[Block, str]]] = {"main": [], "exercises": [], "lab": []}
    for block in section.blocks_of(framework, lang):
        if not block.lang:
            found[part].append((block, block.source))
            continue
        before, *after = re.split(r"^## (.+)$", block.source, flags=re.MULTILINE)
        found[part].append((block, before))
        for heading, rest in zip(after[::2], after[1::2]):
            part = begins.get(heading.strip(), part)
            found[part].append((block, f"## {heading}{rest}"))
    return found


def minutes(section: Section, framework: str) -> dict[str, int]:
    """Return the minutes that a section takes: to read, to predict and run, for the exercises.

    They are those of the original, whatever the language. Of a story also those of the lab.
    """
    number_of_words, cells = before_exercises(section, framework)
    parts = parts_of(section, framework)
    blocks = [b for b in section.blocks_of(framework, section.langs[0]) if b.lang]
    story = framework in section.stories
    asked = parts["main"] if story else [(block, "") for block in blocks]
    solved = parts["exercises"] if story else [(block, "") for block in blocks]
    found = {
        "reading": (
            round(reading(parts["main"]))
            if story
            else round(number_of_words / WORDS_PER_MINUTE) + cells
        ),
        "doing": PREDICTING * sum(block.kind == "predict" for block, _ in asked),
        "exercises": exercises(solved),
    }
    lab = round(reading(parts["lab"])) + exercises(parts["lab"]) if story else 0
    return {"all": sum(found.values()), **found, "lab": lab}


def exercises(part: list[tuple[Block, str]]) -> int:
    """Return the minutes that the exercises of a part say of themselves."""
    return sum(block.minutes or EXERCISE for block, _ in part if block.kind == "exercise")


def reading(part: list[tuple[Block, str]]) -> float:
    """Return the minutes that a part of a story takes to read, its visible code among it."""
    prose = sum(words(source) for block, source in part if block.lang and block.kind != "aside")
    lines = [
        line
        for block, source in part
        if not block.lang and block.kind in ("", "tell")
        for line in source.splitlines()
        if line.strip()
    ]
    return prose / STORY_WORDS_PER_MINUTE + len(lines) * SECONDS_PER_LINE / 60
