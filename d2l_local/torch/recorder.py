"""What PyTorch's profiler saw, as a `Timeline`."""

from __future__ import annotations

from collections.abc import Iterator

from d2l_local.measure import timeline
from d2l_local.measure.spans import lane_name
from d2l_local.torch import thread_stream
from d2l_local.torch.device import CPU, synchronize
from d2l_local.torch.profiler import Profiler

import torch


class Timeline(timeline.Timeline):
    __doc__ = (
        (timeline.Timeline.__doc__ or "")  # Python -OO leaves it out
        + """
    Every GPU has two lanes, ``"gpu/0"`` for kernels and ``"gpu/0 copies"`` for what moves data
    (copies, collectives); the lane ``"cpu/0"`` holds the operators that Python called, which take
    the time of launching a kernel where the work is a GPU's. A `ThreadStream` that is there when
    the block begins has a lane of its name.
    """
    )

    in_calls = frozenset({CPU})

    def _start(self) -> None:
        synchronize()
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        self._profiler = Profiler("a Timeline", activities=activities)
        thread_stream.record()

    def _wait(self) -> None:
        synchronize()

    def _stop(self):
        kept = self._profiler.stop()
        for lane, name, start, end in thread_stream.recorded():
            zero = self._began / 1e9  # Seconds since 1970
            yield lane, name, start - zero, end - zero
        # Times count from a moment that the file names, in nanoseconds since 1970
        shift = (kept.get("baseTimeNanoseconds", 0) - self._began) / 1e3
        events = [e for e in kept["traceEvents"] if e.get("ph") == "X"]
        for event in events:
            event["ts"] += shift
        yield from _outermost([e for e in events if e.get("cat") == "cpu_op"])
        for event in events:
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
                args = event["args"]  # A copy between GPUs names three, of which one carries it out
                lane = lane_name("gpu", args["device"] if "device" in args else args["inDevice"])
                moves = event["cat"] == "gpu_memcpy" or event["name"].startswith("nccl")
                yield _span(event, f"{lane} copies" if moves else lane)


def _outermost(operators: list[dict]) -> Iterator[tuple[str, str, float, float]]:
    """Of the operators on the CPU, those that no other operator of their thread called."""
    end: dict = {}
    for event in sorted(operators, key=lambda e: (e["ts"], -e["dur"])):
        if event["ts"] >= end.get(event["tid"], 0):
            end[event["tid"]] = event["ts"] + event["dur"]
            yield _span(event, CPU)


def _span(event: dict, lane: str) -> tuple[str, str, float, float]:
    return lane, event["name"], event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6
