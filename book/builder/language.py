"""What of a cell belongs to one language: its comments, and the strings that a reader sees."""

from __future__ import annotations

import ast
import functools
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

import yaml

MAGIC = re.compile(r"(?m)^([ \t]*)[%!].*$")  # Shell lines and magics are not Python


# ---- Comments ------------------------------------------------------------------------------------


def comments(source: str) -> list[tuple[int, int, str, list[str]]]:
    """Return row, column, mark and parts of each comment; one written twice has two parts."""
    try:
        found = _tokens(source)
    except (tokenize.TokenError, SyntaxError):
        try:
            found = _tokens(MAGIC.sub("", source))
        except (tokenize.TokenError, SyntaxError):
            return []
    result = []
    for token in found:
        if token.type == tokenize.COMMENT:
            text = token.string[1:].lstrip()
            mark = token.string.removesuffix(text)
            parts = re.split(r"\s\|(?=\s|$)", text)
            row, column = token.start
            result.append((row - 1, column, mark, [part.strip() for part in parts]))
    return result


def _tokens(source: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(source).readline))


def pick(parts: list[str], index: int) -> str:
    """Return the part of a comment that a language reads, which may be empty.

    The parts come in the order of the table of languages, whatever languages a text has; a language
    without a part reads the first.
    """
    return parts[index if index < len(parts) else 0]


def translate(source: str, index: int | None = None) -> str:
    """Keep of each comment the part of the language at `index`; with None, drop all comments."""
    lines = source.split("\n")
    for row, column, mark, parts in reversed(comments(source)):
        before = lines[row][:column]
        part = "" if index is None else pick(parts, index)
        if part:
            if len(parts) > 1:
                lines[row] = before + mark + part
        elif before.strip():
            lines[row] = before.rstrip()
        elif index is None or len(parts) > 1:  # One language needs fewer lines than the other
            del lines[row]
    return "\n".join(lines)


def first_language(source: str) -> str:
    """Keep of each comment that has one the part of the first language."""
    texts = [parts[:1] if parts[0] else parts for *_, parts in comments(source)]
    return _with_comments(source, texts)


def with_languages(source: str, whole: str) -> str:
    """Give the comments of `first_language(whole)`, laid out anew, all their parts again."""
    return _with_comments(source, [parts for *_, parts in comments(whole)])


def _with_comments(source: str, texts: list[list[str]]) -> str:
    lines = source.split("\n")
    for (row, column, mark, _), parts in zip(comments(source), texts):
        lines[row] = lines[row][:column] + mark + " | ".join(parts)
    return "\n".join(lines)


# ---- Strings -------------------------------------------------------------------------------------


class Literal(NamedTuple):
    """A string in a cell; of one that stands there in several pieces, all of them."""

    start: int  # Where it stands in the cell, in characters
    end: int
    prefix: str
    quote: str
    inner: str  # What stands between the quotes
    node: ast.Constant | ast.JoinedStr


