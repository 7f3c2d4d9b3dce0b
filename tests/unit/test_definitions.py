"""The text of functions and classes: of those in a real notebook's cells, and of those in files."""

from __future__ import annotations

import enum
import sys

from d2l_local.base import definitions

import pytest
from helpers import run_cells

IMPORTS = """
import functools
from dataclasses import dataclass
from d2l_local.base.definitions import source
kept = []
"""
KEEP = "kept.append(Config)"
SHOW = """
for cls in kept: print(source(cls), end="---")
"""

METHODS = [
    "    def method(self, x=(1,\n        2)):  # A comment stays\n        return x",
    "    @property\n    def late(self): return 1\n    def method(self): return 1",
    "    @functools.lru_cache(\n        maxsize=1)\n    def method(self): return 1",
    "    class Config:\n        def method(self): return 2\n    def method(self): return 1",
    "    def method(self):\n        class Config:\n            pass\n        return Config",
    "    text = '''\nof less indentation\n'''\n    async def method(self): return 1",
]


def test_the_text_of_a_class(tmp_path):
    """All have the same attributes, so that only the method's own place can tell."""
    texts = [
        f"{decorator}class Config:\n    size = 1\n{method}\n"
        for method in METHODS
        for decorator in ("", "@dataclass\n", "@dataclass\n@dataclass(\n  order=0)\n")
    ]
    around = "x = 1; '\\d'\n{}\nclass Other:\n    def method(self): pass"
    cells = [cell for text in texts for cell in (around.format(text), KEEP)]
    assert run_cells([IMPORTS, *cells, SHOW], tmp_path).split("---")[:-1] == texts


def test_a_class_in_a_file():
    assert definitions.source(enum.Flag).startswith("class Flag(")


@pytest.mark.parametrize("what", [3, None, len, lambda: 1, sys])
def test_what_is_neither(what):
    with pytest.raises(TypeError, match="a function defined with def is needed, not"):
        definitions.source(what)


@pytest.mark.parametrize("cls", [int, type("Made", (), {})])
def test_a_class_without_a_text(cls):
    with pytest.raises(TypeError, match=f"text of {cls.__name__} is not known; .*with a method"):
        definitions.source(cls)
