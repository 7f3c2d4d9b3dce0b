"""What a reader sees of the data: every sentence goes through `say`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_announced: str | None = None


def say(line: str) -> None:
    """Print a line; of torchrun's processes one says it for all."""
    if _speaks():
        print(line)


def announce(line: str) -> None:
    """Say which data are in use, unless that is what this process said last."""
    global _announced
    if line != _announced:
        say(line)
        _announced = line


@contextlib.contextmanager
def passing(line: str) -> Iterator[None]:
    """Show a line for a while to a reader who watches.

    It is wiped in the end, which leaves nothing in an executed notebook, because whatever stores
    one carries out the carriage returns.
    """
    watched = sys.stdout.isatty() or type(sys.stdout).__module__.startswith("ipykernel.")
    if watched and _speaks():
        print(f"\r{line}", end="", flush=True)
    try:
        yield
    finally:
        if watched and _speaks():
            print(f"\r{' ' * len(line)}\r", end="", flush=True)


def tilde(path: Path) -> str:
    """Shorten a path below the home folder; committed outputs then show no reader's name."""
    home = os.path.expanduser("~") + os.sep
    return str(path).replace(home, f"~{os.sep}", 1) if str(path).startswith(home) else str(path)


def _speaks() -> bool:
    return os.environ.get("RANK", "0") == "0"
