"""Exercises that answer back, and measurements that a reader has predicted.

What these say stands in the output as text, and beside it as data that the builder proves and the
web book reads: ``{"d2l_local": {"verdict": "right"}}`` or ``{"d2l_local": {"measured": ...}}``.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator

from d2l_local.base.language import translated

# What an answer is too large by, and the likely reason.
MISTAKES = {
    -1: "the sign is wrong",
    2: "that is twice as much: is something counted twice?",
    1 / 2: "that is half of it: is something counted once that happens twice?",
    8: "that is 8 times as much: bits in place of bytes?",
    1 / 8: "that is an eighth of it: bytes in place of bits, or numbers in place of bytes?",
    4: "that is 4 times as much: bytes in place of numbers?",
    1 / 4: "that is a quarter of it: numbers in place of bytes?",
    1e3: "that is 1,000 times as much: look at the unit",
    1e-3: "that is a thousandth of it: look at the unit",
    1e6: "that is a million times as much: look at the unit",
    1e-6: "that is a millionth of it: look at the unit",
}


@contextlib.contextmanager
def check(*answers: object) -> Iterator[None]:
    """Tell the reader of an exercise whether the answer is right.

    ``with d2l.check(answer):`` holds assertions, whose messages name the mistake. It says "not yet"
    while an answer is still ``...`` or the code raises NotImplementedError, "right" if nothing
    fails, and else what is wrong: the message, or the error that the reader's code raises. It
    raises nothing itself, so that the notebook goes on.
    """
    verdict, line, why = "right", "Right.", ""
    try:
        yield
    except NotImplementedError:
        verdict = "not yet"
    except AssertionError as error:
        verdict, line, why = "wrong", "Not right: {why}", str(error)
    except Exception as error:
        verdict, line = "wrong", "Not right, this raises {why}"
        why = f"{type(error).__name__}: {error}"
    if any(_is_open(answer) for answer in answers):
        verdict = "not yet"
    if verdict == "not yet":
        line = "Not yet: fill in the cell above, run it, then run this one again."
    _show(translated(line, why=why), verdict=verdict)


def expect(answer: float, right: float, within: float = 0.01) -> None:
    """Assert that a number is right up to a share of it, and name the likely mistake if not.

    >>> expect(800, 100)
    Traceback (most recent call last):
    AssertionError: 800: that is 8 times as much: bits in place of bytes?
    """
    if math.isclose(answer, right, rel_tol=within):
        return
    for factor, reason in MISTAKES.items():
        if math.isclose(answer, factor * right, rel_tol=within):
            raise AssertionError(f"{answer:,.6g}: {translated(reason)}")
    reason = "that is too much" if answer > right else "that is too little"
    raise AssertionError(f"{answer:,.6g}: {translated(reason)}")


def measured(
    *, choice: int | None = None, number: float | None = None, unit: str = "", within: float = 0.25
) -> None:
    """Say what came out where a reader was asked to predict it.

    ``choice`` is the number of the item in the question's list, from 1 on; for a question without
    a list, ``number`` is the measurement in its ``unit``, and a guess is good ``within`` a share of
    it.
    """
    if (choice is None) == (number is None):
        raise TypeError(f"measured() takes a choice or a number, not {choice=} and {number=}")
    if number is None:
        _show(translated("Measured: answer {choice}", choice=choice), measured={"choice": choice})
        return
    text = f"{number:,.4g} {unit}".rstrip()
    data = {"number": float(number), "unit": unit, "within": within}
    _show(translated("Measured: {number}", number=text), measured=data)


def _is_open(answer: object) -> bool:
    parts = answer if isinstance(answer, (list, tuple)) else [answer]
    return any(part is Ellipsis for part in parts)


def _show(text: str, **data: object) -> None:
    """Print a line; in a notebook, with data beside it."""
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        print(text)
        return
    ipython.display.display({"text/plain": text}, raw=True, metadata={"d2l_local": data})
