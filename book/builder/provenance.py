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

from book.builder.dependencies import digests
from book.builder.model import PARTS
from book.builder.notebook import code_cells, code_key, gpus_needed
from d2l_local.base import frameworks
from d2l_local.base.language import SKIPPED, beginnings
from d2l_local.machine.facts import facts, in_words, num_gpus

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

NOTE = "stale"  # The kind of a cell that the builder adds below a stale output


def packages() -> list[str]:
    """Return the packages whose versions a run names: every framework's, and what all use."""
    of_frameworks = (row.distributions for row in frameworks.load().values())
    return sorted({"d2l", "matplotlib", "numpy"}.union(*of_frameworks))


def this_run() -> dict:
    """Return the machine, the date and the versions of what is executed now."""
    versions = {"python": platform.python_version()}
    for package in packages():
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


def out_of_reach(notebook: NotebookNode, cell: NotebookNode, here: int) -> int:
    """Return how many GPUs a cell needs, or its output had, if that is more than ``here``; else 0.

    How many are here is asked for once a notebook: that takes a look at the whole machine.
    """
    run = run_of(notebook, cell)
    measures = cell.metadata.get("d2l_local", {}).get("kind") not in PARTS
    had = num_gpus(run["machine"]) if run and measures else 0
    needed = max(gpus_needed(cell), had)
    return needed if needed > here else 0


def gpus_here() -> int:
    """Return how many GPUs this machine has."""
    return num_gpus(facts())


def without_gpus(notebook: NotebookNode, cell: NotebookNode) -> str | None:
    """Say why a cell for GPUs has no output from as many as it needs; None if it has."""
    needed, run = gpus_needed(cell), run_of(notebook, cell)
    if run is None or num_gpus(run["machine"]) < needed:
        return f"was executed on {in_words(run['machine']) if run else 'no machine that is known'}"
    said = json.dumps(cell.outputs, ensure_ascii=False)
    if needed and (not cell.outputs or any(line in said for line in beginnings(SKIPPED))):
        return "has no output from them"
    return None


def stale(notebook: NotebookNode) -> dict[str, tuple[int, str]]:
    """Return the cells, by id, whose outputs do not hold and can't be made anew here.

    Each with how many GPUs that takes, and why it does not hold.
    """
    codes, here, found = hashes(notebook), gpus_here(), {}
    for cell in code_cells(notebook):
        if needed := out_of_reach(notebook, cell, here):
            why = without_gpus(notebook, cell) if gpus_needed(cell) else None
            if not why and code_of(cell) != codes[cell.id]:
                why = "what made its output has changed"
            if why:
                found[cell.id] = needed, why
    return found


def as_made(notebook: NotebookNode) -> NotebookNode:
    """Return a copy as the text makes it: without outputs and what is recorded of them."""
    bare = copy.deepcopy(notebook)
    bare.metadata.pop("d2l_local", None)
    bare.cells = [cell for cell in bare.cells if not is_note(cell)]
    for cell in code_cells(bare):
        cell.outputs, cell.execution_count = [], None
        for key in ("run", "code"):
            cell.metadata.get("d2l_local", {}).pop(key, None)
    return bare


# ---- What a reader is told -----------------------------------------------------------------------


def is_note(cell: NotebookNode) -> bool:
    return cell.metadata.get("d2l_local", {}).get("kind") == NOTE


def put_notes(notebook: NotebookNode, text: str) -> None:
    """Say below each output that an older program made: ``text``, with its machine and date."""
    old, cells = stale(notebook), []
    for cell in notebook.cells:
        if is_note(cell):
            continue
        cells.append(cell)
        run = run_of(notebook, cell)
        if cell.id in old and cell.outputs and run and num_gpus(run["machine"]):
            gpus = ", ".join(f"{gpu['count']}× {gpu['name']}" for gpu in run["machine"]["gpus"])
            said = text.format(machine=gpus, date=run["date"])
            about = {**cell.metadata["d2l_local"], "id": f"{cell.id}-{NOTE}", "kind": NOTE}
            about = {key: about[key] for key in ("id", "frameworks", "order", "kind")}
            cells.append(
                new_markdown_cell(f"*{said}*", id=about["id"], metadata={"d2l_local": about})
            )
    notebook.cells = cells


# ---- From notebook to notebook -------------------------------------------------------------------


