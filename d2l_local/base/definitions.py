"""Functions and classes as text, in which they travel to other processes.

Only the standard library is needed here, as in `d2l_local.base.processes`.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import textwrap
import warnings
from collections.abc import Callable


def check_function(fn: object) -> None:
    """Raise TypeError unless ``fn`` is a function that was defined with ``def``."""
    if not inspect.isfunction(fn) or fn.__name__ == "<lambda>":
        raise TypeError(f"a function defined with def is needed, not {fn!r}")


def source(definition: Callable[..., object]) -> str:
    """The text of a function, or of a class that has a method, decorators included.

    It is the text of this very object, also if its cell was changed and run again since. What was
    set on a class later is not in it. Raises TypeError for what is neither and what has no text.
    """
    if isinstance(definition, type):
        return _source_of_class(definition)
    check_function(definition)
    try:
        return textwrap.dedent(inspect.getsource(definition))
    except OSError:
        name = definition.__name__
        raise TypeError(
            f"the source text of {name} is not known; define it in a cell or in a file"
        ) from None


def _source_of_class(cls: type) -> str:
    # inspect.getsource asks for the file of the class's module, and that of a notebook has none;
    # but the code of a method names its cell.
    for method in filter(inspect.isfunction, map(inspect.unwrap, vars(cls).values())):
        with contextlib.suppress(OSError):  # Methods of data classes come from no file
            lines, _ = inspect.findsource(method)
            if text := _class_around(method.__code__.co_firstlineno, cls.__name__, lines):
                return text
    raise TypeError(
        f"the source text of {cls.__name__} is not known; define it in a cell or in a file, with "
        "a method, which tells where it is"
    )


def _class_around(line: int, name: str, lines: list[str]) -> str | None:
    """The text of the class statement of that name in which a line stands, if there is one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # They were given when the text was run
        module = ast.parse("".join(lines))
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    around = [node for node in classes if node.lineno <= line <= (node.end_lineno or 0)]
    innermost = max(around, key=lambda node: node.lineno, default=None)
    if innermost is None or innermost.name != name:
        return None
    first = min([innermost.lineno, *(each.lineno for each in innermost.decorator_list)])
    return textwrap.dedent("".join(lines[first - 1 : innermost.end_lineno]))
