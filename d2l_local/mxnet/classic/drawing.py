"""What the cells of d2l's chapters draw with, where Matplotlib and NumPy have moved on since.

They were written for Matplotlib 3.7, whose ``stem`` took ``use_line_collection``, and for NumPy up
to 1.23, which made an array of objects of a list such as ``[-5, x]`` with an ``x`` of shape (1,).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from d2l_local.mxnet.classic.training import _number

import d2l.mxnet as _d2l
from matplotlib import pyplot

__all__ = ["plt", "show_trace_2d"]


def _stem(*args: Any, use_line_collection: bool = True, **kwargs: Any) -> Any:
    """`matplotlib.pyplot.stem`, whose lines are a collection in any case since Matplotlib 3.8."""
    return pyplot.stem(*args, **kwargs)


class _Pyplot(ModuleType):
    """``matplotlib.pyplot`` as d2l's cells see it, so that nobody else's changes."""

    stem = staticmethod(_stem)

    def __getattr__(self, name: str) -> Any:
        return getattr(pyplot, name)

    def __dir__(self) -> list[str]:
        return dir(pyplot)


def _stem_is_as_it_was() -> bool:
    return "use_line_collection" in inspect.signature(pyplot.stem).parameters


plt = pyplot if _stem_is_as_it_was() else _Pyplot("matplotlib.pyplot", pyplot.__doc__)


def show_trace_2d(f: Callable, results: Sequence[Sequence]) -> None:
    """Draw the points that an optimizer visited over the contours of ``f(x1, x2)``.

    ``results``: pairs (x1, x2) of numbers or of arrays with one element, also mixed, as
    `d2l.train_2d` returns them where the gradient is noisy.
    """
    _d2l.show_trace_2d(f, [[*map(_number, point)] for point in results])
