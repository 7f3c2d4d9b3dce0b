"""Proves the exercises: of the stub, the check says "not yet", of the solution "right", and of each
wrong answer what the author says that it must.

An exercise is proved in a kernel of its own, after the cells that set what it names, and what those
name. So a proof is quick and often needs no GPU, and holds until one of these cells changes. A
notebook records in its metadata which exercises are proved, and by which code.
"""

from __future__ import annotations

import hashlib
import symtable
from pathlib import Path

from book.build.execute import execute
from book.build.notebook import as_python, code_key
from book.build.text import Block, BuildError, Section
from book.build.units import Exercise, exercises

from nbformat.v4 import new_code_cell, new_notebook


def prove(section: Section, framework: str, committed) -> dict[str, str]:
    """Prove the exercises that the committed notebook, if any, does not record as they are now.

    Returns what to record of all of them. Raises BuildError, naming exercise and cell, where a
    check says something else than it must.
    """
    root = section.chapter.root
    folder = root / "build" / framework / section.langs[0]
    found = exercises(section, framework)
    for exercise in found:
        if recorded(committed).get(exercise.id) != _digest(exercise):
            folder.mkdir(parents=True, exist_ok=True)
            problems = _fails(exercise, folder, root)
            if problems:
                raise BuildError("\n".join(f"exercise {exercise.id}: {p}" for p in problems))
    return {exercise.id: _digest(exercise) for exercise in found}


def missing(section: Section, framework: str, committed) -> list[str]:
    """Return the exercises that changed since they were proved, or never were."""
    return [
        f"exercise {exercise.id}: not proved as it is now: build it"
        for exercise in exercises(section, framework)
        if recorded(committed).get(exercise.id) != _digest(exercise)
    ]


def recorded(notebook) -> dict[str, str]:
    """Return the digests of a notebook's exercises when they were proved."""
    return notebook.metadata.get("d2l_local", {}).get("proved", {}) if notebook else {}


def _fails(exercise: Exercise, folder: Path, root: Path) -> list[str]:
    """Execute an exercise with every answer, and return what its check should not have said."""
    parts = exercise.parts
    answers = [(parts["stub"], "not yet", ""), (parts["solution"], "right", "")]
    answers += [([block], "wrong", block.refused) for block in parts["wrong"]]
    sources = [block.source for block in _needed(exercise)]
    checks = []
    for blocks, *expected in answers:
        sources += [block.source for block in (*blocks, *parts["check"])]
        checks.append((len(sources) - 1, blocks, *expected))
    notebook = new_notebook(
        cells=[new_code_cell(source, id=f"proof-{n}") for n, source in enumerate(sources)]
    )
    execute(notebook, folder, root)
    problems = []
    for place, blocks, verdict, message in checks:
        said = [(_verdict(out), _text(out)) for out in notebook.cells[place].outputs]
        if not any(verdict == was and message in text for was, text in said):
            heard = "; ".join(text for _, text in said) or "nothing"
            problems.append(
                f"the {blocks[0].kind} in line {blocks[0].line} must get “{message or verdict}”, "
                f"and the check says: {heard}"
            )
    return problems


def _verdict(output) -> str | None:
    return output.get("metadata", {}).get("d2l_local", {}).get("verdict")


def _text(output) -> str:
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def _digest(exercise: Exercise) -> str:
    blocks = _needed(exercise)
    for kind in ("stub", "check", "solution", "wrong"):
        blocks += exercise.parts[kind]
    code = [(code_key(block.source), block.kind, block.refused) for block in blocks]
    return hashlib.sha256(repr(code).encode()).hexdigest()[:12]


def _needed(exercise: Exercise) -> list[Block]:
    """Return the cells before an exercise that set what it names, and what those name."""
    named = {name for blocks in exercise.parts.values() for b in blocks for name in _names(b)[1]}
    needed = []
    for block in reversed(exercise.before):
        sets, names = _names(block)
        if sets & named:
            named |= names
            needed.insert(0, block)
    return needed


def _names(block: Block) -> tuple[set[str], set[str]]:
    """Return the variables of the notebook that a cell sets, and all those that it names."""
    sets, names = set(), set()
    tables = [symtable.symtable(as_python(block.source), "cell", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if table.get_type() == "module" or symbol.is_global():
                names.add(symbol.get_name())
                if symbol.is_assigned() or symbol.is_imported():
                    sets.add(symbol.get_name())
    return sets, names
