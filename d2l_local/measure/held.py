"""What devices hold, by name, and the most that one of them held."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


class Held(dict[object, list[Any]]):
    """Arrays by name, a list with one for each device, counted as they come and go.

    ``held["W"] = [an array on each device]`` puts something into the devices' memory,
    ``del held["W"]`` and ``held.pop("W")`` take it out, and another list in its place does both.
    ``held.peak`` is the most bytes that one device has held so far, of 4 bytes a number. An array
    that has several names counts once. ValueError for a list of another length than the others.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0

    def __setitem__(self, name: object, arrays: Iterable[Any]) -> None:
        arrays = list(arrays)
        for other, held in self.items():
            if len(held) != len(arrays):
                raise ValueError(
                    f"{len(arrays)} arrays as {name!r}, but {len(held)} as {other!r}: "
                    "name one for each device"
                )
        super().__setitem__(name, arrays)
        self.peak = max(self.peak, self.bytes)

    @property
    def bytes(self) -> int:
        """The bytes that the fullest device holds now."""
        devices = zip(*self.values())
        counts = ({id(array): math.prod(array.shape) for array in device} for device in devices)
        return max((4 * sum(count.values()) for count in counts), default=0)
