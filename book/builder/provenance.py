"""Where a cell's output comes from: on which machine, when, with what, and from which code.

Notebooks list their runs once, in `metadata.d2l_local`; each code cell says, in its own, which
run its output comes from, and has a hash of the code that made it (`book.builder.dependencies`):

    {"runs": [{"machine": {"cores": 2, ...}, "date": "2026-11-21", "versions": {...}}]}
    {"run": 0, "code": "5f0c2a91d3e4", ...}

An output holds as long as the hash is that of the cell today. If it is not, a cell that needs GPUs
keeps its output on a machine without them, and is called stale; all others are executed again.
"""

from __future__ import annotations

import copy
import datetime
import json
import platform
from importlib import metadata

from book.builder.dependencies import digests
from book.builder.notebook import code_cells, gpus_needed
from d2l_local.language import SKIPPED, beginnings
from d2l_local.machine.facts import facts, in_words, num_gpus

from nbformat import NotebookNode

PACKAGES = ("d2l", "matplotlib", "mxnet", "numpy", "torch")  # Whose versions a run names


def this_run() -> dict:
    """Return the machine, the date and the versions of what is executed now."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    today = datetime.date.today().isoformat()
    return {"machine": facts(), "date": today, "versions": versions}


def hashes(notebook: NotebookNode) -> dict[str, str]:
    """Return for each code cell, by id, the hash of what its output depends on.

    The set-up cell counts for nothing, since it does nothing here, but for the language that it
    may set: that counts for all.
    """
    cells = code_cells(notebook)
    sources = ["" if cell.id == "setup" else cell.source for cell in cells]
    language = [
        line
        for cell in cells
        if cell.id == "setup"
        for line in cell.source.splitlines()
        if "D2L_LANGUAGE" in line
    ]
    return {cell.id: code for cell, code in zip(cells, digests(sources, "".join(language)))}


def run_of(notebook: NotebookNode, cell: NotebookNode) -> dict | None:
    """Return the run that a cell's output comes from; None if it has none."""
    runs = notebook.metadata.get("d2l_local", {}).get("runs", [])
    number = cell.metadata.get("d2l_local", {}).get("run")
    return runs[number] if isinstance(number, int) and 0 <= number < len(runs) else None


def code_of(cell: NotebookNode) -> str | None:
    """Return the hash of the code that made a cell's output."""
    return cell.metadata.get("d2l_local", {}).get("code")


def without_gpus(notebook: NotebookNode, cell: NotebookNode) -> str | None:
    """Say why a cell for GPUs has no output from as many as it needs; None if it has."""
    needed, run = gpus_needed(cell), run_of(notebook, cell)
    if run is None or num_gpus(run["machine"]) < needed:
        return f"was executed on {in_words(run['machine']) if run else 'no machine that is known'}"
    said = json.dumps(cell.outputs, ensure_ascii=False)
    if needed and (not cell.outputs or any(line in said for line in beginnings(SKIPPED))):
        return "has no output from them"
    return None


def as_made(notebook: NotebookNode) -> NotebookNode:
    """Return a copy as the text makes it: without outputs and what is recorded of them."""
    bare = copy.deepcopy(notebook)
    bare.metadata.pop("d2l_local", None)
    for cell in code_cells(bare):
        cell.outputs, cell.execution_count = [], None
        for key in ("run", "code"):
            cell.metadata.get("d2l_local", {}).pop(key, None)
    return bare


# ---- From notebook to notebook -------------------------------------------------------------------


def keep(notebook: NotebookNode, committed: NotebookNode) -> None:
    """Give a notebook the outputs of its committed predecessor that hold, with their records.

    Cells are matched by their hash. One that needs GPUs and has another hash keeps the output of
    the cell of its name, for no other machine may be able to make one.
    """
    codes = hashes(notebook)
    old = [cell for cell in code_cells(committed) if run_of(committed, cell)]
    for cell in code_cells(notebook):
        found = [o for o in old if code_of(o) == codes[cell.id]]
        found = [o for o in found or old if o.id == cell.id] or found
        if found and (code_of(found[0]) == codes[cell.id] or gpus_needed(cell)):
            old.remove(found[0])
            inherit(notebook, cell, committed, found[0])


def inherit(
    notebook: NotebookNode, cell: NotebookNode, other: NotebookNode, source: NotebookNode
) -> None:
    """Give a cell the outputs of another notebook's cell with their record, if they have one."""
    run, code = run_of(other, source), code_of(source)
    if run and code:
        take(notebook, cell, source, run, code)


def take(
    notebook: NotebookNode, cell: NotebookNode, source: NotebookNode, run: dict, code: str
) -> None:
    """Give a cell of a notebook the outputs of another, which that run made of that code."""
    runs = notebook.metadata.setdefault("d2l_local", {}).setdefault("runs", [])
    if run not in runs:
        runs.append(run)
    cell.outputs = copy.deepcopy(source.outputs)
    cell.metadata.setdefault("d2l_local", {}).update(run=runs.index(run), code=code)


def empty(cell: NotebookNode) -> None:
    """Take a cell's outputs from it, and what is recorded of them."""
    cell.outputs = []
    for key in ("run", "code"):
        cell.metadata["d2l_local"].pop(key, None)


def tidy(notebook: NotebookNode) -> None:
    """Number the executed cells in their order, and drop the runs that none of them names."""
    cells = code_cells(notebook)
    runs = [run_of(notebook, cell) for cell in cells]
    named = [run for i, run in enumerate(runs) if run and run not in runs[:i]]
    for number, (cell, run) in enumerate(zip(cells, runs), 1):
        cell.execution_count = number if run else None
        if run:
            cell.metadata["d2l_local"]["run"] = named.index(run)
        for output in cell.outputs:
            if "execution_count" in output:
                output["execution_count"] = number
    notebook.metadata.setdefault("d2l_local", {})["runs"] = named
