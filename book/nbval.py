"""How pytest treats the notebooks' cells (nbval).

Those that need GPUs are skipped without them. Those that measure have a second try: another program
that took the cores for a moment is no mistake of the notebook's. Each retry is reported.
"""

import functools
import shutil
import subprocess
import warnings

from book.build.notebook import gpus_needed

import pytest


@functools.cache
def gpus_here() -> int:
    if not shutil.which("nvidia-smi"):
        return 0
    done = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True)
    return len(done.stdout.splitlines()) if done.returncode == 0 else 0


def pytest_collection_modifyitems(items):
    for item in items:
        needed = gpus_needed(item.cell) if hasattr(item, "cell") else 0
        if needed > gpus_here():
            reason = f"needs {needed} GPUs: its committed output comes from a machine with them"
            item.add_marker(pytest.mark.skip(reason=reason))


def claim_failed(item) -> bool:
    """Whether an assertion of a cell failed whose outputs differ from run to run."""
    cell, outputs = getattr(item, "cell", {}), getattr(item, "test_outputs", None) or [{}]
    measures = "nbval-ignore-output" in cell.get("metadata", {}).get("tags", [])
    return measures and outputs[-1].get("ename") == "AssertionError"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except Exception:
        if not claim_failed(item):
            raise
    warnings.warn(f"{item.nodeid}: what it asserts failed once and is tried again", stacklevel=1)
    return item.runtest()
