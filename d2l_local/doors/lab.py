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
from typing import Any
from urllib.parse import quote

from d2l_local.base import frameworks
from d2l_local.base.language import say
from d2l_local.install import installed


def main(arguments: list[str]) -> int:
    """Open JupyterLab, until the reader ends it; return 1, with the reason, where that fails."""
    parser = argparse.ArgumentParser(
        prog="python -m d2l_local lab",
        description="Open JupyterLab on the notebooks.",
        epilog="Other options are JupyterLab's, such as --no-browser or --port=9999",
    )
    parser.add_argument(
        "edition", nargs="?", type=Path, help="a folder that get has made, in place of these two:"
    )
    parser.add_argument("--framework", choices=list(frameworks.load()))
    parser.add_argument("--language", help="else one of the variable LANGUAGE, else en")
    options, others = parser.parse_known_args(arguments)
    framework = options.framework or installed.framework()
    try:
        edition = options.edition or find(framework, options.language)
        if not (edition / "index.ipynb").is_file():
            raise ValueError(
                f"{edition} holds no notebooks of this book, as index.ipynb is not there"
            )
        if not installed.has_jupyterlab():
            raise RuntimeError(
                f"JupyterLab is not installed in this Python, {sys.executable}. Type: "
                f"{installed.open_notebooks(edition, framework)}"
            )
    except (RuntimeError, ValueError) as error:
        print(f"Not opened: {error}", file=sys.stderr)
        return 1
    with places_to_write():
        start(edition.resolve(), others)
    return 0


def find(framework: str, language: str | None) -> Path:
    """The folder of an edition, in the clone, or where ``get`` puts it.

    Raises ValueError for an edition that there is not.
    """
    editions = installed.editions(framework)
    there_is = sorted(path.parent.name for path in editions.glob("*/index.ipynb"))
    if not there_is:
        raise ValueError(
            f"there are no notebooks in {editions}. To have them, type: {installed.get_notebooks()}"
        )
    language = language or spoken(there_is)
    if language not in there_is:
        raise ValueError(f"there is no language {language}; there is: {' '.join(there_is)}")
    return editions / language


def spoken(languages: list[str]) -> str:
    """The first of gettext's LANGUAGE, such as zh_CN:zh:en_US, that there is; else the first."""
    asked = os.environ.get("LANGUAGE", "").split(":")
    codes = [code for part in asked for code in (part, part.partition("_")[0])]
    return next((code for code in codes if code in languages), languages[0])


def root_of(edition: Path) -> Path:
    """The folder that holds all that an edition links to."""
    return installed.ROOT if edition.is_relative_to(installed.ROOT) else edition.parents[1]


@contextlib.contextmanager
def places_to_write() -> Iterator[None]:
    """Give Jupyter, IPython and Matplotlib a folder for settings where theirs cannot be written."""
    from jupyter_core import paths

    home = Path(os.path.expanduser("~"))
    theirs = {
        "JUPYTER_CONFIG_DIR": paths.jupyter_config_dir(),
        "JUPYTER_DATA_DIR": paths.jupyter_data_dir(),
        "JUPYTER_RUNTIME_DIR": paths.jupyter_runtime_dir(),
        "IPYTHONDIR": os.environ.get("IPYTHONDIR", home / ".ipython"),
        "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", home / ".config" / "matplotlib"),
    }
    closed = [name for name, folder in theirs.items() if not installed.writable(Path(folder))]
    with tempfile.TemporaryDirectory(prefix="d2l-lab-") as instead:
        os.environ.update({name: os.path.join(instead, name.lower()) for name in closed})
        if closed:
            say("Your home folder cannot be written, so settings of JupyterLab last until it ends")
        yield


def start(edition: Path, others: list[str]) -> None:
    """Start JupyterLab in this process, which ends as JupyterLab does."""
    from jupyterlab.labapp import LabApp

    root = root_of(edition)
    if not installed.writable(edition):
        say(
            "{folder} cannot be written, so nothing is saved there. To have notebooks of your own, "
            "type in a folder of yours: {command}",
            folder=edition,
            command=installed.get_notebooks(),
        )
    first = quote((edition / "index.ipynb").relative_to(root).as_posix())
    options = [f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{first}"]
    # It asks npm for language servers, and with it waits for ever if npm has no home to write in.
    options.append("--LanguageServerManager.autodetect=False")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # In a container, in WSL, on a server
        options.append("--allow-root")
    with open(__file__, encoding="utf-8") as lock:
        _wait_for_turn(lock)
        server = LabApp.initialize_server([*options, *others])
        server.io_loop.add_callback(lock.close)  # By then it listens
        server.start()


def _wait_for_turn(lock: Any) -> None:
    """One server at a time looks for a free port: of two that find the same, one would be gone.

    Readers share this file where they share the book, and its lock needs no leave to write.
    """
    if sys.platform != "win32":
        import fcntl

        with contextlib.suppress(OSError):  # A disk without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
