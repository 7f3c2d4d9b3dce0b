"""Triton, in which the section on kernels writes its own: the package, or what stands in for it."""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from collections.abc import Callable

from d2l_local.base.language import say

import torch

INTERPRET = "TRITON_INTERPRET"  # Read when Triton is first imported, and not again
MISSING = "skipped: this cell needs Triton, for Linux; type: {command}"
TOO_LATE = "skipped: this cell needs Triton's interpreter; restart the kernel, and import d2l first"


class _Absent(types.ModuleType):
    """In place of Triton where it is missing: what one defines with it can be read, and not run."""

    def __getattr__(self, name: str) -> _Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(f"{self.__name__}.{name}")

    def __call__(self, kernel: Callable) -> Callable:  # As the decorator `triton.jit`
        return kernel


def load_triton(device: torch.device) -> tuple[types.ModuleType, types.ModuleType]:
    """Return the modules ``triton`` and ``triton.language``, to write kernels for ``device`` with.

    Without a GPU kernels run in Triton's interpreter, by way of NumPy. It is chosen before Triton
    is first imported, so call this before anything else imports it. Where Triton is missing,
    stand-ins are returned, with which kernels can be defined; `has_triton` tells.
    """
    if device.type != "cuda" and "triton" not in sys.modules:
        os.environ[INTERPRET] = "1"
    if importlib.util.find_spec("triton") is None:
        return _Absent("triton"), _Absent("triton.language")
    import triton
    import triton.language

    return triton, triton.language


def has_triton() -> bool:
    """Whether kernels can be run here; if not, prints what to do about it.

    Without a GPU that takes the interpreter, for which `load_triton` must have come first.
    """
    if importlib.util.find_spec("triton") is None:
        from d2l_local.install import commands

        say(MISSING, command=commands.pip_install("triton"))
        return False
    interpreted = os.environ.get(INTERPRET) == "1"
    if not torch.cuda.is_available() and not interpreted:
        say(TOO_LATE)
        return False
    return True
