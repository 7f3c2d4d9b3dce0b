"""What is installed in this Python, and what to type to change it.

The commands suit the way in which this Python was made: by conda, by the repository's Makefile, or
by the reader. Nothing here installs anything, and no other package is needed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from d2l_local import frameworks
from d2l_local.machine import nvidia

ROOT = Path(__file__).resolve().parents[2]
# The environments that the Makefile makes.
VENVS = {name: ROOT / framework.venv for name, framework in frameworks.load().items()}

# MXNet's two builds, by the names of their extras in pyproject.toml, with what each alone needs.
BUILDS = {
    "mxnet": ["mxnet==1.9.1"],
    "cu112": ["mxnet-cu112==1.9.1", *sorted({package for _, package in nvidia.CUDA_LIBRARIES})],
}

NEXT = "\n"  # Between commands where a shell may not know `&&`
WHEELS = frameworks.load()["mxnet"].distributions
D2L = "d2l==1.0.3"


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
    """The framework that this Python is for: the first that it has.

    With none, the table's first of those that run on this system.
    """
    table = frameworks.load()
    has = [name for name, row in table.items() if any(map(version, row.distributions))]
    return next(iter(has), frameworks.fitting())


def lacking(framework: str) -> list[str]:
    """What pip could not install with this package, for what it asks for (see pyproject.toml)."""
    wanted = [D2L]
    if framework == "mxnet" and not installed_builds():
        wanted += [*BUILDS["mxnet"], "graphviz"]
    return [package for package in wanted if not version(package.partition("==")[0])]


def installed_builds() -> list[str]:
    """The distributions of MXNet that are installed. Of two, each has overwritten the other."""
    return [name for name in WHEELS if version(name)]


def fitting_build() -> str:
    """Which of `BUILDS` suits this machine: ``cu112`` if there is a GPU that MXNet can use."""
    return "cu112" if any(gpu.supported for gpu in nvidia.installed_gpus()) else "mxnet"


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


def set_up(framework: str, build: str = "mxnet") -> str:
    """What to type to come to a Python in which the chapter runs; MXNet in one of `BUILDS`."""
    if not frameworks.load()[framework].runs_here:
        return _build_container()
    if not checkout():
        if framework == "mxnet":
            return pip_install(D2L, *BUILDS[build], "graphviz")
        # Unlike MXNet, other frameworks ask for what they need.
        has = frameworks.load()[framework].distributions[0]
        return f"{_pip('install')} {has} && {pip_install(D2L)}"
    if _conda() and framework == "mxnet":
        return _create_environment(build)
    venv = VENVS[framework]
    if sys.platform != "linux":
        return _by_uv(framework)
    if _ready(framework) and not _in(venv):
        return f"{_from_here(_python_of(venv))} -m d2l_local"
    if not shutil.which("make"):
        return _without_make(framework)
    if _in(venv):  # It is this one, so it must be broken
        return f"rm -rf {_from_here(venv)} && {_make('setup', framework)}"
    return _make("setup", framework)


def read(framework: str, language: str = "en") -> str:
    """What to type to open the notebooks, or to come to them."""
    if not checkout():
        if copy := _latest_copy(framework):
            return open_notebooks(copy, framework)
        return f"{_quoted(sys.executable)} -m d2l_local get"
    made = _ready(framework) and _in(VENVS[framework])
    if sys.platform == "linux" and shutil.which("make") and (made or not has_jupyterlab()):
        return _make("lab", framework) + (f" LANGUAGE={language}" if language != "en" else "")
    return open_notebooks(ROOT / "chapters" / framework / language, framework)


def _latest_copy(framework: str) -> Path | None:
    """The folder of an edition that ``python -m d2l_local get`` has copied to below this one."""
    try:
        found = [path.parent for path in Path.cwd().glob(f"*/{framework}/*/index.ipynb")]
        return max(found, key=lambda folder: folder.stat().st_mtime, default=None)
    except OSError:  # Of some other folder, such as one whose server is away
        return None


def open_notebooks(folder: Path, framework: str) -> str:
    """What to type to open the notebooks of a folder, and before that to get what this needs."""
    lab = f"-m jupyterlab {_from_here(folder)}"
    if has_jupyterlab():
        return f"{_quoted(sys.executable)} {lab}"
    if not checkout():
        return f"{_pip('install')} jupyterlab && {_quoted(sys.executable)} {lab}"
    python = (
        "python" if _conda() and framework == "mxnet" else _from_here(_python_of(VENVS[framework]))
    )
    if _ready(framework):
        return f"{python} {lab}"
    first = set_up(framework)
    return f"{first}{NEXT if NEXT in first else ' && '}{python} {lab}"


def has_jupyterlab() -> bool:
    """Whether this Python can open notebooks."""
    return importlib.util.find_spec("jupyterlab") is not None


def checkout() -> bool:
    """Whether this package is imported from the repository rather than from site-packages."""
    return (ROOT / "Makefile").is_file() and (ROOT / "environment.yml").is_file()


def _conda() -> bool:
    return Path(sys.prefix, "conda-meta").is_dir()


def _in(venv: Path) -> bool:
    return Path(sys.prefix).resolve() == venv


def _ready(framework: str) -> bool:
    """Whether make has set up the environment of a framework."""
    return (VENVS[framework] / f"ready-{framework}").exists()


def _python_of(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


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
    uv = shutil.which("uv") or shutil.which(ROOT / ".uv" / "bin" / "uv") or "uv"
    return f"{_from_here(Path(uv))} pip {action} --python {python}"


def _without_make(framework: str) -> str:
    if not shutil.which("apt-get"):
        return _by_uv(framework)
    sudo = "sudo " if sys.platform != "win32" and os.geteuid() else ""
    return f"{sudo}apt-get install make python3-venv && {_make('setup', framework)}"


def _by_uv(framework: str) -> str:
    """What the README says for macOS, whose make is of 2006, and for Windows, which has none."""
    row = frameworks.load()[framework]
    venv, here = _from_here(VENVS[framework]), _from_here(ROOT)
    lock = ROOT / "requirements" / f"{framework}.txt"
    files = [lock, *([ROOT / row.unlocked] if row.unlocked else [])]
    needed = " ".join(f"--requirement {_from_here(file)}" for file in files)
    return (
        f"uv venv --clear --python {row.pythons[1]} {venv}{NEXT}"
        f"uv pip install --python {venv} --torch-backend=auto {needed} --editable {here}"
    )


def _build_container() -> str:
    source = _from_here(ROOT) if checkout() else f"{_repository()}.git"
    return (
        f"docker build -t d2l-local {source}{NEXT}docker run --rm -p 127.0.0.1:8888:8888 d2l-local"
    )


def _repository() -> str:
    """The repository's address, which pyproject.toml names and an installed package repeats."""
    addresses = importlib.metadata.metadata("d2l-local").get_all("Project-URL") or []
    return dict(address.split(", ") for address in addresses)["Repository"]


def _make(target: str, framework: str) -> str:
    folder = "" if Path.cwd() == ROOT else f"-C {_from_here(ROOT)} "
    return f"make {folder}{target}" + (
        "" if framework == frameworks.default() else f" FRAMEWORK={framework}"
    )


def _from_here(path: Path) -> str:
    """The path as to be typed: relative if it is below the current folder, and never an option."""
    here = Path.cwd()
    typed = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return _quoted(os.path.join(".", typed) if typed.startswith("-") else typed)


def _quoted(word: str) -> str:
    """A word as to be typed into this system's shell."""
    return subprocess.list2cmdline([word]) if sys.platform == "win32" else shlex.quote(word)
