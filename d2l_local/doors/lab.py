"""``python -m d2l_local lab``: JupyterLab, with an edition's first notebook open.

Its root is the folder of the whole book, because notebooks link to figures and to other editions,
which lie above them. Root's own shell, a home folder that cannot be written and a book that cannot
(a class's, say) are no reasons not to look at it. JupyterLab's token stays what lets readers in.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.base.language import say
from d2l_local.install import commands, installed
from d2l_local.machine import host


def main(arguments: list[str]) -> int:
    """Open JupyterLab, until the reader ends it; return 1, with the reason, where that fails."""
    parser = argparse.ArgumentParser(
        prog="python -m d2l_local lab",
        description="Open JupyterLab on the notebooks.",
        epilog="All other options are JupyterLab's, such as --no-browser or --port 9999",
        allow_abbrev=False,  # --lab... is JupyterLab's
    )
    parser.add_argument("--book", type=Path, help="the folder that get has made, if not here")
    parser.add_argument("--framework", choices=list(frameworks.load()))
    parser.add_argument("--language", help="else one of the variable LANGUAGE, else en")
    options, others = parser.parse_known_args(arguments)
    book = options.book or (installed.ROOT if installed.checkout() else Path(installed.FOLDER))
    try:
        edition = find(book, options.framework or installed.framework(), options.language)
        if not installed.has_jupyterlab():
            raise RuntimeError(
                f"JupyterLab is not installed in this Python, {sys.executable}. Type: "
                f"{commands.install_jupyterlab()}"
            )
    except (RuntimeError, ValueError) as error:
        print(f"Not opened: {error}", file=sys.stderr)
        return 1
    with home():
        start(book.resolve(), edition, others)
    return 0


def find(book: Path, framework: str, language: str | None) -> str:
    """The first notebook of an edition, as seen from the folder of the book.

    Raises ValueError for an edition that there is not.
    """
    editions = Path("chapters", framework)
    there_is = sorted(path.parent.name for path in (book / editions).glob("*/index.ipynb"))
    if not there_is:
        raise ValueError(
            f"there are no notebooks in {book / editions}. To have them, type: "
            f"{commands.command('get')}"
        )
    language = language or spoken(there_is)
    if language not in there_is:
        raise ValueError(f"there is no language {language}; there is: {' '.join(there_is)}")
    return (editions / language / "index.ipynb").as_posix()


def spoken(languages: list[str]) -> str:
    """The first of gettext's LANGUAGE, such as zh_CN:zh:en_US, that there is; else English."""
    asked = os.environ.get("LANGUAGE", "").split(":")
    codes = [code for part in asked for code in (part, part.partition("_")[0])]
    return next((code for code in [*codes, "en"] if code in languages), languages[0])


@contextlib.contextmanager
def home() -> Iterator[None]:
    """Give JupyterLab, and the kernels that it starts, a home folder where there is none."""
    with contextlib.ExitStack() as stack:
        if not host.has_home():
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="d2l-lab-"))
            os.environ["HOME"] = folder
            say("Your home folder cannot be written, so settings of JupyterLab last until it ends")
        yield


def start(book: Path, first: str, others: list[str]) -> None:
    """Start JupyterLab in this process, which ends as JupyterLab does."""
    from jupyterlab.labapp import LabApp

    if not host.writable((book / first).parent):
        say(
            "{folder} cannot be written, so nothing is saved there. To have notebooks of your own, "
            "type in a folder of yours: {command}",
            folder=book,
            command=commands.command("get"),
        )
    options = [f"--ServerApp.root_dir={book}", f"--LabApp.default_url=/lab/tree/{first}"]
    # It asks npm for language servers, and with it waits for ever if npm has no home to write in.
    options.append("--LanguageServerManager.autodetect=False")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # In a container, in WSL, on a server
        options.append("--allow-root")
    LabApp.launch_instance([*options, *others])
