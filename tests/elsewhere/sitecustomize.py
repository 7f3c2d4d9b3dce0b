"""Shows d2l_local another operating system: Python imports this first where it is on the path.

The modules of d2l_local, and nothing else, find what ``PRETENDED_SYSTEM`` (``darwin`` or ``win32``)
has: a ``sys.platform``, no ``/proc``, and no name of Linux's in the modules below.
"""

import builtins
import contextlib
import errno
import importlib.abc
import importlib.machinery
import os
import signal
import subprocess
import sys
import types

SYSTEM = os.environ["PRETENDED_SYSTEM"]
WINDOWS = SYSTEM == "win32"
NO_WINDOW = 0x08000000
LINUX = {"os": {"sched_getaffinity", "sched_setaffinity"}}
POSIX = {
    "os": {
        *LINUX["os"],
        *("fork", "getuid", "geteuid", "killpg", "register_at_fork", "setsid", "sysconf"),
        *("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK"),
    },
    "signal": {"SIGHUP", "SIGKILL"},
}
MODULES = {"fcntl", "grp", "pwd", "resource", "termios"} if WINDOWS else set()


class View(types.ModuleType):
    """A module less some of its names, and with some others."""

    def __init__(self, module, hidden=(), **others):
        super().__init__(module.__name__)
        self._module, self._hidden = module, hidden
        vars(self).update(others)

    def __getattr__(self, name):
        if name in self._hidden:
            raise AttributeError(f"{self.__name__} has no {name} on {SYSTEM}")
        return getattr(self._module, name)


class Popen(subprocess.Popen):
    """As on Windows, which knows other options; an option that it ignores must not be needed."""

    def __init__(self, *arguments, creationflags=0, **options):
        refused = {"preexec_fn", "start_new_session", "pass_fds"} & set(options)
        assert not refused and creationflags in (0, NO_WINDOW), (refused, creationflags)
        super().__init__(*arguments, start_new_session=bool(creationflags), **options)


def locking(file, mode, size):
    """What msvcrt does of the same name, by the lock that Linux has."""
    import fcntl

    with contextlib.suppress(BlockingIOError):
        return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    raise PermissionError(errno.EACCES, "Permission denied")


def without_proc(function):
    """Wrap a function of a path, for which there is no ``/proc``."""

    def wrapped(path, *arguments, **options):
        if str(path).startswith(("/proc", "/sys")):
            raise FileNotFoundError(errno.ENOENT, f"no such file on {SYSTEM}", path)
        return function(path, *arguments, **options)

    return wrapped


hidden = POSIX if WINDOWS else LINUX
views = {
    "sys": View(sys, platform=SYSTEM),
    "os": View(os, hidden["os"], listdir=without_proc(os.listdir)),
    "signal": View(signal, hidden.get("signal", ())),
}
if WINDOWS:
    views["msvcrt"] = types.ModuleType("msvcrt")
    vars(views["msvcrt"]).update(LK_NBLCK=2, locking=locking)
    views["subprocess"] = View(subprocess, Popen=Popen, CREATE_NO_WINDOW=NO_WINDOW)


def pretended_import(name, globals=None, locals=None, fromlist=(), level=0):
    """Import for d2l_local."""
    if name in MODULES:
        raise ModuleNotFoundError(f"No module named {name!r} on {SYSTEM}", name=name)
    if not level and name in views:
        return views[name]
    return builtins.__import__(name, globals, locals, fromlist, level)


BUILTINS = {
    **vars(builtins),
    "__import__": pretended_import,
    "open": without_proc(open),
}


class Loader(importlib.machinery.SourceFileLoader):
    """Executes a module with the builtins above."""

    def exec_module(self, module):
        """As the base class."""
        vars(module)["__builtins__"] = BUILTINS
        super().exec_module(module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of d2l_local."""

    def find_spec(self, name, path=None, target=None):
        """As the base class."""
        if name.partition(".")[0] != "d2l_local":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and spec.origin and spec.origin.endswith(".py"):
            spec.loader = Loader(name, spec.origin)
        return spec


sys.meta_path.insert(0, Finder())
