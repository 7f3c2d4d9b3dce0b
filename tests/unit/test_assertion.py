"""What a notebook's reader sees where an assertion without a message fails."""

from __future__ import annotations

import re

from d2l_local.lesson import assertion
from d2l_local.machine.crowding import Crowding

import pytest
from helpers import python

# Cells run as in a notebook; what fails is printed as `AssertionError: …`.
NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="NoColor")
shell.run_cell("from d2l_local.lesson.assertion import explain_failures; explain_failures()")
shell.run_cell("explain_failures()")
for cell in {cells!r}:
    shell.run_cell(cell)
"""


def shown(*cells):
    return python(NOTEBOOK.format(cells=cells)).stdout


@pytest.mark.parametrize(
    ("cell", "expected", "found"),
    [
        ("assert hidden > 0.5", "hidden > 0.5", "hidden = 0.1235"),
        ("assert 0 < hidden and gains[1] < 1.5", "0 < hidden and gains[1] < 1.5", "gains[1] = 1.6"),
        ("assert (\n    hidden\n    > 0.5\n)", "hidden > 0.5", "hidden = 0.1235"),
        ("assert all(a < b for a, b in zip(ys, ys[1:]))", "all((", "ys = [3, 2]"),
        ("assert max(ys) < 2 * min(ys) - 1", "max(ys) < ", "max(ys) = 3"),
        ("def f(x):\n    y = 2 * x\n    assert y == 3\nf(4)", "y == 3", "y = 8"),
        ("1 + 1\nassert not ys; assert hidden", "not ys", "ys = [3, 2]"),
    ],
)
def test_it_says_what_was_expected_and_found(cell, expected, found):
    text = shown("hidden, gains, ys = 0.123456, {1: 1.6}, [3.0, 2.0]", cell)
    assert f"AssertionError: expected: {expected}" in text
    assert found in text[text.index("found: ") :]
    assert "Run again" in text or "Other programs" in text or "single core" in text


def test_what_a_call_would_change_is_not_called_again():
    text = shown("xs = [1, 2, 3]", "assert xs.pop() == 1", "print('left:', xs)")
    assert "expected: xs.pop() == 1" in text and "left: [1, 2]" in text


def test_what_would_wait_at_a_queue_is_not_called_again():
    cells = ("import queue; q = queue.Queue(); q.put(1); gains = {}", "assert q.get() == 2")
    assert "expected: q.get() == 2" in shown(*cells)
    assert "found: gains.get('x', 1) = 1" in shown(*cells[:1], "assert gains.get('x', 1) > 2")


def test_a_value_that_cannot_be_had_again_is_left_out():
    text = shown("xs = [1]", "assert sum(xs) == 1 and xs[0] == 2 and xs[7] == 3")
    assert "xs[0] = 1" in text and "IndexError" not in text


@pytest.mark.parametrize(
    "cell", ["assert False, 'in words'", "raise ValueError('in words')", "raise AssertionError(1)"]
)
def test_an_error_that_has_words_keeps_them(cell):
    assert "expected: " not in shown(cell)


def test_an_assertion_of_a_library_stays_as_it_is():
    text = shown("import textwrap, unittest.mock\nunittest.mock.Mock().assert_called()")
    assert "AssertionError" in text and "expected: " not in text


def test_outside_of_a_notebook_nothing_is_changed():
    done = python(
        "from d2l_local.lesson.assertion import *; explain_failures(); assert False", fails=True
    )
    assert done.stderr.strip().endswith("AssertionError")


@pytest.mark.parametrize(
    ("cores", "share", "cause"),
    [
        (1, 0, "a single core"),
        (2, 0.34, "Other programs took 34% of the cores"),
        (2, 0.01, "please report it"),
    ],
)
def test_it_says_what_may_be_the_cause(cores, share, cause, monkeypatch):
    crowding = Crowding()
    crowding.share = share
    monkeypatch.setattr(assertion, "num_cores", lambda: cores)
    monkeypatch.setattr(assertion, "_assertion", lambda frame, line: parsed("hidden > 0.5"))
    try:
        hidden = 0.2
        assert not hidden
    except AssertionError as error:
        error.args = ()  # pytest has written a message of its own
        lines = assertion.explanation(error, crowding).splitlines()
    assert lines[:2] == ["expected: hidden > 0.5", "found: hidden = 0.2"]
    assert re.search(cause, lines[2])


def parsed(text):
    return assertion.ast.parse(text, mode="eval").body
