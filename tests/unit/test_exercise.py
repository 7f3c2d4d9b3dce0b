"""What a check tells the reader, and what stands beside it for the builder and the web book."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from d2l_local.lesson.exercise import expect, judge, measured

import numpy as np
import pytest

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


def said(capsys, *answers, body=lambda: None):
    judge(lambda *_: body(), *answers)
    return capsys.readouterr().out.strip()


def fail(error):
    raise error


def test_verdicts(capsys):
    assert said(capsys, 3) == "Right."
    assert said(capsys, ...).startswith("Not yet: ")
    assert said(capsys, 3, [1, ...]).startswith("Not yet: ")
    wrong = said(capsys, body=lambda: fail(AssertionError("{one} too many")))
    assert wrong == "Not right: {one} too many"
    assert said(capsys, body=lambda: fail(NotImplementedError())).startswith("Not yet: ")
    raises = said(capsys, body=lambda: fail(KeyError("x")))
    assert raises == "Not right, this raises KeyError: 'x'"


def test_an_open_answer_is_not_yet_whatever_the_check_makes_of_it(capsys):
    assert said(capsys, ..., body=lambda: fail(TypeError())).startswith("Not yet: ")
    assert said(capsys, ..., body=lambda: fail(AssertionError("low"))).startswith("Not yet: ")


def test_what_ends_a_program_ends_it():
    with pytest.raises(KeyboardInterrupt):
        judge(lambda _: fail(KeyboardInterrupt()), 1)


@pytest.mark.parametrize(
    "answer, message",
    [
        (200, "twice as much"),
        (50, "half of it"),
        (800, "bits in place of bytes"),
        (25, "a quarter of it: numbers in place of bytes"),
        (400, "4 times as much: bytes in place of numbers"),
        (12.5, "an eighth of it: bytes in place of bits"),
        (100_000, "1,000 times as much"),
        (0.1, "a thousandth of it"),
        (1e8, "a million times as much"),
        (1e-4, "a millionth of it"),
        (-100, "the sign"),
        (130, "130: that is too much"),
        (1_234_567, "1.23457e+06: that is too much"),
        (77, "77: that is too little"),
    ],
)
def test_likely_mistakes(answer, message):
    with pytest.raises(AssertionError, match=message.replace("+", r"\+")):
        expect(answer, 100)


def test_expect_accepts_what_is_close():
    expect(100.9, 100)
    expect(120, 100, within=0.2)
    for answer, within in ((102, 0.01), (124, 0.2)):  # 24 is less than a fifth of 124, too
        with pytest.raises(AssertionError):
            expect(answer, 100, within)


def test_measured(capsys):
    measured(choice=2)
    measured(number=1234.5678, unit="ms")
    measured(number=3, computed=True)
    said = ["Measured: answer 2", "Measured: 1,235 ms", "Computed: 3"]
    assert capsys.readouterr().out.splitlines() == said
    for wrong in ({}, {"choice": 1, "number": 2.0}):
        with pytest.raises(TypeError, match="a choice or a number"):
            measured(**wrong)


def test_a_notebook_keeps_data_beside_the_text(monkeypatch):
    shell = InteractiveShell.instance()
    try:
        with capture_output() as captured:
            shell.run_cell("from d2l_local.lesson import exercise\nexercise.judge(abs, 1)")
            shell.run_cell("exercise.measured(number=2, unit='s')")
    finally:
        InteractiveShell.clear_instance()
    first, second = captured.outputs
    assert first.data == {"text/plain": "Right."}
    assert first.metadata == {"d2l_local": {"verdict": "right"}}
    data = {"number": 2.0, "unit": "s", "within": 0.25}
    assert second.metadata == {"d2l_local": {"measured": data}}
    assert second.data == {"text/plain": "Measured: 2 s"}


class Array:
    """An array of a framework: what MXNet's classic ones offer, and how PyTorch's refuse."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def asscalar(self):
        if len(self.numbers) != 1:
            raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")
        return self.numbers[0]

    def __repr__(self):
        return f"Array{self.numbers}"


