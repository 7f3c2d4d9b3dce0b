"""Whether what asks the reader back is all there, in the text and in the outputs."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from book.builder import render
from book.builder.check.problem import HINT, Problem, at
from book.builder.model import CHECK, PARTS, Block, Section, choices, exercises
from book.builder.notebook import Cell, data_of
from book.builder.page import Page

NO_ANSWER = "no cell follows that answers it with `d2l.measured(...)`"


def complete(section: Section) -> Iterator[Problem]:
    """Questions, exercises, asides and references have all their parts."""
    found: dict[tuple[str, str], tuple[Block, str]] = {}  # Each once, not once a framework
    for framework in section.frameworks:
        for block, what in [
            *_in_exercises(section, framework),
            *_in_questions(section, framework),
            *_in_asides(section, framework),
        ]:
            found.setdefault((block.where, what), (block, what))
    for block, what in [*found.values(), *_in_references(section)]:
        yield at(block, what)


def _in_exercises(section: Section, framework: str) -> Iterator[tuple[Block, str]]:
    inside = set()
    for exercise in exercises(section, framework):
        parts = exercise.parts
        if exercise.is_open:
            if not any(block.kind == "solution" for block in exercise.prose):
                yield exercise.question, "has neither code nor a solution in words to compare with"
            continue
        inside |= {block.where for blocks in parts.values() for block in blocks}
        for kind in PARTS:
            count = len(parts[kind])
            if not count or (count > 1 and kind in ("stub", "check")):
                some = "one" if kind in ("stub", "check") else "at least one"
                yield (
                    exercise.question,
                    f"has {count} cells tagged {kind} in {framework}, not {some}",
                )
        asked = [block for kind in ("stub", "check", "solution") for block in parts[kind]]
        order = [section.blocks.index(block) for block in asked]
        if order != sorted(order):
            yield exercise.question, "stub, check and solution come in another order"
        if not exercise.id.startswith("ex-"):
            yield exercise.question, f"is asked for by its name: call it ex-{exercise.id}"
        for block in parts["check"]:
            yield from _in_check(block)
    for block in section.blocks_of(framework, section.langs[0]):
        if block.kind in ("stub", "check", "wrong") and block.where not in inside:
            yield block, f"a {block.kind} outside of an exercise"
        if (block.kind == "wrong") != bool(block.refused):
            yield block, "a wrong answer, and nothing else, says `:refused:`: what it is told"


def _in_check(block: Block) -> Iterator[tuple[Block, str]]:
    with contextlib.suppress(SyntaxError):
        tree = ast.parse(block.source)
        if not CHECK.search(block.source) or len(tree.body) != 1:
            yield block, "a check is one function, `def check(answer):`, and nothing beside it"
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert) and node.msg is None:
                yield block, "an assertion of a check says what is wrong if it fails"


def _in_questions(section: Section, framework: str) -> Iterator[tuple[Block, str]]:
    twins = section.twins()
    for lang in section.langs:
        question = None
        for block in section.blocks_of(framework, lang):
            if question and (block.lang or render.tells(block)):
                if block.lang:
                    yield question, NO_ANSWER
                question = None
            if block.kind == "predict":
                question = block
                one = twins[block.id].get(section.langs[0], block)
                counts = [len(choices(each.source)) for each in (one, block)]
                if counts[0] != counts[1] or counts[0] == 1:
                    yield block, f"{counts[1]} choices, and its original {counts[0]}: two or more"
        if question:
            yield question, NO_ANSWER


def _in_asides(section: Section, framework: str) -> Iterator[tuple[Block, str]]:
    for lang in section.langs:
        asides = [b for b in section.blocks_of(framework, lang) if b.lang and b.kind == "aside"]
        for block in asides:
            title = block.source.partition("\n")[0]
            if not re.fullmatch(r"[^$*_\[#]+", title):
                yield block, f"an aside begins with its title, a line of plain text: {title}"


def _in_references(section: Section) -> Iterator[tuple[Block, str]]:
    references = [block for block in section.blocks if block.kind == "reference"]
    for block, before in zip(references, [None, *references]):
        if block.lang != section.langs[0]:
            yield block, f"a reference is written once, in {section.langs[0]}"
        if not re.fullmatch(r"[a-z]+\d{4}[a-z]?", block.id):
            yield block, "the key of a reference is the first author's name and the year"
        if before and before.id >= block.id:
            yield block, f"stands below {before.id}; references are in the order of their keys"


def outputs(cell: Cell) -> list[str]:
    """Return what is wrong with the outputs of a cell that answers a question or checks one."""
    told = [data_of(output) for output in cell.outputs]
    if cell.kind == "check":
        verdicts = [data["verdict"] for data in told if "verdict" in data]
        return [] if verdicts == ["not yet"] else [f"the check says {verdicts}, not “not yet”"]
    if cell.predict:
        measured = [data["measured"] for data in told if "measured" in data]
        count = len(cell.predict["choices"])
        if len(measured) != 1:
            return [f"{len(measured)} measured answers, not one"]
        if count and measured[0].get("choice") not in range(1, count + 1):
            return [f"measured {measured[0]}, which is none of the {count} choices"]
        if not count and not math.isfinite(measured[0].get("number", math.nan)):
            return [f"measured {measured[0]}, where the question asks for a number"]
    return []


def right_choices(pages: Iterable[Page]) -> Iterator[Problem]:
    """No choice is the right one in more than half: readers soon know where to look for it."""
    counts: dict[str, Counter[int]] = {}
    for page in pages:
        for cell in page.committed.code if page.committed and not page.original else ():
            if cell.predict.get("choices"):
                told = [data_of(output).get("measured", {}) for output in cell.outputs]
                of = counts.setdefault(page.framework, Counter())
                of.update(each["choice"] for each in told if "choice" in each)
    for framework, of in counts.items():
        for choice, count in of.most_common(1):
            if count > sum(of.values()) / 2:
                what = f"of {sum(of.values())} predictions with choices, choice {choice} is right"
                yield Problem(framework, f"{what} in {count}: let another be, in the next", HINT)
