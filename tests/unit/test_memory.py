"""Samples of a process's memory: growth, peak, and what ends them."""

from __future__ import annotations

import threading
import time

from d2l_local.measure import memory

import numpy as np
import pytest
from helpers import python, until

MB = 10**6


class Memory(memory.Memory):
    synchronized = 0

    def synchronize(self):
        type(self).synchronized += 1


def test_a_peak_between_beginning_and_end_is_seen():
    """What comparing the memory before and after misses."""
    code = """
        import time
        import numpy as np
        from d2l_local.measure.memory import Memory
        Memory.synchronize = staticmethod(lambda: None)
        with Memory() as sampled:
            held = np.ones(10_000_000)
            time.sleep(0.3)
            del held
        print(sampled.peak, sampled.samples[-1][1])
    """
    done = python(code, MALLOC_MMAP_THRESHOLD_="65536")
    peak, last = map(int, done.stdout.split())
    assert 75 * MB < peak < 100 * MB and last < 10 * MB


def test_samples_are_seconds_and_bytes_from_the_block_s_beginning():
    with Memory() as sampled:
        time.sleep(0.1)
    seconds = [second for second, _ in sampled.samples]
    assert seconds == sorted(seconds) and seconds[0] < 0.05 and seconds[-1] >= 0.1
    assert len(seconds) > 3 and Memory.synchronized >= 2


def test_sampling_ends_with_the_block_also_after_an_error():
    before = threading.active_count()
    synchronized = Memory.synchronized
    with pytest.raises(ZeroDivisionError), Memory() as sampled:
        raise ZeroDivisionError
    assert until(lambda: threading.active_count() <= before)
    assert len(sampled.samples) >= 2 and Memory.synchronized == synchronized + 1


def test_a_block_samples_anew_and_no_block_has_no_peak():
    sampled = Memory()
    with pytest.raises(ValueError, match="nothing was sampled"):
        _ = sampled.peak
    with sampled:
        np.ones(10)
    first = len(sampled.samples)
    with sampled:
        pass
    assert sampled.samples[0][0] < 0.05 and len(sampled.samples) <= first + 2
    assert isinstance(sampled.peak, int)
