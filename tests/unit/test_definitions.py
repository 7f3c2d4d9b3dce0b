"""The text of functions and classes: of those in a real notebook's cells, and of those in files."""

from __future__ import annotations

import enum
import importlib
import math
import sys

from d2l_local.base import definitions

import pytest
from helpers import run_cells

IMPORTS = """
import enum, functools
from dataclasses import dataclass, field
from typing import NamedTuple
from d2l_local.base.definitions import source
kept = []
"""
KEEP = "kept.append(Config)"
SHOW = """
for cls in kept:
    try: print(source(cls), end="---")
    except TypeError as error: print(error, end="---")
"""


def sources(definitions, folder):
    """Return the text found for each Config, of which the cells define one after the other."""
    cells = [cell for text in definitions for cell in (text, KEEP)]
    return run_cells([IMPORTS, *cells, SHOW], folder).split("---")[:-1]


METHODS = [
    "    def method(self, x=(1,\n        2)):  # A comment stays\n        return x",
    "    @property\n    def method(self): return 1",
    "    @functools.cached_property\n    def late(self): return 1\n    def method(self): return 1",
    "    method = staticmethod(lambda x: x)\n    method = lambda self: 1",
    "    @functools.lru_cache(\n        maxsize=1)\n    def method(self): return 1",
    "    @classmethod\n    def method(cls): return 1",
    "    class Config:\n        def method(self): return 2\n    def method(self): return 1",
    "    def method(self):\n        class Config:\n            pass\n        return Config",
    "    text = '''\nof less indentation\n'''\n    async def method(self): return 1",
]


def test_the_text_of_a_class_with_methods(tmp_path):
    """All have the same attributes, so that only the method's own place can tell."""
    texts = [
        f"{decorator}class Config:\n    size = 1\n{method}\n"
        for method in METHODS
        for decorator in ("", "@dataclass\n", "@dataclass\n@dataclass(\n  order=0)\n")
    ]
    around = "x = 1; '\\d'\n{}\nclass Other:\n    def method(self): pass"
    assert sources([around.format(text) for text in texts], tmp_path) == texts


def test_the_text_of_a_class_without_methods(tmp_path):
    """The cell was run with other values, other fields, and then with the first ones again."""
    bodies = [
        *("size = 1", "size = 2", "size: int = 2", "sizes: int = 2", "size: int", "size = 1"),
        *("size = '1'", "size = None", "size = 1.0", "size = True", "size = -1", "size = (1, [2])"),
        "size: int = 2\n    names: list = field(default_factory=list)",
        *("a = b = 1; c, d = 2, 3", "e = 1\n    if True:\n        a = 5"),
    ]
    texts = [f"@dataclass\nclass Config:\n    {body}\n" for body in bodies]
    texts += [
        *("class Config(enum.Enum):\n    RED = 1\n", "class Config(enum.Enum):\n    BLUE = 1\n"),
        *("class Config(NamedTuple):\n    x: int = 3\n", "class Config(NamedTuple):\n    y: int\n"),
        "@dataclass(slots=True)\nclass Config:\n    z: int = 3\n"
        if sys.version_info >= (3, 10)
        else "class Config:\n    __slots__ = 'z'\n    z: int\n",
    ]
    never = ["1 / 0  # fails\n@dataclass\nclass Config:\n    size = 3", "class Config:  # fails"]
    assert sources(texts, tmp_path) == texts
    cells = [IMPORTS, *never, texts[0], KEEP, *never, "'\\d'; Config = None", SHOW]
    assert run_cells(cells, tmp_path) == texts[0] + "---"


def test_a_class_without_methods_whose_text_is_not_certain(tmp_path):
    """One that was changed since is not sent as it was, and no text is guessed."""
    first, like_it = (f"class Config:  # {kind}\n    x: {kind} = 1" for kind in ("int", "float"))
    changes = ("Config.x = 2", "Config.y = 2", "del Config.x", "exec('class Config: z = 1')")
    cells = [cell for change in changes for cell in (first, change, KEEP)]
    changed = "the source text of Config as it is now is not known; define it in a cell or in a "
    changed += "file, and set its attributes nowhere else"
    several = "Config was defined in 2 ways that it might come from, and has no method that tells "
    several += "them apart; give it another name, or a method"
    said = run_cells([IMPORTS, *cells, like_it, KEEP, SHOW], tmp_path).split("---")
    assert said == [*[changed] * len(changes), several, ""]


FILE = """
import math
import torch_of_ours.functional as FF
from enum import Enum as E

def deco(cls): return cls

if True:
    @deco
    class Net(E):
        x: "math" = FF.__name__
        y = deco(math.pi)
        def method(self): return E, len, Path, nothing
else:
    class Net:
        def method(self): return 2

class Inherits(Net.__class__):
    pass
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in a file that has classes."""
    (tmp_path / "torch_of_ours").mkdir()
    (tmp_path / "torch_of_ours" / "functional.py").write_text("")
    (tmp_path / "in_a_file.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("in_a_file", "torch_of_ours", "torch_of_ours.functional"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("in_a_file")


def test_classes_in_a_file(module):
    net = definitions.source(module.Net)
    assert net.startswith("@deco\nclass Net(E):\n    x:") and net.endswith("nothing\n")
    assert definitions.source(module.Inherits) == "class Inherits(Net.__class__):\n    pass\n"
    assert definitions.source(enum.Flag).startswith("class Flag(")


def test_what_a_class_names_of_other_modules(module):
    """Not what is its own module's, is built in, or is not there."""
    assert definitions.imports(module.Net) == {
        "E": "from enum import Enum as E",
        "FF": "import torch_of_ours.functional as FF",
        "math": "import math as math",
    }
    assert definitions.imports(module.Inherits) == {}


@pytest.mark.parametrize("what", [3, None, len, lambda: 1, math])
def test_what_is_neither(what):
    with pytest.raises(TypeError, match="a class, or a function defined with def, is needed, not"):
        definitions.source(what)


@pytest.mark.parametrize("cls", [int, type("Made", (), {}), type(sys.flags)])
def test_a_class_without_a_text(cls):
    with pytest.raises(TypeError, match=f"the source text of {cls.__name__} as it is now is not"):
        definitions.source(cls)
