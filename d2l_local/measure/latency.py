"""How long the machine's memory takes to answer."""

from __future__ import annotations

import time

from d2l_local.base.arguments import positive_integer

import numpy as np

LINE = 64  # Bytes that come from memory at once, on most CPUs


def read_time(size: int, reads: int = 20_000, repeats: int = 5) -> float:
    """Seconds from one read to the next, where each read says where the next one is.

    The places are the lines of ``size`` bytes of memory, in random order, so that nothing can fetch
    them ahead, and what no cache holds comes from memory each time. The seconds include a step of
    Python's loop, some ten nanoseconds, behind which a core hides part of a read: compare with a
    small ``size``. The best of ``repeats``. ValueError unless the arguments are positive integers.
    """
    for name, value in {"size": size, "reads": reads, "repeats": repeats}.items():
        positive_integer(name, value)
    places = np.arange(0, max(1, size // 8), LINE // 8)
    order = np.random.default_rng(0).permutation(places)
    memory = np.zeros(max(1, size // 8), dtype=np.int64)
    memory[order] = np.roll(order, -1)  # One cycle through all places
    place, times = 0, []
    for _ in range(repeats):  # On and on: what was read before would come from a cache
        seconds, place = _walk(memory.data, place, reads)
        times.append(seconds)
    return min(times) / reads


def _walk(memory: memoryview, place: int, reads: int) -> tuple[float, int]:
    """Return the seconds of so many reads, and the place where they end."""
    start = time.perf_counter()
    for _ in range(reads):
        place = memory[place]
    return time.perf_counter() - start, place
