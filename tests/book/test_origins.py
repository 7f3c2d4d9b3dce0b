"""What the founding texts taught, and where this chapter has it: item by item, a pattern of a text.

`origins.tsv` lists all that the lecture's notebooks of 2019, from which this chapter grew, and
their later editions said, measured, drew or asked. Each row has an item's number, the item, the
section that has it now (or the page, where an item is only set right), and a pattern that a block
of its English text must contain: a paragraph or a cell, of the shared text or of one framework's.
Only 61 and 115, how many GPUs a machine has room for, are in no text.

A text that loses an item fails here. Who only says it otherwise, or elsewhere, changes the row.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = {61, 115}
# What a reader of the English edition does not see
UNSEEN = re.compile(
    r'\+\+\+ \{"(lang": "(?!en")|strings")|```\{code-cell\}\n:tags: \[[^]]*(denial|wrong|plant)'
)
KEPT = ("+++", "```", ":", "#", "import ", "from ")  # Of a block that says nothing


def origins() -> list[tuple[int, str, str, str]]:
    lines = Path(__file__).with_name("origins.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines[1:]]
    return [(int(number), item, place, says) for number, item, place, says in rows]


@cache
def blocks(place: str) -> list[str]:
    """The English prose and the cells of a section's texts, or the lines of another page."""
    if place.endswith(".md"):
        return (ROOT / place).read_text(encoding="utf-8").splitlines()
    texts = ROOT / "chapters" / "text"
    paths = [texts / f"{place}.md", *sorted(texts.glob(f"{place}.*.md"))]
    found = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        found += re.split(r"^(?=\+\+\+ |```\{code-cell\})", text, flags=re.MULTILINE)[1:]
    return [block for block in found if not UNSEEN.match(block)]


def emptied(block: str) -> str:
    """The block without what it says: its head, headings and imports."""
    return "\n".join(line for line in block.splitlines() if line.startswith(KEPT))


def has(says: str, texts: list[str]) -> bool:
    return any(re.search(says, text, re.DOTALL) for text in texts)


def test_no_item_is_missing_from_the_list():
    assert {number for number, *_ in origins()} == set(range(1, 140)) - NOWHERE


@pytest.mark.parametrize(("number", "item", "place", "says"), origins())
def test_what_the_founding_texts_taught_has_its_place(number, item, place, says):
    assert has(says, blocks(place)), f"{number}, {item}: {place} has nothing like {says}"
    assert not has(says, [emptied(block) for block in blocks(place)]), "an empty text has it, too"
