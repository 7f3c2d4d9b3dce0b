"""Plants: a false line in the place of one of the code's own, which a check below must refuse.

    # Nobody waits for the device
    - times = d2l.seconds(jobs)
    + times = dict.fromkeys(jobs, 1e-6)

A denial gives a check other values. A plant changes the experiment itself, and is executed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from book.builder.model import Block


def planted(plant: Block, above: Sequence[Block]) -> tuple[Block, str]:
    """Return the cell above that has the line which a plant replaces, and what it says then.

    Raises ValueError unless the line stands once in the nearest cell that has it.
    """
    comment, *lines = plant.source.split("\n")
    old = [line[2:].strip() for line in lines if line.startswith("- ")]
    new = [line[2:] for line in lines if line.startswith("+ ")]
    if len(old) != 1 or len(old) + len(new) != len(lines):
        raise ValueError("a plant is a comment, one line `- …`, and lines `+ …` in its place")
    for block in reversed(above):
        own = block.source.split("\n")
        places = [i for i, line in enumerate(own) if _bare(line) == old[0]]
        if len(places) > 1:
            raise ValueError(f"{old[0]!r} stands {len(places)} times in {block.where}")
        if places:
            indent = re.match(r"\s*", own[places[0]])
            assert indent, "it matches every string"
            own[places[0] : places[0] + 1] = [indent[0] + line for line in new]
            return block, "\n".join(own)
    raise ValueError(f"no cell above has the line {old[0]!r}")


def _bare(line: str) -> str:
    """Return a line of code without its comment and indentation."""
    return re.sub(r"\s{2}#\s.*$", "", line).strip()
