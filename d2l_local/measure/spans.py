"""What a device did when, as spans of time, and how much of it two devices did at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """One operator on one device; ``start`` and ``end`` in seconds since the recording began."""

    name: str
    start: float
    end: float

    @property
    def is_copy(self) -> bool:
        """Whether the operator moves data rather than computes."""
        return any(word in self.name.lower() for word in ("copy", "memcpy", "nccl"))


def merge(spans: Iterable[Span]) -> list[tuple[float, float]]:
    """Disjoint intervals that cover the same time as ``spans`` (ordered by start)."""
    merged: list[tuple[float, float]] = []
    for _, start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def common_seconds(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> float:
    seconds, i, j = 0.0, 0, 0
    while i < len(a) and j < len(b):
        seconds += max(0.0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return seconds


def lane_name(kind: str, number: int) -> str:
    """The lane of a device, ``cpu/1``: where those who record it and those who ask for it meet."""
    return f"{kind}/{number}"


def in_order(lane: str) -> tuple[str, int, str]:
    """The key by which lanes are sorted: ``cpu/2`` comes before ``cpu/10``."""
    number = re.search(r"\d+", lane)
    if number is None:
        return lane, -1, ""
    return lane[: number.start()], int(number[0]), lane[number.end() :]
