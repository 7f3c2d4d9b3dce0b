"""Execute cells where their lesson is false, and see whether what they assert notices.

The imports of the cells before are executed, and then, in place of all else, the text's cell
tagged `denial`: code that gives the names that the cell reads other values, such as measurements
without any overlap. So nothing long is computed. A name that is missing is a NameError, and the
denial's to give.
"""

from __future__ import annotations

import ast
import importlib.util
import linecache
import multiprocessing
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from d2l_local.base import frameworks

if TYPE_CHECKING:
    from book.builder.model import Block, Section


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
    """Execute cells in this process, and answer what the last asserts, or what went wrong."""
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
            found = "not noticed", ""
        except AssertionError as error:
            found = "noticed", str(error)
    except BaseException:
        found = "broken", traceback.format_exc()
    answer.send(found)


def _imports(source: str) -> str:
    """The import statements of a cell."""
    tree = ast.parse(source)
    found = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n".join(map(ast.unparse, found))


def problems(section: Section, framework: str) -> Iterator[str]:
    """What is wrong with the denials of a section: not noticed, or told another thing."""
    # Not at the top: each fork imports this module, and the builder takes seconds to load
    from book.builder.program import as_python

    def python(block: Block) -> str:
        return as_python(section.code_in(block, section.langs[0]))

    imported: list[str] = []
    for block in section.code_of(framework):
        if block.kind == "wrong":
            continue
        for denial in section.denials_of(block, framework):
            found, said = in_a_fork(framework, [*imported, python(denial), python(block)])
            where = f"{denial.where}: {denial.source.splitlines()[0]}"
            if found != "noticed":
                yield f"{where}: {found} by the cell in {block.where}\n{said}"
            elif said and not denial.refused:
                yield f"{where}: the assertion has a message; give `:refused:` of it: {said}"
            elif denial.refused not in said:
                yield f"{where}: must be told “{denial.refused}”, and is told “{said}”"
        imported.append(_imports(python(block)))


def in_a_fork(framework: str, sources: list[str]) -> tuple[str, str]:
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
        return here.recv() if here.poll(200) else ("broken", "no answer in 200 seconds")
    except EOFError:
        process.join()
        return "broken", f"it ended with exit code {process.exitcode}"
    finally:
        process.kill()
        process.join()
