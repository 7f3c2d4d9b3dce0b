"""What tests of several modules share."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil
import pytest

PATIENCE = 200  # Seconds; what is waited for mostly takes far less


def needs(module: str) -> None:
    """Skip the test module that calls it where ``module`` is not installed, without importing it.

    MXNet must not be imported before d2l_local has prepared the process.
    """
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed", allow_module_level=True)


def python(code: str, fails: bool = False, **environment: str) -> subprocess.CompletedProcess:
    """Run ``code`` in a new process, which finds modules where this one does.

    The test fails unless it ends well, or with ``fails`` unless it does not.
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done


def run_cells(cells: Iterable[str], folder: Path) -> str:
    """Run cells in a real kernel of this Python; return what the last one prints.

    The test fails if a cell does, unless it has the word "fails".
    """
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_notebook

    cells = [new_code_cell(text, id=f"c{number}") for number, text in enumerate(cells)]
    for cell in cells:
        cell.metadata.tags = ["raises-exception"] if "fails" in cell.source else []
    client = NotebookClient(
        new_notebook(cells=cells),
        shutdown_kernel="immediate",
        timeout=PATIENCE,
        resources={"metadata": {"path": str(folder)}},
    )
    manager = client.create_kernel_manager()
    # Not the one that the user has registered under this name.
    launch = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager.kernel_spec.argv = [sys.executable, *launch]
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
    client.execute(env={**os.environ, "IPYTHONDIR": str(folder), "PYTHONPATH": path})
    return "".join(output.get("text", "") for output in cells[-1].outputs)


def runs(pid: int) -> bool:
    """Whether a process is there and is more than an entry that nobody has collected yet."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(condition: Callable[[], object], seconds: float = PATIENCE):
    """Wait until ``condition()`` is true, and return what it is then or after ``seconds``."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def assert_end(pids: Iterable[int]) -> None:
    """Wait for processes that were killed to be gone."""
    pids = list(pids)
    assert until(lambda: not any(map(runs, pids))), f"still there: {[p for p in pids if runs(p)]}"
