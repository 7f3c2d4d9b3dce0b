"""uv, which makes the environments, and where it takes packages from: as pip's settings say."""

from __future__ import annotations

import ast
import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from d2l_local.base import processes

ROOT = Path(__file__).resolve().parents[2]
BIN = "Scripts" if sys.platform == "win32" else "bin"
FOLDER = ROOT / ".uv"  # Where set-up fetches it to: uv of another version knows other options
# What pip's settings say of where packages come from, by uv's names. A reader who told pip means
# uv, too. Pip's other settings are for the reader's own environments, such as ``user``.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}
SEVERAL, SEPARATOR = "find-links", ","  # Of which there may be several: pip splits them at spaces
# Another Python's packages have no business in the environments.
NOT_OURS = {"PYTHONPATH": None, "PYTHONHOME": None}


def python_in(venv: Path) -> Path:
    """The interpreter of a virtual environment."""
    return venv / BIN / ("python.exe" if sys.platform == "win32" else "python")


def found() -> str | None:
    """The path of the clone's uv; None where it has not been fetched yet."""
    path = FOLDER / BIN / ("uv.exe" if sys.platform == "win32" else "uv")
    return str(path) if path.exists() else None


def settings(python: str | Path | None = None) -> dict[str, str]:
    """Where packages come from, by uv's names, as uv's or else pip's variables and files say.

    ``python`` is one whose pip is asked, the one beside the clone's uv if it is not given.
    """
    command = [str(python or python_in(FOLDER)), "-m", "pip", "config", "list"]
    said = ""
    with contextlib.suppress(OSError, TimeoutError):
        said = processes.completed(command, 60, "pip config", **NOT_OURS).stdout
    values = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    chosen: dict[str, str] = {}
    for option, name in SETTINGS.items():
        for section in (":env:", "install", "global"):  # As pip does, the first one counts
            if (key := f"{section}.{option}") in values and not os.environ.get(name):
                value = ast.literal_eval(values[key])
                chosen.setdefault(
                    name, SEPARATOR.join(value.split()) if option == SEVERAL else value
                )
    return chosen


def elsewhere(settings: Mapping[str, str | None]) -> bool:
    """Whether the reader has named where packages come from."""
    named = {**os.environ, **settings}
    return any(named.get(name) for name in ("UV_FIND_LINKS", "UV_DEFAULT_INDEX"))


def for_this_machine(settings: Mapping[str, str | None]) -> list[str]:
    """The option that chooses PyTorch's build: for CUDA where there is a driver, else for the CPU.

    uv takes it from PyTorch's own address then. A reader who has named another may reach no other
    than that, and gets what it offers.
    """
    return [] if elsewhere(settings) else ["--torch-backend=auto"]
