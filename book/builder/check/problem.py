"""What the rules of `check` find."""

from __future__ import annotations

from typing import NamedTuple

from book.builder.model import Block

ERROR = "error"
UNREADY = "unready"  # A warning, and of a release an error
HINT = "hint"  # A warning


class Problem(NamedTuple):
    """What is wrong, and where: in a line of a text, or in a notebook."""

    where: str
    what: str
    level: str = ERROR
    counted: str = ""  # Of all sections only a count is told, under this name
    cure: tuple[str, str] | None = None  # A command that mends it, and the section that it takes

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def at(block: Block, what: str, level: str = ERROR, counted: str = "") -> Problem:
    """Return a problem of a block."""
    name = f"{block.lang}/{block.id}" if block.lang else "code"
    return Problem(block.where, f"[{name}] {what}", level, counted)
