"""Functions and classes as text, in which they travel to other processes.

Only the standard library is needed here, as in `d2l_local.base.processes`.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import sys
import textwrap
import types
import warnings
from collections.abc import Callable, Iterator

# What a literal in a class statement leaves in the class.
PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, type(None))


def check_function(fn: object) -> None:
    """Raise TypeError unless ``fn`` is a function that was defined with ``def``."""
    if not _has_def(fn):
        raise TypeError(f"a function defined with def is needed, not {fn!r}")


def _has_def(fn: object) -> bool:
    return inspect.isfunction(fn) and fn.__name__ != "<lambda>"


def source(definition: Callable[..., object]) -> str:
    """The text of a function or of a class, decorators included.

    It is the text of this very object, also if its cell was changed and run again since. What was
    set on a class later, such as a method, is not in it. Raises TypeError for what is neither, for
    what has no text, and for a class without methods where its text may be one of several.
    """
    if isinstance(definition, type):
        return _source_of_class(definition)
    if not _has_def(definition):
        raise TypeError(f"a class, or a function defined with def, is needed, not {definition!r}")
    try:
        return textwrap.dedent(inspect.getsource(definition))
    except OSError:
        name = definition.__name__
        raise TypeError(
            f"the source text of {name} is not known; define it in a cell or in a file"
        ) from None


def imports(cls: type) -> dict[str, str]:
    """What a class names and its module has imported: the statements that import it, by name.

    A function can import what it needs when it is called; decorators, bases and annotations of a
    class are needed before. Raises TypeError as `source`.
    """
    module, found = sys.modules.get(cls.__module__), {}
    named = {node.id for node in ast.walk(_parse(source(cls))) if isinstance(node, ast.Name)}
    for name in sorted(named):
        value = getattr(module, name, None)
        home, own = (getattr(value, what, "") for what in ("__module__", "__name__"))
        if isinstance(value, types.ModuleType):
            found[name] = f"import {own} as {name}"
        elif own and home != cls.__module__ and getattr(sys.modules.get(home), own, None) is value:
            found[name] = f"from {home} import {own} as {name}"
    return found


def _source_of_class(cls: type) -> str:
    # inspect.getsource asks for the file of the class's module, and that of a notebook has none.
    # But the code of a method names its cell. A class without methods does not say where it is
    # from: then all class statements of its name are compared with it.
    name = cls.__name__
    texts = {text for method in _methods(cls) for text in _text_around(method, name)}
    texts = texts or {text for lines in _cells(cls) for text in _texts_like(cls, lines)}
    if len(texts) > 1:
        raise TypeError(
            f"{name} was defined in {len(texts)} ways that it might come from, and has no method "
            "that tells them apart; give it another name, or a method"
        )
    if not texts:
        raise TypeError(
            f"the source text of {name} as it is now is not known; define it in a cell or in a "
            "file, and set its attributes nowhere else"
        )
    return texts.pop()


def _methods(cls: type) -> Iterator[types.FunctionType]:
    """The functions that the class statement itself defines."""
    for value in vars(cls).values():
        # Also of properties and class methods, and below decorators
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        function = inspect.unwrap(function)
        if inspect.isfunction(function):
            within, _, _ = function.__qualname__.rpartition(".")
            if within == cls.__qualname__:
                yield function


def _text_around(method: types.FunctionType, name: str) -> Iterator[str]:
    """The text of the class statement that a method stands in, if that is known."""
    with contextlib.suppress(OSError):  # Methods of data classes come from no file
        lines, _ = inspect.findsource(method)
        line = method.__code__.co_firstlineno
        around = [s for s in _statements(lines) if s.lineno <= line <= (s.end_lineno or 0)]
        innermost = max(around, key=lambda statement: statement.lineno, default=None)
        if innermost and innermost.name == name:
            yield _text(innermost, lines)


def _cells(cls: type) -> Iterator[list[str]]:
    """The lines of the file that a class is in; where it is in none, of each cell that was run."""
    if file := getattr(sys.modules.get(cls.__module__), "__file__", None):
        yield linecache.getlines(file)
        return
    for entry in list(linecache.cache.values()):
        if len(entry) == 4 and entry[1] is None:  # What is from a file has a time
            yield entry[2]


def _texts_like(cls: type, lines: list[str]) -> Iterator[str]:
    """The class statements of this name of which nothing contradicts the class."""
    fields = _annotated(cls)
    has = {n: repr(v) for n, v in vars(cls).items() if type(v) in PLAIN and not n.startswith("_")}
    for statement in _statements(lines):
        if statement.name != cls.__name__:
            continue
        annotated = [line for line in statement.body if isinstance(line, ast.AnnAssign)]
        stored = {n for n in ast.walk(statement) if isinstance(getattr(n, "ctx", 0), ast.Store)}
        stored -= {line.target for line in annotated if line.value is None}
        if (
            [getattr(line.target, "id", "") for line in annotated] == fields
            and has.keys() <= {getattr(node, "id", "") for node in stored}
            and all(hasattr(cls, n) and has.get(n, v) == v for n, v in _literals(statement))
        ):
            yield _text(statement, lines)


def _annotated(cls: type) -> list[str]:
    """The names that a class statement annotates."""
    if sys.version_info >= (3, 14):  # There a class has them only once they are asked for
        import annotationlib

        forward = annotationlib.Format.FORWARDREF
        return list(annotationlib.get_annotations(cls, format=forward))
    return list(vars(cls).get("__annotations__", ()))


def _literals(statement: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The names to which a class statement assigns literals, and how these are written."""
    for line in statement.body:
        if isinstance(line, (ast.Assign, ast.AnnAssign)) and line.value:
            with contextlib.suppress(ValueError):  # It is no literal
                value = repr(ast.literal_eval(line.value))
                targets = line.targets if isinstance(line, ast.Assign) else [line.target]
                yield from ((t.id, value) for t in targets if isinstance(t, ast.Name))


def _statements(lines: list[str]) -> list[ast.ClassDef]:
    """All class statements of a text, also those within others."""
    with contextlib.suppress(SyntaxError):  # Cells that could not be run are kept, too
        return [n for n in ast.walk(_parse("".join(lines))) if isinstance(n, ast.ClassDef)]
    return []


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # They were given when the text was run
        return ast.parse(text)


def _text(statement: ast.ClassDef, lines: list[str]) -> str:
    first = min([statement.lineno, *(decorator.lineno for decorator in statement.decorator_list)])
    return textwrap.dedent("".join(lines[first - 1 : statement.end_lineno]))
