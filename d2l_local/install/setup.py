"""``python3 -m d2l_local setup``: an environment for a framework, in a clone of the repository.

It is the same on every system, and takes a Python without a single package. uv, which it fetches
where there is none, installs what ``requirements/`` names, and checks the hashes. Where all is as
these files say, nothing is done. What was killed, or lost its Python since, is made anew.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from d2l_local.base import frameworks, processes
from d2l_local.base.language import say, translated
from d2l_local.install import installed, uv

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ROOT = installed.ROOT
REQUIREMENTS = ROOT / "requirements"
SECONDS = (
    6 * 60 * 60
)  # CUDA's libraries are gigabytes, and networks slow; uv itself ends what hangs


@dataclass(frozen=True)
class Environment:
    """A virtual environment of the clone, and what is installed there.

    ``pythons`` is written as pip does, ``locked`` is a file with hashes, and ``unlocked`` one for
    what differs from machine to machine. ``package`` says whether d2l_local is installed, too.
    """

    name: str
    title: str
    folder: Path
    pythons: str
    locked: Path
    unlocked: Path | None = None
    package: bool = True

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return uv.python_in(self.folder)

    @property
    def ready(self) -> Path:
        """The file that says what all was installed from, written when all is."""
        return self.folder / f"ready-{self.name}"

    def contents(self) -> str:
        """A digest of all that the environment is made from."""
        files = [self.locked, self.unlocked, ROOT / "pyproject.toml" if self.package else None]
        return hashlib.sha256(b"\0".join(file.read_bytes() for file in files if file)).hexdigest()

    def is_ready(self) -> bool:
        """Whether nothing is left to do. Its Python may have been removed since, by an update."""
        try:
            return self.python.exists() and self.ready.read_text("utf-8") == self.contents()
        except FileNotFoundError:
            return False


def environment(framework: str) -> Environment:
    """The environment of a framework of the book."""
    row = frameworks.load()[framework]
    return Environment(
        framework,
        row.title,
        installed.VENVS[framework],
        row.requires_python,
        REQUIREMENTS / f"{framework}.txt",
        ROOT / row.unlocked if row.unlocked else None,
    )


WEB = Environment(
    "web", "the web book", ROOT / ".venv-web", ">=3.11", REQUIREMENTS / "web.txt", package=False
)


def main(arguments: list[str]) -> int:
    """Set up what is asked for, and say what to type next; return 1 if that failed."""
    parser = argparse.ArgumentParser(
        prog="python3 -m d2l_local setup", description=(__doc__ or "").split("\n")[0]
    )
    table = frameworks.load()
    parser.add_argument("--framework", choices=list(table), default=frameworks.fitting())
    parser.add_argument("--web", action="store_true", help="what the web book needs, instead")
    parser.add_argument("--python", metavar="VERSION", help="such as 3.12; else any that fits")
    parser.add_argument("--quiet", action="store_true", help="say nothing if nothing is to do")
    options = parser.parse_args(arguments)
    try:
        made = WEB if options.web else environment(options.framework)
        to_do = not made.is_ready() if installed.checkout() else True
        if to_do:
            set_up(made, options.python or made.pythons)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"Not set up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Not set up: interrupted. The same command goes on from here", file=sys.stderr)
        return 130
    if to_do or not options.quiet:
        next_step = "make serve" if options.web else installed.open_edition(options.framework)
        say("{folder} is ready. Type: {command}", folder=made.folder.name, command=next_step)
    return 0


def set_up(made: Environment, pythons: str) -> None:
    """Make an environment, with one of ``pythons``, and install everything into it.

    Raises RuntimeError, with what to do, where that is not possible, and OSError where the disk
    refuses.
    """
    check_place(made)
    with alone(ROOT / "build" / "setup.lock"):
        if made.is_ready():  # Somebody else was at it
            return
        started = time.monotonic()
        gigabytes = announce_size(made)
        try:
            tool = Uv(gigabytes)
            make(made, pythons, tool)
            install(made, tool)
        except RuntimeError as error:
            raise RuntimeError(f"{error}{room_left(gigabytes)}") from None
        made.ready.write_text(made.contents(), "utf-8")
        say("All was installed in {seconds:.0f} s", seconds=time.monotonic() - started)


# --- Before anything is made ----------------------------------------------------------------------


def check_place(made: Environment) -> None:
    """Raise RuntimeError where set-up has no business, with what to type instead."""
    if not installed.checkout():
        raise RuntimeError(
            "this d2l_local is no clone of the repository, and needs no set-up but pip's. For the "
            f"notebooks, type: {installed.get_notebooks()}"
        )
    row = frameworks.load().get(made.name)
    if row and not row.runs_here:
        raise RuntimeError(
            f"{row.title} has no build for this system. Type: {installed.set_up(made.name)}"
        )
    if not installed.writable(ROOT):
        raise RuntimeError(
            f"{ROOT} cannot be written, and {made.folder.name} is made in it. Clone the repository "
            "into a folder of yours, or let its owner type this"
        )


def announce_size(made: Environment) -> float:
    """Say what an environment takes, if that is known, and return the GB on disk.

    Raises RuntimeError where there is not as much room.
    """
    row = frameworks.load().get(made.name)
    if row is None or not row.disk:
        say("Setting up {title} in {folder}", title=translated(made.title), folder=made.folder.name)
        return 0
    build = uv.brings_cuda() if made.unlocked else None
    disk, download = (
        float(locked) + (0 if build is None else float(builds[build]))
        for locked, builds in ((row.disk, row.build_disk), (row.download, row.build_download))
    )
    say(
        "Setting up {title} in {folder}: {minutes} min with a fast network, at most "
        "{download:.1f} GB to download and {disk:.1f} GB on disk",
        title=made.title,
        folder=made.folder.name,
        disk=disk,
        download=download,
        minutes=row.minutes,
    )
    if not made.python.exists() and free(ROOT) < disk:
        raise RuntimeError(f"it takes {disk:.1f} GB in {ROOT}, where {free(ROOT):.1f} GB are free")
    return disk


def room_left(gigabytes: float) -> str:
    """A sentence about the disk, for an error; empty where that is not the reason."""
    if (left := free(ROOT)) >= 0.1:
        return ""
    return f"\nThe disk is full: {left:.1f} GB are free in {ROOT}, and it takes {gigabytes:.1f} GB"


def free(folder: Path) -> float:
    """The GB that are free where a folder is, or will be."""
    return shutil.disk_usage(installed.nearest(folder)).free / 1e9


# --- One at a time --------------------------------------------------------------------------------


@contextlib.contextmanager
def alone(file: Path) -> Iterator[None]:
    """Hold a lock, and wait, with a word, while another process does; it ends with its holder."""
    file.parent.mkdir(exist_ok=True)
    with open(file, "a", encoding="utf-8") as lock:
        if not locked(lock):
            say("Another set-up is at work here; this one waits for it")
            while not locked(lock):
                time.sleep(0.2)
        yield


def locked(lock: IO[str]) -> bool:
    """Whether the lock is ours now."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # As the two of them say it
        return False
    return True


