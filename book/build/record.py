"""Where and when a notebook was executed."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess
from collections import Counter
from importlib import metadata
from pathlib import Path

from book.build.notebook import code_cells

PACKAGES = ("d2l", "matplotlib", "mxnet", "numpy", "torch")  # Named in a notebook's stamp


def hardware() -> str:
    """Return the machine in a few words: 2-core x86-64, AVX-512, 24 GiB."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    words = [f"{cores}-core {platform.machine().replace('_', '-')}"]
    if os.path.exists("/proc/cpuinfo"):
        flags = Path("/proc/cpuinfo").read_text()
        words += [n for f, n in [("avx512f", "AVX-512"), ("avx2", "AVX2")] if f in flags][:1]
    if hasattr(os, "sysconf"):
        words.append(f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB")
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True)
        gpus = Counter(done.stdout.strip().splitlines() if done.returncode == 0 else [])
        words += [f"{count}× {name}" for name, count in gpus.items()]
    return ", ".join(words)


def stamp() -> dict:
    """Return where and when a notebook was executed."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    today = datetime.date.today().isoformat()
    return {"hardware": hardware(), "versions": versions, "date": today}


def devices(notebook) -> str:
    """Return the devices that the notebook's own banner names."""
    text = "".join(o.get("text", "") for c in code_cells(notebook) for o in c.get("outputs", []))
    found = re.search(r"^devices: (.*?)(?: \(|$)", text, re.MULTILINE)
    return found[1].strip() if found else "-"
