"""Rules of the code of a text: its tags, and the denials of what it asserts."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator

from book.builder import answers
from book.builder.check.problem import HINT, Problem, at
from book.builder.dependencies import names_of
from book.builder.model import PARTS, Section

PLANTED = {"recorded", "crowding"}  # What `tests/denials.py` gives every denial


def gpu_tags(section: Section) -> Iterator[Problem]:
    """A tag for GPUs says what the cell asks."""
    for block in section.code():
        for tag in block.tags:
            found = re.fullmatch(r"gpus-([1-9][0-9]{0,2})", tag)
            if not found:
                if tag.startswith("gpu"):
                    what = f"the tag {tag} must be like gpus-2, with 1 to 999 GPUs"
                    yield at(block, what)
            elif not re.search(rf"\bhas_gpus\({found[1]}\)", block.source):
                what = f"the tag {tag} is for a cell that asks d2l.has_gpus({found[1]})"
                yield at(block, what)


def denied(section: Section) -> Iterator[Problem]:
    """An assertion has a denial; those of a framework without one are told in one line."""
    for framework in section.frameworks:
        lines = [
            block.where
            for block in section.code_of(framework)
            if block.kind not in PARTS
            and re.search(r"^\s*assert\b", block.source, re.MULTILINE)
            and not section.denials_of(block, framework)
        ]
        if lines:
            what = f"no denial of the assertion in {', '.join(lines)}"
            counted = "assertions that no denial tries"
            yield Problem(f"{framework}/{section.name}", what, HINT, counted)


def denials_give_all(section: Section) -> Iterator[Problem]:
    """A denial gives every name that its cell reads: nothing but imports is executed before.

    Whether what a cell sets is set in time, only the denial's test sees.
    """
    found: dict[str, Problem] = {}
    for framework in section.frameworks:
        known = PLANTED | set(dir(builtins))
        for block in section.code_of(framework):
            for denial in section.denials_of(block, framework):
                cell, given = names_of(block.source), names_of(denial.source)
                if missing := sorted((cell.read | given.read) - cell.bound - given.bound - known):
                    what = f"nothing gives {missing[0]}: the denial must, since the cell reads it"
                    found[denial.where] = at(denial, what)
            known |= names_of(block.source).imported
    yield from found.values()


def answers_kept(section: Section) -> Iterator[Problem]:
    """What the package has of the checks is as the text has it."""
    for path, expected in answers.files(section).items():
        if not path.exists() or path.read_text("utf-8") != expected:
            where = path.relative_to(section.chapter.root).as_posix()
            yield Problem(where, "is not as its text has it: build it")
