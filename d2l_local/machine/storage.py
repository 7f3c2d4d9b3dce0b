"""Files on a disk, and what was read from it rather than from the system's copy in memory."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from pathlib import Path

from d2l_local.base import processes

import psutil

_PIECE = 2**20  # Bytes that are written at a time
_files = contextlib.ExitStack()  # Their folders, until the process ends
atexit.register(_files.close)


def file_on_disk(size: int) -> str:
    """Write ``size`` random bytes to a temporary file and wait until the disk has them.

    Returns its path; the file goes when the process ends, but stays where that is killed. Its
    content is also in the page cache still: to read it from the disk, have it dropped from there
    first. Raises ValueError for less than a byte, and OSError where there is no room.
    """
    if size < 1:
        raise ValueError(f"a file needs at least one byte, not {size}")
    with contextlib.ExitStack() as folder:
        path = str(Path(folder.enter_context(processes.temporary_folder()), "file"))
        with open(path, "wb") as file:
            for start in range(0, size, _PIECE):
                file.write(os.urandom(min(_PIECE, size - start)))
            file.flush()
            os.fsync(file.fileno())
        _files.push(folder.pop_all())  # Only now: what does not fit goes at once
    return path


def bytes_from_disk() -> int:
    """Bytes that the system has had to fetch from a disk for this process until now.

    What lay in the page cache is not among them, nor what lies in memory (tmpfs). Linux counts so.
    0 elsewhere, and where the system does not tell: Windows counts every read, macOS none.
    """
    if sys.platform == "linux":
        # Forbidden in some containers, and empty in others
        with contextlib.suppress(psutil.Error, OSError, RuntimeError, NotImplementedError):
            return int(psutil.Process().io_counters().read_bytes)
    return 0
