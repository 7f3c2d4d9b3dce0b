"""Whether a library can be imported, and the error that says what to type where it cannot.

Every notebook imports this. What is to be typed is looked up only where something is amiss.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


class LoadError(ImportError):
    """A library cannot be loaded here, and ``command`` is what to type about it."""

    def __init__(self, reason: str, command: str) -> None:
        super().__init__(f"{reason}. Type: {command}")
        self.reason = reason
        self.command = command


def require(framework: str, *libraries: str) -> None:
    """Raise `LoadError` where a library is missing, or hidden by a file of the reader's.

    ``framework`` is the one whose notebooks need them.
    """
    for library in libraries:
        if sys.modules.get(library):
            continue
        spec = importlib.util.find_spec(library)
        if spec is None or spec.origin is None:  # A folder of that name is no library
            from d2l_local.install import commands, installed

            reason = f"{installed.title(library)} is not installed in this Python, {sys.executable}"
            raise LoadError(reason, commands.set_up(framework))
        if not spec.submodule_search_locations:  # All of them are packages
            from d2l_local.install import commands

            file = Path(spec.origin)
            raise LoadError(
                f"{library} is your file {file}, which hides the library of that name; rename it",
                commands.rename(file),
            )


def require_d2l(framework: str) -> None:
    """Raise `LoadError` where d2l is missing, or is not of the version whose names we extend."""
    from d2l_local.install.builds import D2L

    require(framework, "d2l")
    import d2l

    version = getattr(d2l, "__version__", "of unknown version")
    if version != D2L.partition("==")[2]:
        from d2l_local.install import commands

        reason = f"d2l {version} is installed, and the chapter extends {D2L}"
        raise LoadError(reason, commands.pip_install(D2L))