@pytest.mark.parametrize(
    "answer",
    [Fraction(100), Decimal("100.5"), np.float32(100), np.int64(100), np.array([100.0]),
     Array(100.0)],
)  # fmt: skip
def test_whatever_is_a_number_is_an_answer(answer):
    expect(answer, 100)
    with pytest.raises(AssertionError, match="half of it"):
        expect(answer, 200)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("100", "'100' is text: a number stands without quotes"),
        (None, "a number is asked for, not None"),
        (True, "a number is asked for, not True"),
        ([100], r"a number is asked for, not \[100\]"),
        (np.array([100.0, 1.0]), "a number is asked for, not array"),
        (Array(100.0, 1.0), "a number is asked for, not Array"),
        (1j, "a number is asked for, not 1j"),
        (math.nan, "nan can't be compared with a number"),
    ],
)
def test_what_is_no_number_is_told_in_words(answer, said):
    with pytest.raises(AssertionError, match=said):
        expect(answer, 100)


def test_foreseen_mistakes_come_before_the_usual_ones():
    foreseen = {50: "one way only", 3: "three"}
    for answer, said in ((50, "one way only"), (3, "3: three"), (25, "a quarter of it")):
        with pytest.raises(AssertionError, match=said):
            expect(answer, 100, foreseen=foreseen)


@pytest.mark.parametrize(
    ("guess", "first", "then"),
    [
        (..., "No guess yet. Unfold", "Measured: 10 ms"),
        (9, "You predict: 9. Unfold", "Measured: 10 ms, as you predicted"),
        (12.5, "You predict: 12.5. Unfold", "Measured: 10 ms, as you predicted"),
        (20, "You predict: 20. Unfold", "Measured: 10 ms. You said 20: 2 times as much."),
        ("ten", "Your guess, 'ten', is no number", "Measured: 10 ms"),
    ],
)
def test_a_guess_is_compared_below_a_line_that_tells_nothing(capsys, guess, first, then):
    measured(number=10, unit="ms", guess=guess)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(first) and "10" not in lines[0] and lines[1] == then


@pytest.mark.parametrize(
    ("number", "guess", "then"),
    [
        (107, 16384, "107. You said 16,384: 153 times as much."),
        (16384, 107, "16,384. You said 107: it is 153 times as much."),
        (10, Fraction(26, 2), "10. You said 13: 1.3 times as much."),
        (10, 7.4, "10. You said 7.4: it is 1.4 times as much."),
        (-5, -10, "-5. You said -10: 2 times as much."),
        (-10, -5, "-10. You said -5: it is 2 times as much."),
        (0, 5, "0. You said 5: 5 too much."),
        (10, 0, "10. You said 0: 10 too little."),
        (-2.5, 3, "-2.5. You said 3: 5.5 too much."),
        (0, 0, "0, as you predicted"),
        (1e9, 1, "1,000,000,000. You said 1: it is 1,000,000,000 times as much."),
    ],
)
def test_by_how_much_a_guess_of_a_number_is_off(capsys, number, guess, then):
    measured(number=number, guess=guess)
    assert capsys.readouterr().out.splitlines()[1] == f"Measured: {then}"


def test_of_a_guess_that_is_nearly_right_the_difference_is_told(capsys):
    measured(number=1000, guess=1010, within=0.001, computed=True)
    line = capsys.readouterr().out.splitlines()[1]
    assert line == "Computed: 1,000. You said 1,010: 10 too much."


def test_in_chinese_a_multiple_names_its_owner(capsys, monkeypatch):
    monkeypatch.setenv("D2L_LANGUAGE", "zh")
    measured(number=107, unit="MB", guess=16384)
    measured(number=107, guess=10, computed=True)
    _, more, _, less = capsys.readouterr().out.splitlines()
    assert more == "测量结果：107 MB。你预测的是16,384，是结果的153倍。"
    assert less == "计算结果：107。你预测的是10，结果是它的11倍。"


def test_the_guess_of_a_choice(capsys):
    for guess, then in ((2, "answer 2, as you predicted"), (1, "answer 2, other than")):
        measured(choice=2, guess=guess)
        assert then in capsys.readouterr().out.splitlines()[1]
