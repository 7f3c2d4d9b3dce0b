"""Notebooks as the builder writes and reads them.

What Jupyter knows of a cell has nbformat's names, so that functions of tags take nbformat's cells,
too. What the builder itself has to remember stands in `metadata.d2l_local` of a notebook and of
its cells, which the web book reads, too:

    {"runs": [{"machine": {"cores": 2, ...}, "date": "2026-11-21", "versions": {...}}]}
    {"id": "loops_1", "frameworks": ["mxnet"], "order": 4, "run": 0, "code": "5f0c2a91d3e4"}

In a notebook of the form `story` cells also remember what they have `kept` (`book.builder.kept`),
and what answers a question stands in a fold of prose, since GitHub folds no outputs.
"""

from __future__ import annotations

import copy
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ABOUT = "d2l_local"
STORY = "story"  # The form that is told from one machine
IGNORED = "nbval-ignore-output"  # nbval's word for a cell that it executes and does not compare
# As JupyterLab has them: what it writes when a notebook is only looked at changes nothing
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
TELLING = ("tell", "score", "guess", "stub", "check")  # Of a story's cells: they measure nothing
ANSWER = "answer"  # The kind of a cell that the builder adds: what a question was answered with
Run = dict[str, Any]  # Machine, date and versions, and what others took of the machine meanwhile


class BuildError(Exception):
    """What is wrong, where, and what to do about it."""


@dataclass
class Cell:
    """A cell. Two are equal if texts make them alike, whatever their outputs."""

    cell_type: str  # "markdown" or "code"
    id: str
    source: str  # As the text writes it, with the names of what prose quotes
    metadata: dict[str, Any] = field(default_factory=dict)  # Tags, and what is folded
    frameworks: list[str] = field(default_factory=list)  # Whose notebooks have the block
    order: int = 0  # The block's place in the text
    kind: str = ""  # What the block is for: `book.builder.model`
    predict: dict[str, Any] = field(default_factory=dict)  # The question that it answers
    shown: str | None = field(default=None, compare=False)  # Prose with the `values` that it quotes
    values: list[str] = field(default_factory=list, compare=False)
    outputs: list[NotebookNode] = field(default_factory=list, compare=False)
    execution_count: int | None = field(default=None, compare=False)  # As it was read
    run: Run | None = field(default=None, compare=False)  # That the outputs come from
    code_hash: str | None = field(default=None, compare=False)  # The hash of what made them
    kept: dict[str, str] = field(default_factory=dict, compare=False)  # Values, as text, by name

    def empty(self) -> None:
        """Take the outputs away, and what is recorded of them."""
        self.outputs, self.run, self.code_hash, self.kept = [], None, None, {}

    def take(self, other: Cell) -> None:
        """Take over the outputs of another cell, and what is recorded of them."""
        self.outputs, self.run, self.code_hash = other.outputs, other.run, other.code_hash
        self.kept = other.kept


@dataclass
class Notebook:
    """Cells, and the hashes of the exercises that were proved, by their names."""

    cells: list[Cell]
    proved: dict[str, str] = field(default_factory=dict)
    form: str = ""
    published: str = ""  # How a story's fold is titled that holds a published answer

    def tells(self, cell: Cell) -> bool:
        """Whether a code cell only tells what others have kept: it can be executed anywhere."""
        return self.form == STORY and cell.kind in TELLING

    @property
    def work(self) -> list[Cell]:
        """Return the code cells that are executed where they measure: but in a story, all."""
        return [cell for cell in self.code if not self.tells(cell)]

    @property
    def kept(self) -> dict[str, str]:
        """Return what its cells have kept in the end."""
        return {name: text for cell in self.code for name, text in cell.kept.items()}

    @property
    def code(self) -> list[Cell]:
        return code_cells(self)


