"""Cells as programs: what decides whether two do the same, and which names one has."""

from __future__ import annotations

import ast
import functools
import hashlib
import re
import symtable
from pathlib import Path

from book.builder.language import without_strings

DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
DATA = Path(__file__).parents[2] / "d2l_local/data"  # What the package holds
LOADS = {  # What a cell may say that loads it, and the file
    r"\b(?:load_data_fashion_mnist|FashionMNIST|train_lenet_dist)\b": "fashion-mnist-sample.tar.xz",
    r"\bload_text\b": "english.txt",
    r"\btrained_gpt\b": "gpt-tiny.npz",
}


@functools.cache  # The languages of a section have most cells in common
def code_key(source: str, strings: bool = True) -> str:
    """Return what decides whether two cells do the same: the syntax tree, without comments.

    It is the same on all Pythons, unlike `ast.dump`, whose trees gain (empty) fields. With other
    data, a cell that loads them is another program.
    """
    data = "".join(data_hash(name) for words, name in LOADS.items() if re.search(words, source))
    try:
        tree = ast.parse(as_python(source))
        return _shown(tree if strings else without_strings(tree)) + data
    except SyntaxError:
        return source + data


@functools.cache
def decided(source: str, on_gpu: bool) -> str:
    """Return what a cell does where there are GPUs, or none: what `on_gpu` decides is decided.

    So a number that is for CPUs alone may change, and what GPUs made is still what they would make.
    """
    if "on_gpu" not in source:
        return source
    try:
        return ast.unparse(_Decided(on_gpu).visit(ast.parse(as_python(source))))
    except SyntaxError:
        return source


class _Decided(ast.NodeTransformer):
    def __init__(self, on_gpu: bool):
        self.on_gpu = on_gpu

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if not _is_on_gpu(node.test):
            return node
        return node.body if self.on_gpu else node.orelse

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not _is_on_gpu(node.test):
            return node
        return (node.body if self.on_gpu else node.orelse) or ast.Pass()


def _is_on_gpu(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "on_gpu"


@functools.cache
def definitions(source: str) -> str:
    """Return what a cell imports and defines, which measures nothing."""
    try:
        tree = ast.parse(as_python(source))
    except SyntaxError:
        return ""
    return "\n".join(ast.unparse(node) for node in tree.body if isinstance(node, DEFINITIONS))


@functools.cache
def data_hash(name: str) -> str:
    """Return a hash of a file of `DATA`: other data give another one."""
    return hashlib.sha256((DATA / name).read_bytes()).hexdigest()[:12]


def _shown(node: object) -> str:
    if isinstance(node, ast.AST):
        fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
        inside = ", ".join(f"{name}={_shown(value)}" for name, value in fields)
        return f"{type(node).__name__}({inside})"
    if isinstance(node, list):
        return f"[{', '.join(map(_shown, node))}]"
    return repr(node)


@functools.cache
def as_python(source: str) -> str:
    """Return what IPython makes of a cell: calls in place of shell lines and magics."""
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager().transform_cell(source)


class _Generators(ast.NodeTransformer):
    """Make generator expressions of the comprehensions."""

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> ast.GeneratorExp:
        self.generic_visit(node)
        return ast.GeneratorExp(node.elt, node.generators)

    visit_SetComp = visit_ListComp  # noqa: N815  The name that ast looks for

    def visit_DictComp(self, node: ast.DictComp) -> ast.GeneratorExp:
        self.generic_visit(node)
        return ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)


def scopes(code: str) -> symtable.SymbolTable:
    """Return the table of a program's names, the same on all Pythons.

    From Python 3.12 on, the variables of a comprehension are listed among those around it; those
    of a generator expression never are.
    """
    tree = ast.fix_missing_locations(_Generators().visit(ast.parse(code)))
    return symtable.symtable(ast.unparse(tree), "cell", "exec")
