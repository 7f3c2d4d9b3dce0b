"""Building: which cells of a section are executed, and which keep their outputs."""

from __future__ import annotations

import copy
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from book.builder import answers, proof, values
from book.builder.benchmark_guard import TRIES, BenchmarkGuard, disturbance, disturbed
from book.builder.check.notebooks import disturbed_cells, outputs, stale
from book.builder.execute import execute
from book.builder.model import Section
from book.builder.notebook import (
    BuildError,
    Cell,
    Notebook,
    Run,
    bare,
    code_cells,
    dump,
    gpus_needed,
    measures,
    read_notebook,
    write,
)
from book.builder.page import Page, pages
from book.builder.provenance import Provenance, is_note, keep, put_notes, this_run
from book.builder.story import keeping, put_machine, take_kept, tell
from d2l_local.base.language import beginnings
from d2l_local.machine.facts import num_gpus

from nbformat import NotebookNode


@dataclass
class Built:
    """What came of building a section's notebooks."""

    executed: int  # How many cells have a new output
    cells: int
    emptied: int = 0  # How many have lost theirs, and have no new one
    changed: bool = False
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        result = "outputs kept"
        if self.executed:
            result = f"executed, {self.executed} of {self.cells} outputs new"
        elif self.emptied:
            result = f"{self.emptied} of {self.cells} cells left without outputs"
        return result if self.changed else f"{result}, nothing to write"


def build_section(
    section: Section, framework: str, force: bool = False, kernel: bool = True
) -> Built:
    """Write the notebooks of a section, with new outputs where the old ones do not hold.

    Without a ``kernel``, cells whose outputs do not hold are left without any. Raises BuildError
    if a notebook cannot be executed; then no notebook is written, unless it is a story whose work
    is done: that is kept, so that only what tells it is to be executed again.
    """
    built, found = Built(0, 0), pages(section, framework)
    for path, text in answers.files(section).items():
        built.changed |= write(path, text)  # First: the notebooks ask it
    own, names = answers.index(section.chapter.root)
    if own.parent.exists():
        built.changed |= write(own, names)
    for page in found:
        with page.named():
            warnings = [] if takes_the_originals(page) else renew(page, force, kernel, built)
        built.warnings += [f"{page.where}: {what}" for what in warnings]
    if framework in section.stories:
        if built.executed:  # At once: what tells it may yet fail, and costs no machine
            for page in found:
                write(page.path, dump(page.made))
        for page in found:
            with page.named():
                warnings = renew_telling(page, force, kernel, built)
            built.warnings += [f"{page.where}: {what}" for what in warnings]
    with found[0].named():
        committed = found[0].committed
        if kernel:
            proved = proof.prove(section, framework, None if force else committed)
        else:
            proved = proof.recorded(committed)
    for page in found:
        page.made.proved = proved
        missing = values.fill(page.made, page)
        built.warnings += [f"{page.where}: {what}" for what in missing]
        put_notes(page.made, section.chapter.word(page.lang, "stale"))
        put_machine(page)
        built.changed |= write(page.path, dump(page.made))
    return built


def takes_the_originals(page: Page) -> bool:
    """Whether a page has the original's outputs, which it is given: it is the same program.

    So are a story's cells that work, and all cells whose strings a language does not translate.
    """
    if page.original is None:
        return False
    if not page.is_story and page.lang in page.section.translated_into:
        return False
    take_work(page.made, page.original.made)
    return True


def take_work(notebook: Notebook, original: Notebook) -> None:
    """Give the cells that work what those of another language's notebook have put out and kept."""
    for cell, same in zip(notebook.work, original.work):
        cell.take(same)


def renew(page: Page, force: bool, kernel: bool, built: Built) -> list[str]:
    """Give a page all its outputs, executing it if any of them is to be new.

    Returns what its author should know of it.
    """
    warnings = []
    notebook = page.made
    if page.committed is not None:
        keep(notebook, page.committed, notebook.work)
    provenance = Provenance(notebook)
    ready = renewable(provenance, force)
    if ready and kernel:
        # As deep as the notebooks, so that links to files hold, but free to be written to.
        root = page.section.chapter.root
        folder = root / "build" / page.framework / page.lang
        ready = with_others(provenance, ready)
        renew_cells(provenance, ready, folder, root)
        warnings += disturbed_cells(notebook)
        built.executed += len(ready)
    elif ready:
        names = ", ".join(cell.id for cell in ready)
        warnings.append(f"without outputs until they are executed: {names}")
        for cell in ready:
            cell.empty()
        built.emptied += len(ready)
    built.cells += len(notebook.work)
    return [*warnings, *stale(notebook)]


def renew_telling(page: Page, force: bool, kernel: bool, built: Built) -> list[str]:
    """Give a story's cells that tell their outputs, from what is kept, unless they have them.

    Returns what its author should know of it.
    """
    notebook = page.made
    telling = [cell for cell in notebook.code if notebook.tells(cell)]
    if page.committed is not None:
        keep(notebook, page.committed, telling)
    provenance = Provenance(notebook)
    built.cells += len(telling)
    if all(map(provenance.holds, telling)) and not force:
        return []
    if not kernel:
        names = ", ".join(cell.id for cell in telling)
        return [f"are told anew once they may be executed: {names}"]
    root = page.section.chapter.root
    tell(notebook, root / "build" / page.framework / page.lang, root)
    if problems := [what for cell in telling for what in outputs(cell)]:
        raise BuildError("\n".join(problems))
    told = Provenance(notebook)  # Anew, since cells have kept other values
    for cell in telling:
        assert cell.run is not None  # It has just been told
        cell.code_hash = told.code_hash(cell.id, cell.run)
    built.executed += len(telling)
    return []


