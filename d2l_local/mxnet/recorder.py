"""What MXNet's profiler saw, as a `Timeline`."""

from __future__ import annotations

from d2l_local.measure import timeline
from d2l_local.measure.spans import lane_name
from d2l_local.mxnet import device
from d2l_local.mxnet.profiler import Profiler

import mxnet as mx

# The engine's own entries in a trace, which take no time to speak of: freeing an array, waiting for
# one, seeding a device's random numbers. Any worker may run them for any device.
_BOOKKEEPING = frozenset({"DeleteVariable", "WaitForVar", "ResourceParallelRandomSetSeed"})


class Timeline(timeline.Timeline):
    __doc__ = timeline.Timeline.__doc__

    def __init__(self, lanes: dict[str, list] | None = None, bookkeeping: bool = False):
        """``lanes``: as of `d2l_local.measure.timeline.Timeline`; ``bookkeeping``: leave in what
        MXNet's engine does for itself, such as ``DeleteVariable`` (to free an array) and
        ``WaitForVar``.
        """
        super().__init__(lanes)
        self._left_out = frozenset() if bookkeeping else _BOOKKEEPING

    def _start(self) -> None:
        self._profiler = Profiler()

    def _wait(self) -> None:
        mx.nd.waitall()

    def _stop(self):
        events = self._profiler.stop()
        return self._spans(
            [e for e in events if e["ph"] in "BE" and e["name"] not in self._left_out]
        )

    def _spans(self, events):
        open_spans: dict[tuple, list[float]] = {}
        lanes = _Lanes(events)
        for event in events:
            key = event["pid"], event["tid"], event["name"]
            if event["ph"] == "B":
                open_spans.setdefault(key, []).append(event["ts"])
            elif open_spans.get(key):
                start, end = map(self._since, (open_spans[key].pop(), event["ts"]))
                if start >= 0:  # Else it ran before the block, and somebody else recorded it
                    yield lanes[event], event["name"], start, end

    def _since(self, microseconds: float) -> float:
        """Seconds since the recording began, of microseconds since the epoch."""
        return (1000 * microseconds - self._began) / 1e9


class _Lanes:
    """The device whose worker ran an event of MXNet's trace, e.g. ``cpu/1``.

    The trace's process id is the device: first the cores, then 32 GPUs (GPU build only), pinned
    memory and shared memory. Work on pinned memory is done by a core's worker, which the thread id
    tells; a CPU device beyond the last core has a thread of its own.
    """

    def __init__(self, events: list[dict]):
        self._cores = device.profiler_cores()
        self._worker_of = {e["tid"]: e["pid"] for e in events if e["pid"] < self._cores}

    def __getitem__(self, event: dict) -> str:
        number = event["pid"]
        if number >= self._cores:
            number = self._worker_of.get(event["tid"], number)
        if number >= self._cores and device.gpu_build():
            return lane_name("gpu", number - self._cores)
        return lane_name("cpu", number)
