"""What is installed in this Python, and what to type to change it.

The commands begin with this Python, so that they work on every system and wherever this is said.
Nothing here installs anything, and no other package is needed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.install import uv
from d2l_local.install.builds import BUILDS, D2L, installed_builds

ROOT = uv.ROOT
FOLDER = "computational-performance"  # Where `get` puts the book, if no other is named
# The environments that set-up makes.
VENVS = {name: ROOT / framework.venv for name, framework in frameworks.load().items()}
TORCH = "torch==2.13.0"


def version(distribution: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def title(library: str) -> str:
    """What readers call a library that Python imports by this name."""
    titles = {row.module: row.title for row in frameworks.load().values()}
    return {**titles, "numpy": "NumPy"}.get(library, library)


def framework() -> str:
    """The framework that this Python has; with none or several, the table's first of them."""
    table = frameworks.load()
    has = (name for name, row in table.items() if any(map(version, row.distributions)))
    return next(has, frameworks.fitting())


def checkout() -> bool:
    """Whether this package is imported from the repository rather than from site-packages."""
    return (ROOT / "Makefile").is_file() and (ROOT / "environment.yml").is_file()


def has_jupyterlab() -> bool:
    """Whether this Python can open notebooks."""
    return importlib.util.find_spec("jupyterlab") is not None


def lacking(framework: str) -> list[str]:
    """What pip could not install with this package, for what it asks for (see pyproject.toml)."""
    wanted = [D2L]
    if framework == "mxnet" and not installed_builds():
        wanted += [*BUILDS["mxnet"], "graphviz"]
    return [package for package in wanted if not version(package.partition("==")[0])]


def of_other_versions(framework: str) -> Iterator[tuple[str, str]]:
    """Distributions whose version is not the one that the chapter is for, and what that is."""
    pins = [D2L]
    if framework == "mxnet":
        pins += [build[0] for build in BUILDS.values()]
    for pin in pins:
        name, _, wanted = pin.partition("==")
        if (found := version(name)) and found != wanted:
            yield f"{name} {found}", pin


# --- What to type ---------------------------------------------------------------------------------


def command(*words: str, python: Path | None = None) -> str:
    """What to type for a command of this package, with this Python if none is given."""
    return " ".join([_from_here(python or Path(sys.executable)), "-m d2l_local", *words])


def set_up(framework: str) -> str:
    """What to type to come to a Python in which a framework's notebooks run.

    Where there is no build of it for this system, that of another one.
    """
    if not frameworks.load()[framework].runs_here:
        framework = frameworks.fitting()
    chosen = [] if framework == frameworks.fitting() else ["--framework", framework]
    if not checkout():
        return command("get", *chosen)
    venv = VENVS[framework]
    if Path(sys.prefix).resolve() == venv:  # It is this one, so it must be broken
        return command("setup", *chosen, "--anew")
    if _ready(framework):
        return command("lab", python=uv.python_in(venv))
    return command("setup", *chosen)


def lab(framework: str | None = None, language: str | None = None, book: Path | None = None) -> str:
    """What to type to open notebooks with this Python: by default those that ``lab`` chooses."""
    chosen = [f"--framework {framework}"] if framework else []
    chosen += [f"--language {language}"] if language else []
    chosen += [f"--book {_from_here(book)}"] if book else []
    return command("lab", *chosen)


def read(framework: str) -> str:
    """What to type to open the notebooks of this Python's framework, or to come to them."""
    if checkout():
        return lab() if has_jupyterlab() else set_up(framework)
    return lab() if Path(FOLDER).is_dir() else command("get")


def switch_to(build: str) -> str:
    """What to type to have one of `BUILDS` in place of whatever of MXNet is installed."""
    install = pip_install(*BUILDS[build])
    there = installed_builds()
    return f"{_typed(*pip('uninstall'), *there)} && {install}" if there else install


def pip_install(*packages: str) -> str:
    """What to type to add packages to this Python, and nothing else.

    Without their dependencies: those of MXNet ask for an old NumPy, which it need not have.
    """
    return _typed(*pip("install"), "--no-deps", *packages)


def install_jupyterlab() -> str:
    """What to type to be able to open notebooks in this Python."""
    return _typed(*pip("install"), "jupyterlab")


def pip(action: str) -> list[str]:
    """The words that begin a command for the packages of this Python."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", action, *(["--yes"] if action == "uninstall" else [])]
    # An environment without pip was made by uv: by set-up's, or by the reader's.
    uv = [sys.executable, "-m", "d2l_local", "uv"] if checkout() else ["uv"]
    return [*uv, "pip", action, "--python", sys.executable]


def rename(file: Path) -> str:
    """What to type to give a file of the reader's another name."""
    move = "move" if sys.platform == "win32" else "mv"
    return f"{move} {_from_here(file)} {_from_here(file.with_name(f'my_{file.name}'))}"


def _ready(framework: str) -> bool:
    """Whether set-up has made the environment of a framework."""
    return (VENVS[framework] / f"ready-{framework}").exists()


def _typed(*words: str) -> str:
    return " ".join(
        _from_here(Path(word)) if word == sys.executable else _quoted(word) for word in words
    )


def _from_here(path: Path) -> str:
    """The path as to be typed: relative if it is below the current folder, and never an option."""
    here = Path.cwd()
    typed = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return _quoted(os.path.join(".", typed) if typed.startswith("-") else typed)


def _quoted(word: str) -> str:
    """A word as to be typed into this system's shell."""
    return subprocess.list2cmdline([word]) if sys.platform == "win32" else shlex.quote(word)