def renewable(provenance: Provenance, force: bool = False) -> list[Cell]:
    """Return the cells whose outputs do not hold, and for which this machine has the GPUs.

    With ``force``, no output holds, of which only a cell tagged for GPUs makes an exception, and
    in a story what GPUs have measured. A cell without any output is executed on every machine.
    """

    def is_to_be_new(cell: Cell) -> bool:
        if cell.run is None:
            return True
        if force and not provenance.notebook.form:
            return gpus_needed(cell) <= provenance.here
        if force:
            return not provenance.out_of_reach(cell)
        return not provenance.holds(cell) and not provenance.out_of_reach(cell)

    return [cell for cell in provenance.notebook.work if is_to_be_new(cell)]


def with_others(provenance: Provenance, ready: list[Cell]) -> list[Cell]:
    """Return these cells and all that this machine can execute as well as the one that did.

    The notebook is executed as a whole, and what a page prints and draws should be of one run: a
    picture beside the numbers of another one may contradict them.
    """

    def as_well(cell: Cell) -> bool:
        had = num_gpus(cell.run["machine"]) if cell.run else 0
        return max(had, gpus_needed(cell)) <= provenance.here

    ids = {cell.id for cell in ready}
    return [cell for cell in provenance.notebook.work if cell.id in ids or as_well(cell)]


def renew_cells(provenance: Provenance, cells: list[Cell], folder: Path, root: Path) -> None:
    """Execute a notebook as a whole, and take the new outputs of some cells."""
    folder.mkdir(parents=True, exist_ok=True)
    node = bare(provenance.notebook.work)
    if provenance.notebook.form:
        node = keeping(node)
    fresh, run = executed_quietly(node, folder, root)
    made = {cell.id: cell for cell in fresh.cells}
    kept = {name: take_kept(cell) for name, cell in made.items()}
    if problems := [p for cell in cells for p in outputs(made[cell.id])]:
        raise BuildError("\n".join(problems))
    for cell in cells:
        cell.outputs, cell.run, cell.kept = made[cell.id].outputs, run, kept[cell.id]
        cell.code_hash = provenance.code_hash(cell.id, run)


def executed_quietly(notebook: NotebookNode, folder: Path, root: Path) -> tuple[NotebookNode, Run]:
    """Return the notebook executed, and its run: again, while others had a hand in its measures."""
    if not any(map(measures, notebook.cells)):
        execute(notebook, folder, root)
        return notebook, this_run()
    tries: list[tuple[NotebookNode, Run]] = []
    while not tries or (len(tries) < TRIES and disturbed(tries[-1][1])):
        guard, fresh = BenchmarkGuard(), copy.deepcopy(notebook)
        execute(fresh, folder, root, guard=guard)
        tries.append((fresh, {**this_run(), "others": guard.record}))
    return min(tries, key=lambda tried: disturbance(tried[1]))


# ---- All of it afresh ----------------------------------------------------------------------------


@dataclass
class Ran:
    """What came of executing a committed notebook in a folder of its own."""

    name: str
    lang: str
    devices: str = "-"
    cells: int = 0
    seconds: float = 0.0
    error: BuildError | None = None
    again: list[str] = field(default_factory=list)  # The cells that needed a second try
    notebook: Notebook | None = None  # With its new outputs


def run_notebook(section: Section, path: Path, original: Notebook | None = None) -> Ran:
    """Execute a committed notebook afresh into `build/`, where it is left even if it fails.

    Its prose quotes the new outputs. A story in another language tells the run of its ``original``,
    as it does when it is built: only its cells that tell are executed.
    """
    lang, framework, root = path.parent.name, path.parent.parent.name, section.chapter.root
    ran, started = Ran(f"{framework}/{path.stem}", lang), time.monotonic()
    notebook = read_notebook(path)
    assert notebook is not None  # The caller has found it
    notebook.cells = [cell for cell in notebook.cells if not is_note(cell)]
    folder = root / "build" / framework / lang
    folder.mkdir(parents=True, exist_ok=True)
    for cell in notebook.code:
        cell.empty()
    try:
        if original:
            take_work(notebook, original)
            tell(notebook, folder, root)
            ran.cells = sum(map(notebook.tells, notebook.code))
        else:
            perform(notebook, folder, root, ran)
    except BuildError as error:
        ran.error = error
    provenance = Provenance(notebook)  # Of what is kept now
    for cell in notebook.code:
        cell.code_hash = provenance.code_hash(cell.id, cell.run) if cell.run else None
    notebook.published = section.chapter.word(lang, "published") if notebook.form else ""
    values.fill(notebook, Page(section, framework, lang, None))
    write(folder / path.name, dump(notebook))
    ran.notebook, ran.seconds = notebook, time.monotonic() - started
    return ran


def perform(notebook: Notebook, folder: Path, root: Path, ran: Ran) -> None:
    """Execute all cells of a notebook, and take what they have put out, even if one fails."""
    fresh = keeping(bare(notebook.code)) if notebook.form else bare(notebook.code)
    try:
        execute(fresh, folder, root, again=ran.again)
    finally:
        run = this_run()
        for cell, made in zip(notebook.code, [made for made in fresh.cells if made.id != "keep"]):
            cell.kept = take_kept(made)
            if made.execution_count:
                cell.outputs, cell.run = made.outputs, run
                ran.cells += 1
        ran.devices = devices(fresh)


def devices(notebook: NotebookNode) -> str:
    """Return the devices that the notebook's own banner names."""
    text = "".join(o.get("text", "") for c in code_cells(notebook) for o in c.outputs)
    names = "|".join(re.escape(name) for name in beginnings("devices: {devices} ({what})"))
    found = re.search(rf"^(?:{names})(.*?)(?: \(|（|$)", text, re.MULTILINE)
    return found[1].strip() if found else "-"
