"""The notebooks for a reader who has this package but no repository: ``python -m d2l_local get``.

They lie in the package, with their outputs, so that copying them needs no network. What pip could
not install together with the package does (``dependencies`` in pyproject.toml says what, and why).
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import sys
from pathlib import Path

from d2l_local.base import frameworks, processes
from d2l_local.base.language import say, translated
from d2l_local.install import installed, uv

SHIPPED = Path(__file__).parents[1] / "book"
BOOK = SHIPPED if SHIPPED.is_dir() else installed.ROOT  # In the repository, its own
FOLDER = installed.FOLDER
PIP_SECONDS = 1800  # MXNet is 50 MB, PyTorch with CUDA 2.8 GB


def main(arguments: list[str]) -> int:
    """Copy notebooks, install what is lacking, and say what to type; return 1 if that failed."""
    parser = argparse.ArgumentParser(
        prog="python -m d2l_local get",
        description="Copy the notebooks into a folder, and install what pip could not.",
    )
    parser.add_argument("folder", nargs="?", default=FOLDER, help=f"{FOLDER}, if not named")
    parser.add_argument("--framework", choices=list(frameworks.load()))
    parser.add_argument("--language", default="en", help="en, if not named")
    options = parser.parse_args(arguments)
    framework = options.framework or installed.framework()
    try:
        copied = get(options.folder, framework, options.language)
        print(f"The notebooks are in {copied}", flush=True)
        complete(framework)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"Not complete: {error}")
        return 1
    if not installed.has_jupyterlab():
        print(f"JupyterLab is not installed in this Python, {sys.executable}")
    print(f"Type: {installed.open_notebooks(copied, framework)}")
    return 0


def get(folder: str | Path, framework: str, language: str) -> Path:
    """Copy an edition's notebooks and figures to ``folder/<framework>/<language>``; return that.

    Links between editions lead from one to another that is copied into the same ``folder``. Whole
    or nothing, and never over anything that is there: raises FileExistsError then, OSError where
    the disk refuses, and ValueError for an edition that there is not, or a folder in the repository
    that this package is imported from.
    """
    editions = (BOOK / "chapters").glob(f"{framework}/*/index.ipynb")
    languages = sorted(path.parent.name for path in editions)
    if framework not in frameworks.load() or language not in languages:
        raise ValueError(
            f"there are no notebooks for {framework} in {language!r}; there are some in: "
            f"{', '.join(languages) or 'no language'}"
        )
    source, target = BOOK / "chapters" / framework / language, Path(folder, framework, language)
    if installed.checkout() and target.resolve().is_relative_to(installed.ROOT):
        raise ValueError(
            f"{target} would be in the repository, which has these notebooks; nothing was copied. "
            f"To open them, type: {installed.read(framework, language)}. For a copy of your own, "
            "type the name of a folder elsewhere after get"
        )
    if os.path.lexists(target):
        raise _taken(target, framework)
    # On the same disk as the target, whose folder need not be there yet.
    nearest = next(path for path in target.absolute().parents if path.is_dir())
    with processes.temporary_folder(nearest) as staging:
        whole = Path(staging, language)
        _copy(source, whole)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            whole.rename(target)
        except OSError:
            if os.path.lexists(target):  # Somebody else was faster
                raise _taken(target, framework) from None
            raise
    return target


def _taken(target: Path, framework: str) -> FileExistsError:
    return FileExistsError(
        f"{target} is there already and stays as it is; nothing was copied. To go on in it, "
        f"type: {installed.open_notebooks(target, framework)}. For fresh notebooks, type the name "
        "of a new folder after get"
    )


def _copy(source: Path, target: Path) -> None:
    """Copy notebooks, and the figures that they link to into ``img`` beside them."""
    (target / "img").mkdir(parents=True)
    for notebook in source.glob("*.ipynb"):
        text = notebook.read_text("utf-8")
        for name in set(re.findall(r"\.\./\.\./\.\./img/([\w.-]+\.svg)", text)):
            (target / "img" / name).write_bytes((BOOK / "img" / name).read_bytes())
        text = text.replace("../../../img/", "img/")
        (target / notebook.name).write_text(text, "utf-8")


def complete(framework: str) -> None:
    """Install what pip could not together with this package, and say so.

    That changes no package that is there. Raises RuntimeError, with what to type, where it fails.
    """
    if installed.checkout():
        return
    if framework == "pytorch" and not installed.version("torch"):
        _announce_torch()
        _install(installed.install_torch(), **uv.settings())
    if lacking := installed.lacking(framework):
        print(f"Installing {', '.join(lacking)}, which pip could not on this Python", flush=True)
        _install(installed.pip_install(*lacking))


def _announce_torch() -> None:
    """Say which of PyTorch's builds comes, and what it takes.

    Raises RuntimeError, with what to type, where that would be CUDA for a machine without a driver.
    """
    row, cuda = frameworks.load()["pytorch"], uv.brings_cuda()
    disk, download = row.build_disk[cuda], row.build_download[cuda]
    if cuda and not uv.has_driver():
        raise RuntimeError(
            f"on the index that you name, PyTorch for Linux comes with CUDA, {download} GB to "
            "download, and this machine has no NVIDIA driver. The notebooks are there. For CPUs, "
            "name a page or folder with such a build in PIP_FIND_LINKS; for CUDA, nothing. Type: "
            f"{installed.install_torch()}"
        )
    build = translated("with CUDA") if cuda else translated("for CPUs")
    say(
        "Installing PyTorch {build}: {download} GB to download, {disk} GB on disk",
        build=build,
        download=download,
        disk=disk,
    )
    sys.stdout.flush()


def _install(command: str, **environment: str) -> None:
    try:
        # On Windows a backslash separates folders
        words = shlex.split(command, posix=sys.platform != "win32")
        for joins, part in itertools.groupby(words, "&&".__eq__):
            if not joins:
                one = [word.strip('"') for word in part]
                processes.run(one, PIP_SECONDS, "the installation", **environment)
    except (RuntimeError, OSError) as error:
        raise RuntimeError(f"{error}\nThe notebooks are there. Type: {command}") from None
