"""Make one page of a section's notebooks, one a framework, keeping their outputs.

The builder says in each cell's `metadata.d2l_local` where its block stands in the text (`order`)
and what it is for (`kind`). Cells of one block that read the same stand once, others framework
after framework. The page is a notebook again. Wherever something changes, a line `+++ {...}` says
what the cells below it are, until the next such line; `extension.py` makes divisions and folds of
them:

- `frameworks`: the frameworks that they belong to; without it, to all.
- `kind`: what they are for, as the builder says it.
- `fold`: the fold that they are in: its title, its anchor, and its kind and frameworks likewise.
- `parts`: which parts of them are folded, `input` or `output`, with the titles.
- `id`: the anchor of the first heading below, the same in every language.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from book.builder.model import FOLDED
from book.builder.notebook import BuildError
from book.builder.values import ROLE

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

FOLD = re.compile(
    r"<details>\s*<summary>((?:(?!</summary>).)*)</summary>((?:(?!<details>).)*)</details>\s*",
    re.DOTALL,
)
# The builder writes these for Jupyter and Colab; here the fold does their work.
COLAB_TITLE = re.compile(r"^# @title .*\n")


@dataclass
class Item:
    """A cell, or a fold with its cells, and the outputs that each framework's notebook has."""

    type: str  # "markdown", "code" or "fold"
    source: str  # of a fold, that of its first cell
    id: str
    place: tuple[int, int]  # The block's position in the text, and the cell's in its block
    frameworks: list[str]
    kind: str = ""
    title: str = ""  # of the fold that it is or opens, as HTML
    folded: bool = False
    parts: dict[str, str] = field(default_factory=dict)  # "input", "output": the folds' titles
    outputs: dict[str, list] = field(default_factory=dict)  # Framework to outputs
    count: int | None = None  # The execution count
    cells: list[Item] = field(default_factory=list)  # of a fold: its prose and code
    template: str = ""  # of prose that quotes outputs: how it is written
    values: dict[str, list[str]] = field(default_factory=dict)  # Framework to what it quotes

    @property
    def key(self) -> tuple:
        """What makes two frameworks' items the same."""
        source = self.template or self.source
        return self.place, self.type, self.kind, self.title, source, tuple(self.parts.items())

    def holds(self, other: Item) -> bool:
        """Return whether a folded cell that comes next belongs into this fold."""
        return self.type == "fold" and not other.title and self.kind in ("", other.kind)


def read(notebook: NotebookNode, framework: str, labels: dict[str, str]) -> list[Item]:
    """Return a notebook's cells, without its title and set-up, those to fold gathered into folds.

    ``labels`` maps kinds to the titles of folds that bring none, and has those of folded code
    (`code`) and outputs (`output`).
    """
    result: list[Item] = []
    seen: Counter = Counter()
    for cell in notebook.cells:
        known = cell.metadata.get("d2l_local", {})
        # On a page nobody can type a guess, and the theme has the links that lead on
        if cell.id in ("title", "setup", "next") or known.get("kind") == "guess":
            continue
        if "order" not in known:
            raise BuildError(
                f"{framework}: the cell {cell.id} does not say where its block stands in the text; "
                "`make notebooks` writes that"
            )
        place = (known["order"], seen[known["order"]])
        seen[known["order"]] += 1
        item = Item(cell.cell_type, cell.source, cell.id, place, [framework], known.get("kind", ""))
        if "template" in known:
            item.template, item.values = known["template"], {framework: known["values"]}
        if item.type == "markdown":
            read_prose(item)
        elif item.type == "code":
            read_code(item, cell, framework, labels)
        if not item.folded:
            result.append(item)
        elif result and result[-1].holds(item):
            result[-1].cells.append(item)
        else:
            title = item.title or html.escape(labels.get(item.kind, labels["code"]))
            item.title = ""
            fold = Item("fold", item.source, item.id, place, [framework], item.kind, title)
            fold.template = item.template
            fold.cells.append(item)
            result.append(fold)
    return result


def read_prose(item: Item) -> None:
    """See whether prose is a fold, or what is in it."""
    found = FOLD.fullmatch(item.source.strip())
    if found:
        item.title, item.source = found[1].strip(), found[2].strip()
        if written := FOLD.fullmatch(item.template.strip()):
            item.template = written[2].strip()
    # Several folds in one cell, or one in another, stay as Markdown has them
    item.folded = bool(found) or (item.kind in FOLDED and "<details>" not in item.source)