def code_cells(notebook: Any) -> list[Any]:
    """Return the code cells of a notebook, the builder's or nbformat's."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: Any) -> list[str]:
    found: list[str] = cell.metadata.get("tags", [])
    return found


def may_fail(cell: Any) -> bool:
    return "raises-exception" in tags(cell)


def measures(cell: Any) -> bool:
    """Whether its output, which differs from run to run, is not compared with the committed one."""
    return IGNORED in tags(cell)


def gpus_needed(cell: Any) -> int:
    """How many GPUs it takes to prove what the cell says: N of its tag `gpus-N`, else 0."""
    found = [re.fullmatch(r"gpus-(\d+)", tag) for tag in tags(cell)]
    return max((int(match[1]) for match in found if match), default=0)


def data_of(output: NotebookNode) -> dict[str, Any]:
    """Return what an output says of itself: a verdict on an exercise, or what was measured."""
    found: dict[str, Any] = output.get("metadata", {}).get(ABOUT, {})
    return found


# ---- Files ---------------------------------------------------------------------------------------


def read_notebook(path: Path) -> Notebook | None:
    """Return a notebook, or None if there is none. Raises BuildError where it is damaged."""
    if not path.exists():
        return None
    try:
        node = nbformat.read(path, as_version=4)
    except ValueError as error:  # No JSON, or no UTF-8
        what = " ".join(str(error).split()[:20])
        raise BuildError(f"{path}: {what}; take it from git, or delete it and build it") from None
    about = node.metadata.get(ABOUT, {})
    runs = about.get("runs", [])
    cells = [_read(cell, runs) for cell in with_answers(node).cells]
    return Notebook(cells, about.get("proved", {}), about.get("form", ""))


def with_answers(node: NotebookNode) -> NotebookNode:
    """Return a notebook as nbformat has it with the answers in the outputs that they come from."""
    cells: list[NotebookNode] = []
    for cell in node.cells:
        about = cell.metadata.get(ABOUT, {})
        if about.get("kind") == ANSWER:
            cells[-1].outputs = about["outputs"]
        else:
            cells.append(cell)
    node.cells = cells
    return node


def _read(node: NotebookNode, runs: list[Run]) -> Cell:
    metadata = dict(node.metadata)
    about = metadata.pop(ABOUT, {})
    run = about.get("run", len(runs))
    return Cell(
        node.cell_type,
        node.get("id", ""),
        about.get("template", node.source),
        metadata,
        about.get("frameworks", []),
        about.get("order", 0),
        about.get("kind", ""),
        about.get("predict", {}),
        shown=node.source if "template" in about else None,
        values=about.get("values", []),
        outputs=node.get("outputs", []),
        execution_count=node.get("execution_count"),
        run=runs[run] if run < len(runs) else None,
        code_hash=about.get("code"),
        kept=about.get("kept", {}),
    )


def dump(notebook: Notebook) -> str:
    """Return the file: executed cells are numbered in their order, and each run stands once.

    It is as JupyterLab would save it in the Python of its first run.
    """
    runs: list[Run] = []
    for cell in notebook.code:
        if cell.run and cell.run not in runs:
            runs.append(cell.run)
    node = new_notebook(cells=[_written(cell, runs) for cell in notebook.cells])
    if notebook.form:
        node.cells = [each for cell in node.cells for each in _answer(cell, notebook.published)]
    for number, cell in enumerate(code_cells(node), 1):
        executed = ABOUT in cell.metadata and "run" in cell.metadata[ABOUT]
        cell.execution_count = number if executed else None
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
    about = {"runs": runs, **({"proved": notebook.proved} if notebook.proved else {})}
    if notebook.form:
        about["form"] = notebook.form
    python = {"version": runs[0]["versions"]["python"]} if runs else {}
    node.metadata.update(kernelspec=KERNEL, language_info={**LANGUAGE, **python}, **{ABOUT: about})
    nbformat.validate(node)
    text: str = nbformat.writes(nbformat.from_dict(_whole(node)), version=4)
    return text.rstrip("\n") + "\n"


def _whole(value: Any) -> Any:
    """Return JSON with 3 in place of 3.0, as JavaScript writes numbers."""
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _written(cell: Cell, runs: list[Run]) -> NotebookNode:
    about = {
        "id": cell.id,
        "frameworks": cell.frameworks,
        "order": cell.order,
        "kind": cell.kind,
        "predict": cell.predict,
    }
    if cell.shown is not None:
        about.update(template=cell.source, values=cell.values)
    if cell.run:
        about.update(run=runs.index(cell.run), code=cell.code_hash, kept=cell.kept)
    about = {key: value for key, value in about.items() if value not in ("", {}, None)}
    metadata = {**cell.metadata, ABOUT: about}
    node: NotebookNode
    if cell.cell_type == "code":
        outputs = copy.deepcopy(cell.outputs)
        node = new_code_cell(cell.source, id=cell.id, metadata=metadata, outputs=outputs)
    else:
        source = cell.source if cell.shown is None else cell.shown
        node = new_markdown_cell(source, id=cell.id, metadata=metadata)
    return node


def _answer(cell: NotebookNode, title: str) -> list[NotebookNode]:
    """Return a cell; one that answers a question without its outputs, and those in a fold."""
    if "predict" not in cell.metadata[ABOUT] or not cell.outputs:
        return [cell]
    said = "\n".join(
        str(out.get("text") or out.get("data", {}).get("text/plain", "")).rstrip()
        for out in cell.outputs
        if "guess" not in data_of(out)  # That nobody has guessed yet
    )
    fold = new_markdown_cell(
        f"<details><summary>{title}</summary>\n\n```\n{said}\n```\n\n</details>",
        id=f"{cell.id}-{ANSWER}",
        metadata={ABOUT: {**cell.metadata[ABOUT], "kind": ANSWER, "outputs": cell.outputs}},
    )
    for key in ("predict", "run", "code", "kept"):
        fold.metadata[ABOUT].pop(key, None)
    cell.outputs = []
    return [cell, fold]


def bare(code: Iterable[Cell]) -> NotebookNode:
    """Return a notebook of code cells for a kernel, without outputs."""
    cells = [
        new_code_cell(cell.source, id=cell.id, metadata=copy.deepcopy(cell.metadata))
        for cell in code
    ]
    node: NotebookNode = new_notebook(cells=cells)
    return node


def write(path: Path, text: str) -> bool:
    """Write a file all at once, and only if it changes."""
    data = text.encode()
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return True
