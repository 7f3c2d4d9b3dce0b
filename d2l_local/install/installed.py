"""What is installed in this Python, and what to type to change it.

The commands suit the way in which this Python was made: by conda, by set-up in a clone, or by the
reader. Nothing here installs anything, and no other package is needed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.install import uv
from d2l_local.install.builds import BUILDS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "computational-performance"  # Where `get` puts the notebooks, if no other is named
# The environments that set-up makes.
VENVS = {name: ROOT / framework.venv for name, framework in frameworks.load().items()}

NEXT = "\n"  # Between commands where a shell may not know `&&`
WHEELS = frameworks.load()["mxnet"].distributions
D2L = "d2l==1.0.3"
TORCH = "torch==2.13.0"


class LoadError(ImportError):
    """A framework cannot be loaded here, and ``command`` is what to type about it."""

    def __init__(self, reason: str, command: str) -> None:
        super().__init__(f"{reason}. Type: {command}")
        self.reason = reason
        self.command = command


def version(distribution: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def framework() -> str:
    """The framework that this Python is for: the first that it has, or has all extras for.

    With none, the table's first of those that run on this system.
    """
    table = frameworks.load()
    has = [name for name, row in table.items() if any(map(version, row.distributions))]
    asked = (name for name, row in table.items() if _has_all_of(row.extra))
    return next(itertools.chain(has, asked), frameworks.fitting())


def _has_all_of(extra: str) -> bool:
    """Whether there is all that this package asks for with an extra and not without it."""
    try:
        asked = importlib.metadata.requires("d2l-local") or []
    except importlib.metadata.PackageNotFoundError:
        return False
    lines = [line for line in asked if f"extra == '{extra}'" in line.replace('"', "'")]
    # A marker of Python's version keeps MXNet from some, on which nobody can tell by this.
    return bool(lines) and all(version(re.split(r"[^\w.-]", line)[0]) for line in lines)


def lacking(framework: str) -> list[str]:
    """What pip could not install with this package, for what it asks for (see pyproject.toml)."""
    wanted = [D2L]
    if framework == "mxnet" and not installed_builds():
        wanted += [*BUILDS["mxnet"], "graphviz"]
    return [package for package in wanted if not version(package.partition("==")[0])]


def installed_builds() -> list[str]:
    """The distributions of MXNet that are installed. Of two, each has overwritten the other."""
    return [name for name in WHEELS if version(name)]


def switch_to(build: str) -> str:
    """What to type to have one of `BUILDS` in place of whatever of MXNet is installed."""
    if _conda() and checkout():
        return _create_environment(build)
    install = pip_install(*BUILDS[build])
    installed = installed_builds()
    return f"{_pip('uninstall')} {' '.join(installed)} && {install}" if installed else install


def pip_install(*packages: str) -> str:
    """What to type to add packages to this Python, and nothing else.

    Without their dependencies: those of MXNet ask for an old NumPy, which it need not have.
    """
    return f"{_pip('install')} --no-deps {' '.join(map(_quoted, packages))}"


def install_torch() -> str:
    """What to type to have PyTorch in this Python, in the build that fits the machine.

    uv chooses it, which pip cannot: pip's for Linux comes with gigabytes of CUDA.
    """
    path, python = uv.found(), _quoted(sys.executable)
    start = _from_here(Path(path)) if path else f"{_pip('install')} uv && {python} -m uv"
    options = " ".join([f"--python {python}", *uv.for_this_machine()])
    return f"{start} pip install {options} {TORCH}"


def set_up(framework: str, build: str = "mxnet") -> str:
    """What to type to come to a Python in which the chapter runs; MXNet in one of `BUILDS`."""
    if not frameworks.load()[framework].runs_here:
        return _build_container()
    if not checkout():
        if framework == "mxnet":
            return pip_install(D2L, *BUILDS[build], "graphviz")
        # Unlike MXNet, other frameworks ask for what they need.
        return f"{install_torch()} && {pip_install(D2L)}"
    if _conda() and framework == "mxnet":
        return _create_environment(build)
    venv = VENVS[framework]
    if _ready(framework) and not _in(venv):
        return f"{_from_here(uv.python_in(venv))} -m d2l_local"
    if _in(venv):  # It is this one, so it must be broken
        return f"{_remove(venv)} && {_make('setup', framework)}"
    return _make("setup", framework)


def read(framework: str, language: str = "en") -> str:
    """What to type to open the notebooks, or to come to them."""
    if not checkout():
        if copy := _latest_copy(framework):
            return open_notebooks(copy, framework)
        return get_notebooks()
    made = _ready(framework) and _in(VENVS[framework])
    if _has_make() and (made or not has_jupyterlab()):
        return _make("lab", framework) + (f" LANGUAGE={language}" if language != "en" else "")
    return open_notebooks(ROOT / "chapters" / framework / language, framework)


def open_edition(framework: str) -> str:
    """What to type to open a framework's notebooks in the environment that set-up has made."""
    if _has_make():
        return _make("lab", framework)
    chosen = "" if framework == frameworks.fitting() else f" --framework {framework}"
    return f"{_from_here(uv.python_in(VENVS[framework]))} -m d2l_local lab{chosen}"