def read_code(item: Item, cell: NotebookNode, framework: str, labels: dict[str, str]) -> None:
    """Take a cell's outputs, and see what of it is folded."""
    item.outputs, item.count = {framework: cell.outputs}, cell.execution_count
    if "solution" in cell.metadata.get("tags", []):
        item.kind = item.kind or "solution"
    hidden = cell.metadata.get("jupyter", {})
    source_hidden, outputs_hidden = hidden.get("source_hidden"), hidden.get("outputs_hidden")
    whole = bool(source_hidden and outputs_hidden) and item.kind != "score"
    item.folded = item.kind in FOLDED or whole
    if item.folded or source_hidden:
        item.source = COLAB_TITLE.sub("", item.source)
    if source_hidden and not item.folded:
        item.parts["input"] = html.escape(labels["code"])
    if outputs_hidden and not item.folded:
        item.parts["output"] = html.escape(labels["output"])


def merge(books: Iterable[list[Item]]) -> list[Item]:
    """Return the items of all frameworks in the text's order, those with the same key once."""
    result: dict[tuple, Item] = {}
    for item in chain.from_iterable(books):
        first = result.setdefault(item.key, item)
        if first is not item:
            first.frameworks += item.frameworks
            first.outputs |= item.outputs
            first.values |= item.values
            first.cells = merge([first.cells, item.cells])
    return sorted(result.values(), key=lambda item: item.place)


def quoting(item: Item) -> str:
    """Return prose with the numbers that it quotes, each framework's for its readers."""
    if len(item.values) < 2:
        return item.source
    by_place = iter(zip(*item.values.values(), strict=True))

    def shown(_: re.Match) -> str:
        numbers = next(by_place)
        if len(set(numbers)) == 1:
            return numbers[0]
        return "".join(
            f'<span class="framework framework-{framework}">{number}</span>'
            for framework, number in zip(item.values, numbers, strict=True)
        )

    return ROLE.sub(shown, item.template)


class Page:
    """Collects the cells of a page, and marks where something about them changes."""

    def __init__(self, frameworks: list[str]):
        self.frameworks = frameworks
        self.cells: list = []
        self.state: dict = {}
        self.anchors: set[str] = set()

    def add(self, merged: list[Item], fold: dict | None = None) -> None:
        for item in merged:
            if item.type == "fold":
                self.add(item.cells, self.fold(item))
            elif item.type == "code":
                self.add_code(item, fold)
            else:
                self.mark(self.about(item, fold), "" if fold else item.id)
                self.cells.append(new_markdown_cell(quoting(item)))

    def fold(self, item: Item) -> dict:
        anchor = item.id
        if anchor in self.anchors:  # Cells are numbered in each framework's notebook by itself
            anchor = "-".join([item.id, *item.frameworks])
        self.anchors.add(anchor)
        return {"id": anchor, "title": item.title, **self.about(item)}

    def add_code(self, item: Item, fold: dict | None) -> None:
        """Add a code cell; where the frameworks' outputs differ, the code once and each's."""
        outputs = item.outputs
        alike = len({json.dumps(one, sort_keys=True) for one in outputs.values()}) == 1
        self.mark(self.about(item, fold))
        self.cells.append(new_code_cell(item.source, execution_count=item.count))
        if alike:
            self.cells[-1].outputs = outputs[item.frameworks[0]]
        else:
            for framework in item.frameworks:
                self.mark(self.about(item, fold) | {"frameworks": [framework]})
                self.cells.append(new_code_cell(item.source, outputs=outputs[framework]))
                self.cells[-1].metadata["tags"] = ["remove-input"]

    def mark(self, state: dict, anchor: str = "") -> None:
        """Say what the next cells are, unless they are what those before were."""
        if state != self.state or anchor:
            self.state = state
            marker = {**state, "id": anchor} if anchor else state
            self.cells.append(new_markdown_cell(f"+++ {json.dumps(marker, ensure_ascii=False)}"))

    def about(self, item: Item, fold: dict | None = None) -> dict:
        """Return the part of a marker that an item decides; what is usual is not said."""
        everyone = set(item.frameworks) == set(self.frameworks)
        facts = {
            "frameworks": [] if everyone else item.frameworks,
            "kind": "" if fold else item.kind,
            "fold": fold,
            "parts": item.parts,
        }
        return {name: fact for name, fact in facts.items() if fact}


def merged_page(notebooks: dict, head: str, labels: dict[str, str]) -> NotebookNode:
    """Return the page of a section.

    ``notebooks`` maps each framework that has the section to its notebook; ``head`` is what stands
    below the title; ``labels`` are the titles of folds, see `read`.
    """
    result = Page(list(notebooks))
    result.mark({}, "title")
    result.cells.append(new_markdown_cell(f"# {title_of(notebooks)}\n\n{head}"))
    result.add(merge(read(notebook, name, labels) for name, notebook in notebooks.items()))
    return new_notebook(
        cells=result.cells,
        metadata={"language_info": {"name": "python", "pygments_lexer": "ipython3"}},
    )


def title_of(notebooks: dict) -> str:
    """Return the title of a section, which all of its notebooks begin with."""
    first = next(iter(notebooks.values()))
    return first.cells[0].source.partition("\n")[0].removeprefix("# ").strip()
