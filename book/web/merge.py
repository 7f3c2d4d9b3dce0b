"""Make one page of a section's notebooks, one a framework, keeping their outputs.

What the notebooks share stands once; the rest stands framework after framework. The page is a
notebook again. Wherever something changes, a line `+++ {...}` says what the cells below it are,
until the next such line; `extension.py` makes divisions and folds of them:

- `frameworks`: the frameworks that they belong to; without it, to all.
- `fold`: the fold that they are in: its title, its anchor, and its frameworks in the same way.
- `id`: the anchor of the first heading below, the same in every language.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

FOLD = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*)</details>\s*", re.DOTALL)
# The builder writes these for Jupyter and Colab; here the fold does their work.
COLAB_TITLE = re.compile(r"^# @title .*\n")


@dataclass
class Item:
    """A cell, or a fold with its cells, and the outputs that each framework's notebook has."""

    kind: str  # "markdown", "code" or "fold"
    source: str  # of a fold, its title and prose
    id: str = ""
    title: str = ""
    outputs: dict[str, list] = field(default_factory=dict)  # Framework to outputs
    count: int | None = None  # The execution count
    cells: list[Item] = field(default_factory=list)  # of a fold: its prose and code
    frameworks: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple:
        """What makes two frameworks' items the same."""
        return self.kind, self.title, self.source


def items(notebook, framework: str) -> list[Item]:
    """Return a notebook's cells, without its title and set-up, solutions gathered into folds."""
    result: list[Item] = []
    for cell in notebook.cells:
        if cell.id in ("title", "setup"):
            continue
        item = Item(cell.cell_type, cell.source, cell.id, frameworks=[framework])
        if cell.cell_type == "markdown":
            found = FOLD.fullmatch(cell.source.strip())
            if found:
                title, prose = found[1].strip(), found[2].strip()
                item.source = prose
                inner = Item("markdown", prose, cell.id, frameworks=[framework])
                result.append(
                    Item("fold", prose, cell.id, title, cells=[inner], frameworks=[framework])
                )
                continue
        elif cell.cell_type == "code":
            item.outputs = {framework: cell.outputs}
            item.count = cell.execution_count
            if "solution" in cell.metadata.get("tags", []):
                item.source = COLAB_TITLE.sub("", cell.source)
                if result and result[-1].kind == "fold":
                    result[-1].cells.append(item)
                    continue
        result.append(item)
    return result


def merge(first: list[Item], second: list[Item]) -> list[Item]:
    """Return the items of both in order; those with the same key once."""
    matcher = SequenceMatcher(
        None, [item.key for item in first], [item.key for item in second], autojunk=False
    )
    result = []
    for operation, i, i_end, j, j_end in matcher.get_opcodes():
        if operation == "equal":
            for one, other in zip(first[i:i_end], second[j:j_end], strict=True):
                one.frameworks += other.frameworks
                one.outputs.update(other.outputs)
                one.cells = merge(one.cells, other.cells)
                result.append(one)
        else:
            result += first[i:i_end] + second[j:j_end]
    return result


class Page:
    """Collects the cells of a page, and marks where their frameworks or their fold change."""

    def __init__(self, frameworks: list[str]):
        self.frameworks = frameworks
        self.cells: list = []
        self.now: dict = {}

    def add(self, items: list[Item], fold: dict | None = None) -> None:
        for item in items:
            if item.kind == "fold":
                inside = {"id": item.id, "title": item.title}
                self.add(item.cells, {**inside, **self.only(item.frameworks)})
            elif item.kind == "code":
                self.add_code(item, fold)
            else:
                self.mark(item.frameworks, fold, "" if fold else item.id)
                self.cells.append(new_markdown_cell(item.source))

    def add_code(self, item: Item, fold: dict | None) -> None:
        """Add a code cell; where the frameworks' outputs differ, the code once and each's."""
        outputs = item.outputs
        alike = len({json.dumps(one, sort_keys=True) for one in outputs.values()}) == 1
        self.mark(item.frameworks, fold)
        self.cells.append(new_code_cell(item.source, execution_count=item.count))
        if alike:
            self.cells[-1].outputs = outputs[item.frameworks[0]]
        else:
            for framework in item.frameworks:
                self.mark([framework], fold)
                self.cells.append(new_code_cell(item.source, outputs=outputs[framework]))
                self.cells[-1].metadata["tags"] = ["remove-input"]

    def mark(self, frameworks: list[str], fold: dict | None, anchor: str = "") -> None:
        state = self.only(frameworks)
        if fold:
            state["fold"] = fold
        if state != self.now or anchor:
            self.now = state
            marker = {**state, "id": anchor} if anchor else state
            self.cells.append(new_markdown_cell(f"+++ {json.dumps(marker, ensure_ascii=False)}"))

    def only(self, frameworks: list[str]) -> dict:
        """Return the part of a marker that says who reads the cells, if not everyone does."""
        return {} if set(frameworks) == set(self.frameworks) else {"frameworks": frameworks}


def page(notebooks: dict, head: str) -> tuple:
    """Return the page of a section.

    ``notebooks`` maps each framework that has the section to its notebook; ``head`` is what stands
    below the title.
    """
    merged: list[Item] = []
    for framework, notebook in notebooks.items():
        one = items(notebook, framework)
        merged = merge(merged, one) if merged else one
    result = Page(list(notebooks))
    result.mark(result.frameworks, None, "title")
    result.cells.append(new_markdown_cell(f"# {title(notebooks)}\n\n{head}"))
    result.add(merged)
    return new_notebook(
        cells=result.cells,
        metadata={"language_info": {"name": "python", "pygments_lexer": "ipython3"}},
    )


def title(notebooks: dict) -> str:
    """Return the title of a section, which all of its notebooks begin with."""
    first = next(iter(notebooks.values()))
    return first.cells[0].source.partition("\n")[0].removeprefix("# ").strip()
