"""What the output of a cell depends on: the code of which cells before it.

A cell depends on the earlier cells that set a variable it names, from the last that surely sets it
on, and on each that merely names such a variable in between, since `net.initialize()` changes
`net`. A mention changes nothing of what is only imported, defined by `def` or `class`, or set to a
plain number or string. What a function names counts where the function may be called. So it goes
on: the cell depends on what those cells depend on.

This sees names, so it errs on the side of executing too much, but for what no name in the notebook
shows: settings and random seeds that live in a library, files, a change of the libraries and of
d2l_local itself, and a second variable for the same object (after `y = x`, a change of `x` that a
cell sees as `y`). It takes each cell to run to its end. `--force` executes all.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import symtable
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from book.builder.program import as_python, code_key, scopes

# Who names one of these, or runs a magic or a shell line, may read and set anything.
ANYTHING = {"get_ipython", "exec", "eval", "globals", "locals", "vars"}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Names:
    """The notebook's names in one cell."""

    now: set[str] = field(default_factory=set)  # Set or read when the cell runs
    read: set[str] = field(default_factory=set)  # Of these, with a value from before
    later: set[str] = field(default_factory=set)  # Set or read when its functions are called
    bound: set[str] = field(default_factory=set)
    surely: set[str] = field(default_factory=set)  # Of these, whatever happens
    imported: set[str] = field(default_factory=set)  # Of these, what calls nothing of the cell's
    fixed: set[str] = field(default_factory=set)  # Of these, to what a mention cannot change
    anything: bool = False


@functools.cache
def names_of(source: str) -> Names:
    """Return the names of a cell; one that Python cannot parse may name anything."""
    try:
        code = as_python(source)
        tree, table = ast.parse(code), scopes(code)
    except SyntaxError:
        return Names(anything=True)
    names, called = Names(), Names()
    for symbol, inside in _globals(table):
        into = called if inside else names
        into.now.add(symbol.get_name())
        if symbol.is_assigned() or symbol.is_imported():
            into.bound.add(symbol.get_name())
        if symbol.is_imported():
            into.imported.add(symbol.get_name())
    for statement in _straight(tree.body):
        names.read |= names.now & _loads(statement) - names.surely
        names.surely |= _sets(statement)
    if _may_call_its_own(table):
        names.read |= called.now - names.surely
    names.fixed = names.bound - called.bound - _changeable(tree)
    names.bound |= called.bound
    names.later = called.now
    names.anything = bool((names.now | names.later) & ANYTHING) or any(
        isinstance(node, ast.alias) and node.name == "*" for node in ast.walk(tree)
    )
    return names


def _globals(
    table: symtable.SymbolTable, inside: bool = False
) -> Iterator[tuple[symtable.Symbol, bool]]:
    """Yield the notebook's names in a table, and whether they stand inside of a function."""
    inside = inside or (table.get_type() == "function" and table.get_name() != "genexpr")
    for symbol in table.get_symbols():
        if table.get_type() == "module" or symbol.is_global():
            yield symbol, inside
    for child in table.get_children():
        yield from _globals(child, inside)


def _may_call_its_own(table: symtable.SymbolTable) -> bool:
    """Whether a cell names a function that it defines, or has a lambda, which has no name."""
    inside = list(table.get_children())
    scopes = [table, *(child for child in inside if child.get_name() == "genexpr")]
    own = {child.get_name() for child in inside} - {"genexpr"}
    named = {s.get_name() for scope in scopes for s in scope.get_symbols() if s.is_referenced()}
    return bool(own & (named | {"lambda"})) or any(map(_may_call_its_own, scopes[1:]))


