"""What a story's cells keep: the plain values that they set, unrounded, as text of Python.

Cells that work are executed where they measure; what they set stays with them. Cells that tell read
these values, on any machine, and so does the prose. Plain are numbers, texts, lists, tuples and
dictionaries of such, NumPy's arrays of numbers, and a `Timeline`. This module is loaded in the
kernel, too, where `keep_from_now_on` looks after each cell at what it has set.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

ABOUT = "d2l_local"  # Whose metadata an output carries, as in `book.builder.notebook`
LONGEST = 50_000  # Characters of one value; what is longer is material, and no result


class _NotPlainError(Exception):
    pass


def written(value: object) -> str | None:
    """Return a plain value as Python writes it; None for one that is not plain, or too long."""
    try:
        text = _written(value)
    except _NotPlainError:
        return None
    return text if len(text) <= LONGEST else None


def _written(value: object) -> str:
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, (str, int, float)):  # As plain ones, whatever class they are of
        plain = next(each for each in (str, int, float) if isinstance(value, each))
        return plain.__repr__(value)  # Also inf and nan, which are names when it is read
    numpy = sys.modules.get("numpy")  # Without which there is nothing of its
    if numpy and isinstance(value, numpy.generic):
        return _written(value.item())
    is_array = numpy and isinstance(value, numpy.ndarray) and value.size <= LONGEST
    if is_array and value.dtype.kind in "biuf":  # type: ignore[attr-defined]
        usual = value.dtype.name in ("float64", "int64", "bool")  # type: ignore[attr-defined]
        dtype = "" if usual else f", {value.dtype.name!r}"  # type: ignore[attr-defined]
        return f"array({_written(value.tolist())}{dtype})"  # type: ignore[attr-defined]
    if isinstance(value, Mapping):
        pairs = (f"{_written(key)}: {_written(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST:
        inner = ", ".join(map(_written, value))
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    lanes = getattr(value, "lanes", None)
    if isinstance(lanes, dict) and hasattr(value, "overlap"):
        spans = {name: [(s.name, s.start, s.end) for s in lane] for name, lane in lanes.items()}
        return f"timeline({_written(spans)})"
    raise _NotPlainError


def read(kept: Mapping[str, str], timeline: Callable[[Any], Any] = dict) -> dict[str, Any]:
    """Return the values that `written` has written, by their names.

    ``timeline`` makes a `Timeline` of its lanes, where one is wanted. Raises ValueError for what
    `written` writes nowhere: a notebook that is read must not execute anything.
    """
    words = {"array": _array, "timeline": timeline, "inf": math.inf, "nan": math.nan}
    return {name: _read(name, text, words) for name, text in kept.items()}


WRITTEN = (ast.Expression, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.UnaryOp, ast.USub)
NAMED = (ast.Call, ast.Name, ast.Load)


def _read(name: str, text: str, words: dict[str, Any]) -> Any:
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        known = not isinstance(node, ast.Name) or node.id in words
        if not isinstance(node, (*WRITTEN, *NAMED)) or not known:
            raise ValueError(f"what is kept as {name} is no plain value: {text[:60]}")
    return eval(compile(tree, name, "eval"), {"__builtins__": {}, **words})


def _array(values: list[Any], dtype: str | None = None) -> Any:
    import numpy  # The web book has none, and reads no values

    return numpy.array(values, dtype)


# ---- In the kernel -------------------------------------------------------------------------------


def keep_from_now_on() -> None:
    """After each cell of this notebook, have an output say what plain values it has set."""
    from IPython import get_ipython

    shell = get_ipython()
    hidden = {*shell.user_ns, *shell.user_ns_hidden}
    known: dict[str, str] = {}

    def look(result: object) -> None:
        if not getattr(result, "success", False):
            return  # What it has set is said after the next cell that succeeds
        plain = {
            name: text
            for name, value in list(shell.user_ns.items())
            if name[0] != "_" and name not in hidden and (text := written(value)) is not None
        }
        lost = dict.fromkeys(known.keys() - plain.keys(), "None")  # Deleted, or not plain any more
        found = {name: text for name, text in {**plain, **lost}.items() if known.get(name) != text}
        known.update(found)
        if found:
            sys.modules["IPython"].display.display(
                {"text/plain": ""}, raw=True, metadata={ABOUT: {"kept": found}}
            )

    shell.events.register("post_run_cell", look)


def tell_of(kept: Mapping[str, str], num_gpus: int) -> None:
    """Give the names of this notebook what was kept, on a machine with so many GPUs."""
    from IPython import get_ipython

    names = get_ipython().user_ns
    names.update(read(kept, names["d2l"].Timeline if "d2l" in names else dict))
    if "d2l" in names:
        names["d2l"].has_gpus = lambda n: n <= num_gpus
