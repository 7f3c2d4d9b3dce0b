"""Where a cell's output comes from: on which machine, when, with what, and from which code.

Notebooks list their runs once, in `metadata.d2l_local`; each code cell says, in its own, which
run its output comes from, and has a hash of the code that made it (`book.builder.dependencies`)
and, if that loads images, of the images:

    {"runs": [{"machine": {"cores": 2, ...}, "date": "2026-11-21", "versions": {...}}]}
    {"run": 0, "code": "5f0c2a91d3e4", ...}

An output holds as long as the hash is that of the cell today. If it is not, a cell that needs or
had more GPUs than there are keeps its output, and is called stale, to the reader, too; all others
are executed again. What asks the reader, and measures nothing, can be made anew on every machine.
"""

from __future__ import annotations

import copy
import datetime
import json
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from book.builder.certificate import Run
from book.builder.dependencies import because, digests
from book.builder.model import PARTS
from book.builder.notebook import code_cells, code_key, decided, gpus_needed
from book.builder.values import as_written
from d2l_local.base import frameworks
from d2l_local.base.language import SKIPPED, beginnings
from d2l_local.machine.facts import facts, in_words, num_gpus

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

NOTE = "stale"  # The kind of a cell that the builder adds below a stale output
CHANGED = "what made its output has changed"


def packages() -> list[str]:
    """Return the packages whose versions a run names: every framework's, and what all use."""
    of_frameworks = (row.distributions for row in frameworks.load().values())
    return sorted({"d2l", "matplotlib", "numpy"}.union(*of_frameworks))


def this_run() -> Run:
    """Return the machine, the date and the versions of what is executed now."""
    versions = {"python": platform.python_version()}
    for package in packages():
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    today = datetime.date.today().isoformat()
    return {"machine": facts(), "date": today, "versions": versions}


def digests_of(notebook: NotebookNode, on_gpu: bool) -> dict[str, str]:
    """Return for each code cell, by id, the hash of what its output depends on, with GPUs or none.

    The set-up cell counts for nothing, since it does nothing here, but for the language that it
    may set: that counts for all.
    """
    cells = code_cells(notebook)
    sources = ["" if cell.id == "setup" else decided(cell.source, on_gpu) for cell in cells]
    language = [
        line
        for cell in cells
        if cell.id == "setup"
        for line in cell.source.splitlines()
        if "D2L_LANGUAGE" in line
    ]
    return {cell.id: code for cell, code in zip(cells, digests(sources, "".join(language)))}


class Recorded:
    """A notebook's code cells, and of each the run and the code that its output comes from.

    ``here`` is how many GPUs this machine has, which is asked for once, because it takes a look at
    the whole machine.
    """

    def __init__(self, notebook: NotebookNode):
        self.notebook = notebook
        self.cells = code_cells(notebook)
        self.by_id = {cell.id: cell for cell in self.cells}
        self._digests: dict[bool, dict[str, str]] = {}
        self.here = num_gpus(facts())

    @property
    def runs(self) -> list[Run]:
        runs: list[Run] = self.notebook.metadata.get("d2l_local", {}).get("runs", [])
        return runs

    @runs.setter
    def runs(self, runs: list[Run]) -> None:
        self.notebook.metadata.setdefault("d2l_local", {})["runs"] = runs

    def run(self, cell: NotebookNode) -> Run | None:
        """Return the run that a cell's output comes from; None if it has none."""
        number = cell.metadata.get("d2l_local", {}).get("run")
        return self.runs[number] if isinstance(number, int) and number < len(self.runs) else None

    def digest(self, name: str, run: Run) -> str:
        """Return the hash of what a cell's code is now, on a machine like that of a run."""
        on_gpu = num_gpus(run["machine"]) > 0
        if on_gpu not in self._digests:
            self._digests[on_gpu] = digests_of(self.notebook, on_gpu)
        return self._digests[on_gpu][name]

    def code(self, cell: NotebookNode) -> str | None:
        """Return the hash of the code that made a cell's output."""
        code: str | None = cell.metadata.get("d2l_local", {}).get("code")
        return code

    def gpus(self, cell: NotebookNode) -> int:
        """Return how many GPUs a cell needs, or its output had, if that is more."""
        run = self.run(cell)
        measures = cell.metadata.get("d2l_local", {}).get("kind") not in PARTS
        return max(gpus_needed(cell), num_gpus(run["machine"]) if run and measures else 0)

    def out_of_reach(self, cell: NotebookNode) -> int:
        """Return how many GPUs an output takes that can't be made anew here; else 0."""
        needed = self.gpus(cell)
        return needed if needed > self.here else 0

    def without_gpus(self, cell: NotebookNode) -> str | None:
        """Say why a cell for GPUs has no output from as many as it needs; None if it has."""
        needed, run = gpus_needed(cell), self.run(cell)
        if run is None or num_gpus(run["machine"]) < needed:
            return (
                f"was executed on {in_words(run['machine']) if run else 'no machine that is known'}"
            )
        said = json.dumps(cell.outputs, ensure_ascii=False)
        if needed and any(line in said for line in beginnings(SKIPPED)):
            return "has no output from them"
        return None

    def holds(self, cell: NotebookNode) -> bool:
        """Whether a cell's output is that of its code, on as many GPUs as it needs."""
        run = self.run(cell)
        same = run is not None and self.code(cell) == self.digest(cell.id, run)
        return same and not self.without_gpus(cell)

    def stale(self) -> dict[str, tuple[int, str]]:
        """Return the cells, by id, whose outputs do not hold and can't be made anew here.

        Each with how many GPUs that takes, and why it does not hold.
        """
        found = {}
        for cell in self.cells:
            needed = self.out_of_reach(cell)
            if needed and not self.holds(cell):
                why = self.without_gpus(cell) if gpus_needed(cell) else None
                found[cell.id] = needed, why or CHANGED
        return found

    def why(self, name: str, now: Recorded) -> str | None:
        """Say why a cell must be executed again for the notebook as it is ``now``; None if not."""
        cell = self.by_id[name]
        run = self.run(cell)
        if not cell.execution_count or run is None:
            return "was not executed"
        if name in now.by_id and self.code(cell) != now.digest(name, run):
            return f"{changed(name, self.notebook, now.notebook) or CHANGED}: build it"
        if why := self.without_gpus(cell):
            return f"{why}, and here are as many as it needs: build it"
        return None

    def take(self, cell: NotebookNode, source: NotebookNode, run: Run, code: str) -> None:
        """Give a cell the outputs of another, which that run made of that code."""
        if run not in self.runs:
            self.runs = [*self.runs, run]
        cell.outputs = copy.deepcopy(source.outputs)
        cell.metadata.setdefault("d2l_local", {}).update(run=self.runs.index(run), code=code)

    def share(self, other: Recorded) -> None:
        """Take all outputs of a notebook with the same code in another language."""
        for cell, source in zip(self.cells, other.cells):
            run, code = other.run(source), other.code(source)
            if run and code:
                self.take(cell, source, run, code)
        self.tidy()

    def tidy(self) -> None:
        """Number the executed cells in their order, and drop the runs that none of them names."""
        runs = [self.run(cell) for cell in self.cells]
        named = [run for i, run in enumerate(runs) if run and run not in runs[:i]]
        for number, (cell, run) in enumerate(zip(self.cells, runs), 1):
            cell.execution_count = number if run else None
            if run:
                cell.metadata["d2l_local"]["run"] = named.index(run)
            for output in cell.outputs:
                if "execution_count" in output:
                    output["execution_count"] = number
        self.runs = named

    def put_notes(self, text: str) -> None:
        """Say below each output that an older program made: ``text``, with its machine and date."""
        old, cells = self.stale(), []
        for cell in self.notebook.cells:
            if is_note(cell):
                continue
            cells.append(cell)
            run = self.run(cell) if cell.id in old else None
            if run and cell.outputs and num_gpus(run["machine"]):
                gpus = ", ".join(f"{gpu['count']}× {gpu['name']}" for gpu in run["machine"]["gpus"])
                said = text.format(machine=gpus, date=run["date"])
                about = {**cell.metadata["d2l_local"], "id": f"{cell.id}-{NOTE}", "kind": NOTE}
                about = {key: about[key] for key in ("id", "frameworks", "order", "kind")}
                cells.append(
                    new_markdown_cell(f"*{said}*", id=about["id"], metadata={"d2l_local": about})
                )
        self.notebook.cells = cells


