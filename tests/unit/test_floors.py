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

ROOT = Path(__file__).resolve().parents[2]

# Which room stands on which: a module imports from its own room and from the floors below. Rooms
# of one floor do not know each other, so that MXNet's and PyTorch's load nothing of one another.
FLOORS = (
    ("d2l_local.base",),
    ("d2l_local.machine", "d2l_local.measure", "d2l_local.data"),
    ("d2l_local.install", "d2l_local.simulate", "d2l_local.lesson", "d2l_local.backend"),
    ("d2l_local.shared", "d2l_local.prepare_mxnet"),
    ("d2l_local.mxnet", "d2l_local.torch"),
    ("d2l_local.doors", "d2l_local.colab", "d2l_local.drafts"),
    ("d2l_local.__main__",),
)
# What makes the book needs neither framework: kernels execute the notebooks, in other processes.
BOOK = {
    "book.builder": (),
    "book.figures": (),
    "book.font": (),
    "book.web": ("book.builder",),
    "book.nbval": ("book.builder",),
    "book.fashion_mnist_sample": (),
}
BOOK_STANDS_ON = FLOORS[:3]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {
    name_of(path): path
    for folder in ("d2l_local", "book")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "node_modules" not in path.parts
}
OURS = {name for name in MODULES if name.startswith("d2l_local") and "__main__" not in name}


def imports(name: str) -> Iterator[str]:
    """Yield the modules of the house that a module imports, also within its functions."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}, line {node.lineno}: a relative import"
            # `from room import module` names a module, `from module import name` does not.
            longer = [f"{node.module}.{alias.name}" for alias in node.names]
            named = [long if long in MODULES else node.module for long in longer]
        else:
            continue
        yield from (module for module in named if module in MODULES)


def room(module: str) -> str:
    """The room that a module is in: the package or module that the tables name."""
    for known in itertools.chain(*FLOORS, BOOK):
        if module == known or module.startswith(f"{known}."):
            return known
    pytest.fail(f"{module} is in no room: give it a floor in {Path(__file__).name}")


def may_be_imported_from(here: str) -> set[str]:
    """The rooms that modules in the room ``here`` may import from."""
    if here in BOOK:
        return {here, *BOOK[here], *itertools.chain(*BOOK_STANDS_ON)}
    [floor] = [i for i, rooms in enumerate(FLOORS) if here in rooms]
    return {here, *itertools.chain(*FLOORS[:floor])}


def test_the_package_says_what_its_floors_are():
    lines = re.findall(r"^- (.+?): ", d2l_local.__doc__, re.MULTILINE)
    told = [tuple(f"d2l_local.{name}" for name in re.findall(r"`(\w+)`", line)) for line in lines]
    assert tuple(told) == FLOORS[:-1]  # The last one is the command


def test_the_package_itself_loads_nothing():
    done = python("import d2l_local, sys; print([m for m in sys.modules if 'd2l_local' in m])")
    assert done.stdout == "['d2l_local']\n"


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"d2l_local", "book"}))
def test_imports_point_down(name):
    allowed = may_be_imported_from(room(name))
    found = {module for module in imports(name) if module not in ("d2l_local", "book")}
    wrong = {m for m in found if room(m) not in allowed}
    assert not wrong, f"{name} imports {sorted(wrong)}, and may import from {sorted(allowed)}"


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

    A backend's modules are one list: whichever is asked for, Python imports all of it before.
    """
    for name in sorted(OURS):
        if name in ("d2l_local.mxnet", "d2l_local.torch"):
            yield [name, *(other for other in sorted(OURS) if other.startswith(f"{name}."))]
        elif not name.startswith(("d2l_local.mxnet.", "d2l_local.torch.")):
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
