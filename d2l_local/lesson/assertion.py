"""Say in words what an assertion of a notebook expected, and what was measured.

The cells assert what they teach. On another machine one may fail, and a reader should then see more
than ``AssertionError``: the values that were compared, and whether other programs were at work.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import reprlib
import sys
import traceback
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from d2l_local.base.language import translated
from d2l_local.machine.crowding import MOST, Crowding
from d2l_local.machine.host import num_cores

# What may be called once more for the sake of a message: it is fast and changes nothing.
HARMLESS = {
    *("abs", "all", "any", "len", "list", "max", "min", "round", "set", "sorted", "sum", "tuple"),
    *("allclose", "array_equal", "equal", "isclose", "isinf", "isfinite", "mean", "median", "norm"),
    *("asnumpy", "asscalar", "get", "item", "num_cores", "num_gpus", "overlap", "tolist"),
}
_short = reprlib.Repr()
_short.maxdict = _short.maxlist = _short.maxtuple = 8
_short.maxother = _short.maxstring = 120


def explain_failures() -> None:
    """From now on, in a notebook, an assertion without a message says what it compared."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or getattr(shell, "d2l_local_cell", None):
        return
    shell.d2l_local_cell = Crowding()
    shell.events.register("pre_run_cell", lambda *_: shell.d2l_local_cell.__enter__())
    shell.d2l_local_cell.__enter__()  # For the cell that is running now
    shell.set_custom_exc((AssertionError,), _show)


def explanation(error: AssertionError, crowding: Crowding) -> str | None:
    """What a bare assertion of a notebook's cell expected and found; None for any other."""
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    found = None if error.args else _assertion(frame, line)
    if found is None:
        return None
    compared = [f"{name} = {value}" for name, value in dict(_values(found, frame)).items()]
    lines = [
        translated("expected: {claim}", claim=ast.unparse(found)),
        *([translated("found: {values}", values=", ".join(compared))] if compared else []),
    ]
    if num_cores() < 2:
        lines.append(translated("This machine has a single core: nothing takes place at once."))
    elif crowding.share > MOST:
        lines.append(
            translated(
                "Other programs took {share:.0%} of the cores while this cell ran. "
                "Close them, and run again what is measured above.",
                share=crowding.share,
            )
        )
    else:
        lines.append(
            translated(
                "Run again what is measured above. If it fails again, the lesson does not hold on "
                "a machine like this: please report it."
            )
        )
    return "\n".join(lines)


def _show(
    shell: Any,
    kind: type,
    error: AssertionError,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """Show the error as IPython does, with the explanation as its message."""
    shell.d2l_local_cell.__exit__()
    with contextlib.suppress(Exception):  # Whatever goes wrong here, the error itself is shown
        message = explanation(error, shell.d2l_local_cell)
        error.args = (message,) if message else error.args
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def _assertion(frame: FrameType, line: int) -> ast.expr | None:
    """The condition of the assertion that stands at a line of a notebook's cell."""
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    if frame.f_globals.get("__name__") != "__main__" or not lines:
        return None
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or line):
            return node.test
    return None


def _values(test: ast.expr, frame: FrameType) -> Iterator[tuple[str, str]]:
    """Yield what is compared, and its value; of what would have to be called again, its parts."""
    for node in _compared(test):
        if isinstance(node, ast.Constant):
            continue
        if not _harmless(node):
            for child in ast.iter_child_nodes(node):
                inner = child.iter if isinstance(child, ast.comprehension) else child
                if isinstance(inner, ast.expr):
                    yield from _values(inner, frame)
            continue
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            code = compile(ast.Expression(node), "<assertion>", "eval")
            value = eval(code, frame.f_globals, frame.f_locals)
            if not callable(value) and type(value).__name__ != "module":
                yield ast.unparse(node), _rounded(value)


def _compared(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _compared(value)
    elif isinstance(test, ast.UnaryOp):
        yield from _compared(test.operand)
    elif isinstance(test, ast.Compare):
        yield from (test.left, *test.comparators)
    elif isinstance(test, ast.Call) and test.args and _harmless(test):
        yield from test.args  # all(shorter): the values tell more than False
    else:
        yield test


def _harmless(node: ast.expr) -> bool:
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    called = [getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls]
    if any(name == "get" and not call.args for name, call in zip(called, calls)):
        return False  # It waits at a queue; a dictionary's says what it gets
    scoped = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.Lambda, ast.NamedExpr)
    return HARMLESS.issuperset(called) and not any(isinstance(n, scoped) for n in ast.walk(node))


def _rounded(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)) and all(isinstance(each, float) for each in value):
        return f"[{', '.join(f'{each:.4g}' for each in value[:8])}{', …' * (len(value) > 8)}]"
    return _short.repr(value)
