"""What counts against a notebook, in `make run` as in a test.

A cell that measures carries the tag `nbval-ignore-output`, and asserts what it teaches. That
another program took the cores for a moment is no mistake of the notebook's. So what such a cell
asserts may fail once; then what it judges is measured again. Each second try is told, and too many
in a run fail it: a lesson that needs luck is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from book.builder.dependencies import dependencies
from book.builder.notebook import measures

MOST = 3  # Second tries in one run
TRIED_AGAIN = "what it asserts failed once and is tried again"


def claim_failed(cell: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these outputs of a cell that measures end with an assertion that failed."""
    return measures(cell) and bool(outputs) and outputs[-1].get("ename") == "AssertionError"


def to_measure_again(cells: Sequence[Mapping[str, Any]], index: int) -> list[int]:
    """Return the earlier cells that a cell uses and that measure, or depend on what is measured."""
    needed = dependencies([cell["source"] for cell in cells])
    measured = {i for i in needed[index] if measures(cells[i])}
    return [i for i in sorted(needed[index]) if i in measured or needed[i] & measured]


def too_many(again: int) -> str | None:
    """Say what is wrong with so many second tries in a run; None if they are few enough."""
    if again <= MOST:
        return None
    return (
        f"{again} cells needed a second try, and {MOST} may: either other programs took the cores "
        "of this machine, or these cells assert what does not always hold"
    )
