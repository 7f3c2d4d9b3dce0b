"""Where a cell's output comes from: on which machine, when, with what, and from which code.

A cell remembers the run that its output comes from, and a hash of the code that made it
(`book.builder.dependencies`) and, if that loads images, of the images.

An output holds as long as the hash is that of the cell today. If it is not, a cell that needs or
had more GPUs than there are keeps its output, and is called stale, to the reader, too; all others
are executed again. What asks the reader, and measures nothing, can be made anew on every machine.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import platform
from collections.abc import Callable
from importlib import metadata

from book.builder.dependencies import because, code_hashes
from book.builder.model import PARTS
from book.builder.notebook import Cell, Notebook, Run, gpus_needed
from book.builder.program import code_key, decided, definitions
from d2l_local.base import frameworks
from d2l_local.base.language import SKIPPED, beginnings
from d2l_local.machine.facts import facts, in_words, num_gpus

NOTE = "stale"  # The kind of a cell that the builder adds below a stale output
MACHINE = "machine"  # And of that which says where a story's outputs come from
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


def code_hashes_of(notebook: Notebook, on_gpu: bool) -> dict[str, str]:
    """Return for each code cell, by id, the hash of what its output depends on, with GPUs or none.

    The set-up cell counts for nothing, since it does nothing here, but for the language that it
    may set: that counts for all. But a story's work is the same in all languages, and what tells
    depends on what is kept, wherever that was measured.
    """
    cells = notebook.work
    sources = ["" if cell.id == "setup" else decided(cell.source, on_gpu) for cell in cells]
    hashes = code_hashes(sources, "" if notebook.form else language_of(notebook))
    return {**dict(zip((cell.id for cell in cells), hashes)), **hashes_of_telling(notebook)}


def language_of(notebook: Notebook) -> str:
    """Return the lines of a notebook's set-up that choose its language."""
    setup = [cell.source for cell in notebook.code if cell.id == "setup"]
    lines = [line for source in setup for line in source.splitlines()]
    return "".join(line for line in lines if "D2L_LANGUAGE" in line)


def hashes_of_telling(notebook: Notebook) -> dict[str, str]:
    """Return for a story's cells that tell, by id, the hash of all that is kept and told so far."""
    told, hashes = hashlib.sha256(language_of(notebook).encode()), {}
    for cell in notebook.code if notebook.form else ():
        if notebook.tells(cell):
            told.update(code_key(cell.source).encode())
            hashes[cell.id] = told.hexdigest()[:12]
        else:
            told.update(f"{sorted(cell.kept.items())}{definitions(cell.source)}".encode())
    return hashes


def gpus_of(cell: Cell) -> int:
    """Return how many GPUs a cell needs, or its output had, if that is more."""
    had = num_gpus(cell.run["machine"]) if cell.run and cell.kind not in PARTS else 0
    return max(gpus_needed(cell), had)


def without_gpus(cell: Cell) -> str | None:
    """Say why a cell for GPUs has no output from as many as it needs; None if it has."""
    needed = gpus_needed(cell)
    if cell.run is None or num_gpus(cell.run["machine"]) < needed:
        machine = in_words(cell.run["machine"]) if cell.run else "no machine that is known"
        return f"was executed on {machine}"
    said = json.dumps(cell.outputs, ensure_ascii=False)
    if needed and any(line in said for line in beginnings(SKIPPED)):
        return "has no output from them"
    return None


