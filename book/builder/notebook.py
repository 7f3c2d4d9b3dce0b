"""Notebooks as files and as programs: what a cell does, reads, sets and needs."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import re
import symtable
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from book.builder.language import without_strings

import nbformat
from nbformat import NotebookNode

IGNORED = "nbval-ignore-output"  # nbval's word for a cell that it executes and does not compare
DATA = Path(__file__).parents[2] / "d2l_local/data"  # What the package holds
LOADS = {  # What a cell may say that loads it, and the file
    r"\b(?:load_data_fashion_mnist|FashionMNIST|train_lenet_dist)\b": "fashion-mnist-sample.tar.xz",
    r"\bload_text\b": "english.txt",
    r"\btrained_gpt\b": "gpt-tiny.npz",
}


class BuildError(Exception):
    """What is wrong, where, and what to do about it."""


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def program(notebook: NotebookNode, strings: bool = True) -> list[str]:
    """Return what a notebook does, if need be whatever its strings say.

    The set-up cell does nothing here.
    """
    return [code_key(cell.source, strings) for cell in code_cells(notebook) if cell.id != "setup"]


@functools.cache  # The languages of a section have most cells in common
def code_key(source: str, strings: bool = True) -> str:
    """Return what decides whether two cells do the same: the syntax tree, without comments.

    It is the same on all Pythons, unlike `ast.dump`, whose trees gain (empty) fields. With other
    data, a cell that loads them is another program.
    """
    data = "".join(digest(name) for words, name in LOADS.items() if re.search(words, source))
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
def digest(name: str) -> str:
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


def may_fail(cell: NotebookNode) -> bool:
    return "raises-exception" in cell.metadata.get("tags", [])


def measures(cell: Mapping[str, Any]) -> bool:
    """Whether its output, which differs from run to run, is not compared with the committed one."""
    return IGNORED in cell.get("metadata", {}).get("tags", [])


def gpus_needed(cell: NotebookNode) -> int:
    """How many GPUs it takes to prove what the cell says: N of its tag `gpus-N`, else 0."""
    found = [re.fullmatch(r"gpus-(\d+)", tag) for tag in cell.metadata.get("tags", [])]
    return max((int(match[1]) for match in found if match), default=0)


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


def read_notebook(path: Path) -> NotebookNode | None:
    """Return a notebook, or None if there is none. Raises BuildError where it is damaged."""
    try:
        return nbformat.read(path, as_version=4) if path.exists() else None
    except ValueError as error:  # No JSON, or no UTF-8
        what = " ".join(str(error).split()[:20])
        raise BuildError(f"{path}: {what}; take it from git, or delete it and build it") from None


def dump(notebook: NotebookNode) -> str:
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook, version=4)
    return text.rstrip("\n") + "\n"


def write(path: Path, text: str) -> bool:
    """Write a file all at once, and only if it changes."""
    data = text.encode()
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return True
