"""What a text shows of the package is what the package has: the same syntax, without docstrings."""

from __future__ import annotations

import ast

from book.builder import render
from book.builder.notebook import code_cells
from d2l_local.base import frameworks

import pytest
from this_chapter import CHAPTER, ROOT

SHOWN = {("gpt", "pytorch"): {"Attention", "Block", "GPT"}}


def classes(source: str) -> dict[str, str]:
    """The syntax trees of the classes that a program defines, by name, without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            del node.body[0]
    return {node.name: ast.dump(node) for node in tree.body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize(("name", "framework"), SHOWN)
def test_a_class_that_a_text_shows_is_the_package_s(name, framework):
    [section] = CHAPTER.sections([name])
    module = ROOT / "d2l_local" / frameworks.load()[framework].module / "language_model.py"
    notebook = render.notebook(section, framework, section.langs[0])
    cells = [cell.source for cell in code_cells(notebook) if "class " in cell.source]
    shown, package = classes("\n".join(cells)), classes(module.read_text(encoding="utf-8"))
    assert shown.keys() == SHOWN[name, framework]
    assert shown == {each: package[each] for each in shown}


def test_a_changed_line_is_seen_and_a_docstring_is_not():
    one = "class A:\n    def f(self):\n        return 1\n"
    told = one.replace("):\n", '):\n        """Return 1."""\n')
    assert classes(one) == classes(told) != classes(one.replace("1", "2"))
