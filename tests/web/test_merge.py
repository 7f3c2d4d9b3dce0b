"""Which cells of two frameworks' notebooks become one, and that none is lost."""

from __future__ import annotations

import json
import re

from book.web.merge import page

import pytest
import sample
from nbformat.v4 import new_notebook


def notebooks(cells: dict):
    title = sample.prose("title", "# Title\n\nlinks")
    return {name: new_notebook(cells=[title, *some]) for name, some in cells.items()}


def shown(made) -> list[tuple]:
    """Return (frameworks, fold's title, source, number of outputs) of each cell but the head."""
    state, result = {}, []
    for cell in made.cells[2:]:
        if cell.source.startswith("+++ "):
            state = json.loads(cell.source[4:])
            continue
        fold = state.get("fold", {}).get("title")
        who = "".join(f[0] for f in state.get("frameworks", [])) or "all"
        visible = "" if "remove-input" in cell.metadata.get("tags", []) else cell.source
        result.append((who, fold, visible, len(cell.get("outputs", []))))
    return result


def p(name, text=None):
    return sample.prose(name, text or name)


def c(source, *texts, tags=()):
    return sample.code(source.split()[-1], source, *map(sample.printed, texts), tags=tags)


def test_what_is_common_stands_once():
    made = page(notebooks({"mxnet": [p("a"), c("x", "1")], "pytorch": [p("a"), c("x", "1")]}), "")
    assert shown(made) == [("all", None, "a", 0), ("all", None, "x", 1)]


def test_what_differs_stands_framework_after_framework():
    made = page(
        notebooks(
            {
                "mxnet": [p("a"), p("m"), c("m1"), p("z")],
                "pytorch": [p("a"), p("p"), c("p1"), c("p2"), p("z")],
            }
        ),
        "",
    )
    assert [cell[:3] for cell in shown(made)] == [
        ("all", None, "a"),
        ("m", None, "m"),
        ("m", None, "m1"),
        ("p", None, "p"),
        ("p", None, "p1"),
        ("p", None, "p2"),
        ("all", None, "z"),
    ]


def test_common_code_with_different_outputs_has_each_framework_s():
    made = page(notebooks({"mxnet": [c("x", "1")], "pytorch": [c("x", "2")]}), "")
    assert shown(made) == [("all", None, "x", 0), ("m", None, "", 1), ("p", None, "", 1)]
    assert [cell.outputs[0].text for cell in made.cells if cell.get("outputs")] == ["1\n", "2\n"]


def test_one_framework_needs_no_marks():
    made = page(notebooks({"mxnet": [c("x", "1"), c("y", "2")]}), "")
    assert shown(made) == [("all", None, "x", 1), ("all", None, "y", 1)]
    assert not any("frameworks" in cell.source for cell in made.cells)


def test_a_third_framework_needs_no_code():
    cells = {"a": [p("x"), c("a1"), p("z")], "b": [p("x"), c("b1"), p("z")], "c": [p("x"), p("z")]}
    made = page(notebooks(cells), "")
    assert [cell[:3] for cell in shown(made)] == [
        ("all", None, "x"),
        ("a", None, "a1"),
        ("b", None, "b1"),
        ("all", None, "z"),
    ]
    cells["c"].insert(1, c("a1"))
    made = page(notebooks(cells), "")
    assert ("ac", None, "a1") in [cell[:3] for cell in shown(made)]


SOLUTION = "<details><summary>Solution 1</summary>\n\nBecause.\n\n</details>"


def test_a_solution_takes_its_code_into_its_fold():
    cells = [p("s", SOLUTION), c("# @title Solution\nx", "1", tags=["solution"]), c("outside")]
    assert shown(page(notebooks({"mxnet": cells}), "")) == [
        ("all", "Solution 1", "Because.", 0),
        ("all", "Solution 1", "x", 1),
        ("all", None, "outside", 0),
    ]


def test_a_common_solution_has_each_framework_s_code():
    cells = {f: [p("s", SOLUTION), c(f"run_{f}", tags=["solution"])] for f in sample.FRAMEWORKS}
    assert [cell[:3] for cell in shown(page(notebooks(cells), ""))] == [
        ("all", "Solution 1", "Because."),
        ("m", "Solution 1", "run_mxnet"),
        ("p", "Solution 1", "run_pytorch"),
    ]


def test_different_solutions_have_a_fold_each():
    cells = {
        f: [p("s", SOLUTION.replace("Because", f)), c("same", tags=["solution"]), p("z")]
        for f in sample.FRAMEWORKS
    }
    made = page(notebooks(cells), "")
    assert [cell[:3] for cell in shown(made)] == [
        ("m", "Solution 1", "mxnet."),
        ("m", "Solution 1", "same"),
        ("p", "Solution 1", "pytorch."),
        ("p", "Solution 1", "same"),
        ("all", None, "z"),
    ]
    folds = [json.loads(cell.source[4:]) for cell in made.cells if '"fold"' in cell.source]
    assert {tuple(mark["fold"]["frameworks"]) for mark in folds} == {("mxnet",), ("pytorch",)}


@pytest.mark.parametrize("lang", sample.WORDS)
def test_nothing_is_lost(lang):
    books = {f: sample.two(f, sample.WORDS[lang]) for f in sample.FRAMEWORKS}
    made = page(notebooks(books), "")
    text = "\n".join(cell.source for cell in made.cells)
    outputs = json.dumps([cell.get("outputs") for cell in made.cells])
    for cell in [cell for cells in books.values() for cell in cells]:
        source = re.sub(r"</?(details|summary)>|# @title x", "\n", cell.source)
        for line in source.splitlines():
            assert line in text
        for output in cell.get("outputs", []):
            assert json.dumps(output.get("text", ""))[1:-1] in outputs
