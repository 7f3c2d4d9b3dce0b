"""Checks of exercises, which no notebook shows: functions in the package.

A text's check is a function of what the reader fills in:

    def check(answer):
        d2l.expect(answer, 50, foreseen={525: "half each: the GPU would wait for the CPU"})

The notebook has one line, `d2l.check("ex-rows", answer)`, and asks the function `ex_rows` of
`d2l_local/answers/<section>.py`, which the builder writes for all frameworks and languages. It
reads nothing of the notebook but its parameters, the backend `d2l`, and the modules that cells
above import. Where two frameworks' checks differ, each has a function, `ex_rows__torch`. What a
check says in another language stands in `<section>.<language>.json` beside it. The solution is
prose, so that to run all cells solves nothing.
"""

from __future__ import annotations

import ast
import builtins
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

from book.builder.dependencies import names_of
from book.builder.language import messages, translate, with_messages
from book.builder.model import CHECK, Block, Exercise, Section, exercises
from book.builder.notebook import BuildError
from book.builder.program import as_python

HEAD = """\
\"\"\"Exercises of {name}, made of chapters/text/{name}.md by the builder: edit that.\"\"\"

from d2l_local.base.language import catalog

BACKENDS = [{backends}]
translated = catalog(__file__)"""
INDEX = '''"""Checks of the exercises, made of chapters/text by the builder: edit that."""

from d2l_local.answers import (
{names}
)

SECTIONS = (
{names}
)
'''


def call(exercise: Exercise, check: Block) -> str:
    """Return the line by which a notebook asks for a verdict."""
    named = f'"{exercise.id}"'
    return f"d2l.check({', '.join([named, *parameters(check)])})"


def parameters(check: Block) -> list[str]:
    match = CHECK.search(check.source)
    return [name.strip() for name in match[1].split(",") if name.strip()] if match else []


def asked(section: Section, framework: str) -> dict[str, Exercise]:
    """Return the exercises by where their blocks of code stand."""
    found = exercises(section, framework)
    return {block.where: exercise for exercise in found for block in exercise.code()}


def judging(check: Block) -> str:
    """Return the code that judges an answer with a check, where it is proved."""
    listed = ", ".join(["check", *parameters(check)])
    judge = f"from d2l_local.lesson.exercise import judge\n\njudge({listed})"
    return f"{check.source}\n\n{judge}"


# ---- What the builder writes into the package ----------------------------------------------------


def folder_of(root: Path) -> Path:
    return root / "d2l_local/answers"


def files(section: Section) -> dict[Path, str]:
    """Return the module with a section's checks, and what they say in each language, by path.

    There is none without a check. Raises BuildError for a check that reads what the package does
    not have.
    """
    path = folder_of(section.chapter.root) / f"{section.name.replace('-', '_')}.py"
    text = module(section)
    found = {path: text} if text else {}
    for lang in sorted(section.translated_into):
        said: dict[str, str] = {}
        for framework in section.frameworks:
            for _, check in checks(section, framework):
                said.update(messages(check.source, check.strings.get(lang, {})))
        if said:
            lines = json.dumps(said, ensure_ascii=False, indent=1)
            found[path.with_suffix(f".{lang}.json")] = lines + "\n"
    return found


def index(root: Path) -> tuple[Path, str]:
    """Return the package's own module, which names those of the sections that are there."""
    own = folder_of(root) / "__init__.py"
    modules = sorted(own.parent.glob("[!_]*.py"))
    return own, INDEX.format(names="\n".join(f"    {path.stem}," for path in modules))


def module(section: Section) -> str:
    """Return the module with the checks of a section; empty without any."""
    backends = {name: section.chapter.frameworks[name].module for name in section.frameworks}
    found: dict[str, dict[str, list[str]]] = {}  # Who asks a function, by its name and source
    for framework, backend in backends.items():
        for exercise, check in checks(section, framework):
            functions = found.setdefault(re.sub(r"\W", "_", exercise.id), {})
            functions.setdefault(function(section, exercise, check), []).append(backend)
    made = []
    for name, functions in found.items():
        for source, asking in functions.items():
            if len(asking) == len(backends):
                made.append(source.replace("def check(", f"def {name}(", 1))
                continue
            first, *others = (f"{name}__{backend}" for backend in asking)
            made.append(source.replace("def check(", f"def {first}(", 1))
            made += [f"{other} = {first}" for other in others]
    if not made:
        return ""
    listed = ", ".join(f'"{backend}"' for backend in backends.values())
    return "\n\n\n".join([HEAD.format(name=section.name, backends=listed), *made]) + "\n"


def checks(section: Section, framework: str) -> Iterator[tuple[Exercise, Block]]:
    for exercise in exercises(section, framework):
        for check in exercise.parts["check"]:
            yield exercise, check


def function(section: Section, exercise: Exercise, check: Block) -> str:
    """Return a check as the package has it: with what it imports, and the backend as `d2l`."""
    lines = {english for strings in check.strings.values() for english in strings}
    source = translate(with_messages(check.source, lines), section.chapter.index(section.langs[0]))
    head = f"def check({', '.join([*parameters(check), '*', 'd2l'])}):"
    if imports := imported(exercise, check):
        head += "".join(f"\n    {line}" for line in imports) + "\n"
    return CHECK.sub(head, source, count=1)


def imported(exercise: Exercise, check: Block) -> list[str]:
    """Return the imports that a check needs of the cells above it, less that of the backend."""
    names = names_of(check.source)
    wanted = (names.now | names.later) - names.bound - set(dir(builtins))
    known: dict[str, str] = {}
    for block in exercise.before:
        known.update(_imports(block.source))
    if missing := sorted(wanted - known.keys()):
        raise BuildError(
            f"{check.where}: the check of {exercise.id} reads {missing[0]}, "
            "which no cell above imports: make it a parameter, or define it within the check"
        )
    return list(dict.fromkeys(known[name] for name in sorted(wanted - {"d2l"})))


def taken_twice(sections: list[Section]) -> list[str]:
    """Say which checks have the name of another exercise: only one would be found."""
    seen: dict[tuple[str, str], str] = {}
    problems = []
    for section in sections:
        for framework in section.frameworks:
            for exercise in exercises(section, framework):
                first = seen.setdefault((framework, exercise.id), section.name)
                if not exercise.is_open and first != section.name:
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
