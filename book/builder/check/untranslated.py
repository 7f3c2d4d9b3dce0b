"""What a reader of a translation would still see in the original's language: a list of problems.

Of figures only the code can be read; of text outputs, what was printed. A phrase counts that the
original prints too, so this tells one Latin script from another.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from book.builder.language import MAGIC, literals
from book.builder.model import Block, Section
from book.builder.notebook import Cell, Notebook

SHOWN = {"print", "say", "Benchmark"}  # Whose strings are sentences, or data
LABELS = {"set_title", "set_xlabel", "set_ylabel", "set_label", "suptitle", "title", "xlabel"}
LABELS |= {"ylabel", "legend", "annotate", "axes"}
KEYWORDS = {"label", "labels", "legend", "title", "xlabel", "ylabel"}
WORD = re.compile(r"(?<![\w.`'\"/])[A-Za-z][a-z]+(?![\w.(/='\"])")
ERROR = re.compile(r"^\w*Error\b.*$", re.MULTILINE)  # What a library raises is in English
QUOTED = re.compile(r"""(?<!\w)(?:'[^'\n]*'|"[^"\n]*")(?!\w)""")  # Data, such as a model's words
SENTENCE = re.compile(r"(?<![\w./])[A-Za-z][a-z']*(?: [a-z][a-z']*){2,}(?![\w(/=])")


def strings(section: Section, lang: str) -> Iterator[tuple[Block, str]]:
    """Yield (block, what is wrong) for strings that the code prints or draws in the original.

    Of a check all sentences count: they are what it says of an answer.
    """
    for block in section.code():
        known = block.strings.get(lang, {})
        told = [(literal.inner, 3) for literal in literals(block.source)]
        for inner, enough in told if block.kind == "check" else shown(block.source):
            words = WORD.findall(re.sub(r"\{[^{}]*\}", " ", inner))
            if inner not in known and len(words) >= enough:
                yield block, f"[{lang}] not translated: {inner!r}"


def shown(source: str) -> Iterator[tuple[str, int]]:
    """Yield the strings that a cell prints or draws, and how many words make each a phrase."""
    by_place = {(x.node.lineno, x.node.col_offset): x.inner for x in literals(source)}
    try:
        tree = ast.parse(MAGIC.sub(r"\1pass", source))
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (said := ast.get_docstring(node, clean=False)):
            yield said, 3
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        found = [(k.value, 1) for k in node.keywords if k.arg in KEYWORDS]
        if name in SHOWN | LABELS:
            found += [(argument, 1 if name in LABELS else 3) for argument in node.args]
        for argument, enough in found:
            for part in _said(argument):
                if (place := (part.lineno, part.col_offset)) in by_place:
                    yield by_place[place], enough


def _said(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield the strings of an expression, but for those that a call within it takes."""
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        yield node
    elif not isinstance(node, (ast.Call, ast.Subscript, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _said(child)


def outputs(notebook: Notebook, original: Notebook) -> list[str]:
    """Sentences in the outputs that the original's hold too, but for errors and what is quoted."""
    problems = []
    for cell, twin in zip(notebook.code, original.code):
        theirs = printed(twin)
        own = QUOTED.sub("", ERROR.sub("", printed(cell)))
        phrases = dict.fromkeys(match[0] for match in SENTENCE.finditer(own))
        found = [phrase for phrase in phrases if phrase in theirs]
        problems += [f"cell {cell.id}: not translated: {phrase}" for phrase in found]
    return problems


def printed(cell: Cell) -> str:
    """All that a cell printed or returned as text."""
    texts = []
    for output in cell.outputs:
        data = output.get("data", {})
        if not any(kind.startswith("image/") for kind in data):  # Its text is "<Figure …>"
            texts.append(output.get("text", data.get("text/plain", "")))
    return "\n".join(texts)
