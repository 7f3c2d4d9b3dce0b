"""What of a text asks the reader back, or is folded until opened.

Prose says what it is with `"kind"`, a code cell with a tag of the same name:

- `predict` (prose): a question before a measurement. It offers choices, an ordered list, or asks
  for a number. The output of the next cell is folded, and that cell reports what it measured with
  `d2l.measured(choice=2)` or `d2l.measured(number=1.5, unit="ms")`. GitHub, which folds no output,
  shows it.
- `aside` (prose and code): depth that nobody needs in order to follow, folded. The first line of
  the prose is its title.
- `exercise` (prose): the question, followed by the cells `stub`, what the reader fills in, and
  `check`, which asks it within `with d2l.check(...):`; then `hint` (prose) and `solution` (prose
  and code), which are folded, and `wrong`, answers that no notebook holds, each with what the check
  must say of it: `:refused: twice as much`. `book.builder.proof` proves all of them.

- `reference` (prose): an entry of a bibliography, in the section `references`, whose id is its key.
  It is written once, reads the same in every language, and is cited by a link:
  `[Hadjis et al., 2016](references.ipynb#hadjis2016)`.

Jupyter folds what `source_hidden` and `outputs_hidden` name, Colab with `cellView: form` and an
`@title` line; prose is folded by `<details>` everywhere.
"""

from __future__ import annotations

import ast
import contextlib
import html
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from nbformat import NotebookNode

if TYPE_CHECKING:
    from book.builder.text import Block, Section

PROSE = ("predict", "aside", "exercise", "hint", "solution", "reference")
PARTS = ("stub", "check", "solution", "wrong")  # Of an exercise's code
CODE = ("aside", *PARTS)
FOLDED = ("aside", "hint", "solution")


# ---- Cells ---------------------------------------------------------------------------------------


def prose(block: Block, word: Callable[..., str | None]) -> str:
    """Return what a notebook shows of a prose block; `word` looks up the language's words."""
    if block.kind == "reference":
        return f'<a id="{block.id}"></a>{block.source}'
    if block.kind not in FOLDED:
        return block.source
    title, text = word(block.kind) or block.kind.capitalize(), block.source
    if block.kind == "aside":
        first, _, text = block.source.partition("\n")
        name = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(first.strip(), quote=False))
        title = f"{title} · {name}"
    # Without the blank lines, Markdown inside of HTML stays as it is written.
    return f"<details><summary>{title}</summary>\n\n{text.strip()}\n\n</details>"


def fold(cell: NotebookNode, title: str) -> None:
    """Fold a code cell and its outputs."""
    cell.metadata.update(cellView="form", jupyter={"source_hidden": True, "outputs_hidden": True})
    if not cell.source.startswith("%%"):
        cell.source = f"# @title {title}\n{cell.source}"


def ask(cell: NotebookNode, question: Block) -> None:
    """Fold the outputs of the cell that answers a question, and write the question's data to it."""
    cell.metadata["d2l_local"]["predict"] = {"id": question.id, "choices": choices(question.source)}
    cell.metadata.update(collapsed=True, jupyter={"outputs_hidden": True})


def choices(source: str) -> list[str]:
    """Return the items of the ordered list of a question as Markdown; none asks for a number."""
    items: list[str] = []
    depth = 0
    for token in MarkdownIt("commonmark").parse(source):
        if token.type == "ordered_list_open" and not items:
            depth = 1
        elif token.type == "ordered_list_close":
            depth = 0
        elif depth and token.type == "list_item_open":
            items.append("")
        elif depth and token.type == "inline":
            items[-1] = f"{items[-1]}\n\n{token.content}".strip()
    return items


# ---- Exercises -----------------------------------------------------------------------------------


@dataclass
class Exercise:
    """A question and the code that belongs to it, in one framework."""

    question: Block
    before: list[Block]  # The code cells of the notebook up to the question
    parts: dict[str, list[Block]]  # Code by its kind

    @property
    def id(self) -> str:
        return self.question.id

    def code(self) -> list[Block]:
        """Return the code that a proof executes, one kind after the other."""
        return [block for kind in PARTS for block in self.parts[kind]]


def exercises(section: Section, framework: str) -> list[Exercise]:
    """Return the exercises of a section. Each goes on to the next prose of another kind."""
    found: list[Exercise] = []
    code: list[Block] = []
    inside = False
    for block in section.blocks_of(framework, section.langs[0]):
        if block.kind == "exercise":
            found.append(Exercise(block, list(code), {kind: [] for kind in CODE}))
        if block.lang:
            inside = block.kind == "exercise" or (inside and block.kind in ("hint", "solution"))
        elif inside and block.kind:
            found[-1].parts[block.kind].append(block)
        if not block.lang and block.kind != "wrong":
            code.append(block)
    return found


