"""Set-up on Google Colab and Kaggle, which the first cell of every notebook calls there.

Elsewhere it does so only if ``D2L_SOURCE`` is set, to what pip shall install d2l_local from.

Everything that is there must stay as it is, and Python and the libraries are newer than MXNet 1.9.1
and d2l 1.0.3 ask for. So these two are installed without their dependencies, for which
`d2l_local.prepare_mxnet` makes up, and of the rest only what is missing, in versions that agree
with what is there. What that is stands in d2l_local's own metadata, without checksums, unlike in
the lock files of the repository: pip checks those of all packages or of none, and what Colab lacks
changes with Colab.

CUDA 11's libraries go to a folder of their own. Among those of Colab, CUDA 12's or newer, they
would overwrite some: both have ``nvidia/nccl/lib/libnccl.so.2`` and ``libcurand.so.10``, and
PyTorch does not load with the NCCL of CUDA 11.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.base.language import say, translated
from d2l_local.base.processes import run, temporary_folder
from d2l_local.install.builds import BUILDS, CUDA_FOLDER, D2L, supports
from d2l_local.machine.nvidia import GPU, installed_gpus

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

OUTDATED = ("d2l", "mxnet", "mxnet-cu112")  # What they ask for is of 2022 and 2023
NOT_NEEDED = ("jupyter", "uv")  # The notebook runs already, and so does the framework
PIP_SECONDS = 600


def set_up(framework: str) -> None:
    """Install what the notebooks of ``framework`` need and is not here; say what was done.

    No package that is there changes, and no restart is needed. Raises ValueError for an unknown
    framework, and RuntimeError, with what to do, where pip fails or takes `PIP_SECONDS`.
    """
    started = time.monotonic()
    extra, why = choose(framework, installed_gpus())
    needed = requirements("d2l-local", extra)
    libraries = [r for r in needed if r.name.startswith("nvidia-")]
    # Named rather than asked for, because pip cannot install them on every Python.
    builds = BUILDS.get(extra, [])[:1]
    wheels = [r for r in map(Requirement, [D2L, *builds]) if not _installed(r.name)]
    if wheels:
        names = ", ".join(map(str, wheels))
        print(translated("installing {names}: {why}", names=names, why=why), flush=True)
        if libraries:  # First: the wheel's presence shall mean that they are complete
            _pip("--no-deps", "--upgrade", f"--target={CUDA_FOLDER}", *map(str, libraries))
        _pip("--no-deps", *map(str, wheels))
    for wheel in filter(_installed, OUTDATED):
        needed += [Requirement(r.name) for r in requirements(wheel)]  # In any version
    settled = {*OUTDATED, *NOT_NEEDED, *(r.name for r in libraries)}
    missing = {str(r) for r in needed if r.name not in settled and not _installed(r.name)}
    if missing:
        _pip_beside_what_is_there(sorted(missing))
    seconds = time.monotonic() - started
    say(
        "d2l_local is ready for {framework} after {seconds:.0f} s; no package of yours has changed",
        framework=framework,
        seconds=seconds,
    )


def choose(framework: str, gpus: Sequence[GPU]) -> tuple[str, str]:
    """Return the extra of d2l_local that a machine with these GPUs needs, and the reason.

    Raises ValueError for an unknown framework.
    """
    if framework not in (table := frameworks.load()):
        raise ValueError(f"the framework is one of {', '.join(table)}, not {framework!r}")
    if framework != "mxnet":
        return table[framework].extra, translated("the framework itself is here")
    if usable := [str(gpu) for gpu in gpus if supports(gpu)]:  # On Kaggle, two
        named = translated(" and ").join(usable)
        why = translated("the GPU build, for {gpu}; this takes about 2 minutes", gpu=named)
        return "cu112", why
    if gpus:
        why = translated("the CPU build, because MXNet has no code for {gpu}", gpu=gpus[0])
        return "mxnet", why
    return "mxnet", translated("the CPU build, because there is no NVIDIA GPU")


def requirements(distribution: str, extra: str = "") -> list[Requirement]:
    """Return what an installed distribution asks for on this Python, with one of its extras."""
    found = map(Requirement, importlib.metadata.requires(distribution) or [])
    needed = [r for r in found if not r.marker or r.marker.evaluate({"extra": extra})]
    for requirement in needed:
        requirement.marker = None  # Has had its say, and pip does not know the extra
    return needed


def _installed(distribution: str) -> bool:
    return any(importlib.metadata.distributions(name=distribution))


def _pip_beside_what_is_there(packages: Iterable[str]) -> None:
    """Install packages and what they need, without changing any that is there."""
    versions: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        # The first one found is the one imported; some of Debian's versions are none to pip.
        versions.setdefault(distribution.metadata["Name"], distribution.version)
    constraints = [f"{name}=={version}\n" for name, version in versions.items() if _valid(version)]
    with temporary_folder() as folder:
        file = Path(folder, "constraints.txt")
        file.write_text("".join(constraints), encoding="utf-8")
        # Else pip reports what d2l and mxnet ask for as an error.
        _pip("--no-warn-conflicts", f"--constraint={file}", *packages)


def _valid(version: str) -> bool:
    try:
        Version(version)
    except InvalidVersion:
        return False
    return True


def _pip(*arguments: str) -> None:
    # The GPU build is 2 GB to download: keeping a copy of that would only take time.
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", *arguments]
    try:
        run(command, PIP_SECONDS, "pip install")
    except (RuntimeError, TimeoutError) as error:
        raise RuntimeError(
            f"{error}\nSet-up is not complete, and the packages that were here are unchanged. Run "
            "this cell again; on Kaggle, switch Internet on first, in the notebook's settings. If "
            "that does not help, start over in a new session (on Colab: Runtime, Disconnect and "
            "delete runtime)."
        ) from None
    importlib.invalidate_caches()
