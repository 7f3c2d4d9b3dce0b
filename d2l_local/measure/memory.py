"""How the memory of a process grows while it works, and its peak."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psutil

INTERVAL = 0.005  # Seconds between two samples


class Memory:
    """Samples the resident memory of this process inside a ``with`` block.

    ``with Memory() as memory: …`` notes it every 5 ms, and as the block begins and ends. Afterwards
    ``memory.samples`` holds (seconds since the block began, bytes beyond what the process held
    then), and ``memory.peak`` the largest of these bytes. Growth can be negative, where the block
    frees what was there before. The block ends when all devices are idle; after an exception the
    samples up to it are kept. What lies in a GPU's memory is not counted.

    A peak between two samples is missed, and what is freed stays the process's unless the C library
    returns it. Both runs of a comparison therefore need a process of their own (`in_new_process`),
    with glibc's ``MALLOC_MMAP_THRESHOLD_=65536``, which gives arrays back at once.
    """

    def __init__(self) -> None:
        self.samples: list[tuple[float, int]] = []

    @staticmethod
    def synchronize() -> None:
        """Wait until every device is idle. Subclasses say how."""
        raise NotImplementedError

    @property
    def peak(self) -> int:
        """Bytes by which the process grew at most. ValueError before the block."""
        if not self.samples:
            raise ValueError("nothing was sampled: the peak is that of a `with` block")
        return max(size for _, size in self.samples)

    def __enter__(self) -> Memory:
        self.synchronize()
        resident = psutil.Process().memory_info
        start, before = time.perf_counter(), resident().rss

        def sample() -> None:
            self.samples.append((time.perf_counter() - start, resident().rss - before))

        def keep_sampling() -> None:
            while not self._done.wait(INTERVAL):
                sample()

        self.samples = []
        self._sample: Callable[[], None] = sample
        self._done = threading.Event()
        self._thread = threading.Thread(target=keep_sampling, daemon=True)
        sample()
        self._thread.start()
        return self

    def __exit__(self, exception_type: object, exception: object, traceback: object) -> None:
        try:
            if exception_type is None:
                self.synchronize()
        finally:
            self._done.set()
            self._thread.join()
            self._sample()