# ---- Checks --------------------------------------------------------------------------------------


def problems(section: Section) -> list[tuple[Block, str]]:
    """Return what is wrong with the units of a text, each with its block."""
    found: dict[tuple[int, str], tuple[Block, str]] = {}  # Each once, not once a framework
    for framework in section.frameworks:
        for block, what in [
            *_in_exercises(section, framework),
            *_in_questions(section, framework),
            *_in_asides(section, framework),
        ]:
            found.setdefault((block.line, what), (block, what))
    return [*found.values(), *_in_references(section)]


def _in_exercises(section: Section, framework: str) -> Iterator[tuple[Block, str]]:
    inside = set()
    for exercise in exercises(section, framework):
        parts = exercise.parts
        inside |= {block.line for blocks in parts.values() for block in blocks}
        for kind in PARTS:
            count = len(parts[kind])
            if not count or (count > 1 and kind in ("stub", "check")):
                some = "one" if kind in ("stub", "check") else "at least one"
                yield (
                    exercise.question,
                    f"has {count} cells tagged {kind} in {framework}, not {some}",
                )
        order = [block.line for kind in ("stub", "check", "solution") for block in parts[kind]]
        if order != sorted(order):
            yield exercise.question, "stub, check and solution come in another order"
        for block in parts["check"]:
            yield from _in_check(block)
    for block in section.blocks_of(framework, section.langs[0]):
        if block.kind in ("stub", "check", "wrong") and block.line not in inside:
            yield block, f"a {block.kind} outside of an exercise"
        if (block.kind == "wrong") != bool(block.refused):
            yield block, "a wrong answer, and nothing else, says `:refused:`: what it is told"


def _in_check(block: Block) -> Iterator[tuple[Block, str]]:
    if "d2l.check(" not in block.source:
        yield block, "a check asks within `with d2l.check(...):`"
    with contextlib.suppress(SyntaxError):
        for node in ast.walk(ast.parse(block.source)):
            if isinstance(node, ast.Assert) and node.msg is None:
                yield block, "an assertion of a check says what is wrong if it fails"


def _in_questions(section: Section, framework: str) -> Iterator[tuple[Block, str]]:
    twins = section.twins()
    for lang in section.langs:
        question = None
        for block in section.blocks_of(framework, lang):
            if question:
                if block.lang or "d2l.measured(" not in block.source:
                    yield question, "no cell follows that answers it with `d2l.measured(...)`"
                question = None
            if block.kind == "predict":
                question = block
                one = twins[block.id].get(section.langs[0], block)
                counts = [len(choices(each.source)) for each in (one, block)]
                if counts[0] != counts[1] or counts[0] == 1:
                    yield block, f"{counts[1]} choices, and its original {counts[0]}: two or more"


def _in_asides(section: Section, framework: str) -> Iterator[tuple[Block, str]]:
    for lang in section.langs:
        asides = [b for b in section.blocks_of(framework, lang) if b.lang and b.kind == "aside"]
        for block in asides:
            title = block.source.partition("\n")[0]
            if not re.fullmatch(r"[^$*_\[#]+", title):
                yield block, f"an aside begins with its title, a line of plain text: {title}"


def _in_references(section: Section) -> Iterator[tuple[Block, str]]:
    references = [block for block in section.blocks if block.kind == "reference"]
    for block, before in zip(references, [None, *references]):
        if block.lang != section.langs[0]:
            yield block, f"a reference is written once, in {section.langs[0]}"
        if not re.fullmatch(r"[a-z]+\d{4}[a-z]?", block.id):
            yield block, "the key of a reference is the first author's name and the year"
        if before and before.id >= block.id:
            yield block, f"stands below {before.id}; references are in the order of their keys"


def outputs(cell: NotebookNode) -> list[str]:
    """Return what is wrong with the outputs of a cell that answers a question or checks one."""
    about = cell.metadata.get("d2l_local", {})
    told = [output.get("metadata", {}).get("d2l_local", {}) for output in cell.get("outputs", [])]
    if about.get("kind") == "check":
        verdicts = [data["verdict"] for data in told if "verdict" in data]
        return [] if verdicts == ["not yet"] else [f"the check says {verdicts}, not “not yet”"]
    if "predict" in about:
        measured = [data["measured"] for data in told if "measured" in data]
        count = len(about["predict"]["choices"])
        if len(measured) != 1:
            return [f"{len(measured)} measured answers, not one"]
        if count and measured[0].get("choice") not in range(1, count + 1):
            return [f"measured {measured[0]}, which is none of the {count} choices"]
        if not count and not math.isfinite(measured[0].get("number", math.nan)):
            return [f"measured {measured[0]}, where the question asks for a number"]
    return []
