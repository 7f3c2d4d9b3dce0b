"""How pytest treats the notebooks' cells (nbval).

Those that need GPUs are skipped without them. Those that measure have a second try
(`book.builder.retry`), which a warning reports.

Of a notebook in several languages the first is tested whole. Of the others only those cells are
executed that do something else, or print other words that are compared, and those that these
depend on. What a cell asserts whose output is not compared is the same in all languages. What needs
more GPUs than there are needs nothing before it, either.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from book.builder import retry
from book.builder.dependencies import dependencies
from book.builder.notebook import code_cells, gpus_needed, measures, tags, with_answers
from book.builder.program import code_key
from d2l_local.base.language import counted
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
    # What runs a string may need anything, and what measures or keeps the score may change what it
    # names. Here neither is worth an execution: where it was needed, the cell fails, for what it
    # lacks or what it says.
    sources = [re.sub(r"\b(exec|eval|globals)\b", "print", cell.source) for cell in cells]
    harmless = {i for i, cell in enumerate(cells) if measures(cell) or "score" in tags(cell)}
    needed = dependencies(sources, harmless)
    chosen = {j for i in other for j in (i, *needed[i])}
    return {cells[i].id for i in chosen} | ({"setup"} if chosen else set())


def tested(cell: Mapping) -> str:
    """What is tested of a cell: what it does, and its words if it says any that are compared.

    An exercise's check says in every language that there is no answer yet.
    """
    exercise = "check" in tags(cell)
    return code_key(
        cell["source"], strings=bool(cell["outputs"]) and not measures(cell) and not exercise
    )


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
        if not hasattr(item, "cell"):
            continue
        item.cell.outputs = committed_outputs(item.path)[item.cell.id]
        needed = gpus_needed(item.cell)
        if needed > len(installed_gpus()):
            gpus = counted(needed, "GPU")
            reason = f"needs {gpus}: its committed output comes from a machine that has as many"
            item.add_marker(pytest.mark.skip(reason=reason))


@functools.cache
def committed_outputs(path: Path) -> dict[str, list[nbformat.NotebookNode]]:
    """The outputs of a notebook's cells by their ids, also those that stand in a fold."""
    node = with_answers(nbformat.read(path, 4))
    return {cell.id: cell.outputs for cell in code_cells(node)}


def claim_failed(item: pytest.Item) -> bool:
    """Whether an assertion about a measurement has failed in a cell."""
    items = of_its_notebook(item)
    if item not in items:
        return False
    outputs = getattr(item, "test_outputs", None) or []
    return retry.claim_failed([each.cell for each in items], items.index(item), outputs)


def of_its_notebook(item: Any) -> list[Any]:
    """The cells of an item's notebook that are tested; none of what is no cell."""
    items = item.session.items if hasattr(item, "cell") else []
    return [other for other in items if other.parent is item.parent]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except Exception:
        if not claim_failed(item):
            raise
    warnings.warn(f"{item.nodeid}: {retry.TRIED_AGAIN}", stacklevel=1)
    items = of_its_notebook(item)
    for i in retry.to_measure_again([other.cell for other in items], items.index(item)):
        if not items[i].get_closest_marker("skip"):
            items[i].runtest()
    item.runtest()


def excess(config: pytest.Config) -> str | None:
    """Say what is wrong with the second tries of a run, those of all its processes together."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    told = reporter.stats.get("warnings", []) if reporter else []
    return retry.too_many(sum(retry.TRIED_AGAIN in warning.message for warning in told))


def pytest_terminal_summary(terminalreporter, config):
    if too_many := excess(config):
        terminalreporter.write_line(too_many, red=True)


def pytest_sessionfinish(session):
    if excess(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
