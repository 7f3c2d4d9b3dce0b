"""How pytest treats the notebooks' cells (nbval): those that need GPUs are skipped without them."""

import functools
import shutil
import subprocess

import pytest
from check import gpus_needed


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
