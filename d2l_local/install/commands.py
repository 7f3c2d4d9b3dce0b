"""What to type to change what is installed, or to open it: nothing here does what it says.

The commands begin with this Python, so that they work on every system and wherever this is said.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.install import installed, uv
from d2l_local.install.builds import BUILDS, installed_builds


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
    if not installed.checkout():
        return command("get", *chosen)
    venv = installed.VENVS[framework]
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
    if installed.checkout():
        return lab() if installed.has_jupyterlab() else set_up(framework)
    return lab() if Path(installed.FOLDER).is_dir() else command("get")


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
    tool = [sys.executable, "-m", "d2l_local", "uv"] if installed.checkout() else ["uv"]
    return [*tool, "pip", action, "--python", sys.executable]


def rename(file: Path) -> str:
    """What to type to give a file of the reader's another name."""
    move = "move" if sys.platform == "win32" else "mv"
    return f"{move} {_from_here(file)} {_from_here(file.with_name(f'my_{file.name}'))}"


def unset(variable: str) -> str:
    """What to type so that the shell's programs no longer have an environment variable."""
    if sys.platform == "win32":  # In PowerShell, `set` sets its own variables alone
        return f"set {variable}= (in PowerShell: Remove-Item Env:{variable})"
    return f"unset {variable}"


def _ready(framework: str) -> bool:
    """Whether set-up has made the environment of a framework."""
    return (installed.VENVS[framework] / f"ready-{framework}").exists()


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