# --- uv -------------------------------------------------------------------------------------------


class Uv:
    """uv, fetched into the clone where there is none, with a cache that can be written."""

    def __init__(self, gigabytes: float = 0) -> None:
        self.path = uv.found() or fetch_uv()
        self.settings = uv.settings()
        if not os.environ.get("UV_CACHE_DIR") and not self._has_cache(gigabytes):
            say("uv's cache cannot be written here; .uv in the clone takes its place")
            self.settings["UV_CACHE_DIR"] = str(uv.FETCHED / "cache")
            self.settings["UV_PYTHON_INSTALL_DIR"] = str(uv.FETCHED / "python")

    def _has_cache(self, gigabytes: float) -> bool:
        cache = installed.nearest(Path(self("cache", "dir")))
        # On the clone's own disk, both share the room.
        apart = cache.stat().st_dev != ROOT.stat().st_dev
        return installed.writable(cache) and not (apart and free(cache) < gigabytes)

    def __call__(self, *arguments: object) -> str:
        """What uv prints. Raises RuntimeError, with what it said, where it fails."""
        words = [self.path, *map(str, arguments)]
        return processes.run(
            words, SECONDS, f"uv {arguments[0]} {arguments[1]}", **self.settings
        ).strip()


def fetch_uv() -> str:
    """Install uv into ``.uv``, with its hash checked, and return its path."""
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        raise RuntimeError(
            f"{sys.executable} cannot make virtual environments, as it lacks venv or ensurepip; on "
            "Debian and Ubuntu: apt-get install python3-venv"
        )
    say("Fetching uv into .uv")
    python, lock = uv.python_in(uv.FETCHED), REQUIREMENTS / "uv.txt"
    new = [] if python.exists() else ["--clear"]
    processes.run([sys.executable, "-m", "venv", *new, str(uv.FETCHED)], SECONDS, "venv")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "--requirement"]
    processes.run([*pip, str(lock)], SECONDS, "pip install")
    if not (path := uv.found()):
        raise RuntimeError(f"there is no uv in {uv.FETCHED / uv.BIN}, although pip installed it")
    return path


