"""A link that is not there: messages take as long as they would, and nothing is sent."""

from __future__ import annotations

import time
from collections.abc import Callable

from d2l_local.arguments import positive_number
from d2l_local.measure.timeline import Timeline

LANE = "link"


class Wire:
    """A link from this device to others, of which only the time is real, and which needs no core.

    ``arrival = wire.send(n, "gather 0")`` puts a message of ``n`` bytes on the link, where it takes
    ``n / bytes_per_second`` seconds as soon as the messages before it are through, and returns at
    once; ``arrival()`` waits until it is there, and returns for how many seconds. A `Timeline`
    shows the messages, as copies, on the lane ``"link"``. ValueError unless ``bytes_per_second`` is
    positive.
    """

    def __init__(self, bytes_per_second: float):
        self.bytes_per_second = positive_number("bytes_per_second", bytes_per_second)
        self._free = 0  # When the last message is through, in nanoseconds since the epoch

    def send(self, n: float, name: str = "message") -> Callable[[], float]:
        """Put a message on the link; return what waits for it, and returns the seconds of it."""
        start = max(time.time_ns(), self._free)
        self._free = end = start + round(1e9 * n / self.bytes_per_second)
        if Timeline._recording is not None:
            Timeline._recording.add(LANE, f"copy of {name}", start, end)

        def wait() -> float:
            begin = time.time_ns()
            if begin >= end:
                return 0.0
            time.sleep((end - begin) / 1e9)
            return (time.time_ns() - begin) / 1e9

        return wait
