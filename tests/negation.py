"""Execute a cell where its lesson is false, and see whether what it asserts notices.

The imports of the cells before it are executed, and then, in place of all else, ``planted``: code
that gives the names that the cell reads other values, such as measurements without any overlap.
So nothing long is computed. A name that is missing is a NameError, and the row's to plant.
"""

from __future__ import annotations

import ast
import importlib.util
import linecache
import multiprocessing
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from d2l_local.base import frameworks

ROOT = Path(__file__).resolve().parents[1]


class Negation(NamedTuple):
    """A cell, what is planted before it, and why that denies its lesson."""

    framework: str  # Or several, separated by spaces
    cell: str
    planted: str
    why: str


class _Recorded:
    """In place of d2l.Timeline: has recorded ``lanes``, whatever happens in its block."""

    def __init__(self, timeline, lanes):
        lanes = {lane.replace("_", "/"): spans for lane, spans in lanes.items()}
        self.timeline = lambda: timeline(lanes)

    def __call__(self):
        return self

    def __enter__(self):
        return self.timeline()

    def __exit__(self, *error):
        return None

    def of(self, fn):
        fn()
        return self.timeline()


def _run(sources: list[str], answer: Connection) -> None:
    """Execute cells in this process, and answer "noticed", "not noticed" or what went wrong."""
    import matplotlib

    matplotlib.use("agg")
    names: dict = {"__name__": "__main__"}
    names["recorded"] = lambda **lanes: _Recorded(names["d2l"].Timeline, lanes)

    def run(number: int) -> None:
        # With its lines at hand, as a notebook's cell has them, for what reads its own source
        file, source = f"<cell {number}>", sources[number]
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        exec(compile(source, file, "exec"), names)

    *imported, planted, cell = range(len(sources))
    try:
        for number in imported:
            run(number)
        names["d2l"].Crowding.excuses = lambda self, claim: False  # Whatever else this machine does
        names["crowding"] = names["d2l"].Crowding()
        run(planted)
        try:
            run(cell)
            found = "not noticed"
        except AssertionError:
            found = "noticed"
    except BaseException:
        found = traceback.format_exc()
    answer.send(found)


def imports(cell) -> str:
    """The import statements of a cell."""
    from book.builder.notebook import as_python

    tree = ast.parse(as_python(cell.source))
    found = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n".join(map(ast.unparse, found))


def notices(framework: str, section: str, negation: Negation) -> bool:
    """Whether an assertion of the cell fails; raises RuntimeError if something else does."""
    # Not at the top: each fork imports this module, and the builder takes seconds to load
    from book.builder.notebook import as_python, code_cells, read_notebook

    path = ROOT / "chapters" / framework / "en" / f"{section}.ipynb"
    cells = [cell for cell in code_cells(read_notebook(path)) if cell.id != "setup"]
    [index] = [i for i, cell in enumerate(cells) if cell.id == negation.cell]
    sources = [*map(imports, cells[:index]), negation.planted, as_python(cells[index].source)]
    outcome = _in_a_fork(framework, sources)
    if outcome not in ("noticed", "not noticed"):
        raise RuntimeError(f"{negation.cell}, with what is planted:\n{outcome}")
    return outcome == "noticed"


def _in_a_fork(framework: str, sources: list[str]) -> str:
    """What _run answers in a copy of a process that has loaded the framework, which takes long."""
    context = multiprocessing.get_context("forkserver")
    module = frameworks.load()[framework].module
    preload = [f"d2l_local.{module}", "matplotlib.pyplot"]
    # The server passes over what there is not, and each fork would load the framework anew
    assert all(map(importlib.util.find_spec, preload)), preload
    context.set_forkserver_preload(preload)
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(sources, there))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(200) else "no answer in 200 seconds"
    except EOFError:
        process.join()
        return f"it ended with exit code {process.exitcode}"
    finally:
        process.kill()
        process.join()
