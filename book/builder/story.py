"""A story's two kinds of code: what works keeps its values, and what tells is executed from these.

So a label, a title, a word of another language or a better picture never costs a machine with a
GPU: the cells that tell are executed anew wherever the notebook is built.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from book.builder.dependencies import names_of
from book.builder.execute import execute
from book.builder.kept import read
from book.builder.notebook import Cell, Notebook, Run, bare, data_of
from book.builder.page import Page
from book.builder.program import DEFINITIONS, as_python
from book.builder.provenance import MACHINE, language_of, this_run
from d2l_local.machine.facts import in_words, num_gpus

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

HARDWARE = "hardware"  # The section that measures P and W
IMPORTS = (ast.Import, ast.ImportFrom)
KEEP = "from book.builder import kept as _kept\n_kept.keep_from_now_on()"


def keeping(notebook: NotebookNode) -> NotebookNode:
    """Have a notebook for a kernel say after each cell what that has kept."""
    notebook.cells.insert(0, new_code_cell(KEEP, id="keep"))
    return notebook


def take_kept(cell: NotebookNode) -> dict[str, str]:
    """Return what an executed cell has kept, and take it out of its outputs."""
    said = [output for output in cell.outputs if "kept" in data_of(output)]
    cell.outputs = [output for output in cell.outputs if output not in said]
    return {name: text for output in said for name, text in data_of(output)["kept"].items()}


def tell(notebook: Notebook, folder: Path, root: Path) -> None:
    """Execute a story's cells that tell, from what is kept, and take their outputs.

    Raises BuildError, naming the cell, where one fails.
    """
    needed = needed_definitions(notebook)
    node, own = keeping(bare([])), {}
    if language := language_of(notebook):
        node.cells.append(new_code_cell(f"import os\n{language}", id="language"))
    run: Run | None = None
    for cell in notebook.code:
        if notebook.tells(cell):
            own[cell.id] = cell, run
            node.cells += bare([cell]).cells
            continue
        run = cell.run or run
        gpus = num_gpus(run["machine"]) if run else 0
        if cell.id == "setup":
            continue
        imports = [each for each in needed[cell.id] if isinstance(each, IMPORTS)]
        rest = [each for each in needed[cell.id] if each not in imports]
        sources = [ast.unparse(each) for each in imports]
        sources += [f"_kept.tell_of({cell.kept!r}, {gpus})"] if cell.kept else []
        # Then, for what a default or a decorator names is known where a function is defined
        plain = {name for name, text in cell.kept.items() if text != "None"}
        sources += [ast.unparse(each) for each in rest if not _bound(each) <= plain]
        node.cells.append(new_code_cell("\n".join(sources), id=f"{cell.id}-kept"))
    folder.mkdir(parents=True, exist_ok=True)
    execute(node, folder, root)
    for made in node.cells:
        if made.id in own:
            cell, run = own[made.id]
            cell.kept, cell.outputs, cell.run = take_kept(made), made.outputs, run or this_run()


def put_machine(page: Page) -> None:
    """Say below a story's title which machine it is told from, and how fast that is.

    Its $P$ and $W$ are its own, if it has measured them, or else those that the section on
    hardware has kept of such a machine.
    """
    line = machine_line(page, page.made)
    if not line:
        return
    cell = Cell("markdown", MACHINE, line, kind=MACHINE)
    cell.frameworks = page.made.cells[0].frameworks
    page.made.cells.insert(1, cell)


def machine_line(page: Page, notebook: Notebook) -> str:
    """Return that line for the outputs that a page's notebook has; no text where it needs none."""
    chapter = page.section.chapter
    runs = [cell.run for cell in notebook.work if cell.run and cell.kept]
    if not (notebook.form and runs):
        return ""
    used = chapter.frameworks[page.framework]
    versions = [
        f"{used.title} {runs[0]['versions'][name]}"
        for name in used.distributions[:1]
        if name in runs[0]["versions"]
    ]
    line = chapter.word(page.lang, "machine").format(
        machine=machine_in_words(runs[0]["machine"]),
        versions="".join(versions),
        rates=rates(page, notebook),
    )
    return f"*{line}*"


def machine_in_words(machine: dict[str, Any]) -> str:
    """Return a machine as a story speaks of it: by its GPU, if it has one."""
    gpus = [gpu["name"] for gpu in machine.get("gpus", [])]
    return f"NVIDIA {gpus[0].removeprefix('NVIDIA ')}" if gpus else in_words(machine)


def rates(page: Page, notebook: Notebook) -> str:
    """Return how fast the machine is: as measured here, or in the section on hardware."""
    there: Notebook | None = notebook
    if not {"P", "W"} <= notebook.kept.keys():
        there = page.notebook_of(HARDWARE)
    if not (there and {"P", "W"} <= there.kept.keys()):
        return ""
    here, measured = (
        next(cell.run for cell in each.work if cell.run and cell.kept) for each in (notebook, there)
    )
    if machine_in_words(here["machine"]) != machine_in_words(measured["machine"]):
        return ""
    found = read({name: there.kept[name] for name in ("P", "W")})
    shown = {name: _in_units(value) for name, value in found.items()}
    return page.section.chapter.word(page.lang, "rates").format(**shown)


def _in_units(rate: float) -> str:
    unit, sign = (1e12, "T") if rate >= 1e12 else (1e9, "G")
    return f"{rate / unit:,.3g} {sign}"


def needed_definitions(notebook: Notebook) -> dict[str, list[ast.stmt]]:
    """Return of each cell that works what it imports and defines that those that tell may call."""
    wanted: set[str] = {"d2l"}
    for cell in notebook.code:
        if notebook.tells(cell):
            names = names_of(cell.source)
            wanted |= names.now | names.later
    defined = {cell.id: _definitions(cell) for cell in notebook.work if cell.id != "setup"}
    before = -1
    while len(wanted) > before:  # Since a function may call one that is defined further down
        before = len(wanted)
        for node in (node for nodes in defined.values() for node in nodes):
            if _bound(node) & wanted:
                wanted |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return {
        name: [node for node in nodes if _bound(node) & wanted] for name, nodes in defined.items()
    }


def _definitions(cell: Cell) -> list[ast.stmt]:
    tree = ast.parse(as_python(cell.source))
    return [node for node in tree.body if isinstance(node, DEFINITIONS)]


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, IMPORTS):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    assert isinstance(node, (ast.FunctionDef, ast.ClassDef))
    return {node.name}
