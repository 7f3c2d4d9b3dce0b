"""Proves the exercises: of the stub, the check says "not yet", of the solution "right", and of each
wrong answer what the author says that it must.

An exercise is proved in a kernel of its own, after the cells that set what it names, and what those
name. So a proof is quick and often needs no GPU, and holds until one of these cells changes. A
notebook records in its metadata which exercises are proved, and by which code.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from book.builder.answers import judging
from book.builder.dependencies import names_of
from book.builder.execute import execute
from book.builder.model import Block, Exercise, Section, exercises
from book.builder.notebook import BuildError, Notebook, data_of
from book.builder.program import code_key

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook


def prove(section: Section, framework: str, committed: Notebook | None) -> dict[str, str]:
    """Prove the exercises that the committed notebook, if any, does not record as they are now.

    Returns what to record of all of them. Raises BuildError, naming exercise and cell, where a
    check says something else than it must.
    """
    root = section.chapter.root
    folder = root / "build" / framework / section.langs[0]
    found = _provable(section, framework)
    for exercise in found:
        if recorded(committed).get(exercise.id) != _proof_hash(exercise):
            folder.mkdir(parents=True, exist_ok=True)
            problems = _fails(exercise, folder, root)
            if problems:
                raise BuildError("\n".join(f"exercise {exercise.id}: {p}" for p in problems))
    return {exercise.id: _proof_hash(exercise) for exercise in found}


def missing(section: Section, framework: str, committed: Notebook | None) -> list[str]:
    """Return the exercises that changed since they were proved, or never were."""
    return [
        f"exercise {exercise.id}: not proved as it is now: build it"
        for exercise in _provable(section, framework)
        if recorded(committed).get(exercise.id) != _proof_hash(exercise)
    ]


def _provable(section: Section, framework: str) -> list[Exercise]:
    return [exercise for exercise in exercises(section, framework) if not exercise.is_open]


def recorded(notebook: Notebook | None) -> dict[str, str]:
    """Return the hashes of a notebook's exercises when they were proved."""
    return notebook.proved if notebook else {}


def _fails(exercise: Exercise, folder: Path, root: Path) -> list[str]:
    """Execute an exercise with every answer, and return what its check should not have said."""
    parts = exercise.parts
    answers = [(parts["stub"], "not yet", ""), (parts["solution"], "right", "")]
    answers += [([block], "wrong", block.refused) for block in parts["wrong"]]
    sources = [block.source for block in _needed(exercise)]
    checks = []
    for blocks, verdict, message in answers:
        sources += [block.source for block in blocks]
        sources += [judging(block) for block in parts["check"]]
        checks.append((len(sources) - 1, blocks, verdict, message))
    notebook = new_notebook(
        cells=[new_code_cell(source, id=f"proof-{n}") for n, source in enumerate(sources)]
    )
    execute(notebook, folder, root)
    problems = []
    for place, blocks, verdict, message in checks:
        said = [(data_of(out).get("verdict"), _text(out)) for out in notebook.cells[place].outputs]
        if not any(verdict == was and message in text for was, text in said):
            heard = "; ".join(text for _, text in said) or "nothing"
            problems.append(
                f"the {blocks[0].kind} in {blocks[0].where} must get “{message or verdict}”, "
                f"and the check says: {heard}"
            )
    return problems


def _text(output: NotebookNode) -> str:
    return str(output.get("text") or output.get("data", {}).get("text/plain", ""))


def _proof_hash(exercise: Exercise) -> str:
    blocks = [*_needed(exercise), *exercise.code()]
    code = [(code_key(block.source), block.kind, block.refused) for block in blocks]
    return hashlib.sha256(repr(code).encode()).hexdigest()[:12]


def _needed(exercise: Exercise) -> list[Block]:
    """Return the cells before an exercise that set what it reads, and what those read."""
    wanted: set[str] = set()
    own: set[str] = set()
    for block in exercise.code():
        wanted |= _reads(block) - own | ({"d2l"} if block.kind == "check" else set())
        own |= names_of(block.source).surely
    needed: list[Block] = []
    for block in reversed(exercise.before):
        names = names_of(block.source)
        if names.bound & wanted:
            wanted = (wanted - names.surely) | _reads(block)
            needed.insert(0, block)
    return needed


def _reads(block: Block) -> set[str]:
    """Return the variables that a cell, or a function in it, has from the cells before it."""
    names = names_of(block.source)
    return names.read | (names.later - names.surely)
