"""Cells that only machines with GPUs execute change nothing for the cells after them."""

from __future__ import annotations

from book.builder import render
from book.builder.dependencies import names_of
from book.builder.notebook import code_cells, gpus_needed

import pytest
from this_chapter import CHAPTER

SECTIONS = [
    pytest.param(section, framework, id=f"{framework}-{section.name}")
    for section in CHAPTER.sections()
    for framework in section.frameworks
]


def clashes(cells: list[tuple[str, int]]) -> set[str]:
    """Names with a value already that a cell sets where there are GPUs, and a later one reads."""
    names, found = [names_of(source) for source, _ in cells], set()
    for i, (_, gpus) in enumerate(cells):
        before = set().union(*(each.bound for each in names[:i]))
        changed = (names[i].bound - names[i].surely) & before if gpus else set()
        for after in names[i + 1 :]:
            found |= changed & (after.read | after.later - after.surely)
            changed -= after.surely
    return found


@pytest.mark.parametrize(("section", "framework"), SECTIONS)
def test_a_cell_of_gpus_leaves_others_names_alone(section, framework):
    notebook = render.notebook(section, framework, section.langs[0])
    assert clashes([(cell.source, gpus_needed(cell)) for cell in code_cells(notebook)]) == set()


def test_a_clash_is_found():
    gpu = ("if d2l.has_gpus(2):\n    for rows, (T, peak) in pairs:\n        print(T)", 2)
    assert clashes([("T = {}", 0), gpu, ("print(T['a'])", 0)]) == {"T"}
    assert clashes([("T = {}", 0), gpu, ("T = 2\nprint(T)", 0)]) == set()
    assert clashes([("T = {}", 0), gpu, ("S = 1", 0)]) == set()
