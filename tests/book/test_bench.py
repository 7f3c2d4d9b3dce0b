"""The benchmarks that execute sections' cells: these cells are there, and leave what is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from book.builder.notebook import code_cells, read_notebook

import pytest
from this_chapter import CHAPTER, ROOT


@dataclass
class Use:
    """The cells that a benchmark executes, and the variables that it reads of them."""

    function: str
    section: str
    until: str
    framework: str
    beginnings: tuple[str, ...]
    names: set[str]


def literals(function: ast.FunctionDef) -> dict[str, tuple[str, ...]]:
    """The tuples of strings that a function gives a name."""
    found = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            with_strings = all(isinstance(each, ast.Constant) for each in node.value.elts)
            if with_strings and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def uses(file: str) -> Iterator[Use]:
    tree = ast.parse((ROOT / "bench" / file).read_text("utf-8"))
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        calls = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "notebook"
        ]
        if not calls:
            continue
        tuples, beginnings = literals(function), set[str]()
        for call in calls:
            options = {each.arg: each.value for each in call.keywords}
            cells = call.args[3] if len(call.args) > 3 else options.get("beginnings")
            if cells is None:
                beginnings.add("")
            else:
                beginnings |= {*(tuples.get(ast.unparse(cells)) or ast.literal_eval(cells))}
        section, until = [ast.literal_eval(arg) for arg in calls[-1].args[:2]]
        framework = ast.unparse(calls[-1].args[2]) if len(calls[-1].args) > 2 else "'mxnet'"
        read = {
            node.slice.value
            for node in ast.walk(function)
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "names"
            if isinstance(node.slice, ast.Constant)
        }
        for each in ("mxnet", "pytorch") if framework == "framework" else (framework.strip("'"),):
            yield Use(function.name, section, until, each, tuple(beginnings), read)


USES = [*uses("bench.py"), *uses("bench_torch.py")]


def bound(source: str) -> set[str]:
    """The names that a program binds."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
    return found


def left_out(use: Use) -> list[str]:
    """What a benchmark asks of a section's cells, and they do not have."""
    notebook = read_notebook(CHAPTER.notebook_path(use.framework, "en", use.section))
    assert notebook is not None, use.section
    ids = [cell.id for cell in code_cells(notebook)]
    if use.until not in ids:
        return [use.until]
    sources = {cell.id: cell.source for cell in code_cells(notebook)[: ids.index(use.until) + 1]}
    chosen = {id for id in sources if id.startswith(use.beginnings) and id != "setup"}
    known = set().union(*(bound(sources[id]) for id in chosen))
    unused = [each for each in use.beginnings if not any(id.startswith(each) for id in chosen)]
    return unused + sorted(use.names - known)


def test_all_benchmarks_by_cells_are_found():
    assert {use.function for use in USES} >= {"capstone", "one_device", "gpt_ladder", "decoding"}


@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use.function}-{use.framework}")
def test_the_cells_leave_what_a_benchmark_reads(use):
    assert not left_out(use)


def test_a_lost_cell_and_a_lost_variable_are_noticed():
    use = next(use for use in USES if use.function == "gpt_ladder")
    assert left_out(Use(**{**vars(use), "until": "nowhere_1"})) == ["nowhere_1"]
    assert left_out(Use(**{**vars(use), "names": {"no_rates"}})) == ["no_rates"]
