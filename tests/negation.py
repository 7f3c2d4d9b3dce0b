"""Execute a cell where its lesson is false, and see whether what it asserts notices.

The imports of the cells before it are executed, and then, in place of all else, ``planted``: code
that gives the names that the cell reads other values, such as measurements without any overlap.
So nothing long is computed. A name that is missing is a NameError, and the row's to plant.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

from book.builder.notebook import as_python, code_cells, read_notebook

from helpers import python

ROOT = Path(__file__).resolve().parents[1]


class Negation(NamedTuple):
    """A cell, what is planted before it, and why that denies its lesson."""

    framework: str
    section: str
    cell: str
    planted: str
    why: str
    weak: str = ""  # Why the cell does not notice, until its text is mended


PROGRAM = """
import linecache, sys, traceback

def run(number, source):
    name = f"<cell {{number}}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), names)

def recorded(**lanes):
    # A d2l.Timeline that has recorded this, whatever happens in its block.
    Timeline = names["d2l"].Timeline
    def enter(): return Timeline({{lane.replace("_", "/"): spans for lane, spans in lanes.items()}})
    class Recorded:
        def __enter__(self): return enter()
        def __exit__(self, *error): return None
        @staticmethod
        def of(fn):
            fn()
            return enter()
    return Recorded

names = {{"__name__": "__main__", "recorded": recorded}}
*before, cell = {sources!r}
for number, source in enumerate(before):
    run(number, source)
try:
    run("of the lesson", cell)
except AssertionError:
    print("\\nnoticed")
else:
    print("\\nnot noticed")
"""


def imports(cell) -> str:
    """The import statements of a cell."""
    tree = ast.parse(as_python(cell.source))
    found = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n".join(map(ast.unparse, found))


def notices(negation: Negation) -> bool:
    """Whether an assertion of the cell fails; raises RuntimeError if something else does."""
    path = ROOT / "chapters" / negation.framework / "en" / f"{negation.section}.ipynb"
    cells = [cell for cell in code_cells(read_notebook(path)) if cell.id != "setup"]
    [index] = [i for i, cell in enumerate(cells) if cell.id == negation.cell]
    sources = [*map(imports, cells[:index]), negation.planted, as_python(cells[index].source)]
    done = python(PROGRAM.format(sources=sources), MPLBACKEND="agg")
    outcome = done.stdout.splitlines()[-1]
    if outcome not in ("noticed", "not noticed"):
        raise RuntimeError(f"{negation.cell}, with what is planted:\n{done.stdout}")
    return outcome == "noticed"
