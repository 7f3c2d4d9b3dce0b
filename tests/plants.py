"""Execute an experiment with one false line in it, and see whether a check below notices.

Only the cells are executed that the checks depend on which depend on the planted cell, on two
devices of this machine, and nothing is excused. Without the false line they must all pass, or be
excused, since a busy machine must not fail them.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path

from book.builder.dependencies import dependencies
from book.builder.execute import execute
from book.builder.model import PARTS, Block, Section
from book.builder.notebook import BuildError, bare
from book.builder.plants import planted
from book.builder.render import names_of_code, notebook

from nbformat import NotebookNode

BLIND = "d2l.Crowding.excuses = lambda self, claim: False\nd2l.excuses = lambda claim: False"


def plants_of(section: Section, framework: str) -> Iterator[tuple[Block, Block, str]]:
    """Yield each plant of a framework, the cell that it changes, and what that says then."""
    code = section.code_of(framework)
    for block in code:
        for plant in section.plants_of(block, framework):
            yield (plant, *planted(plant, code[: code.index(block) + 1]))


def problem(
    section: Section, framework: str, changed: Block, source: str, folder: Path, root: Path
) -> str | None:
    """Say what is wrong with a plant: no check notices it, or something else fails; else None."""
    name = names_of_code(section, framework)[changed.where]
    cells = [
        cell
        for cell in notebook(section, framework, section.langs[0]).code
        if cell.kind not in PARTS and cell.id != "setup"
    ]
    original = {cell.id: cell.source for cell in cells}
    for cell in cells:
        if cell.id == name:
            cell.source = source
    needed = dependencies([cell.source for cell in cells])
    place = [cell.id for cell in cells].index(name)
    checks = [
        i
        for i, cell in enumerate(cells)
        if cell.kind == "score" and "assert" in cell.source and place in needed[i]
    ]
    if not checks:
        return f"no check depends on the cell {name}"
    others = {i for i, cell in enumerate(cells) if cell.kind == "score" and "assert" in cell.source}
    # What else judges is read by nobody, and its own measurements may disagree on a busy machine
    chosen = sorted(set(checks).union(*(needed[i] for i in checks)) - (others - {*checks}))
    node = bare([cells[i] for i in chosen])
    loads = next(i for i, cell in enumerate(node.cells) if " as d2l" in cell.source)
    node.cells[loads].source += f"\n{BLIND}"
    try:
        execute(copy.deepcopy(node), folder, root)
    except BuildError as error:
        failed = re.match(r"cell ([\w-]+):", str(error))
        noticed = failed and failed[1] in {cells[i].id for i in checks}
        if not noticed or "AssertionError" not in str(error):
            return f"broken: {error}"
    else:
        return f"not noticed by {', '.join(cells[i].id for i in checks)}"
    at = node.cells[[cell.id for cell in node.cells].index(name)]
    at.source = at.source.replace(source, original[name])
    node.cells[loads].source = node.cells[loads].source.replace(f"\n{BLIND}", "")
    return refused(node, folder, root)


def refused(node: NotebookNode, folder: Path, root: Path) -> str | None:
    """Say that a program without a plant is refused as well: a measurement has three tries."""
    for _ in range(3):
        try:
            execute(copy.deepcopy(node), folder, root)
        except BuildError as error:
            said = f"refused without the plant, too: {error}"
        else:
            return None
    return said
