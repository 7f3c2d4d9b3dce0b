"""What PyTorch's allocators report to its profiler, as `Allocations`."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

from d2l_local.measure import allocations
from d2l_local.torch.device import synchronize
from d2l_local.torch.profiler import Profiler

import torch


class Allocations(allocations.Allocations):
    __doc__ = allocations.Allocations.__doc__

    @staticmethod
    def _record(fn: Callable[[], object]) -> tuple[object, Iterator[tuple[float, int]]]:
        gc.collect()  # Else it may free what others left, while we count
        synchronize()
        activities = [torch.profiler.ProfilerActivity.CPU]
        profiler = Profiler("Allocations.of", activities=activities, profile_memory=True)
        try:
            result = fn()
            synchronize()
        finally:
            events = profiler.stop()["traceEvents"]
        return result, _changes([event for event in events if event.get("name") == "[memory]"])


def _changes(events: list[dict]) -> Iterator[tuple[float, int]]:
    held: dict[tuple, int] = {}
    for event in sorted(events, key=lambda event: event["ts"]):
        args, second = event["args"], event["ts"] / 1e6
        place = args["Device Type"], args["Device Id"], args["Addr"]
        if args["Bytes"] > 0:
            held[place] = args["Bytes"]
            yield second, args["Bytes"]
        elif place in held:  # Else it was there before
            yield second, -held.pop(place)
