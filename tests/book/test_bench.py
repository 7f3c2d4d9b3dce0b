"""The benchmarks: what they import and what they read of sections' cells is there."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from book.builder.notebook import code_cells, read_notebook

import pytest
from rows import Row, report
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
            cells = call.args[3] if len(call.args) > 3 else None
            if cells is None:
                beginnings.add("")
            else:
                beginnings |= {*(tuples.get(ast.unparse(cells)) or ast.literal_eval(cells))}
        section, until, framework = [ast.literal_eval(arg) for arg in calls[-1].args[:3]]
        read = {
            node.slice.value
            for node in ast.walk(function)
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "names"
            if isinstance(node.slice, ast.Constant)
        }
        yield Use(function.name, section, until, framework, tuple(beginnings), read)


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
    assert {use.function for use in USES} >= {"lenet", "memory", "gpt_ladder", "decoding"}


@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use.function}-{use.framework}")
def test_the_cells_leave_what_a_benchmark_reads(use):
    assert not left_out(use)


def test_a_lost_cell_and_a_lost_variable_are_noticed():
    use = next(use for use in USES if use.function == "gpt_ladder")
    assert left_out(Use(**{**vars(use), "until": "nowhere_1"})) == ["nowhere_1"]
    assert left_out(Use(**{**vars(use), "names": {"no_rates"}})) == ["no_rates"]


# ---- What they import ----------------------------------------------------------------------------

NEEDED = {"bench.py": "mxnet", "bench_torch.py": "torch"}


def taken(program: str) -> set[tuple[str, str]]:
    """The names that a program takes from d2l_local, each with the module that should have it.

    As ``from module import name``, or as ``d2l.name`` where ``d2l`` is a backend.
    """
    tree, found, backends = ast.parse(program), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("d2l_local"):
            found |= {(node.module, each.name) for each in node.names}
            backends |= {f"{node.module}.{each.name}" for each in node.names if each.asname}
    [backend] = backends
    return found | {
        (backend, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "d2l"
    }


LACKING = """
import importlib, importlib.util, json, sys
for module, name in json.loads(sys.argv[1]):
    loaded = importlib.import_module(module)
    is_module = hasattr(loaded, "__path__") and importlib.util.find_spec(f"{module}.{name}")
    if not is_module and not hasattr(loaded, name):
        print(f"{module}.{name}")
"""


def missing(program: str) -> list[str]:
    """What a program takes from d2l_local, and is not there: neither a name nor a module."""
    asked = json.dumps(sorted(taken(program)))
    done = subprocess.run(
        [sys.executable, "-c", LACKING, asked], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def with_framework(file: str):
    lacks = importlib.util.find_spec(NEEDED[file]) is None
    return pytest.param(file, marks=pytest.mark.skipif(lacks, reason=f"needs {NEEDED[file]}"))


@pytest.mark.parametrize("file", [with_framework(file) for file in NEEDED])
def test_all_that_a_benchmark_takes_is_there(file):
    assert not missing((ROOT / "bench" / file).read_text("utf-8"))


@pytest.mark.parametrize("file", [with_framework(file) for file in NEEDED])
def test_a_deleted_import_is_noticed(file):
    backend = f"d2l_local.{NEEDED[file]}"
    program = (ROOT / "bench" / file).read_text("utf-8")
    program += f"\nfrom {backend} import _to_mxnet\nd2l.no_such_name()"
    assert missing(program) == [f"{backend}._to_mxnet", f"{backend}.no_such_name"]


# ---- What they print -----------------------------------------------------------------------------


def test_a_row_is_printed_before_the_next_is_measured(capsys):
    def some_rows():
        yield Row("first", "10 by hand", "19", 1.9, at_least=1.85)
        said = capsys.readouterr().out
        assert said.endswith("first: 1.90 (>= 1.85: yes)\n    instead 10 by hand; here 19\n")
        yield Row("second", "", "", 3.0, at_most=2)

    report([some_rows], [], "an hour")
    assert capsys.readouterr().out.startswith("second: 3.00 (<= 2: NO)\n    some_rows took 0.0")


def test_the_rest_is_measured_where_a_row_fails(capsys):
    def slow():
        raise TimeoutError("slow was ended: it still ran after 300 seconds")

    def quick():
        yield Row("second", "", "", 3.0)

    with pytest.raises(SystemExit, match="failed: slow"):
        report([slow, quick], [], "an hour")
    said = capsys.readouterr().out
    assert "slow: failed, slow was ended: it still ran after 300" in said and "second: 3.00" in said


def test_first_it_says_how_long_all_take_and_what_is_skipped(capsys):
    def none():
        return []

    def with_gpus():
        raise AssertionError("measured")

    report([none, with_gpus], [], "an hour", {with_gpus: "it needs 2 GPUs"})
    assert capsys.readouterr().out.splitlines()[:2] == [
        "with_gpus: skipped, it needs 2 GPUs",
        "none (none, with_gpus take an hour)",
    ]
    with pytest.raises(SystemExit, match="no row nowhere; there are none, with_gpus"):
        report([none, with_gpus], ["nowhere"], "an hour")
