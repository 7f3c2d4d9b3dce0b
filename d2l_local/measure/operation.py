"""What one operation costs, and which calls wait for it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from d2l_local.base.arguments import positive_integer
from d2l_local.measure.timeline import Timeline
from d2l_local.measure.timing import measure


@dataclass(frozen=True)
class OperationTimes:
    """Seconds that one operation takes, by who takes them."""

    t_q: float
    """Until the call returns: the front end issues the operation."""

    t_c: float
    """On the device, by the profiler's clock; 0 where nothing is left for it when the call returns,
    as on PyTorch's CPU, which computes inside of the call."""

    t_w: float
    """Until Python notices that the operation has ended, which includes waking both sides up."""


def operation_times(
    op: Callable[[], object],
    n: int = 100,
    rounds: int = 10,
    *,
    synchronize: Callable[[], None],
    recorder: type[Timeline],
) -> OperationTimes:
    """Measure what one call ``op()`` costs, as `Backend.operation_times` says."""
    positive_integer("n", n)
    positive_integer("rounds", rounds)

    def alone() -> None:
        op()
        synchronize()

    issuing: list[float] = []
    waiting, computing = [], []
    for _ in range(rounds):
        issuing += measure(op, 3, n, synchronize=synchronize).issued
        waiting.append(measure(alone, 3, n, synchronize=synchronize).minimum)
        with recorder() as recorded:
            for _ in range(n):
                op()
        computing.append(_on_devices(recorded) / n)
    t_q, t_c = min(issuing), min(computing)
    return OperationTimes(t_q, t_c, max(0.0, min(waiting) - t_q - t_c))


def _on_devices(recorded: Timeline) -> float:
    """Seconds of all that ran behind the calls, each operator as long as is typical of its lane."""
    lanes = [spans for lane, spans in recorded.lanes.items() if lane not in recorded.in_calls]
    return sum(len(spans) * statistics.median(s.end - s.start for s in spans) for spans in lanes)


def waits(
    call: Callable[[Any], object], job: Callable[[], Any], *, synchronize: Callable[[], None]
) -> bool:
    """Whether ``call(job())`` returns only when the job is done, as `Backend.waits` says."""
    call(job())
    synchronize()
    start = time.perf_counter()
    call(job())
    returned = time.perf_counter() - start
    synchronize()
    return returned > 0.5 * (time.perf_counter() - start)
