"""The machine that this process is on: its cores, what they can do, its memory.

Nothing is started, and no package is needed but to tell of the memory where this is not Linux.
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
    with contextlib.suppress(OSError), open(cpuinfo, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("flags"):
                return set(line.split(":", 1)[1].split())
    return set()


def memory() -> dict[str, float | None]:
    """GiB in total and available, None where nobody tells; a container's limit counts."""
    total, available = _physical_memory()
    limit = used = 0
    with contextlib.suppress(OSError, ValueError, KeyError):  # No container, or without a limit
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text("utf-8"))
        used = int(Path("/sys/fs/cgroup/memory.current").read_text("utf-8"))
        # Copies of files, which the system gives up when it needs the room.
        counts = Path("/sys/fs/cgroup/memory.stat").read_text("utf-8").splitlines()
        used -= int(dict(line.split() for line in counts)["inactive_file"])
    if limit and (total is None or limit < total):
        total, available = limit, min(available or limit, max(0, limit - used))
    return {"total_gib": _gib(total), "available_gib": _gib(available)}


def _physical_memory() -> tuple[int | None, int | None]:
    """Bytes in total and available, each None where nobody tells."""
    with contextlib.suppress(OSError), open("/proc/meminfo", encoding="utf-8") as lines:
        sizes = dict(line.split()[:2] for line in lines)
        total, available = sizes["MemTotal:"], sizes.get("MemAvailable:")
        return 1024 * int(total), None if available is None else 1024 * int(available)
    with contextlib.suppress(ImportError, OSError):
        import psutil

        machine = psutil.virtual_memory()
        return machine.total, machine.available
    return None, None


def _gib(size: int | None) -> float | None:
    return None if size is None else round(size / GIB, 1)
