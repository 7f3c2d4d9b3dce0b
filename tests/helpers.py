"""What tests of several modules ask about processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import psutil

PATIENCE = 60  # Seconds; what is waited for mostly takes far less


def runs(pid: int) -> bool:
    """Whether a process is there and is more than an entry that nobody has collected yet."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(condition: Callable[[], object], seconds: float = PATIENCE):
    """Wait until ``condition()`` is true, and return what it is then or after ``seconds``."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def assert_end(pids: Iterable[int]) -> None:
    """Wait for processes that were killed to be gone."""
    pids = list(pids)
    assert until(lambda: not any(map(runs, pids))), f"still there: {[p for p in pids if runs(p)]}"
