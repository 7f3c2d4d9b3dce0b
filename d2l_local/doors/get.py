"""The book for a reader who has this package but no repository: ``python -m d2l_local get``.

It lies in the package, with its outputs, so that copying it needs no network. What pip could not
install together with the package does (``dependencies`` in pyproject.toml says what, and why).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

from d2l_local.base import frameworks, processes
from d2l_local.install import commands, installed, uv

SHIPPED = Path(__file__).parents[1] / "book"
BOOK = SHIPPED if SHIPPED.is_dir() else installed.ROOT  # In the repository, its own
PIP_SECONDS = 1800  # MXNet is 50 MB, PyTorch with CUDA 2.8 GB


def main(arguments: list[str]) -> int:
    """Copy the book, install what is lacking, and say what to type; return 1 if that failed."""
    parser = argparse.ArgumentParser(
        prog="python -m d2l_local get",
        description="Copy the book into a folder, and install what pip could not.",
    )
    name = installed.FOLDER
    parser.add_argument("folder", nargs="?", type=Path, default=name, help=f"{name}, if not named")
    parser.add_argument("--framework", choices=list(frameworks.load()))
    parser.add_argument("--language", help="of the notebooks that the last line opens")
    options = parser.parse_args(arguments)
    framework = options.framework or installed.framework()
    try:
        if os.path.lexists(options.folder):
            print(f"{options.folder} is there already and stays as it is; nothing was copied")
        else:
            copy(options.folder)
            print(f"The notebooks are in {options.folder}", flush=True)
        if not installed.checkout():
            complete(framework)
    except (OSError, RuntimeError) as error:
        print(f"Not complete: {error}\nThe same command goes on from here")
        return 1
    print(f"Type: {commands.lab(options.framework, options.language, options.folder)}")
    return 0


def copy(folder: Path) -> None:
    """Copy all notebooks, with the figures that they link to, into a new folder.

    Whole or nothing: raises OSError where the disk refuses, or somebody else was faster.
    """
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent) as staging:
        whole = Path(staging, "book")
        for source in [*BOOK.glob("chapters/*/*/*.ipynb"), *BOOK.glob("img/*.svg")]:
            target = whole / source.relative_to(BOOK)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)  # And not that it may not be written
        whole.rename(folder)


def complete(framework: str) -> None:
    """Install what pip could not together with this package; what is there stays.

    Raises RuntimeError or TimeoutError where that fails.
    """
    pip = commands.pip("install")
    if lacking := installed.lacking(framework):
        _install([*pip, "--no-deps"], lacking)
    if framework == "pytorch" and not installed.version("torch"):
        if not importlib.util.find_spec("uv"):
            _install(pip, ["uv"])
        settings = uv.settings(sys.executable)
        to = ["--python", sys.executable, *uv.for_this_machine(settings)]
        _install([sys.executable, "-m", "uv", "pip", "install", *to], [installed.TORCH], **settings)


def _install(command: list[str], packages: list[str], **environment: str) -> None:
    print(f"Installing {', '.join(packages)}, which pip could not on this Python", flush=True)
    processes.run([*command, *packages], PIP_SECONDS, "the installation", **environment)
