"""The machine that this process is on: its cores, what they can do, its memory.

No package is needed, and nothing is started.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

GIB = 2**30


def num_cores() -> int:
    """Number of CPU cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_flags(cpuinfo: str = "/proc/cpuinfo") -> set[str]:
    """The instruction-set flags of the first CPU; empty where the system does not tell."""
    with contextlib.suppress(OSError), open(cpuinfo) as lines:
        for line in lines:
            if line.startswith("flags"):
                return set(line.split(":", 1)[1].split())
    return set()


def memory() -> dict:
    """GiB in total and, where the system tells, available; a container's limit counts."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = used = 0
    with contextlib.suppress(OSError, ValueError, KeyError):  # No container, or without a limit
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        # Copies of files, which the system gives up when it needs the room.
        counts = Path("/sys/fs/cgroup/memory.stat").read_text().splitlines()
        used -= int(dict(line.split() for line in counts)["inactive_file"])
    available = None
    with contextlib.suppress(OSError), open("/proc/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                available = int(line.split()[1]) * 1024
    if limit and limit < total:
        total, available = limit, min(available or limit, max(0, limit - used))
    return {
        "total_gib": round(total / GIB, 1),
        "available_gib": None if available is None else round(available / GIB, 1),
    }
