"""What other programs take of the cores while something is timed."""

from __future__ import annotations

import contextlib
import math
import os
import time
from typing import NamedTuple

from d2l_local.base.language import say
from d2l_local.machine.cores import cores_of_process, work_of_two
from d2l_local.machine.host import cpu_quota

import psutil

MOST = 0.05  # The share of the cores that others may have while two devices are compared
TWO = 1.7  # Times the work of one core that two must do together to be taken for two
CLOCK = 0.05  # Seconds that say something: the system counts in steps of 0.01, a core at a time

# Of each process, named by its number and beginning: the seconds for which it has computed itself,
# and those of ended processes that it has waited for
_Own = dict[tuple[int, float], tuple[float, float]]


class Crowding:
    """What other programs take of this process's cores inside a ``with`` block.

    Afterwards ``share`` is the part of the cores' time in which they computed for others, among
    them other machines of the same host, where the system tells: 0 to 1. The threads of this
    process and the processes that it starts are no others.
    """

    share = 0.0
    _before: _Clocks | None = None

    def __enter__(self) -> Crowding:
        self._before, self.share = _clocks(), 0.0
        return self

    def __exit__(self, *exception: object) -> None:
        wall, others = _since(self._before) if self._before else (0.0, 0.0)
        if wall > 0 and others > CLOCK:
            self.share = min(others / wall / len(cores_of_process()), 1.0)

    def excuses(self, claim: str) -> bool:
        """Whether a claim about time that does not hold need not hold here; prints why.

        For assertions about time, and the only thing that may leave one out::

            assert two < 0.8 * one or crowding.excuses("two devices are faster than one")

        It is so on fewer than two cores or a quota of fewer, where others took more than a
        twentieth of them, and where two cores together hardly do more than one: asked only now, of
        a block that was entered.
        """
        if min(len(cores_of_process()), cpu_quota()) < 2:
            say("Not judged on a single core: {claim}.", claim=claim)
            return True
        if self.share > MOST:
            say(
                "Not judged, other programs took {share:.0%} of the cores meanwhile: {claim}.",
                share=self.share,
                claim=claim,
            )
            return True
        together = work_of_two() if self._before else TWO
        if together < TWO:
            say(
                "Not judged, two cores now do only {together:.1f} times the work of one: {claim}.",
                together=together,
                claim=claim,
            )
        return together < TWO


latest = Crowding()  # Of what `Backend.seconds` timed last


def excuses(claim: str) -> bool:
    """Whether a claim about what ``seconds`` timed last need not hold here, as `Crowding.excuses`.

    ``assert two < 0.8 * one or d2l.excuses("two devices are faster than one")``. In a process that
    has timed nothing only a single core excuses.
    """
    return latest.excuses(claim)


class _Clocks(NamedTuple):
    """Seconds: on the wall, for which the cores that are ours have computed, and for whom."""

    wall: float
    busy: float
    own: _Own


def _clocks() -> _Clocks:
    with contextlib.suppress(OSError, RuntimeError, IndexError):
        return _Clocks(time.monotonic(), _busy(), _own())
    return _Clocks(time.monotonic(), math.nan, {})  # So that nothing is said of others


def _since(before: _Clocks) -> tuple[float, float]:
    """Seconds on the wall since then, and for which the cores have computed for others."""
    now = _clocks()
    return now.wall - before.wall, now.busy - before.busy - _grown(before.own, now.own)


def _busy() -> float:
    times = psutil.cpu_times(percpu=True)
    cores = [times[core] for core in cores_of_process()]
    idle = ("idle", "iowait", "guest", "guest_nice")  # A guest's time is the user's, too
    return float(sum(sum(core) - sum(getattr(core, n, 0.0) for n in idle) for core in cores))


def _own() -> _Own:
    """Return the seconds of this process and of those that it has started."""
    own = {(os.getpid(), 0.0): (sum(os.times()[:2]), sum(os.times()[2:4]))}
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # It has just ended
            times = process.cpu_times()
            own[process.pid, process.create_time()] = sum(times[:2]), sum(times[2:4])
    return own


def _grown(before: _Own, now: _Own) -> float:
    """Seconds for which our processes have computed in between.

    A process that has ended is among the seconds of the one that waited for it, those from before
    as well, which do not count here. If nobody waited for it, as for a worker whose parent ended
    first, all its seconds are lost; they must not count as negative.
    """
    itself = waited = 0.0
    for process, (computed, of_ended) in now.items():
        computed_before, of_ended_before = before.get(process, (0.0, 0.0))
        itself += computed - computed_before
        waited += of_ended - of_ended_before
    ended = sum(sum(times) for process, times in before.items() if process not in now)
    return itself + max(waited - ended, 0.0)
