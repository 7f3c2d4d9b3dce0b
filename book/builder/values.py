"""Numbers that the prose quotes from the outputs above it, by name.

A sentence says `` {glue:text}`overlap:.2f` `` and the notebook shows the number that the nearest
cell above it has printed. The role is MyST-NB's; the name is

- the expression of an f-string's field, or an argument, that a cell prints: `overlap`;
- `row: column` of the law, in s, ms or µs: `two devices: measured in ms`, or its share,
  `two devices: hidden`;
- `measured`, the number that `d2l.measured` reports.

In a story the name is any expression of what cells above have kept (`book.builder.kept`), and of
another section's values, `1e3 * serving.one`. A float needs a format. Words stand with the
condition under which they are true, `fifty-one if round(4 * P / W) == 51`.

Else there may be `@2` after the name, which takes the second of what a loop prints, and after a
colon a format as Python has it, by default the number as it was printed. Each language reads its
own output. Where there is none, the notebook shows a gap, and `check` says so.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Protocol

from book.builder.kept import read
from book.builder.notebook import Cell, Notebook, data_of
from book.builder.program import as_python
from d2l_local.base.language import beginnings

# What an expression of kept values may call
FUNCTIONS: dict[str, Any] = {
    **{f.__name__: f for f in (abs, all, any, len, max, min, round, sorted, sum, zip)},
    **{kind.__name__: kind for kind in (dict, enumerate, list, range, str)},
    "math": math,
}
ROLE = re.compile(r"\{glue:text\}`([^`]+)`")
NAME = re.compile(
    r"(?P<name>.*?)(?:@(?P<which>\d+))?(?::(?P<spec>,?(?:d|(?:\.\d+)?[efg%])|,))?", re.DOTALL
)
NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?%?"
GAP = "▢"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}  # In seconds
# How the line above a row of the law begins, in English, by the unit of the row
HEADS = {
    "s": "The law so far (sec)",
    "ms": "The law so far (ms)",
    "µs": "The law so far (µs)",
}
COLUMNS = ("longest", "measured", "sum", "hidden")


def without_quotes(source: str) -> str:
    """Return prose without what it quotes, which is neither code nor a number of the author's."""
    return ROLE.sub(GAP, source)


class Elsewhere(Protocol):
    """What a page knows beyond its own cells."""

    def translations(self) -> dict[str, str]:
        """Return what the notebook's language says of the law's rows, among other strings."""

    def of_section(self, name: str) -> dict[str, str] | None:
        """Return what the notebook of another section has kept; None if there is no such one."""


def quoted(notebook: Notebook, elsewhere: Elsewhere) -> Iterator[tuple[Cell, list[str]]]:
    """Yield the prose that quotes outputs, and what the outputs above say, gaps included."""
    before: list[Cell] = []
    kept = Kept(elsewhere) if notebook.form else None
    translations = elsewhere.translations()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            before.append(cell)
            if kept:
                kept.add(cell.kept)
        elif names := ROLE.findall(cell.source):
            told = [kept.told(name) if kept else None for name in names]
            yield (
                cell,
                [
                    _value(name, before, translations) if value is None else value
                    for name, value in zip(names, told)
                ],
            )


def gaps(cell: Cell, values: list[str]) -> list[str]:
    """Say what no output has of that which prose quotes, and which words are not true."""
    names = [one for one, value in zip(ROLE.findall(cell.source), values) if value == GAP]
    return [
        f"cell {cell.id}: `{one}` is not so"
        if CONDITION.fullmatch(one)
        else f"cell {cell.id}: no output above has `{one}`"
        for one in names
    ]


CONDITION = re.compile(
    r"(?P<words>(?:(?! else ).)+?) if (?P<condition>(?:(?! else ).)+)", re.DOTALL
)


class Kept:
    """The values that a story's prose quotes: of the cells above, and of other sections."""

    def __init__(self, elsewhere: Elsewhere):
        self.elsewhere = elsewhere
        self.names: dict[str, Any] = {}
        self.sections: dict[str, SimpleNamespace | None] = {}  # Each is read once

    def add(self, kept: dict[str, str]) -> None:
        self.names.update(read(kept))

    def told(self, quoted: str) -> str | None:
        """Return what a quote says; None if it is no expression of what is kept."""
        if words := CONDITION.fullmatch(quoted.strip()):
            return words["words"] if _is_true(self.value(words["condition"])) else GAP
        match = NAME.fullmatch(quoted.strip())
        assert match, "it matches every string"
        if match["which"] or (value := self.value(match["name"])) is None:
            return None
        if match["spec"]:
            try:
                return _formatted(repr(float(value)), match["spec"])
            except TypeError:  # A list has no such format
                return None
        named = names_in(quoted) or isinstance(value, int)  # Else it is words, or Python's `all`
        return str(value) if named and not isinstance(value, float) else None

    def value(self, expression: str) -> Any:
        """Return the value of an expression; None if it has none."""
        names = {**FUNCTIONS, **self.names}
        try:
            for name in _names(expression) - names.keys():
                if name not in self.sections:
                    found = self.elsewhere.of_section(name.replace("_", "-"))
                    self.sections[name] = SimpleNamespace(**read(found)) if found else None
                names[name] = self.sections[name]
            return eval(expression, {"__builtins__": {}, **names})
        except Exception:
            return None


def _is_true(value: Any) -> bool:
    """Whether a condition holds: a comparison's True, and no number or list that is not empty."""
    return type(value).__name__ in ("bool", "bool_") and bool(value)