def changed(name: str, then: NotebookNode, now: NotebookNode) -> str | None:
    """Say what of a notebook has changed that a cell depends on; None if the sources don't tell."""
    old = {cell.id: code_key(cell.source) for cell in code_cells(then)}
    new = {cell.id: cell.source for cell in code_cells(now)}
    known = {*old.values()}  # Of whatever cell: a new one gives those below it other names
    if code_key(new[name]) not in known:
        return "its code has changed"
    names = [*new]
    found = because(["" if name == "setup" else source for name, source in new.items()])
    for place, (by, variable) in sorted(found[names.index(name)].items()):
        cell = names[place]
        if cell != "setup" and code_key(new[cell]) not in known:
            what = "has changed" if cell in old else "is new"
            through = "" if names[by] == name else f"depends on cell {names[by]}, which "
            reads = f"names {variable}" if variable else "may read anything"
            return f"{through}{reads}, and cell {cell} {what}"
    return None


def as_made(notebook: NotebookNode) -> NotebookNode:
    """Return a copy as the text makes it: without outputs and what is recorded of them."""
    bare = copy.deepcopy(notebook)
    bare.metadata.pop("d2l_local", None)
    bare.cells = [cell for cell in bare.cells if not is_note(cell)]
    for cell in bare.cells:
        as_written(cell)
    for cell in code_cells(bare):
        empty(cell)
        cell.execution_count = None
    return bare


def empty(cell: NotebookNode) -> None:
    """Take a cell's outputs from it, and what is recorded of them."""
    cell.outputs = []
    for key in ("run", "code"):
        cell.metadata.get("d2l_local", {}).pop(key, None)


def is_note(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("d2l_local", {}).get("kind") == NOTE)


# ---- From notebook to notebook -------------------------------------------------------------------


def keep(notebook: Recorded, committed: Recorded) -> None:
    """Give a notebook the outputs of its committed predecessor that hold, with their records.

    Cells are matched by their hash. An output that cannot be made anew here is kept where only
    what the cell depends on has changed, or else by the cell of its name.
    """
    old = [cell for cell in committed.cells if committed.run(cell)]
    new = dict(notebook.by_id)

    def matched(held: str, cell: NotebookNode) -> bool:
        if held == "code":
            run = committed.run(cell)
            return run is not None and committed.code(cell) == notebook.digest(now.id, run)
        like = (
            code_key(cell.source) == code_key(now.source) if held == "text" else cell.id == now.id
        )
        return like and bool(committed.out_of_reach(cell))

    for held in ("code", "text", "name"):
        for now in list(new.values()):
            found = [cell for cell in old if matched(held, cell)]
            found.sort(key=lambda cell: cell.id != now.id)
            if found:
                old.remove(found[0])
                del new[now.id]
                run, code = committed.run(found[0]), committed.code(found[0])
                if run and code:
                    notebook.take(now, found[0], run, code)
