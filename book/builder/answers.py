"""Checks of exercises that no notebook shows: functions in the package.

A text's check may be a function of what the reader fills in:

    def check(answer):
        d2l.expect(answer, 50, foreseen={525: "half each: the GPU would wait for the CPU"})

The notebook then has one line, `d2l.check("ex-rows", answer)`, and asks the function `ex_rows` of
`d2l_local/<module>/answer_key/<section>_<language>.py`, which the builder writes. It reads nothing
of the notebook but its parameters, and the modules that cells above import. The solution is prose,
so that to run all cells solves nothing.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
from pathlib import Path

from book.builder.dependencies import names_of
from book.builder.model import HIDDEN, Block, Exercise, Section, exercises
from book.builder.notebook import BuildError, as_python

HEAD = '"""Exercises of {name}, made of chapters/text/{name}.md by the builder: edit that."""\n'


def is_hidden(check: Block) -> bool:
    """Whether a notebook only calls this check."""
    return bool(HIDDEN.search(check.source))


def call(exercise: Exercise, check: Block) -> str:
    """Return the line by which a notebook asks for a verdict."""
    named = f'"{exercise.id}"'
    return f"d2l.check({', '.join([named, *parameters(check)])})"


def parameters(check: Block) -> list[str]:
    match = HIDDEN.search(check.source)
    return [name.strip() for name in match[1].split(",") if name.strip()] if match else []


def asked(section: Section, framework: str) -> dict[int, Exercise]:
    """Return the exercises whose check is hidden, by the lines of their blocks of code."""
    found = {}
    for exercise in exercises(section, framework):
        if exercise.hidden:
            found.update({block.line: exercise for block in exercise.code()})
    return found


def judging(check: Block) -> str:
    """Return the code that judges an answer with a hidden check, where nothing is hidden."""
    listed = ", ".join(parameters(check))
    return f"{check.source}\n\nwith d2l.check({listed}):\n    check({listed})"


def modules(section: Section, framework: str) -> dict[Path, str]:
    """Return the modules with a section's hidden checks, a language's by its path.

    Raises BuildError for a check that reads what the package does not have.
    """
    folder = folder_of(section, framework)
    found = {}
    for lang in section.langs:
        spoken = lang == section.langs[0] or lang in section.spoken
        if spoken and (text := module(section, framework, lang)):
            found[folder / f"{section.name.replace('-', '_')}_{lang}.py"] = text
    return found


def folder_of(section: Section, framework: str) -> Path:
    row = section.chapter.frameworks[framework]
    return section.chapter.root / "d2l_local" / row.module / "answer_key"


def module(section: Section, framework: str, lang: str) -> str:
    """Return a module with the hidden checks of a section in a language; empty without any."""
    imports: dict[str, str] = {}
    functions = []
    for exercise in exercises(section, framework):
        for check in filter(is_hidden, exercise.parts["check"]):
            imports.update(imported(section, exercise, check))
            source = section.code_in(check, lang)
            functions.append(source.replace("def check(", f"def {function(exercise)}(", 1))
    if not functions:
        return ""
    head = "\n".join([HEAD.format(name=section.name), *dict.fromkeys(imports.values())])
    return "\n\n\n".join([head.rstrip(), *functions]) + "\n"


def function(exercise: Exercise) -> str:
    """Return the name of the function that judges an exercise."""
    return re.sub(r"\W", "_", exercise.id)


def imported(section: Section, exercise: Exercise, check: Block) -> dict[str, str]:
    """Return the imports that a check needs of the cells above it, by the names that they give."""
    names = names_of(check.source)
    wanted = (names.now | names.later) - names.bound - set(dir(builtins))
    known: dict[str, str] = {}
    for block in exercise.before:
        known.update(_imports(block.source))
    if missing := sorted(wanted - known.keys()):
        raise BuildError(
            f"{section.path.name}:{check.line}: the check of {exercise.id} reads {missing[0]}, "
            "which no cell above imports: make it a parameter, or define it within the check"
        )
    return {name: known[name] for name in sorted(wanted)}


def taken_twice(sections: list[Section]) -> list[str]:
    """Say which hidden checks have the name of another exercise: only one would be found."""
    seen: dict[tuple[str, str], str] = {}
    problems = []
    for section in sections:
        for framework in section.frameworks:
            for exercise in exercises(section, framework):
                first = seen.setdefault((framework, exercise.id), section.name)
                if exercise.hidden and first != section.name:
                    problems.append(f"{section.name}: {exercise.id} is an exercise of {first}, too")
    return sorted(set(problems))


@functools.cache  # The exercises of a section all have the same cells above them
def _imports(source: str) -> dict[str, str]:
    """Return the imports of a cell, by the names that they give; none if Python cannot parse it."""
    try:
        tree = ast.parse(as_python(source))
    except SyntaxError:
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                one: ast.stmt = ast.Import([alias])
                if isinstance(node, ast.ImportFrom):
                    one = ast.ImportFrom(node.module, [alias], node.level)
                found[(alias.asname or alias.name).partition(".")[0]] = ast.unparse(one)
    return found
