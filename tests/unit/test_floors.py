"""The floors of the house: every import points down, and every module can be imported first."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import d2l_local
from d2l_local.base import frameworks

import pytest
from helpers import python
from importlinter import api, cli

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = str(ROOT / "pyproject.toml")
OURS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).replace(".__init__", "")
    for path in (ROOT / "d2l_local").rglob("*.py")
    if path.name != "__main__.py"
}


def test_the_package_says_what_its_floors_are():
    floors = api.read_configuration(PYPROJECT)["contracts_options"][0]["layers"]
    lines = re.findall(r"^- (.+?): ", d2l_local.__doc__, re.MULTILINE)
    told = [" | ".join(re.findall(r"`(\w+)`", line)) for line in lines]
    assert told == floors[:0:-1]  # The first is the command


def test_the_package_itself_loads_nothing():
    done = python("import d2l_local, sys; print([m for m in sys.modules if 'd2l_local' in m])")
    assert done.stdout == "['d2l_local']\n"


def test_imports_point_down():
    assert cli.lint_imports(PYPROJECT, no_cache=True) == cli.EXIT_STATUS_SUCCESS


# What imports a module that is not ours, whose name only the caller knows: MXNet's NumPy, the
# reader's functions.
OF_OTHERS = {"d2l_local/prepare_mxnet/numpy_view.py", "d2l_local/torch/worker.py"}


def computed_imports(source: str) -> list[int]:
    """Return the lines in which code imports what is no constant."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        call.lineno
        for call in calls
        if ast.unparse(call.func).rpartition(".")[2] in ("import_module", "__import__")
        and not (call.args and isinstance(call.args[0], ast.Constant))
    ]


def test_only_the_top_floor_imports_by_a_computed_name():
    """For what a tool does not see points wherever it likes."""
    assert computed_imports("import_module(f'd2l_local.{name}')\n__import__('os')") == [1]
    floors = api.read_configuration(PYPROJECT)["contracts_options"][0]["layers"]
    top = {room for floor in floors[:2] for room in floor.split(" | ")}
    for path in (ROOT / "d2l_local").rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if path.relative_to(ROOT).with_suffix("").parts[1] not in top and name not in OF_OTHERS:
            assert computed_imports(path.read_text("utf-8")) == [], name


def test_the_machine_knows_no_framework():
    known = [[name, f.module, f.title, *f.distributions] for name, f in frameworks.load().items()]
    names = re.compile("|".join(["gluon", *itertools.chain(*known)]), re.IGNORECASE)
    for path in (ROOT / "d2l_local/machine").glob("*.py"):
        assert not names.findall(path.read_text(encoding="utf-8")), path.name


NEEDS = {"d2l_local.mxnet": "mxnet", "d2l_local.drafts": "mxnet", "d2l_local.torch": "torch"}
CURE = {
    "mxnet": f"MXNet is not installed in this Python, {sys.executable}. Type: ",
    "torch": f"PyTorch is not installed in this Python, {sys.executable}. Type: ",
}


def firsts() -> Iterator[list[str]]:
    """Yield lists of modules, each to be imported in a new process.

    The modules of a backend, and the answers, are one list: whichever is asked for, Python imports
    all of it before.
    """
    whole = "d2l_local.answers", "d2l_local.mxnet", "d2l_local.torch"
    for name in sorted(OURS):
        if name in whole:
            yield [name, *(other for other in sorted(OURS) if other.startswith(f"{name}."))]
        elif not name.startswith(tuple(f"{package}." for package in whole)):
            yield [name]


@pytest.mark.parametrize("names", list(firsts()), ids=lambda names: names[0])
def test_every_module_can_be_imported_first(names):
    """Or says what is missing, and what to type, where its framework is not installed."""
    framework = NEEDS.get(names[0])
    missing = framework is not None and importlib.util.find_spec(framework) is None
    done = python(f"import {', '.join(names)}", fails=missing)
    assert done.stdout == ""
    if not missing:
        assert done.stderr == ""
    else:
        assert CURE[framework] in done.stderr.splitlines()[-1]
