"""Exercises that answer back, and measurements that a reader has predicted.

What these say stands in the output as text, and beside it as data that the builder proves and the
web book reads: ``{"d2l_local": {"verdict": "right"}}`` or ``{"d2l_local": {"measured": ...}}``.
"""

from __future__ import annotations

import contextlib
import decimal
import math
import numbers
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from d2l_local.base.language import translated

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

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


def judge(check: Callable[..., object], *answers: object) -> None:
    """Tell the reader of an exercise what its check makes of the answers.

    It says "not yet" while an answer is still ``...`` or the code raises NotImplementedError,
    "right" if ``check(*answers)`` ends, and else what is wrong: the message of the assertion, which
    names the mistake, or the error that the reader's code raises. That raises nothing itself, so
    that the notebook goes on.
    """
    verdict, line, why = "right", "Right.", ""
    try:
        check(*answers)
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


def expect(
    answer: object,
    right: float,
    within: float = 0.01,
    foreseen: Mapping[float, str] | Mapping[int, str] | None = None,
) -> None:
    """Assert that a number is right up to a share of it, and name the likely mistake if not.

    The answer is whatever Python takes for a number, or an array of one element. ``foreseen`` maps
    wrong answers to what is said of them.

    >>> expect(800, 100)
    Traceback (most recent call last):
    AssertionError: 800: that is 8 times as much: bits in place of bytes?
    """
    value = _number(answer)
    if _is_close(value, right, within):
        return
    usual = [(factor * right, translated(why)) for factor, why in MISTAKES.items()]
    reason = translated("that is too much" if value > right else "that is too little")
    for wrong, why in reversed([*(foreseen or {}).items(), *usual]):  # The first one is told
        if _is_close(value, wrong, within):
            reason = why
    raise AssertionError(f"{value:,.6g}: {reason}")


def _number(answer: object) -> float:
    """A reader's answer as a float. Raises AssertionError, which says what else it is."""
    if isinstance(answer, str):
        raise AssertionError(
            translated("{answer!r} is text: a number stands without quotes", answer=answer)
        )
    if not isinstance(answer, (numbers.Real, decimal.Decimal)):
        # Of an array of one element; MXNet's classic ones have another name for it
        scalar = getattr(answer, "item", None) or getattr(answer, "asscalar", None)
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            answer = scalar() if scalar else answer
    if isinstance(answer, bool) or not isinstance(answer, (numbers.Real, decimal.Decimal)):
        raise AssertionError(translated("a number is asked for, not {answer!r}", answer=answer))
    if not math.isfinite(answer):
        raise AssertionError(translated("{answer} can't be compared with a number", answer=answer))
    return float(answer)


def _is_close(number: float, right: float, within: float) -> bool:
    """Whether a number differs from the right one by at most a share ``within`` of the latter."""
    return abs(number - right) <= within * abs(right)


def measured(
    *,
    choice: int | None = None,
    number: float | None = None,
    unit: str = "",
    within: float = 0.25,
    guess: object = None,
    computed: bool = False,
) -> None:
    """Say what came out where a reader was asked to predict it.

    ``choice`` is the number of the item in the question's list, from 1 on; for a question without
    a list, ``number`` is the measurement in its ``unit``, or what was ``computed`` by the law, and
    a guess is good ``within`` a share of it; of another it is told by which factor it is off. With
    the reader's ``guess`` (``...`` while there is none), a line that tells nothing comes first: it
    is what JupyterLab shows of an output that is folded.
    """
    if (choice is None) == (number is None):
        raise TypeError(f"measured() takes a choice or a number, not {choice=} and {number=}")
    if guess is not None:
        _show(_of_guess(guess), guess=True)
    if number is None:
        line = translated("Measured: answer {choice}", choice=choice)
        data: dict[str, Any] = {"choice": choice}
        right = _is_number(guess) and guess == choice
    else:
        said = "Computed: {number}" if computed else "Measured: {number}"
        line = translated(said, number=f"{_plain(float(number))} {unit}".rstrip())
        data = {"number": float(number), "unit": unit, "within": within}
        right = _is_number(guess) and _is_close(guess, number, within)
    if right:
        line += translated(", as you predicted")
    elif _is_number(guess):
        other = translated(", other than you predicted")
        line += other if number is None else _off(float(guess), float(number))
    _show(line, measured=data)


def _off(guess: float, number: float) -> str:
    """How a line that has told a number goes on, to say how far the guess is off.

    By which factor; by which difference where there is none, or where it is all but 1.
    """
    factor = max(guess / number, number / guess) if guess * number > 0 else 0.0
    if factor < 1.05:
        return translated(
            ". You said {guess}: {difference} too much."
            if guess > number
            else ". You said {guess}: {difference} too little.",
            guess=_plain(guess),
            difference=_plain(abs(guess - number)),
        )
    return translated(
        ". You said {guess}: {factor} times as much."
        if guess / number > 1
        else ". You said {guess}: it is {factor} times as much.",
        guess=_plain(guess),
        factor=f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}",
    )


def _plain(number: float) -> str:
    """A number in four digits or more, and never in powers of ten if it is large."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def _of_guess(guess: object) -> str:
    if _is_number(guess):
        return translated("You predict: {guess}. Unfold to compare.", guess=guess)
    if guess is ...:
        return translated("No guess yet. Unfold to see what was measured.")
    return translated("Your guess, {guess!r}, is no number. Unfold to compare.", guess=guess)


def _is_number(guess: object) -> TypeGuard[float]:
    return isinstance(guess, numbers.Real) and not isinstance(guess, bool)


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
