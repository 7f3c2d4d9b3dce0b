"""Rules of a story: what works is silent, what tells decides nothing, the lab stands alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from book.builder import render
from book.builder.check.problem import Problem, at
from book.builder.dependencies import names_of
from book.builder.model import Block, Section
from book.builder.notebook import TELLING
from book.builder.plants import planted
from book.builder.program import as_python

# Calls that say or draw
SHOWS = re.compile("print|display|plot.*|law|measured|axes|check")


def _in_each(section: Section) -> Iterator[list[Block]]:
    """Yield a story's code, for each framework, without wrong answers."""
    for framework in section.stories:
        yield [block for block in section.code_of(framework) if block.kind != "wrong"]


def _works(block: Block) -> bool:
    return block.kind not in (*TELLING, "solution")


def work_is_silent(section: Section) -> Iterator[Problem]:
    """A cell that works prints, draws and asserts nothing: what it keeps is told by another."""
    found: dict[str, Problem] = {}
    for code in _in_each(section):
        for block in filter(_works, code):
            for node in ast.parse(as_python(block.source)).body:
                for what in _shown(node):
                    said = f"{what} in a cell that works: tag it `tell` or `score`, or split it"
                    found.setdefault(block.where, at(block, said))
    yield from found.values()


def answers_draw_nothing(section: Section) -> Iterator[Problem]:
    """What answers a question draws no picture, since the fold that publishes it has only text."""
    for code in _in_each(section):
        for block in code:
            if render.tells(block) and re.search(r"\b(axes|plot\w*|law)\(", block.source):
                yield at(block, "answers a question, and draws: draw in a cell of its own")


def _shown(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
        return  # It says so where it is called
    if isinstance(node, ast.Assert):
        yield "`assert`"
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if SHOWS.fullmatch(name):
            yield f"`{name}`"
    for child in ast.iter_child_nodes(node):
        yield from _shown(child)


def nothing_reads_what_is_told(section: Section) -> Iterator[Problem]:
    """No cell that works reads what a cell sets that tells: it may have been told elsewhere."""
    for code in _in_each(section):
        told: set[str] = set()
        for block in code:
            names = names_of(block.source)
            if _works(block):
                for name in sorted((names.read | names.later - names.surely) & told):
                    yield at(block, f"reads {name}, which only a cell sets that tells")
                told -= names.surely
            elif block.kind in ("tell", "score"):
                told |= names.bound


def headings_begin_blocks(section: Section) -> Iterator[Problem]:
    """A heading begins a block, since below it the languages part."""
    for block in section.blocks if section.stories else ():
        if block.lang and section.in_stories(block) and re.search(r"\n#{1,6} ", block.source):
            yield at(block, "a heading stands within a block: begin a block with it")


def lab_stands_alone(section: Section) -> Iterator[Problem]:
    """An experiment of the lab runs from the set-up alone, whatever an exercise has set."""
    found: dict[str, Problem] = {}
    for framework in section.stories:
        known: set[str] = set()
        setting_up, inside, own = True, False, set[str]()
        further = section.chapter.word(section.langs[0], "further")
        for block in section.blocks_of(framework, section.langs[0]):
            if block.lang:
                setting_up = setting_up and not block.source.startswith("## ")
                inside = inside or block.source.startswith(f"## {further}")
                if block.source.startswith("###") or block.kind == "exercise":
                    own = set()
                continue
            names = names_of(block.source)
            if setting_up:
                known |= names.bound
            elif inside and block.kind in ("", "tell", "score", "stub"):
                missing = (names.read | names.later) - names.bound - own - known
                for name in sorted(missing & _set_above(section, framework, block)):
                    what = f"reads {name}, which its experiment does not set: it stands alone"
                    found.setdefault(block.where, at(block, what))
                own |= names.bound
    yield from found.values()


def _set_above(section: Section, framework: str, block: Block) -> set[str]:
    """Return the names that cells above set, others than which are Python's."""
    code = section.code_of(framework)
    above = code[: code.index(block)]
    return set().union(*(names_of(each.source).bound for each in above))


def plants_fit(section: Section) -> Iterator[Problem]:
    """The line that a plant replaces stands in one cell above it."""
    for framework in section.frameworks:
        code = section.code_of(framework)
        for block in code:
            for plant in section.plants_of(block, framework):
                try:
                    planted(plant, code[: code.index(block) + 1])
                except ValueError as error:
                    yield at(plant, str(error))
