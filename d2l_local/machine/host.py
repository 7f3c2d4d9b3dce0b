"""The machine that this process is on: its cores, what they can do, its memory, its folders.

Nothing is started, and no package is needed but to tell of the memory where this is not Linux.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from d2l_local.machine.cores import cores_of_process

GIB = 2**30
PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def num_cores() -> int:
    """Number of CPU cores that this process may use: of a quota, the whole ones, at least one."""
    return int(max(1, min(len(cores_of_process()), cpu_quota())))


def cpu_quota() -> float:
    """Cores' worth of time that the control groups of this process grant it; else infinity."""
    quotas = [float("inf")]
    for group in _control_groups("cpu"):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number
            quota, period = map(int, (group / "cpu.max").read_text("utf-8").split())
            quotas.append(quota / period)
        with contextlib.suppress(OSError, ValueError):  # Version 1
            quota, period = (
                int((group / f"cpu.cfs_{name}_us").read_text("utf-8"))
                for name in ("quota", "period")
            )
            quotas += [quota / period] if quota > 0 else []
    return min(quotas)


def _control_groups(controller: str) -> Iterator[Path]:
    """The folders of the control groups, of either version, that bind this process.

    A group is bound by those around it, too. In a container the names are the host's, and only the
    top is there: the container's own.
    """
    with contextlib.suppress(OSError):
        for line in (PROC / "self/cgroup").read_text("utf-8").splitlines():
            _, controllers, name = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            top = GROUPS / controller if controllers else GROUPS
            group = top / name.lstrip("/")
            yield from (each for each in (group, *group.parents) if each.is_relative_to(top))


def cpu_flags(cpuinfo: str = "/proc/cpuinfo") -> set[str]:
    """The instruction-set flags of the first CPU; empty where the system does not tell."""
    with contextlib.suppress(OSError), open(cpuinfo, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("flags"):
                return set(line.split(":", 1)[1].split())
    return set()


def memory() -> dict[str, float | None]:
    """GiB in total and available, None where nobody tells; a container's limit counts."""
    total, available = physical, _ = _physical_memory()
    for limit, used in _memory_limits():
        if physical and limit < physical:  # Version 1 writes a number near 2**63 for no limit
            total = min(limit, total or limit)
            available = min(available or limit, max(0, limit - used))
    return {"total_gib": _gib(total), "available_gib": _gib(available)}


# Files of a control group: its limit, what it uses, and in memory.stat the copies of files among
# that, which the system gives up when it needs the room. Of version 2 and of version 1.
MEMORY_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def _memory_limits() -> Iterator[tuple[int, int]]:
    """Bytes that each control group of this process with a limit may use, and those it does."""
    for group in _control_groups("memory"):
        for limit, used, copies in MEMORY_FILES:
            with contextlib.suppress(OSError, ValueError, KeyError):  # "max" is no number
                most = int((group / limit).read_text("utf-8"))
                counts = (group / "memory.stat").read_text("utf-8").splitlines()
                stat = dict(line.split() for line in counts)
                yield most, int((group / used).read_text("utf-8")) - int(stat[copies])


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


def writable(folder: Path) -> bool:
    """Whether a folder can be written or, if there is none yet, made.

    By trying: what a system says of permissions leaves out full disks and Windows' lists.
    """
    try:
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=there, buffering=0) as file:
            file.write(bytes(4096))
    except OSError:
        return False
    return True


def has_home() -> bool:
    """Whether this user has a home folder, and can write in it."""
    home = Path(os.path.expanduser("~"))  # As it stands where nobody knows of one
    return home.is_absolute() and writable(home)
