"""What a check tells the reader, and what stands beside it for the builder and the web book."""

from __future__ import annotations

from d2l_local.lesson.exercise import check, expect, measured

import pytest

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


def said(capsys, *answers, body=lambda: None):
    with check(*answers):
        body()
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
    with pytest.raises(KeyboardInterrupt), check(1):
        raise KeyboardInterrupt


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
    with pytest.raises(AssertionError):
        expect(102, 100)


def test_measured(capsys):
    measured(choice=2)
    measured(number=1234.5678, unit="ms")
    assert capsys.readouterr().out.splitlines() == ["Measured: answer 2", "Measured: 1,235 ms"]
    for wrong in ({}, {"choice": 1, "number": 2.0}):
        with pytest.raises(TypeError, match="a choice or a number"):
            measured(**wrong)


def test_a_notebook_keeps_data_beside_the_text(monkeypatch):
    shell = InteractiveShell.instance()
    try:
        with capture_output() as captured:
            shell.run_cell("from d2l_local.lesson import exercise\nwith exercise.check(1): pass")
            shell.run_cell("exercise.measured(number=2, unit='s')")
    finally:
        InteractiveShell.clear_instance()
    first, second = captured.outputs
    assert first.data == {"text/plain": "Right."}
    assert first.metadata == {"d2l_local": {"verdict": "right"}}
    data = {"number": 2.0, "unit": "s", "within": 0.25}
    assert second.metadata == {"d2l_local": {"measured": data}}
    assert second.data == {"text/plain": "Measured: 2 s"}
