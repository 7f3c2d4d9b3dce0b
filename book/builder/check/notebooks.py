"""Rules of a committed notebook: it is what its text makes, and its outputs hold."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from book.builder import proof, values
from book.builder.benchmark_guard import disturbed
from book.builder.check import exercises, untranslated
from book.builder.check.problem import UNREADY, Problem
from book.builder.dependencies import names_of
from book.builder.notebook import Cell, Notebook, gpus_needed, may_fail, measures
from book.builder.page import Page
from book.builder.program import code_key
from book.builder.prose import read
from book.builder.provenance import MACHINE, Provenance, is_note, without_gpus
from book.builder.story import machine_line
from d2l_local.base.language import counted

OUTPUT_BYTES = 512 * 1024


def made_of_its_text(page: Page) -> Iterator[Problem]:
    """Its cells are those of its text."""
    if page.committed is None:
        yield Problem(page.where, "missing: build it", cure=build(page))
        return
    ours = {cell.id: cell for cell in page.made.cells}
    theirs = {cell.id: cell for cell in page.committed.cells if not is_note(cell)}
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    if not names and [*ours] != [*theirs]:
        names = ["the order of its cells"]
    if names:
        same = program(page.made) == program(page.committed)
        what = f"differs from its text in {', '.join(names)}: build it"
        yield Problem(page.where, what, cure=render_anew(page) if same else build(page))


def executed(page: Page) -> Iterator[Problem]:
    """Its outputs are those of its code, but where only more GPUs can make them anew."""
    if page.committed is not None:
        kept = {cell.id: cell.kept for cell in page.committed.code}
        for cell in page.made.code:  # On which depends what tells
            cell.kept = kept.get(cell.id, {})
        committed, now = Provenance(page.committed), Provenance(page.made)
        out_of_date = committed.stale()
        for cell in page.committed.code:
            why = committed.why(cell, now)
            if why and not (cell.run and cell.id in out_of_date):
                yield Problem(page.where, f"cell {cell.id}: {why}: build it", cure=build(page))


def build(page: Page) -> tuple[str, str]:
    """Return the command that executes what has changed, and its section."""
    return f'make notebooks FRAMEWORK={page.framework} SECTIONS="{{}}"', page.section.name


def render_anew(page: Page) -> tuple[str, str]:
    """Return the command that builds what only says something else, executing nothing."""
    command = f"{this_python()} -m book.builder --no-execute"
    return f"{command} --framework {page.framework} --section {{}}", page.section.name


def this_python() -> str:
    """Return this Python as a reader types it, from the current folder if it lies below that."""
    python, here = Path(sys.executable), Path.cwd()
    word = str(python.relative_to(here) if python.is_relative_to(here) else python)
    return subprocess.list2cmdline([word]) if os.name == "nt" else shlex.quote(word)


def same_in_all_languages(page: Page) -> Iterator[Problem]:
    """Its code does what the original's does."""
    if page.original and program(page.made, False) != program(page.original.made, False):
        yield Problem(page.where, "its code does something else than the original's")


def program(notebook: Notebook, strings: bool = True) -> list[str]:
    """Return what a notebook does, if need be whatever its strings say; the set-up does nothing."""
    return [code_key(cell.source, strings) for cell in notebook.code if cell.id != "setup"]


def sound_outputs(page: Page) -> Iterator[Problem]:
    """No output is an error, stands on stderr, is huge, or says another thing than is asked."""
    for cell in page.committed.code if page.committed else ():
        for what in outputs(cell):
            yield Problem(page.where, what)
        if cell.run:  # Else its outputs are missing, as is said elsewhere
            for what in exercises.outputs(cell):
                yield Problem(page.where, f"cell {cell.id}: {what}")


def told_of_one_run(page: Page) -> Iterator[Problem]:
    """A story's languages tell the same run, and the line below its title is of its outputs."""
    notebook = page.committed
    if not (notebook and notebook.form):
        return
    lines = [cell.shown or cell.source for cell in notebook.cells if cell.kind == MACHINE]
    expected = machine_line(page, notebook)
    if lines != [expected] * bool(expected):
        what = f"its machine's line is {lines}, and its outputs are of {expected!r}"
        yield Problem(page.where, what, cure=render_anew(page))
    original = page.original.committed if page.original else None
    for cell, same in zip(notebook.work, original.work if original else ()):
        if cell.kept != same.kept:
            what = f"cell {cell.id} has kept other values than the original's: they tell one run"
            yield Problem(page.where, what, cure=build(page))


def work_shows_nothing(page: Page) -> Iterator[Problem]:
    """A story's cells that work show nothing, and none shows a value that nobody asked for.

    One that lacked GPUs says so.
    """
    for cell in page.committed.work if page.committed and page.committed.form else ():
        if cell.outputs and not without_gpus(cell):
            what = f"cell {cell.id} works, and shows something: tell it in a cell of its own"
            yield Problem(page.where, what)
    for cell in page.committed.code if page.committed and page.committed.form else ():
        if any(output.output_type == "execute_result" for output in cell.outputs):
            what = f"cell {cell.id} shows the value of its last line: end that with a semicolon"
            yield Problem(page.where, what)