@dataclass
class Split:
    """A cell whose output can't be made anew here, and the cells that it has been taken apart to.

    ``holds`` is whether its output is that of today's code.
    """

    old: NotebookNode
    run: dict
    parts: list[NotebookNode]
    holds: bool = False

    def deal(self, notebook: NotebookNode, made: list[list]) -> None:
        """Give each part the outputs that are its own, as it ``made`` its own when it ran here.

        Raises ValueError if what the cell printed or showed cannot be told apart.
        """
        kinds = [[_kind(output) for output in outputs] for outputs in made]
        if sum(kinds, []) != [_kind(output) for output in self.old.outputs]:
            parts = "; ".join(
                f"{part.id}: {', '.join(kind) or 'nothing'}"
                for part, kind in zip(self.parts, kinds)
            )
            was = ", ".join(map(_kind, self.old.outputs)) or "nothing"
            raise ValueError(
                f"cell {self.old.id} was taken apart, and its outputs ({was}), which cannot be "
                f"made anew here, are not those of its parts ({parts}); let one part print all, or "
                "leave it whole"
            )
        codes, outputs = hashes(notebook), iter(self.old.outputs)
        for part, kind in zip(self.parts, kinds):
            own = copy.deepcopy(self.old)
            own.outputs = [next(outputs) for _ in kind]
            code = codes[part.id] if self.holds else str(code_of(self.old))
            take(notebook, part, own, self.run, code)


def _kind(output: NotebookNode) -> str:
    return output.get("name") or output.output_type


def keep(notebook: NotebookNode, committed: NotebookNode) -> list[Split]:
    """Give a notebook the outputs of its committed predecessor that hold, with their records.

    Cells are matched by their hash. An output that cannot be made anew here is kept where only
    what the cell depends on has changed, or else by the cell of its name. Returns what has been
    taken apart: the parts have no outputs yet.
    """
    old = [cell for cell in code_cells(committed) if run_of(committed, cell)]
    codes, new = hashes(notebook), {cell.id: cell for cell in code_cells(notebook)}
    here = gpus_here()
    splits = list(_splits(notebook, committed, here))
    whole = hashes(_joined(notebook, splits))  # To take a cell apart changes no other's output
    for split in splits:
        split.holds = whole[split.parts[0].id] == code_of(split.old)
        old.remove(split.old)
        for part in split.parts:
            del new[part.id]

    def matched(held: str, cell: NotebookNode) -> bool:
        if held == "code":
            return code_of(cell) in (codes[now.id], whole[now.id])
        like = (
            code_key(cell.source) == code_key(now.source) if held == "text" else cell.id == now.id
        )
        return like and bool(out_of_reach(committed, cell, here))

    for held in ("code", "text", "name"):
        for now in list(new.values()):
            found = [cell for cell in old if matched(held, cell)]
            found.sort(key=lambda cell: cell.id != now.id)
            if found:
                old.remove(found[0])
                del new[now.id]
                run = run_of(committed, found[0])
                code = codes[now.id] if held == "code" else code_of(found[0])
                if run and code:
                    take(notebook, now, found[0], run, code)
    return splits


def _splits(notebook: NotebookNode, committed: NotebookNode, here: int) -> Iterator[Split]:
    """Yield the cells out of reach that stand in the notebook as several, one after the other."""
    new = code_cells(notebook)
    keys = [code_key(cell.source) for cell in new]
    for old in code_cells(committed):
        key, run = code_key(old.source), run_of(committed, old)
        if not run or key in keys or not out_of_reach(committed, old, here):
            continue
        for first in range(len(new)):
            for last in range(first + 2, len(new) + 1):
                source = "\n".join(cell.source for cell in new[first:last])
                if len(source) > 2 * len(old.source) + 100:
                    break
                if code_key(source) == key:
                    yield Split(old, run, new[first:last])
                    break


def _joined(notebook: NotebookNode, splits: list[Split]) -> NotebookNode:
    """Return a copy in which the first part of each split is the whole, and the others nothing."""
    joined = copy.deepcopy(notebook)
    cells = {cell.id: cell for cell in joined.cells}
    for split in splits:
        first, *others = (cells[part.id] for part in split.parts)
        first.source = "\n".join(part.source for part in split.parts)
        for cell in others:
            cell.source = ""
    return joined


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
