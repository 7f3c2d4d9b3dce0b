"""What counts against a notebook, in `make run` as in a test.

A cell that measures carries the tag `nbval-ignore-output`, and asserts what it teaches. That
another program took the cores for a moment is no mistake of the notebook's. So what such a cell
asserts may fail once; then what it judges is measured again. Each second try is told, and too many
in a run fail it: a lesson that needs luck is none.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from book.builder.dependencies import because
from book.builder.notebook import measures

MOST = 3  # Second tries in one run
TRIED_AGAIN = "what it asserts failed once and is tried again"


def claim_failed(cell: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these outputs of a cell that measures end with an assertion that failed."""
    return measures(cell) and bool(outputs) and outputs[-1].get("ename") == "AssertionError"


def to_measure_again(cells: Sequence[Mapping[str, Any]], index: int) -> list[int]:
    """Return the earlier cells that measure what a cell judges, and those that reckon with it.

    These are the nearest that measure, on each way back from the names of the cell to the cells
    that set them. What lies before is still there. So nothing is executed twice whose output is
    compared: it does not depend on a measurement, and a second network may have other weights.
    """
    everything = range(len(cells))  # A mention changes nothing that would have to be made again
    ways = because([cell["source"] for cell in cells], everything)
    again: set[int] = set()

    @functools.cache
    def leads_to_a_measurement(end: int) -> bool:
        named = [i for i, (by, _) in ways[end].items() if by == end]
        found = [
            i
            for i in named
            if measures(cells[i]) or not cells[i].get("outputs") and leads_to_a_measurement(i)
        ]
        again.update(found)
        return bool(found)

    leads_to_a_measurement(index)
    return sorted(again)


def too_many(again: int) -> str | None:
    """Say what is wrong with so many second tries in a run; None if they are few enough."""
    if again <= MOST:
        return None
    return (
        f"{again} cells needed a second try, and {MOST} may: either other programs took the cores "
        "of this machine, or these cells assert what does not always hold"
    )
