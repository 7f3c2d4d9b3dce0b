"""How long a section says that it takes."""

from __future__ import annotations

from book.builder.size import HAN_PER_WORD, before_exercises, minutes, words

from small_chapter import END, bilingual, make

BODY = """
+++ {{"lang": "en", "id": "body"}}
{en}

+++ {{"lang": "zh", "id": "body"}}
字
{code}"""


def cell(*tags: str) -> str:
    return f"\n```{{code-cell}}\n:tags: [{', '.join(tags)}]\nx = 1\n```\n"


def prose(kind: str, more: str = "") -> str:
    return f'\n+++ {{"lang": "en", "id": "{kind}", "kind": "{kind}"{more}}}\nWhy\n\nTwo words.\n'


def test_words_are_those_of_prose():
    assert words("Two *words*, [one](https://a.example/b) $x + y$ `code` <b>and</b> 1,000:") == 5
    assert words("```\nno\n```") == 0
    assert words("两个GPU，`x`上 $y$ 共2块。一") == 2 + 6 / HAN_PER_WORD


def test_minutes_are_those_of_what_a_framework_reads_predicts_and_solves(tmp_path):
    code = cell("mxnet") + cell("aside") + cell("score") + cell() + prose("aside")
    code += prose("predict") + cell() + END.replace('"end"', '"early"') + cell()
    code += prose("exercise", ', "minutes": 9') + prose("hint")
    text = bilingual(BODY.format(en="word " * 800, code=code), "pytorch, mxnet")
    section = make(tmp_path, small=text).sections()[0]
    assert before_exercises(section, "mxnet") == (800 + 6, 3)  # Titles, and "Why"
    asked = {"doing": 2, "exercises": 9, "lab": 0}
    assert minutes(section, "mxnet") == {"all": 18, "reading": 7, **asked}
    assert minutes(section, "pytorch") == {"all": 17, "reading": 6, **asked}
