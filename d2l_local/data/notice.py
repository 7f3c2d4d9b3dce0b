"""What a reader sees of the data, in the notebook's language: every sentence comes through here."""

from __future__ import annotations

import os
from pathlib import Path

from d2l_local.base.language import translated

_announced: str | None = None


def say(template: str, /, **fields: object) -> None:
    """Print a line; of torchrun's processes one says it for all."""
    if _speaks():
        print(translated(template, **fields))


def announce(template: str, /, **fields: object) -> None:
    """Say which data are in use, unless that is what this process said last."""
    global _announced
    line = translated(template, **fields)
    if line != _announced:
        say(template, **fields)
        _announced = line


def tilde(path: Path) -> str:
    """Shorten a path below the home folder; committed outputs then show no reader's name."""
    home = os.path.expanduser("~") + os.sep
    return str(path).replace(home, f"~{os.sep}", 1) if str(path).startswith(home) else str(path)


def _speaks() -> bool:
    return os.environ.get("RANK", "0") == "0"