def _latest_copy(framework: str) -> Path | None:
    """The folder of an edition that ``python -m d2l_local get`` has copied to below this one."""
    try:
        found = [path.parent for path in Path.cwd().glob(f"*/{framework}/*/index.ipynb")]
        return max(found, key=lambda folder: folder.stat().st_mtime, default=None)
    except OSError:  # Of some other folder, such as one whose server is away
        return None


def open_notebooks(folder: Path, framework: str) -> str:
    """What to type to open the notebooks of a folder, and before that to get what this needs."""
    lab = f"-m d2l_local lab {_from_here(folder)}"
    if has_jupyterlab():
        return f"{_quoted(sys.executable)} {lab}"
    if not checkout():
        return f"{_pip('install')} jupyterlab && {_quoted(sys.executable)} {lab}"
    venv = VENVS[framework]
    python = "python" if _conda() and framework == "mxnet" else _from_here(uv.python_in(venv))
    if _ready(framework):
        return f"{python} {lab}"
    first = set_up(framework)
    return first if NEXT in first else f"{first} && {python} {lab}"  # Set-up says what comes next


def get_notebooks() -> str:
    """What to type to have notebooks of one's own."""
    return f"{_quoted(sys.executable)} -m d2l_local get"


def has_jupyterlab() -> bool:
    """Whether this Python can open notebooks."""
    return importlib.util.find_spec("jupyterlab") is not None


def editions(framework: str) -> Path:
    """The folder that has one for each language, with a framework's notebooks."""
    return (ROOT / "chapters" if checkout() else Path(FOLDER)) / framework


def nearest(folder: Path) -> Path:
    """A folder, or the one that is there in which it would be made."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


def writable(folder: Path) -> bool:
    """Whether a folder can be written or, if there is none yet, made.

    By trying: what a system says of permissions leaves out full disks and Windows' lists.
    """
    try:
        with tempfile.TemporaryFile(dir=nearest(folder), buffering=0) as file:
            file.write(bytes(4096))
    except OSError:
        return False
    return True


def checkout() -> bool:
    """Whether this package is imported from the repository rather than from site-packages."""
    return (ROOT / "Makefile").is_file() and (ROOT / "environment.yml").is_file()


def _conda() -> bool:
    return Path(sys.prefix, "conda-meta").is_dir()


def _in(venv: Path) -> bool:
    return Path(sys.prefix).resolve() == venv


def _ready(framework: str) -> bool:
    """Whether set-up has made the environment of a framework."""
    return (VENVS[framework] / f"ready-{framework}").exists()


def _create_environment(build: str) -> str:
    file, name = {
        "mxnet": ("environment-cpu.yml", "d2l-local-cpu"),
        "cu112": ("environment.yml", "d2l-local"),
    }[build]
    return f"conda env create --file {_from_here(ROOT / file)} && conda activate {name}"


def _pip(action: str) -> str:
    python = _quoted(sys.executable)
    if importlib.util.find_spec("pip"):
        return f"{python} -m pip {action}" + (" --yes" if action == "uninstall" else "")
    # Environments without pip are uv's
    return f"{_from_here(Path(uv.found() or 'uv'))} pip {action} --python {python}"


def _build_container() -> str:
    source = _from_here(ROOT) if checkout() else f"{_repository()}.git"
    return (
        f"docker build -t d2l-local {source}{NEXT}docker run --rm -p 127.0.0.1:8888:8888 d2l-local"
    )


def _repository() -> str:
    """The repository's address, which pyproject.toml names and an installed package repeats."""
    addresses = importlib.metadata.metadata("d2l-local").get_all("Project-URL") or []
    return dict(address.split(", ") for address in addresses)["Repository"]


def _has_make() -> bool:
    """Whether the Makefile is for this system: macOS has a make of 2006, and Windows none."""
    return sys.platform == "linux" and bool(shutil.which("make"))


def _make(target: str, framework: str) -> str:
    """What to type in the clone for a target that is a command of ``d2l_local``, too."""
    here = Path.cwd() == ROOT
    if _has_make():
        folder = "" if here else f"-C {_from_here(ROOT)} "
        return f"make {folder}{target}" + (
            "" if framework == frameworks.default() else f" FRAMEWORK={framework}"
        )
    python = "python" if sys.platform == "win32" else "python3"
    return ("" if here else f"cd {_from_here(ROOT)}{NEXT}") + (
        f"{python} -m d2l_local {target} --framework {framework}"
    )


def _remove(folder: Path) -> str:
    command = "rmdir /s /q" if sys.platform == "win32" else "rm -rf"
    return f"{command} {_from_here(folder)}"


def _from_here(path: Path) -> str:
    """The path as to be typed: relative if it is below the current folder, and never an option."""
    here = Path.cwd()
    typed = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return _quoted(os.path.join(".", typed) if typed.startswith("-") else typed)


def _quoted(word: str) -> str:
    """A word as to be typed into this system's shell."""
    return subprocess.list2cmdline([word]) if sys.platform == "win32" else shlex.quote(word)