def _straight(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run whatever happens."""
    for statement in statements:
        yield statement
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _straight(statement.body)


def _sets(statement: ast.stmt) -> set[str]:
    """Return the names that a statement sets by itself."""
    if isinstance(statement, (*FUNCTION, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        targets = [item.optional_vars for item in statement.items if item.optional_vars]
    return set().union(*map(_stored, targets))


def _stored(target: ast.expr) -> set[str]:
    nodes = [node for node in ast.walk(target) if isinstance(node, ast.Name)]
    return {node.id for node in nodes if isinstance(node.ctx, ast.Store)}


def _loads(statement: ast.stmt) -> set[str]:
    """Return the names that a statement reads, less those of what `_straight` yields by itself."""
    parts: list[ast.AST] = [statement]
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        parts = list(statement.items)
    if isinstance(statement, ast.For):  # Its body has what it sets, and not from before
        around = _loaded([statement.iter, statement.target, *statement.orelse])
        return around | (_loaded(statement.body) - _stored(statement.target))
    return _loaded(parts)


def _loaded(parts: Sequence[ast.AST]) -> set[str]:
    nodes = [node for part in parts for node in ast.walk(part)]
    # `x += 1` and `del x` need an x, too.
    names = [node for node in nodes if isinstance(node, ast.Name)]
    added = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    return {n.id for n in names if not isinstance(n.ctx, ast.Store) or n in added}


def _changeable(node: ast.AST) -> set[str]:
    """Return the names that are set other than by import, `def`, `class` or to a plain value."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        plain = (ast.Constant, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator)
        if all(isinstance(part, plain) for part in ast.walk(node.value)):
            return set()
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return {node.id}
    return set().union(*map(_changeable, ast.iter_child_nodes(node)))


def dependencies(sources: Sequence[str], harmless: Collection[int] = ()) -> list[set[int]]:
    """Return for each cell the indices of the earlier cells that it depends on.

    The ``harmless`` cells are known to change nothing that they merely name.
    """
    return [set(found) for found in because(sources, harmless)]


def because(
    sources: Sequence[str], harmless: Collection[int] = ()
) -> list[dict[int, tuple[int, str]]]:
    """Return for each cell those that it depends on, each with what leads there.

    That is the cell itself or another that it depends on, and the variable that this one names;
    none where it may read and set anything.
    """
    cells = [names_of(source) for source in sources]
    touched = [
        set() if i in harmless else _with_calls(cells, i, cell.now) for i, cell in enumerate(cells)
    ]
    needed = [_with_calls(cells, i, cell.read) for i, cell in enumerate(cells)]
    change = functools.cache(functools.partial(_change, cells, touched))
    return [_depends(cells, needed, change, index) for index in range(len(cells))]


def _with_calls(cells: list[Names], index: int, names: set[str]) -> set[str]:
    """Return names of a cell with those that are read and set in what it may call by them."""
    with_functions = set().union(*(cell.bound - cell.imported for cell in cells if cell.later))
    reached: dict[str, set[str]] = {}  # A name may stand for a function of the cell that sets it,
    for cell in cells[: index + 1]:  # or for an object with methods, whose class the cell names
        if cell is not cells[index]:
            reached.update({name: set() for name in cell.surely})  # What it stood for is gone
        for name in cell.bound - cell.imported:
            reached.setdefault(name, set()).update(cell.later | cell.now & with_functions)
    found, todo = set(), set(names)
    while todo:
        name = todo.pop()
        found.add(name)
        todo |= reached.get(name, set()) - found
    return found


def _depends(
    cells: list[Names], needed: list[set[str]], change: Callable[[str, int], set[int]], index: int
) -> dict[int, tuple[int, str]]:
    found: dict[int, tuple[int, str]] = {}
    todo = [index]
    while todo:
        end = todo.pop()
        if cells[end].anything:
            found = {**dict.fromkeys(range(end), (end, "")), **found}
            continue
        for name in sorted(needed[end]):
            new = change(name, end) - found.keys()
            found.update(dict.fromkeys(new, (end, name)))
            todo += new
    return found


def _change(cells: list[Names], touched: list[set[str]], name: str, end: int) -> set[int]:
    """Return the cells before `end` that decide what a name stands for there."""
    start = max((j for j in range(end) if name in cells[j].surely), default=0)
    bind = {j for j in range(start, end) if name in cells[j].bound}
    if not all(name in cells[j].fixed for j in bind):
        bind |= {j for j in range(start, end) if name in touched[j]}
    return bind | {j for j in range(end) if cells[j].anything}


def code_hashes(sources: list[str], before: str = "") -> list[str]:
    """Return for each cell a hash of its code and of that which it depends on, comments apart.

    All depend on what is done ``before``.
    """
    return list(_code_hashes(tuple(sources), before))


@functools.cache  # A check asks once for what a text makes and once for what is committed
def _code_hashes(sources: tuple[str, ...], before: str) -> tuple[str, ...]:
    keys = [code_key(source) for source in sources]
    codes = [
        before + "\n".join(keys[j] for j in sorted({*found, index}))
        for index, found in enumerate(dependencies(sources))
    ]
    return tuple(hashlib.sha256(code.encode()).hexdigest()[:12] for code in codes)
