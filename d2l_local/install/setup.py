"""``python3 -m d2l_local setup``: an environment for a framework, in a clone of the repository.

It is the same on every system, and takes a Python without a single package. The environment has
this Python if the framework runs on it. uv, fetched first, installs what ``requirements/`` names,
and checks the hashes. Where all is as these files say, nothing is done.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from d2l_local.base import frameworks, processes
from d2l_local.base.language import say, translated
from d2l_local.install import commands, installed, uv
from d2l_local.machine import host, nvidia

ROOT = installed.ROOT
REQUIREMENTS = ROOT / "requirements"
HOURS = 6  # CUDA's libraries are gigabytes, and networks slow; uv itself ends what hangs


@dataclass(frozen=True)
class Environment:
    """A virtual environment of the clone, and what is installed there.

    ``pythons`` is written as pip does, ``locked`` is a file with hashes, and ``unlocked`` one for
    what differs from machine to machine. ``package`` says whether d2l_local is installed, too, and
    ``disk`` how many GB all of it takes.
    """

    name: str
    title: str
    folder: Path
    pythons: str
    locked: Path
    unlocked: Path | None = None
    package: bool = True
    disk: str = ""

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

    def is_made(self) -> bool:
        """Whether it has its Python, which an update of the system may have removed since."""
        return self.python.exists() and (self.folder / "pyvenv.cfg").exists()

    def is_ready(self) -> bool:
        """Whether nothing is left to do."""
        try:
            return self.is_made() and self.ready.read_text("utf-8") == self.contents()
        except FileNotFoundError:
            return False

    def takes(self, minor: int) -> bool:
        """Whether Python 3.``minor`` is one of its Pythons."""
        oldest, *beyond = map(int, re.findall(r"3\.(\d+)", self.pythons))
        return oldest <= minor and all(minor < first for first in beyond)


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
        disk=row.disk,
    )


UV = Environment("uv", "uv", uv.FOLDER, ">=3.9", REQUIREMENTS / "uv.txt", package=False)
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
    parser.add_argument("--anew", action="store_true", help="remove what is there, and begin again")
    parser.add_argument("--quiet", action="store_true", help="do not say what to type next")
    options = parser.parse_args(arguments)
    try:
        made = WEB if options.web else environment(options.framework)
        if options.anew or not installed.checkout() or not made.is_ready():
            set_up(made, options.anew)
    except (OSError, RuntimeError) as error:
        print(f"Not set up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Not set up: interrupted. The same command goes on from here", file=sys.stderr)
        return 130
    if not options.quiet:
        say_ready(made)
    return 0


def set_up(made: Environment, anew: bool = False) -> None:
    """Make an environment and install everything into it.

    Raises RuntimeError, with what to do, where that is not possible, and OSError where the disk
    refuses.
    """
    check_place(made)
    started = time.monotonic()
    size = translated(": {disk} GB on disk", disk=made.disk) if made.disk else ""
    title = translated(made.title)
    say("Setting up {title} in {folder}{size}", title=title, folder=made.folder.name, size=size)
    try:
        fetch_uv()
        tool = Uv()
        if anew or not made.is_made():
            make(made, tool)
        install(made, tool)
    except RuntimeError as error:
        raise RuntimeError(
            f"{error}\nThe same command goes on from here. Where pypi.org cannot be reached, name "
            "another index in PIP_INDEX_URL first"
        ) from None
    made.ready.write_text(made.contents(), "utf-8")
    say("All was installed in {seconds:.0f} s", seconds=time.monotonic() - started)
    warn_of_closed_python(made)


def check_place(made: Environment) -> None:
    """Raise RuntimeError where set-up has no business, with what to type instead."""
    if not installed.checkout():
        raise RuntimeError(
            "this d2l_local is no clone of the repository, and needs no set-up but pip's. For the "
            f"notebooks, type: {commands.command('get')}"
        )
    row = frameworks.load().get(made.name)
    if row and not row.runs_here:
        raise RuntimeError(
            f"{row.title} has no build for this system; the README says how Docker runs it, and "
            f"another framework runs here. Type: {commands.set_up(made.name)}"
        )
    if not host.writable(ROOT):
        raise RuntimeError(
            f"{ROOT} cannot be written, and {made.folder.name} is made in it. Clone the repository "
            "into a folder of yours, or let its owner type this"
        )


def say_ready(made: Environment) -> None:
    """Say which Python the environment has, and what to type next."""
    settings = (made.folder / "pyvenv.cfg").read_text("utf-8")
    found = re.search(r"^version(?:_info)? *= *([\d.]+)", settings, re.MULTILINE)
    opens = commands.command("lab", python=made.python)
    say(
        "{folder} is ready, with Python {python}. Type: {command}",
        folder=made.folder.name,
        python=found[1] if found else made.pythons,
        command="make serve" if made is WEB else opens,
    )


def warn_of_closed_python(made: Environment) -> None:
    """Warn where others cannot enter the folder of the Python, and may enter the clone: a class."""
    python = made.python.resolve()
    around = {*python.parents} - {ROOT, *ROOT.parents}
    if closed := [folder for folder in around if not folder.stat().st_mode & 0o001]:
        here = "--web" if made is WEB else f"--framework {made.name}"
        print(
            f"Only you can use {made.folder.name}: its Python, {python}, lies in {closed[0]}, "
            "which is closed to others. For a class, take a Python of the system, such as: "
            f"/usr/bin/python3 -m d2l_local setup {here} --anew",
            file=sys.stderr,
        )


# --- uv -------------------------------------------------------------------------------------------


def fetch_uv() -> None:
    """Install uv into ``.uv``, with its hash checked, unless it is there in this version."""
    if UV.is_ready() and uv.found():
        return
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        raise RuntimeError(
            f"{sys.executable} cannot make virtual environments, as it lacks venv or ensurepip; on "
            "Debian and Ubuntu, type: apt-get install python3-venv"
        )
    say("Fetching uv into .uv")
    seconds = HOURS * 3600
    venv = [sys.executable, "-m", "venv", "--clear", str(UV.folder)]
    processes.run(venv, seconds, "venv", **uv.NOT_OURS)
    pip = [str(UV.python), "-m", "pip", "--isolated", "install", "--quiet", "--require-hashes"]
    command = [*pip, *sources(), "--requirement", str(UV.locked)]
    no_files = {"PIP_CONFIG_FILE": os.devnull}  # And, isolated, no variables
    processes.run(command, seconds, "pip install", **uv.NOT_OURS, **no_files)
    UV.ready.write_text(UV.contents(), "utf-8")


def sources() -> list[str]:
    """The options that tell pip where packages come from, as `uv.settings` tells uv."""
    named = {**os.environ, **uv.settings()}
    options = []
    for option, name in uv.SETTINGS.items():
        text = named.get(name, "")
        values = text.split(uv.SEPARATOR) if option == uv.SEVERAL else [text]
        options += [f"--{option}={value}" for value in values if value]
    return options


class Uv:
    """uv of the clone: called, it runs a command of uv's, without a reader's other settings."""

    def __init__(self) -> None:
        self.path = uv.found() or ""
        self.settings: dict[str, str | None] = {**uv.settings(), **uv.NOT_OURS}
        for name, folder in (("UV_CACHE_DIR", "cache"), ("UV_PYTHON_INSTALL_DIR", "python")):
            if not host.has_home() and not os.environ.get(name):
                self.settings[name] = str(uv.FOLDER / folder)

    def plan(self, *arguments: object) -> str:
        """What uv says that a command would do."""
        words = [self.path, *map(str, arguments), "--dry-run"]
        return processes.completed(words, HOURS * 3600, "uv", **self.settings).stderr

    def __call__(self, *arguments: object) -> None:
        """Raise RuntimeError, with what uv said, where it fails."""
        words = [self.path, *map(str, arguments)]
        processes.run(words, HOURS * 3600, f"uv {arguments[0]} {arguments[1]}", **self.settings)


def run_uv(arguments: list[str]) -> int:
    """Become uv, for the Makefile and for what errors name: fetched first, with pip's settings."""
    try:
        fetch_uv()
        tool = Uv()
    except (OSError, RuntimeError) as error:
        print(f"No uv: {error}", file=sys.stderr)
        return 1
    os.execve(tool.path, [tool.path, *arguments], processes.variables(tool.settings))


