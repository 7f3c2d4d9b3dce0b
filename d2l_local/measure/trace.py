"""The file between a framework's profiler, which writes it, and a `Timeline`, which reads it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from d2l_local.base.processes import temporary_folder

ROOM = 2**16  # Bytes that must be left on a disk that has had room for the whole trace


@contextlib.contextmanager
def trace_file() -> Iterator[str]:
    """The path for a trace, in a folder that only this user can read or write.

    A profiler deletes and makes the file that it is told, so nobody else may put anything there.
    RuntimeError: the folder for temporary files has a name that frameworks, which take paths in
    UTF-8, cannot be told in this locale.
    """
    with temporary_folder() as folder:
        path = os.path.join(folder, "trace.json")
        try:
            path.encode()
        except UnicodeEncodeError:
            raise RuntimeError(
                f"the folder {os.path.dirname(folder)!a} has letters in its name that this "
                "locale does not have; set PYTHONUTF8=1 before Python starts, or name another "
                "folder in TMPDIR"
            ) from None
        yield path


def read(path: str) -> str:
    """The trace that a profiler has written. OSError: there was not room enough for it."""
    try:
        with open(path, "r+", encoding="utf-8", errors="replace") as file:
            text = file.read()
            # No profiler says that the disk was full; what it left may end anywhere.
            file.write(" " * ROOM)
    except OSError as error:
        what = "the profiler could not write its trace; make room, or name another folder in TMPDIR"
        raise OSError(error.errno, f"{error.strerror}: {what}", path) from None
    return text
