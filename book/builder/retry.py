"""What counts against a notebook, in `make run` as in a test.

A cell that measures carries the tag `nbval-ignore-output`; it, or one that judges its numbers,
asserts what they teach. That another program took the cores for a moment is no mistake of the
notebook's. So such an assertion may fail once; then what it judges is measured again. Each second
try is told, and too many in a run fail it: a lesson that needs luck is none.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from book.builder.dependencies import names_of
from book.builder.notebook import measures

MOST = 3  # Second tries in one run
TRIED_AGAIN = "what it asserts failed once and is tried again"


def claim_failed(
    cells: Sequence[Mapping[str, Any]], index: int, outputs: Sequence[Mapping[str, Any]]
) -> bool:
    """Whether an assertion about a measurement, a cell's own or another's, failed, by its outputs.

    A figure that it has begun comes after the error.
    """
    failed = any(each.get("ename") == "AssertionError" for each in outputs)
    return failed and (measures(cells[index]) or bool(to_measure_again(cells, index)))


def to_measure_again(cells: Sequence[Mapping[str, Any]], index: int) -> list[int]:
    """Return the earlier cells that measure what a cell judges, and those that reckon with it.

    These are the nearest that measure, on each way back from the names of the cell to the cells
    that set them last. What lies before is still there. So nothing is executed twice whose output
    is compared: it does not depend on a measurement, and a second network may have other weights.
    Nor is a cell that reads a name which has another meaning since.
    """
    names = [names_of(cell["source"]) for cell in cells]
    reads = [each.read - each.bound for each in names]  # Of others: what a loop sets is its own
    again: set[int] = set()

    def sets_last(end: int) -> set[int]:
        found = set()
        for name in reads[end]:
            setters = [j for j in range(end) if name in names[j].bound]
            if setters and name not in names[setters[-1]].imported:
                found.add(setters[-1])
        return found

    def means_the_same(i: int) -> bool:
        return not any(reads[i] & names[j].bound for j in range(i + 1, index))

    @functools.cache
    def leads_to_a_measurement(end: int) -> bool:
        found = [
            i
            for i in sets_last(end)
            if measures(cells[i]) or not cells[i].get("outputs") and leads_to_a_measurement(i)
        ]
        again.update(filter(means_the_same, found))
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
