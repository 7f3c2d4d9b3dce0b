"""A slow connection that carries nothing, to see what messages cost."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

from d2l_local.arguments import positive_number
from d2l_local.measure.timeline import on_record

LANE = "wire"


class Wire:
    """Takes as long for a message as a real connection would, and uses no core meanwhile.

    Each message of n bytes keeps the wire busy for ``latency + n / bytes_per_second`` seconds, one
    message after the other. A `Timeline` shows it as the lane ``"wire"``. ValueError unless both
    arguments are positive.
    """

    def __init__(self, latency: float, bytes_per_second: float):
        self.latency = positive_number("latency", latency)
        self.bytes_per_second = positive_number("bytes_per_second", bytes_per_second)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=LANE)
        self._sent: list[Future] = []

    def seconds(self, num_bytes: float) -> float:
        """How long a message keeps the wire busy."""
        return self.latency + num_bytes / self.bytes_per_second

    def send(self, num_bytes: float) -> None:
        """Queue a message and return at once."""
        self._sent.append(self._thread.submit(self._carry, self.seconds(num_bytes)))

    def wait(self) -> None:
        """Wait until all messages have arrived."""
        while self._sent:
            self._sent.pop().result()

    @on_record(LANE, "copy")
    def _carry(self, seconds: float) -> None:
        time.sleep(seconds)
