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
        (20, "You predict: 20. Unfold", "Measured: 10 ms, other than you predicted"),
        ("ten", "Your guess, 'ten', is no number", "Measured: 10 ms"),
    ],
)
def test_a_guess_is_compared_below_a_line_that_tells_nothing(capsys, guess, first, then):
    measured(number=10, unit="ms", guess=guess)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(first) and "10" not in lines[0] and lines[1] == then


def test_the_guess_of_a_choice(capsys):
    for guess, then in ((2, "answer 2, as you predicted"), (1, "answer 2, other than")):
        measured(choice=2, guess=guess)
        assert then in capsys.readouterr().out.splitlines()[1]