def telling_changes_nothing(page: Page) -> Iterator[Problem]:
    """No cell that tells changes, by `append`, say, what one that works has kept and may read."""
    kept: set[str] = set()
    if page.committed is None:
        return
    for cell in page.committed.code:
        if not page.committed.tells(cell):
            kept |= cell.kept.keys()
            continue
        for name in sorted((cell.kept.keys() & kept) - names_of(cell.source).bound):
            what = f"cell {cell.id} tells, and changes {name}, which a cell that works has kept"
            yield Problem(page.where, f"{what}: change a copy")


def links(page: Page) -> Iterator[Problem]:
    """Its links to files lead somewhere."""
    for cell in page.committed.cells if page.committed else ():
        for link in read(cell.shown or cell.source).links if cell.cell_type == "markdown" else ():
            file = unquote(link.split("#")[0])
            if file and not re.match(r"\w+:", file) and not (page.path.parent / file).exists():
                yield Problem(page.where, f"cell {cell.id}: the link {link} leads nowhere")


def quotes(page: Page) -> Iterator[Problem]:
    """Its prose quotes the numbers of the outputs above."""
    for cell, found in values.quoted(page.committed, page) if page.committed else ():
        for what in values.gaps(cell, found):
            yield Problem(page.where, what)
        if cell.shown is not None and cell.shown != values.filled(cell.source, found):
            what = f"cell {cell.id}: quotes another number than the output: build it"
            yield Problem(page.where, what, cure=render_anew(page))


def proved(page: Page) -> Iterator[Problem]:
    """Its exercises were proved as they are."""
    for what in proof.missing(page.section, page.framework, page.committed):
        yield Problem(page.where, what, cure=build(page))


def runs_without_gpus(page: Page) -> Iterator[Problem]:
    """No cell reads what only a cell for GPUs sets: elsewhere that one is skipped."""
    for what in needs_what_gpus_left(page.made.code):
        yield Problem(page.where, what)


def up_to_date(page: Page) -> Iterator[Problem]:
    """No output is of an older version of its cell."""
    for what in stale(page.committed) if page.committed else ():
        yield Problem(page.where, what, UNREADY)


def measured_alone(page: Page) -> Iterator[Problem]:
    """No cell measured while other programs had a hand in it."""
    for what in disturbed_cells(page.committed) if page.committed else ():
        yield Problem(page.where, what, UNREADY, "disturbed outputs")


def translated(page: Page) -> Iterator[Problem]:
    """Its outputs have no sentence of the original's language."""
    original = page.original.committed if page.original else None
    if page.committed and original and page.lang in page.section.translated_into:
        for what in untranslated.outputs(page.committed, original):
            yield Problem(page.where, what, UNREADY)


def needs_what_gpus_left(cells: list[Cell]) -> list[str]:
    """Cells that read what only a cell for GPUs sets."""
    problems = []
    everywhere: set[str] = set()
    with_gpus: set[str] = set()
    for cell in cells:
        names = names_of(cell.source)
        if gpus_needed(cell):
            with_gpus |= names.bound
            continue
        for name in sorted((names.read & with_gpus) - everywhere - names.bound):
            problems.append(f"cell {cell.id}: only a cell that needs GPUs sets {name}")
        everywhere |= names.bound
    return problems


def outputs(cell: Any) -> list[str]:
    """What the outputs of a code cell must not be."""
    problems = []
    for output in cell.outputs:
        shown = json.dumps(output, ensure_ascii=False)
        if output.output_type == "error" and not may_fail(cell):
            problems.append(f"cell {cell.id}: error {output.ename}: {output.evalue}")
        if output.get("name") == "stderr":
            problems.append(f"cell {cell.id}: writes to stderr: {output.text.strip()[:500]}")
        if len(shown.encode()) > OUTPUT_BYTES:
            problems.append(f"cell {cell.id}: an output of {len(shown.encode()) >> 10} KB")
        if "image/svg+xml" in output.get("data", {}):  # Without trust, as after a clone
            problems.append(f"cell {cell.id}: an SVG picture, which JupyterLab hides: draw a PNG")
    return problems


def stale(notebook: Notebook) -> list[str]:
    """Cells whose output this machine cannot make anew, though it is not of the code as it is."""
    return [
        f"cell {name}: stale, needs {counted(needed, 'GPU')} ({why})"
        for name, (needed, why) in Provenance(notebook).stale().items()
    ]


def disturbed_cells(notebook: Notebook) -> list[str]:
    """How many cells measured while other programs had a hand in it, by run."""
    found: dict[str, list[str]] = {}
    for cell in notebook.code:
        if cell.run and measures(cell) and (why := disturbed(cell.run)):
            found.setdefault(f"of {cell.run['date']}, disturbed: {why}", []).append(cell.id)
    return [f"{counted(len(cells), 'cell')} {why}" for why, cells in found.items()]
