"""How long sections are, and that a long one is warned of and a too long one refused."""

from __future__ import annotations

from book.builder.check import length
from book.builder.check import sections as check
from book.builder.cli import main
from book.builder.size import HAN_PER_WORD, measure, words

import pytest
from small_chapter import END, bilingual, make
from this_chapter import CHAPTER

WORDS, HAN = 100, 150
BODY = """
+++ {{"lang": "en", "id": "body"}}
{en}

+++ {{"lang": "zh", "id": "body"}}
{zh}
"""


def section(root, code="", en="word " * WORDS, zh="字" * HAN):
    """Return a section of so many words, and what may follow them."""
    text = bilingual(BODY.format(en=en, zh=zh) + code, "pytorch, mxnet")
    return make(root, small=text).sections()[0]


def cell(lines: int, *tags: str) -> str:
    source = "\n\n".join(f"x = {number}" for number in range(lines))  # Blank lines are free
    return f"\n```{{code-cell}}\n:tags: [{', '.join(tags)}]\n{source}\n```\n"


def aside(en: str, zh: str = "为何\n\n一二") -> str:
    return (
        f'\n+++ {{"lang": "en", "id": "why", "kind": "aside"}}\n{en}\n'
        f'\n+++ {{"lang": "zh", "id": "why", "kind": "aside"}}\n{zh}\n'
    )


def test_size_is_what_a_reader_gets_through(tmp_path):
    prose = (
        "Two *words*, [one](https://a.example/b) $x + y$ `code` <b>and</b> 1,000:\n\n```\nno\n```"
    )
    assert words(prose) == 5
    assert words("两个GPU，`x`上 $y$ 共2块。一") == 2 + 6 / HAN_PER_WORD
    after = END.replace('"end"', '"early"') + cell(9)
    code = cell(2, "mxnet") + cell(3, "aside") + cell(4) + after
    size = measure(section(tmp_path, code), "mxnet", "en")
    assert size.words == WORDS + 3  # Title, "Words." and the heading of the summary
    assert size.cells == [2, 4]
    assert measure(section(tmp_path, code), "pytorch", "en").cells == [4]


def test_asides_count_apart(tmp_path):
    made = section(tmp_path, aside("Two words\n\nAnd three more.", "题目\n\n一二三四五六七"))
    english, chinese = (measure(made, "mxnet", lang) for lang in ("en", "zh"))
    assert english.words == WORDS + 3 and english.aside_words == 5
    assert chinese.words == (HAN + 6) / 1.5 and chinese.aside_words == 9 / 1.5


USUAL = WORDS + 3
LENGTHS = {
    "words": ("word " * (2600 - 3), "", None, None),
    "many words": (
        "word " * (2601 - 3),
        "",
        "2601 words before the exercises, more than 2600",
        None,
    ),
    "too many words": (
        "word " * (3201 - 3),
        "",
        None,
        "3201 words before the exercises, more than",
    ),
    "cells": ("", 26 * cell(1), None, None),
    "many cells": ("", 27 * cell(1), "27 cells before the exercises, more than 26", None),
    "too many cells": ("", 33 * cell(1), None, "33 cells before the exercises, more than 32"),
    "a class": ("", cell(15), None, None),
    "a long class": ("", cell(18), "18 lines in the cell of line ", None),
    "aside": ("", aside("Why\n\n" + "word " * 599), None, None),
    "long aside": (
        "",
        aside("Why\n\n" + "word " * 600),
        "601 words of asides, more than 600",
        None,
    ),
}


@pytest.mark.parametrize("kind", LENGTHS)
def test_what_is_long_is_warned_of_and_what_is_too_long_refused(tmp_path, capsys, kind):
    en, code, warned, refused = LENGTHS[kind]
    made = section(tmp_path, code, en=en or "Two words.", zh="字" * 9000)  # A translation is free
    assert check.text(made) == []
    for framework in ("mxnet", "pytorch"):
        found = length.warnings(made, framework), length.problems(made, framework)
        for told, expected in zip(found, (warned, refused)):
            assert len(told) == bool(expected) and (expected or "") in "".join(told)
    main(["check", "--section", "small", "--root", str(made.chapter.root), "--release"])
    said = capsys.readouterr().out
    assert ("\nwarning: mxnet/small: " in f"\n{said}") == bool(warned)
    assert ("\nmxnet/small: " in said) == bool(refused)


def test_one_framework_alone_can_be_long(tmp_path):
    made = section(tmp_path, 26 * cell(1) + cell(1, "pytorch"), en="Two words.", zh="字")
    assert length.warnings(made, "mxnet") == []
    assert length.warnings(made, "pytorch") == ["27 cells before the exercises, more than 26"]


def test_check_prints_the_table(tmp_path, capsys):
    made = section(tmp_path, 3 * cell(6))
    main(["check", "--section", "small", "--root", str(made.chapter.root)])
    said = capsys.readouterr().out
    row = next(line.split() for line in said.splitlines() if line.startswith("mxnet/en/small "))
    assert row == ["mxnet/en/small", f"{USUAL}", "3", "6", "0"]


def test_sizes_of_the_chapter():
    rows = length.table(CHAPTER.sections())
    assert {len(row) for row in rows} == {len(rows[0])} and len(rows) > 20
