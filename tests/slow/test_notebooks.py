"""That notebooks run as readers run them: again, from elsewhere, after a cell has failed."""

from __future__ import annotations

import copy
import importlib.util
import shutil
from pathlib import Path

from book.builder.execute import NOTEBOOK_SECONDS, execute
from book.builder.notebook import code_cells

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]


def installed(module):
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None  # chapters/mxnet looks like a package


# In one language, since the code is the same in all, as `make check` sees.
NOTEBOOKS = [
    path
    for framework, module in {"mxnet": "mxnet", "pytorch": "torch"}.items()
    if installed(module)
    for path in sorted((ROOT / "chapters" / framework / "en").glob("*.ipynb"))
]
FAILURE = "raise RuntimeError('in the middle')"

# As long as all notebooks take, and half as long again: `make test-again`.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(NOTEBOOK_SECONDS + 100)]


def rerun(notebook):
    """Return a notebook that runs half of the code, fails, and then runs all of it."""
    code = code_cells(notebook)
    failure = nbformat.v4.new_code_cell(FAILURE, metadata={"tags": ["raises-exception"]})
    again = copy.deepcopy(code)
    for cell in again:
        cell.id += "-again"
    return nbformat.v4.new_notebook(cells=[*code[: len(code) // 2], failure, *again])


def files(folder):
    """Return the files in a folder, but for byte code: sizes and times of change by path."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        path: (path.stat().st_size, path.stat().st_mtime_ns)
        for path in found
        if "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: f"{p.parts[-3]}/{p.stem}")
def test_runs_again_after_a_failure_and_writes_nothing(path, tmp_path):
    # In a copy of the repository, so that only the notebook can have changed what is there.
    root, elsewhere = tmp_path / "repository", tmp_path / "elsewhere"
    elsewhere.mkdir()
    for folder in ("d2l_local", path.parent.relative_to(ROOT)):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = files(root)
    notebook = rerun(nbformat.read(path, 4))
    execute(notebook, elsewhere, root)
    [error] = [o for cell in notebook.cells for o in cell.outputs if o.output_type == "error"]
    assert error.evalue == "in the middle"
    assert files(root) == before
    assert files(elsewhere) == {}