def _names(expression: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}


def names_in(quoted: str) -> set[str]:
    """Return the kept names that a quote reads; of what is no expression, all of it."""
    words = CONDITION.fullmatch(quoted.strip())
    match = NAME.fullmatch(quoted.strip())
    if quoted == "time":  # What the builder itself counts
        return set()
    expression = words["condition"] if words else match["name"] if match else quoted
    try:
        return _names(expression) - FUNCTIONS.keys()
    except SyntaxError:
        return {quoted}


def filled(source: str, values: list[str]) -> str:
    """Return prose with values in the place of what it quotes."""
    words = ROLE.sub("\0", source).split("\0")
    return words[0] + "".join(map("".join, zip(values, words[1:])))


def fill(notebook: Notebook, elsewhere: Elsewhere) -> list[str]:
    """Have the prose of a notebook show what it quotes, and return what no output has."""
    missing = []
    for cell, values in quoted(notebook, elsewhere):
        cell.values, cell.shown = values, filled(cell.source, values)
        missing += gaps(cell, values)
    return missing


def _value(quoted: str, before: list[Cell], translations: dict[str, str]) -> str:
    """Return what is quoted as the nearest cell has printed it, in its format; else a gap."""
    match = NAME.fullmatch(quoted.strip())
    assert match, "it matches every string"
    name, which, spec = match["name"], int(match["which"] or 1), match["spec"]
    for cell in reversed(before):
        found = list(_printed(name, cell, translations))
        if len(found) >= which:
            return _formatted(found[which - 1], spec)
    return GAP


def _formatted(printed: str, spec: str | None) -> str:
    if not spec:
        return printed
    number = float(printed.rstrip("%").replace(",", "")) / (100 if printed.endswith("%") else 1)
    if spec in (",", "d", ",d"):
        return format(round(number), spec)
    shown = format(number, spec)
    if spec.endswith("e"):  # As books write powers of ten
        digits, _, exponent = shown.partition("e")
        return f"{digits} × 10{str(int(exponent)).translate(RAISED)}"
    return shown if re.search("[1-9]", shown) else shown.lstrip("-")  # Never -0


def _printed(name: str, cell: Cell, translations: dict[str, str]) -> Iterator[str]:
    """Yield what a cell has printed under a name, in order."""
    text = "".join(output.get("text", "") for output in cell.outputs if "text" in output)
    if name == "measured":
        for output in cell.outputs:
            if "number" in (measured := data_of(output).get("measured", {})):
                yield f"{measured['number']:.15g}"
    elif ": " in name:
        yield from _of_the_law(name, text, translations)
    else:
        for pattern in _patterns(name, cell.source):
            yield from (match["value"] for match in re.finditer(pattern, text, re.MULTILINE))


def _of_the_law(name: str, text: str, translations: dict[str, str]) -> Iterator[str]:
    row, _, column = name.rpartition(": ")
    column, _, unit = column.partition(" in ")
    if column not in COLUMNS or (unit not in UNITS if column != "hidden" else unit):
        return
    names = {row, translations.get(row, row)}
    lines = text.splitlines()
    for head, line in zip(lines, lines[1:]):
        parts = re.fullmatch(rf"(.+?)\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})", line)
        printed = _unit(head)
        if parts and parts[1].strip() in names and printed:
            value = parts[2 + COLUMNS.index(column)]
            if unit:
                value = f"{float(value) * UNITS[printed] / UNITS[unit]:.6g}"
            yield value


def _unit(head: str) -> str | None:
    """Return the unit of the row of the law below a line, which is in any language."""
    for unit, template in HEADS.items():
        if head.startswith(tuple(beginnings(template))):
            return unit
    return None


def _patterns(name: str, source: str) -> Iterator[str]:
    """Yield patterns of the lines in which a cell prints an expression, by their literals."""
    try:
        wanted = ast.unparse(ast.parse(name, mode="eval"))
        tree = ast.parse(as_python(source))
    except SyntaxError:
        return
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    prints = [call for call in calls if getattr(call.func, "id", "") == "print"]
    begins = True  # A line; not after a print that leaves it open
    for node in sorted(prints, key=lambda node: (node.lineno, node.col_offset)):
        pattern, found, told = _line(node, wanted)
        ends = not any(keyword.arg == "end" for keyword in node.keywords)
        if found and (told or (begins and ends)):  # Else it may be any number
            yield f"{'^' * (begins and ends)}{pattern}{'$' * ends}"
        begins = ends


def _line(call: ast.Call, wanted: str) -> tuple[str, bool, bool]:
    """Return a pattern of what a print says, whether it has the wanted, and whether text."""
    parts: list[ast.expr] = []
    for argument in call.args:
        parts += [ast.Constant(" "), *_pieces(argument)] if parts else _pieces(argument)
    pattern, found, told = "", False, False
    for part in parts:
        if isinstance(part, ast.Constant):
            pattern += re.escape(str(part.value))
            told = True
        elif not found and ast.unparse(part) == wanted:
            pattern, found = f"{pattern} *(?P<value>{NUMBER}) *", True  # Of a width
        else:
            pattern += ".*?"
    return pattern, found, told


def _pieces(argument: ast.expr) -> list[ast.expr]:
    """Return the literals and expressions that an argument of print puts on the line."""
    if isinstance(argument, ast.JoinedStr):
        return [
            part.value if isinstance(part, ast.FormattedValue) else part for part in argument.values
        ]
    return [argument]
