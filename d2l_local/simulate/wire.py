"""A connection that carries nothing: messages take as long as they would on a real one."""

from __future__ import annotations

import time
from collections.abc import Callable

from d2l_local.base.arguments import positive_number
from d2l_local.measure.timeline import Timeline

LANE = "wire"


class Wire:
    """Takes as long for a message as a real connection would, and uses no core meanwhile.

    ``arrival = wire.send(n, "gather 0")`` puts a message of ``n`` bytes on the wire and returns at
    once. It keeps the wire busy for ``latency + n / bytes_per_second`` seconds, as soon as the
    messages before it are through. ``arrival()`` waits until it is there, and returns for how many
    seconds; ``wire.wait()`` waits for all. A `Timeline` shows the messages, as copies, on the lane
    ``"wire"``. ValueError unless ``bytes_per_second`` and a ``latency`` are positive.
    """

    def __init__(self, bytes_per_second: float, latency: float = 0.0):
        self.bytes_per_second = positive_number("bytes_per_second", bytes_per_second)
        self.latency = positive_number("latency", latency) if latency else 0.0
        self._free = 0  # When the last message is through, in nanoseconds since the epoch

    def seconds(self, num_bytes: float) -> float:
        """How long a message keeps the wire busy."""
        return self.latency + num_bytes / self.bytes_per_second

    def send(self, num_bytes: float, name: str = "message") -> Callable[[], float]:
        """Put a message on the wire; return what waits for it, and returns the seconds of it."""
        start = max(time.time_ns(), self._free)
        self._free = end = start + round(1e9 * self.seconds(num_bytes))
        if Timeline._recording is not None:
            Timeline._recording.add(LANE, f"copy of {name}", start, end)
        return lambda: _wait_until(end)

    def wait(self) -> float:
        """Wait until all messages have arrived, and return for how many seconds."""
        return _wait_until(self._free)


def _wait_until(end: int) -> float:
    begin = time.time_ns()
    if begin >= end:
        return 0.0
    time.sleep((end - begin) / 1e9)
    return (time.time_ns() - begin) / 1e9
