"""The cores that the threads of this process may run on, and whether two of them are two."""

from __future__ import annotations

import contextlib
import hashlib
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

DATA = bytes(2**21)  # Takes a core some milliseconds to digest

_divided: list[set[int]] = []  # What each `own_core` divides that is going on, the outermost first


@contextlib.contextmanager
def own_core() -> Iterator[None]:
    """Keep the calling thread on a core of its own, and the process's other threads off it.

    An operating system may put a thread that wakes up on the core of the thread that has woken it,
    even if another core is idle, and then the two take turns. Inside the block they cannot.
    Afterwards every thread may run where it could before. On a single core, and where the system
    offers no choice (macOS, Windows), the block runs as it is. A thread or a process that the
    calling thread starts inside the block shares its core.
    """
    before, this = _cores_of_threads(), threading.get_native_id()
    mine = before.get(this, set())
    if mine:
        own = {min(mine)}
        others = {thread: cores - own or cores for thread, cores in before.items()}
        _place({**others, this: own})
    _divided.append(set().union(*before.values()))
    try:
        yield
    finally:
        _divided.pop()
        started = _cores_of_threads().keys() - before.keys()
        _place({**before, **dict.fromkeys(started, mine)})


def cores_of_process() -> set[int]:
    """The cores that this process may run on, also while `own_core` divides them."""
    if any(_divided):
        return _divided[0]
    if hasattr(os, "sched_getaffinity"):  # Linux
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _cores_of_threads() -> dict[int, set[int]]:
    """The cores on which each thread may run, by its number; empty where the system won't tell."""
    cores: dict[int, set[int]] = {}
    if sys.platform != "linux":
        return cores
    with contextlib.suppress(OSError):
        for thread in map(int, os.listdir("/proc/self/task")):
            with contextlib.suppress(ProcessLookupError):  # It has just ended
                cores[thread] = os.sched_getaffinity(thread)
    return cores


def _place(cores_of_threads: dict[int, set[int]]) -> None:
    for thread, cores in cores_of_threads.items():
        if sys.platform == "linux":
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cores)


def work_of_two() -> float:
    """How many times the work of one core two do together, now: the typical of nine rounds.

    2 where they are two. Less where they are two threads of one core, as on many rented machines,
    or where somebody else has a part of them, which the system need not tell. A seventh of a
    second, without Python's lock.
    """

    def seconds(jobs: int) -> float:
        began = time.perf_counter()
        list(pool.map(hashlib.sha3_512, [DATA] * jobs))
        return time.perf_counter() - began

    with ThreadPoolExecutor(2) as pool:
        seconds(2)  # Starts the threads
        return statistics.median(2 * seconds(1) / seconds(2) for _ in range(9))
