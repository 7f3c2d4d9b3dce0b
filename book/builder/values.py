"""Numbers that the prose quotes from the outputs above it, by name.

A sentence says `` {glue:text}`overlap:.2f` `` and the notebook shows the number that the nearest
cell above it has printed. The role is MyST-NB's; the name is

- the expression of an f-string's field, or an argument, that a cell prints: `overlap`;
- `row: column` of the law, in s, ms or µs: `two devices: measured in ms`, or its share,
  `two devices: hidden`;
- `measured`, the number that `d2l.measured` reports.

After the name there may be `@2`, which takes the second of what a loop prints, and after a colon a
format as Python has it, by default the number as it was printed. Each language reads its own
output. Where there is none, the notebook shows a gap, and `check` says so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from book.builder.notebook import Cell, Notebook, data_of
from book.builder.program import as_python
from d2l_local.base.language import beginnings

ROLE = re.compile(r"\{glue:text\}`([^`]+)`")
NAME = re.compile(
    r"(?P<name>.*?)(?:@(?P<which>\d+))?(?::(?P<spec>,?(?:d|(?:\.\d+)?[fg%])|,))?", re.DOTALL
)
NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?%?"
GAP = "▢"
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


def quoted(notebook: Notebook, translations: dict[str, str]) -> Iterator[tuple[Cell, list[str]]]:
    """Yield the prose that quotes outputs, and what the outputs above say, gaps included.

    ``translations`` maps the law's rows, among other strings, to what the notebook's language says.
    """
    before: list[Cell] = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            before.append(cell)
        elif names := ROLE.findall(cell.source):
            yield cell, [_value(name, before, translations) for name in names]


def gaps(cell: Cell, values: list[str]) -> list[str]:
    """Say what no output has of that which prose quotes."""
    names = zip(ROLE.findall(cell.source), values)
    return [f"cell {cell.id}: no output above has `{one}`" for one, value in names if value == GAP]


def filled(source: str, values: list[str]) -> str:
    """Return prose with values in the place of what it quotes."""
    words = ROLE.sub("\0", source).split("\0")
    return words[0] + "".join(map("".join, zip(values, words[1:])))


def fill(notebook: Notebook, translations: dict[str, str]) -> list[str]:
    """Have the prose of a notebook show what it quotes, and return what no output has."""
    missing = []
    for cell, values in quoted(notebook, translations):
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
