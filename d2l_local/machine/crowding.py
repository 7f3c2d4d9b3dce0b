"""What other programs take of the cores while something is timed."""

from __future__ import annotations

import contextlib
import os
import time

from d2l_local.base.language import say
from d2l_local.machine.host import num_cores

import psutil

MOST = 0.05  # The share of the cores that others may have while two devices are compared
CLOCK = 0.05  # Seconds that say something: the system counts in steps of 0.01, a core at a time


class Crowding:
    """What other programs take of this process's cores inside a ``with`` block.

    Afterwards ``share`` is the part of the cores' time in which they computed for others, among
    them other machines of the same host, where the system tells: 0 to 1. The threads of this
    process and the processes that it starts are no others.
    """

    share = 0.0

    def __enter__(self) -> Crowding:
        self._before = _clocks()
        return self

    def __exit__(self, *exception: object) -> None:
        wall, others = (now - then for now, then in zip(_clocks(), self._before))
        if wall > 0 and others > CLOCK:
            self.share = min(others / wall / num_cores(), 1.0)

    def excuses(self, claim: str) -> bool:
        """Whether a claim about time that does not hold need not hold here; prints why.

        For assertions about time, and the only thing that may leave one out::

            assert two < 0.8 * one or crowding.excuses("two devices are faster than one")

        It is so on fewer than two cores, and where others took more than a twentieth of them.
        """
        if num_cores() < 2:
            say("Not judged on a single core: {claim}.", claim=claim)
        elif self.share > MOST:
            say(
                "Not judged, other programs took {share:.0%} of the cores meanwhile: {claim}.",
                share=self.share,
                claim=claim,
            )
        return num_cores() < 2 or self.share > MOST


def _clocks() -> tuple[float, float]:
    """Seconds on the wall, and for which the cores that are ours have computed for others."""
    with contextlib.suppress(OSError, RuntimeError, IndexError):
        return time.monotonic(), _busy() - _own()
    return time.monotonic(), 0.0


def _busy() -> float:
    cores = psutil.cpu_times(percpu=True)
    if hasattr(os, "sched_getaffinity"):
        cores = [cores[core] for core in os.sched_getaffinity(0)]
    idle = ("idle", "iowait", "guest", "guest_nice")  # A guest's time is the user's, too
    return float(sum(sum(core) - sum(getattr(core, n, 0.0) for n in idle) for core in cores))


def _own() -> float:
    """Seconds for which this process has computed, and those that it has started."""
    own = sum(os.times()[:4])  # With the processes that it has waited for
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # It has just ended
            own += sum(process.cpu_times()[:4])
    return own
