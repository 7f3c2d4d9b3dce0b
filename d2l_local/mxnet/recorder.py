"""What MXNet's profiler saw, as a `Timeline`."""

from __future__ import annotations

import contextlib
import json
import os
import re

from d2l_local.measure import timeline, trace
from d2l_local.measure.spans import lane_name
from d2l_local.mxnet import device

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
        device.require_profilable()
        mx.nd.waitall()
        self._files = contextlib.ExitStack()
        self._path = self._files.enter_context(trace.trace_file())
        mx.profiler.set_config(
            profile_imperative=True,
            profile_symbolic=True,
            profile_api=False,
            # Two devices' first allocations at once may fail in it ("Invalid device index: 1").
            profile_memory=False,
            filename=self._path,
        )
        mx.profiler.set_state("run")

    def _wait(self) -> None:
        mx.nd.waitall()

    def _stop(self):
        mx.profiler.set_state("stop")
        # `finished=True` would close the file properly and forbid any later recording.
        mx.profiler.dump(finished=False)
        try:
            events = parse_open_trace(trace.read(self._path))
        finally:
            # Else it writes the file anew when the process ends. It deletes the file that it is
            # told, which root may do even to /dev/null; of what would lie inside, there is none.
            mx.profiler.set_config(filename=os.path.join(os.devnull, "none"))
            self._files.close()
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
                start, end = open_spans[key].pop(), event["ts"]  # Microseconds since the epoch
                yield lanes[event], event["name"], self._since(start), self._since(end)

    def _since(self, microseconds: float) -> float:
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


def parse_open_trace(text: str) -> list[dict]:
    """Events of a trace that MXNet has not closed: ``{"traceEvents": [ …`` or ``, …`` later on."""
    body = re.sub(r'^\s*\{\s*"traceEvents":\s*\[|^\s*,', "", text)
    return json.loads(f"[{body}]")
