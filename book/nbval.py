"""How pytest treats the notebooks' cells (nbval).

Those that need GPUs are skipped without them. Those that measure have a second try, for which what
they judge is measured again: another program that took the cores for a moment is no mistake of the
notebook's. Each retry is reported.

Of a notebook in several languages the first is tested whole. Of the others only those cells are
executed that do something else, or print other words that are compared, and those that these
depend on. What a cell asserts whose output is not compared is the same in all languages. What needs
more GPUs than there are needs nothing before it, either.
"""

import functools
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from book.builder.dependencies import dependencies
from book.builder.notebook import code_cells, code_key, gpus_needed
from d2l_local.language import counted
from d2l_local.machine.nvidia import installed_gpus

import nbformat
import pytest


@functools.cache
def differing(path: Path, first: Path) -> set[str]:
    """The ids of the cells that do not do what the first notebook's do, and of what they depend on.

    The set-up, which names the language, differs always and counts for nothing by itself.
    """
    cells = [cell for cell in code_cells(nbformat.read(path, 4)) if cell.id != "setup"]
    same = {cell.id: tested(cell) for cell in code_cells(nbformat.read(first, 4))}
    here = len(installed_gpus())
    runs = [gpus_needed(cell) <= here for cell in cells]
    other = [i for i, cell in enumerate(cells) if runs[i] and tested(cell) != same.get(cell.id)]
    # What runs a string may need anything, and what measures may change what it names. Here neither
    # is worth an execution: where it was needed, the cell fails, for what it lacks or what it says.
    sources = [re.sub(r"\b(exec|eval|globals)\b", "print", cell.source) for cell in cells]
    needed = dependencies(sources, {i for i, cell in enumerate(cells) if is_ignored(cell)})
    chosen = {j for i in other for j in (i, *needed[i])}
    return {cells[i].id for i in chosen} | ({"setup"} if chosen else set())


def tested(cell: Mapping) -> str:
    """What is tested of a cell: what it does, and its words if it says any that are compared.

    An exercise's check says in every language that there is no answer yet.
    """
    exercise = "check" in tags(cell)
    return code_key(
        cell["source"], strings=bool(cell["outputs"]) and not is_ignored(cell) and not exercise
    )


def is_ignored(cell: Mapping) -> bool:
    """Whether its output, which differs from run to run, is not compared with the committed one."""
    return "nbval-ignore-output" in tags(cell)


def tags(cell: Mapping) -> list[str]:
    return cell.get("metadata", {}).get("tags", [])


def tested_already(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the items whose cells do the same as those of another language, which come before."""
    found = []
    first: dict[tuple[Path, str], Path] = {}
    for item in items:
        if hasattr(item, "cell"):
            path = first.setdefault((item.path.parents[1], item.path.name), item.path)
            if path != item.path and item.cell.id not in differing(item.path, path):
                found.append(item)
    return found


def pytest_collection_modifyitems(config, items):
    if again := tested_already(items):
        config.hook.pytest_deselected(items=again)
        items[:] = [item for item in items if item not in again]
    for item in items:
        needed = gpus_needed(item.cell) if hasattr(item, "cell") else 0
        if needed > len(installed_gpus()):
            gpus = counted(needed, "GPU")
            reason = f"needs {gpus}: its committed output comes from a machine that has as many"
            item.add_marker(pytest.mark.skip(reason=reason))


def claim_failed(item: pytest.Item) -> bool:
    """Whether an assertion of a cell failed whose outputs are not compared."""
    cell, outputs = getattr(item, "cell", {}), getattr(item, "test_outputs", None) or [{}]
    return is_ignored(cell) and outputs[-1].get("ename") == "AssertionError"


def measured_for(item: Any) -> list[Any]:
    """The earlier cells that a cell uses and that measure, or depend on what is measured."""
    cells = [other for other in item.session.items if other.parent is item.parent]
    needed = dependencies([other.cell.source for other in cells])
    used = needed[cells.index(item)]
    measured = {i for i in used if is_ignored(cells[i].cell)}
    return [cells[i] for i in sorted(used) if i in measured or needed[i] & measured]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except Exception:
        if not claim_failed(item):
            raise
    warnings.warn(f"{item.nodeid}: what it asserts failed once and is tried again", stacklevel=1)
    for cell in (*measured_for(item), item):
        cell.runtest()
