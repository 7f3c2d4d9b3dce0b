"""What MXNet's storage manager reports to its profiler, as `Allocations`."""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Callable, Iterator

from d2l_local.measure import allocations, trace
from d2l_local.mxnet import device
from d2l_local.mxnet.recorder import parse_open_trace

import mxnet as mx

SETTLE = 0.1  # Seconds: the engine is idle before its threads let go of the arrays that they used
_NAME = "Memory: "  # Of a counter, before that of its device

# The numbers of the CPU devices whose counters have begun, which go on from recording to recording.
_cpus = {0}


class Allocations(allocations.Allocations):
    __doc__ = (
        (allocations.Allocations.__doc__ or "")  # Python -OO leaves it out
        + """
    MXNet counts bytes a device and does not say of which array. So an array that was there before
    must not be freed meanwhile, and ``fn`` is called once before: the scratch memory that operators
    share is kept from then on and not counted. d2l_local gives each core many of it; with one
    device, one is enough (``MXNET_CPU_TEMP_COPY=1``).
    """
    )

    @staticmethod
    def _record(fn: Callable[[], object]) -> tuple[object, Iterator[tuple[float, int]]]:
        device.require_profilable()
        fn()
        gc.collect()  # Else it may free what others left, while we count
        mx.nd.waitall()
        time.sleep(SETTLE)
        mx.nd.waitall()
        with trace.trace_file() as path:
            mx.profiler.set_config(
                profile_imperative=False,
                profile_symbolic=False,
                profile_api=False,
                profile_memory=True,
                filename=path,
            )
            mx.profiler.set_state("run")
            try:
                # These small arrays tell from where the counters go on.
                used = {*map(mx.cpu, _cpus), *device.gpu_contexts()}
                marks = {context: mx.nd.ones(1, ctx=context) for context in used}
                mx.nd.waitall()
                result = fn()
                mx.nd.waitall()
            finally:
                mx.profiler.set_state("stop")
                mx.profiler.dump(finished=False)
                events = parse_open_trace(trace.read(path))
                mx.profiler.set_config(filename=os.path.join(os.devnull, "none"))
        marked = {f"{_NAME}{device.lane(context)}" for context in marks}
        return result, _changes(events, marked)


def _changes(events: list[dict], marked: set[str]) -> Iterator[tuple[float, int]]:
    counters = [event for event in events if event["ph"] == "C" and "args" in event]
    held: dict[str, int] = {}
    for event in sorted(counters, key=lambda event: event["ts"]):
        for name, size in event["args"].items():
            if name.startswith(_NAME):
                yield event["ts"] / 1e6, size - held.get(name, size if name in marked else 0)
                held[name] = size
    cpus = (re.fullmatch(rf"{_NAME}cpu/(\d+)", name) for name in held)
    _cpus.update(int(found[1]) for found in cpus if found)