def run_uv(arguments: list[str]) -> int:
    """Become uv, for the Makefile: fetched where there is none, and with pip's settings."""
    try:
        tool = Uv()
    except (OSError, RuntimeError) as error:
        print(f"No uv: {error}", file=sys.stderr)
        return 1
    os.execve(tool.path, [tool.path, *arguments], processes.variables(tool.settings))


# --- The environment ------------------------------------------------------------------------------


def make(made: Environment, pythons: str, tool: Uv) -> None:
    """Make the virtual environment, unless there is one that works."""
    if works(made.python):
        return
    if made.folder.exists():
        say("{folder} has no Python that works; it is made anew", folder=made.folder.name)
        shutil.rmtree(made.folder)
    try:
        here = tool("python", "find", "--no-project", "--system", "--no-python-downloads", pythons)
    except RuntimeError:
        here = ""
    try:
        tool("venv", "--quiet", "--python", here or pythons, made.folder)
    except RuntimeError as error:
        if here:
            raise
        raise RuntimeError(
            f"{error}\nHere is no Python {pythons}, and uv could fetch none. This one is "
            f"{sys.version.split()[0]}. Install one that fits, or name a mirror of uv's downloads "
            "in UV_PYTHON_INSTALL_MIRROR"
        ) from None


def works(python: Path) -> bool:
    """Whether an interpreter runs, and knows that it is a virtual environment's."""
    ask = "import sys; sys.exit(sys.prefix == sys.base_prefix)"
    try:
        return processes.completed([str(python), "-c", ask], 60, "Python").returncode == 0
    except (OSError, TimeoutError):
        return False


def install(made: Environment, tool: Uv) -> None:
    """Install all that the environment is for. Byte code spares each process seconds later on."""
    here, quiet = ("--python", made.python), ("--quiet", "--compile-bytecode")
    say("Installing what {file} names", file=made.locked.relative_to(ROOT).as_posix())
    tool("pip", "sync", *quiet, "--require-hashes", *here, made.locked)
    if made.unlocked:
        say("Installing {title}'s build for this machine", title=made.title)
        build = uv.for_this_machine()
        tool("pip", "install", *quiet, *here, *build, "--requirement", made.unlocked)
    if made.package:
        install_package(made, tool)


def install_package(made: Environment, tool: Uv) -> None:
    """Install this clone's d2l_local, editable, without a network, and found by a relative path.

    uv writes an absolute one into a .pth file. Python 3.11 reads that in the locale's encoding and,
    where this is ASCII, does not even start if the clone lies in a folder with other letters.
    """
    offline = ("--no-deps", "--no-build-isolation", "--offline")
    tool("pip", "install", "--quiet", *offline, "--python", made.python, "--editable", ROOT)
    for pattern in ("lib/python3*/site-packages/", "Lib/site-packages/"):
        for file in made.folder.glob(f"{pattern}*d2l_local.pth"):
            file.write_text(os.path.relpath(ROOT, file.parent) + "\n", "ascii")
