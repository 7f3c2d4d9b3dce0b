"""How long sections are, and that what exceeds a budget is told."""

from __future__ import annotations

from book.builder import budget, check
from book.builder.cli import main
from book.builder.text import BuildError

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


def section(root, code="", en="word " * WORDS, zh="字" * HAN, allowed="{words: 102, cells: 7}"):
    """Return a section of so many words, and what may follow them, with a budget."""
    text = bilingual(BODY.format(en=en, zh=zh) + code, "pytorch, mxnet")
    text = text.replace("---\n\n", f"budget: {allowed}\n---\n\n", 1) if allowed else text
    return make(root, small=text).sections()[0]


def cell(lines: int, *tags: str) -> str:
    source = "\n\n".join(f"x = {number}" for number in range(lines))  # Blank lines are free
    return f"\n```{{code-cell}}\n:tags: [{', '.join(tags)}]\n{source}\n```\n"


def told(made, framework="mxnet"):
    return [f"{lang}: {what}" for lang, what in budget.problems(made, framework)]


FULL = 4 * cell(6) + 3 * cell(15)  # All that a budget of seven cells allows


def test_size_is_what_a_reader_gets_through(tmp_path):
    prose = (
        "Two *words*, [one](https://a.example/b) $x + y$ `code` <b>and</b> 1,000:\n\n```\nno\n```"
    )
    assert budget.words(prose) == (5, 0)
    assert budget.words("两个GPU，`x`上 $y$ 共2块") == (2, 5)
    after = END.replace('"end"', '"early"') + cell(9)
    code = cell(2, "mxnet") + cell(3, "aside") + cell(4) + after
    size = budget.measure(section(tmp_path, code), "mxnet", "en")
    assert size.words == WORDS + 3  # Title, "Words." and the heading of the summary
    assert size.cells == [2, 4] and size.longest == 4 and size.median == 3
    assert budget.measure(section(tmp_path, code), "pytorch", "en").cells == [4]


def test_asides_count_apart(tmp_path):
    aside = (
        '\n+++ {"lang": "en", "id": "why", "kind": "aside"}\nTwo words\n\nAnd three more.\n'
        '\n+++ {"lang": "zh", "id": "why", "kind": "aside"}\n题目\n\n一二三四五六七\n'
    )
    made = section(tmp_path, aside)
    english, chinese = (budget.measure(made, "mxnet", lang) for lang in ("en", "zh"))
    assert english.words == WORDS + 3 and english.aside_words == 5
    assert chinese.han == HAN + 6 and chinese.aside_words == 6


def test_what_a_budget_allows(tmp_path):
    made = section(tmp_path, FULL, en="word " * (WORDS - 1), zh="字" * (HAN - 3))
    assert told(made) == told(made, "pytorch") == [] and check.text(made) == []


EXCESS = {
    "words": ({"en": "word " * 100}, "en: 103 words before the exercises; its budget is 102"),
    "cells": ({"code": FULL + cell(1)}, "en: 8 cells before the exercises; its budget is 7"),
    "median": ({"code": cell(6) + cell(7) + cell(7)}, "en: the median cell has 7 lines; at most 6"),
    "long": (
        {"code": 4 * cell(11) + cell(1)},
        "en: 4 cells have more than 10 lines; at most 3",
    ),
    "Han": (
        {"zh": "字" * 148},
        "zh: 154 Han characters before the exercises; at most 1.5 for each of the original's "
        "102 words",
    ),
}


@pytest.mark.parametrize("kind", EXCESS)
def test_excess_is_told(tmp_path, kind):
    planted, message = EXCESS[kind]
    made = section(tmp_path, **{"en": "word " * 99, "zh": "字" * 147, **planted})
    assert message in told(made) and message in told(made, "pytorch")
    without = section(tmp_path, **{"en": "word " * 99, "zh": "字" * 147, **planted, "allowed": ""})
    assert told(without) == []


def test_excess_without_a_budget(tmp_path):
    aside = (
        '\n+++ {"lang": "en", "id": "why", "kind": "aside"}\nWhy\n\n' + "word " * 600 + "\n"
        '\n+++ {"lang": "zh", "id": "why", "kind": "aside"}\n为何\n\n一二\n'
    )
    found = "\n".join(check.text(section(tmp_path, cell(16) + aside, allowed="")))
    assert "16 lines; at most 15" in found and "601 words of asides" in found


def test_one_framework_alone_can_exceed(tmp_path):
    made = section(tmp_path, FULL + cell(1, "pytorch"), en="Two words.", zh="字")
    assert told(made) == []
    assert told(made, "pytorch") == ["en: 8 cells before the exercises; its budget is 7"]


@pytest.mark.parametrize("wrong", ["1800", "{words: 1800}", "{words: many, cells: 2}", "[1, 2]"])
def test_budget_that_is_none(tmp_path, wrong):
    with pytest.raises(
        BuildError, match=r"small\.md: the front matter has `budget: .*must be like"
    ):
        section(tmp_path, allowed=wrong)


def test_check_prints_the_table_and_refuses_excess(tmp_path, capsys):
    made = section(tmp_path, FULL + cell(1))
    assert main(["check", "--section", "small", "--root", str(made.chapter.root)]) == 1
    said = capsys.readouterr().out
    row = next(line.split() for line in said.splitlines() if line.startswith("mxnet/en/small "))
    assert row == ["mxnet/en/small", "103/102", "-", "8/7", "6", "15", "0"]
    assert "chapters/mxnet/en/small.ipynb: 8 cells before the exercises" in said


def test_sizes_of_the_chapter():
    rows = budget.table(CHAPTER.sections())
    assert {len(row) for row in rows} == {len(rows[0])} and len(rows) > 20