# --- The environment ------------------------------------------------------------------------------


def make(made: Environment, tool: Uv) -> None:
    """Make the virtual environment: with this Python, or one that fits, which uv finds or fetches.

    Raises RuntimeError where there is none.
    """
    fits = made.takes(sys.version_info[1])
    if not fits:
        say(
            "{title} does not run on Python {version}; uv looks for {pythons}",
            title=translated(made.title),
            version=sys.version.split()[0],
            pythons=made.pythons,
        )
    # An environment's Python is not taken, but the one that it was made with, which stays.
    python = getattr(sys, "_base_executable", sys.executable) if fits else made.pythons
    if made.folder.exists():  # What was killed, or has lost its Python
        shutil.rmtree(made.folder)
    try:
        tool("venv", "--quiet", "--python", python, made.folder)
    except RuntimeError as error:
        if fits:
            raise
        raise RuntimeError(
            f"{error}\nHere is no Python {made.pythons}, and uv could fetch none. This one is "
            f"{sys.version.split()[0]}. Install one that fits, or name a mirror of uv's downloads "
            "in UV_PYTHON_INSTALL_MIRROR"
        ) from None


def install(made: Environment, tool: Uv) -> None:
    """Install all that the environment is for. Byte code spares each process seconds later on."""
    here, quiet = ("--python", made.python), ("--quiet", "--compile-bytecode")
    say("Installing what {file} names", file=os.path.relpath(made.locked, ROOT))
    tool("pip", "sync", *quiet, "--require-hashes", *here, made.locked)
    if made.unlocked:
        say("Installing {title}'s build for this machine", title=made.title)
        build = uv.for_this_machine(tool.settings)
        wanted = ("--requirement", made.unlocked)
        if not (build or nvidia.installed_gpus()):
            warn_of_cuda(tool.plan("pip", "install", *here, *wanted))
        tool("pip", "install", *quiet, *here, *build, *wanted)
    if made.package:
        install_package(made, tool)


def warn_of_cuda(plan: str) -> None:
    """Say before gigabytes come that the reader's sources have a build for NVIDIA's GPUs."""
    if "nvidia-" in plan:
        print(
            "Here is no NVIDIA GPU, but PIP_INDEX_URL or PIP_FIND_LINKS offer the build with CUDA, "
            "which runs here and is gigabytes larger. To have the CPU's build, interrupt this, and "
            "name a page or folder that has it in PIP_FIND_LINKS",
            file=sys.stderr,
        )


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