class Provenance:
    """Of a notebook's outputs, which are those of its code, and which this machine can renew.

    ``here`` is how many GPUs this machine has, which is asked for once, because it takes a look at
    the whole machine.
    """

    def __init__(self, notebook: Notebook):
        self.notebook = notebook
        self._code_hashes: dict[bool, dict[str, str]] = {}
        self.here = num_gpus(facts())

    def code_hash(self, name: str, run: Run) -> str:
        """Return the hash of what a cell's code is now, on a machine like that of a run."""
        on_gpu = num_gpus(run["machine"]) > 0
        if on_gpu not in self._code_hashes:
            self._code_hashes[on_gpu] = code_hashes_of(self.notebook, on_gpu)
        return self._code_hashes[on_gpu][name]

    def out_of_reach(self, cell: Cell) -> bool:
        """Whether an output takes more GPUs than there are here; what only tells takes none."""
        return not self.notebook.tells(cell) and gpus_of(cell) > self.here

    def holds(self, cell: Cell) -> bool:
        """Whether a cell's output is that of its code, on as many GPUs as it needs."""
        same = cell.run is not None and cell.code_hash == self.code_hash(cell.id, cell.run)
        return same and (self.notebook.tells(cell) or not without_gpus(cell))

    def stale(self) -> dict[str, tuple[int, str]]:
        """Return the cells, by id, whose outputs do not hold and can't be made anew here.

        Each with how many GPUs that takes, and why it does not hold.
        """
        found = {}
        for cell in self.notebook.code:
            if self.out_of_reach(cell) and not self.holds(cell):
                why = without_gpus(cell) if gpus_needed(cell) else None
                found[cell.id] = gpus_of(cell), why or CHANGED
        return found

    def why(self, cell: Cell, now: Provenance) -> str | None:
        """Say why a cell must be executed again for the notebook as it is ``now``; None if not."""
        if not cell.execution_count or cell.run is None:
            return "was not executed"
        known = any(cell.id == other.id for other in now.notebook.code)
        if known and cell.code_hash != now.code_hash(cell.id, cell.run):
            return changed(cell.id, self.notebook, now.notebook) or CHANGED
        if not self.notebook.tells(cell) and (why := without_gpus(cell)):
            return f"{why}, and here are as many as it needs"
        return None


def put_notes(notebook: Notebook, text: str) -> None:
    """Say below each output that an older program made: ``text``, with its machine and date."""
    old, cells = Provenance(notebook).stale(), []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.id in old and cell.run and cell.outputs and num_gpus(cell.run["machine"]):
            gpus = ", ".join(
                f"{gpu['count']}× {gpu['name']}" for gpu in cell.run["machine"]["gpus"]
            )
            said = text.format(machine=gpus, date=cell.run["date"])
            note = Cell("markdown", f"{cell.id}-{NOTE}", f"*{said}*", kind=NOTE)
            note.frameworks, note.order = cell.frameworks, cell.order
            cells.append(note)
    notebook.cells = cells


def is_note(cell: Cell) -> bool:
    """Whether the builder has added a cell once there were outputs."""
    return cell.kind in (NOTE, MACHINE)


def changed(name: str, then: Notebook, now: Notebook) -> str | None:
    """Say what of a notebook has changed that a cell depends on; None if the sources don't tell."""
    old = {cell.id: code_key(cell.source) for cell in then.code}
    new = {cell.id: cell.source for cell in now.code}
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


def keep(notebook: Notebook, committed: Notebook, cells: list[Cell]) -> None:
    """Give cells of a notebook the outputs of its committed predecessor that hold, with records.

    Cells are matched by their hash. An output that cannot be made anew here is kept where only
    what the cell depends on has changed, or else by the cell of its name.
    """
    now, before = Provenance(notebook), Provenance(committed)
    old = [cell for cell in committed.code if cell.run]
    new = cells
    ways: list[Callable[[Cell, Cell], bool]] = [
        lambda cell, was: was.run is not None and was.code_hash == now.code_hash(cell.id, was.run),
        lambda cell, was: (
            before.out_of_reach(was) and code_key(cell.source) == code_key(was.source)
        ),
        lambda cell, was: before.out_of_reach(was) and cell.id == was.id,
    ]
    for matched in ways:
        for cell in list(new):
            found = [was for was in old if matched(cell, was)]
            if found:
                was = next((was for was in found if was.id == cell.id), found[0])
                cell.take(was)
                old = [other for other in old if other is not was]
                new = [other for other in new if other is not cell]