def read_strings(source: str) -> dict[str, str]:
    """Return the strings and their translations from a block's YAML.

    Raises ValueError unless it is a mapping of strings to strings, each of them once.
    """
    try:
        root = yaml.compose(source, yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(root, yaml.MappingNode):
        raise ValueError("not a mapping, `English: translation`")
    strings: dict[str, str] = {}
    for pair in root.value:
        for node in pair:
            if node.tag != "tag:yaml.org,2002:str":
                line = node.start_mark.line + 1
                raise ValueError(f"line {line} holds what YAML takes for no string: quote it")
        english, translation = (node.value for node in pair)
        if english in strings:
            raise ValueError(f"{english!r} stands there twice")
        strings[english] = translation
    return strings


@functools.cache  # Each language asks
def literals(source: str) -> tuple[Literal, ...]:
    """Return the strings of a cell in order, but for bytes and what stands within f-strings."""
    for code in (source, MAGIC.sub(r"\1pass", source)):
        try:
            tree = ast.parse(code)
        except SyntaxError:
            continue
        found = (_literal(code, node, source) for node in _strings(tree))
        return tuple(filter(None, found))
    return ()


def _strings(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    ):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _strings(child)


def _literal(code: str, node: ast.Constant | ast.JoinedStr, source: str) -> Literal | None:
    """Return what a node says in the cell, or None if its pieces are raw and not raw."""
    assert node.end_lineno is not None and node.end_col_offset is not None  # Python has parsed it
    lines = [line.encode() for line in code.split("\n")]
    whole = b"\n".join(lines[node.lineno - 1 : node.end_lineno])
    end = len(whole) - len(lines[node.end_lineno - 1]) + node.end_col_offset
    text = whole[node.col_offset : end].decode()
    before = "\n".join(source.split("\n")[: node.lineno - 1] + [""])
    start = len(before) + len(lines[node.lineno - 1][: node.col_offset].decode())
    pieces = [_piece(piece) for piece in _pieces(text)]
    prefixes = [prefix.lower() for prefix, _, _ in pieces]
    if len({"r" in prefix for prefix in prefixes}) > 1:
        return None
    is_f = any("f" in prefix for prefix in prefixes)
    inner = "".join(
        re.sub(r"[{}]", r"\g<0>\g<0>", part) if is_f and "f" not in prefix else part
        for prefix, (_, _, part) in zip(prefixes, pieces)
    )
    prefix = next((p for p, _, _ in pieces if "f" in p.lower()), pieces[0][0])
    return Literal(start, start + len(text), prefix, pieces[0][1], inner, node)


def _pieces(text: str) -> Iterator[str]:
    """Yield the pieces of a string; Python 3.12 and newer have tokens within an f-string."""
    lines, depth = f"({text})".split("\n"), 0
    for token in _tokens(f"({text})"):
        kind = tokenize.tok_name[token.type]
        if depth == 0 and kind in ("STRING", "FSTRING_START"):
            (row, start) = token.start
        depth += (kind == "FSTRING_START") - (kind == "FSTRING_END")
        if depth == 0 and kind in ("STRING", "FSTRING_END"):
            last, end = token.end
            found = lines[row - 1 : last]
            found[-1] = found[-1][:end]
            found[0] = found[0][start:]
            yield "\n".join(found)


def _piece(text: str) -> tuple[str, str, str]:
    """Return the prefix of a literal, its quotes, and what stands between them."""
    found = re.fullmatch(r"""([A-Za-z]*)(\"{3}|'{3}|"|')(.*)\2""", text, re.DOTALL)
    assert found is not None, text  # Python has parsed it
    return found[1], found[2], found[3]


def strings_within(source: str) -> set[str]:
    """Return the strings that stand in fields of a cell's f-strings, where none is translated."""
    fields = [
        part
        for literal in literals(source)
        for part in ast.walk(literal.node)
        if isinstance(part, ast.FormattedValue)
    ]
    constants = (node for field in fields for node in ast.walk(field.value))
    return {str(node.value) for node in constants if isinstance(node, ast.Constant)}


def put_strings(source: str, strings: dict[str, str]) -> str:
    """Return a cell with translations in the place of its strings.

    Raises ValueError for one that does not have the same fields, or cannot stand there.
    """
    for literal in sorted(literals(source), key=lambda literal: literal.start, reverse=True):
        if literal.inner in strings:
            translation = _write(literal, strings[literal.inner])
            source = source[: literal.start] + translation + source[literal.end :]
    return source


def with_messages(source: str, strings: Collection[str]) -> str:
    """Return code that asks for the translation of its strings as it runs.

    ``f"{n + 1} is too many"`` becomes ``translated("{0} is too many", n + 1)``.
    """
    for literal in sorted(literals(source), key=lambda literal: literal.start, reverse=True):
        if literal.inner in strings:
            fields = _values(literal.node)
            template = json.dumps(_template(literal.node, fields), ensure_ascii=False)
            asks = f"translated({', '.join([template, *map(ast.unparse, fields.values())])})"
            source = source[: literal.start] + asks + source[literal.end :]
    return source


def messages(source: str, strings: dict[str, str]) -> dict[str, str]:
    """Return what `with_messages` asks for, with translations of the strings."""
    found = {}
    for literal in literals(source):
        if literal.inner in strings:
            fields = _values(literal.node)
            written = ast.parse(_write(literal, strings[literal.inner]), mode="eval").body
            found[_template(literal.node, fields)] = _template(written, fields)
    return found


def _values(string: ast.expr) -> dict[str, ast.expr]:
    """Return the expressions in the fields of a string, each once, in order."""
    found: dict[str, ast.expr] = {}
    for part in string.values if isinstance(string, ast.JoinedStr) else ():
        if isinstance(part, ast.FormattedValue):
            found[ast.dump(part.value)] = part.value
            if part.format_spec:
                found.update(_values(part.format_spec))
    return found


def _template(string: ast.expr, fields: dict[str, ast.expr]) -> str:
    """Return what a string says; with fields, as `str.format` takes it, which numbers them."""
    if isinstance(string, ast.FormattedValue):
        conversion = f"!{chr(string.conversion)}" if string.conversion > 0 else ""
        form = f":{_template(string.format_spec, fields)}" if string.format_spec else ""
        return f"{{{[*fields].index(ast.dump(string.value))}{conversion}{form}}}"
    if isinstance(string, ast.JoinedStr):
        return "".join(_template(part, fields) for part in string.values)
    assert isinstance(string, ast.Constant)  # Of nothing else is a string made
    text = str(string.value)
    return text.replace("{", "{{").replace("}", "}}") if fields else text


def _write(literal: Literal, translation: str) -> str:
    """Return a translation as a literal with the same prefix and quotes."""
    is_f = "f" in literal.prefix.lower()
    inner, depth = "", 0
    for part in re.findall(r"\\.|\{\{|\}\}|.", translation, re.DOTALL):
        if is_f and not (depth == 0 and part in ("{{", "}}")):
            depth += part.count("{") - part.count("}")
        if part == "\n" and len(literal.quote) == 1:
            part = r"\n"
        elif part == literal.quote[0] and depth == 0 and "r" not in literal.prefix.lower():
            part = "\\" + part
        inner += part
    written = f"{literal.prefix}{literal.quote}{inner}{literal.quote}"
    try:
        node = ast.parse(written, mode="eval").body
    except (SyntaxError, ValueError):
        node = None
    if not isinstance(node, (ast.Constant, ast.JoinedStr)) or type(node) is not type(literal.node):
        raise ValueError(
            f"{translation!r} is no string between {literal.quote} and {literal.quote}"
        )
    if _fields(node) != _fields(literal.node):
        raise ValueError(f"{literal.inner!r} and {translation!r} have different fields")
    return written


def _fields(node: ast.Constant | ast.JoinedStr) -> Counter[str]:
    """Return the fields of an f-string, or of a text that may be given to `str.format`."""
    if isinstance(node, ast.Constant):
        return Counter(re.findall(r"\{[^{}]*\}", str(node.value)))
    return Counter(ast.dump(part) for part in node.values if isinstance(part, ast.FormattedValue))


def without_strings(tree: ast.AST) -> ast.AST:
    """Return a syntax tree in which strings say nothing; f-strings keep their fields, in order.

    Two languages' cells are the same program if these are equal.
    """
    silent: ast.AST = _Silence().visit(tree)
    return silent


class _Silence(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        fields = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        return ast.JoinedStr(sorted(fields, key=ast.dump))
