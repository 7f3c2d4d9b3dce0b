"""How many bytes of arrays a function holds, from the first that it makes to the last."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from d2l_local.measure.charts import COLORS
from d2l_local.measure.fonts import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = TypeVar("Kind", bound="Allocations")


class Allocations:
    """What arrays a function allocates and frees, as the framework's allocator counts them.

    ``Allocations.of(fn)`` calls ``fn()``, up to idle devices. Afterwards ``samples`` holds
    (seconds since it began, bytes held by arrays that are new since then) for every change,
    ``peak`` the largest of these bytes, and ``result`` what ``fn`` returned. Arrays on all devices
    are counted, exactly and whatever else the machine does. Not counted: arrays that were there
    before, so let ``fn`` make the network too, and what libraries allocate by themselves.

    Raises RuntimeError inside of a `Timeline`, and where the reader's profiler is on, because all
    need the framework's one profiler.
    """

    result: Any = None

    def __init__(self, samples: Iterable[tuple[float, int]] = ()):
        self.samples = list(samples)

    @classmethod
    def of(cls: type[Kind], fn: Callable[[], object]) -> Kind:
        """Call ``fn()`` and return what it allocated. A subclass may call it once before."""
        result, changes = cls._record(fn)
        changes = sorted(changes, key=lambda change: change[0])
        times = [second - changes[0][0] for second, _ in changes]
        recording = cls(zip(times, itertools.accumulate(change for _, change in changes)))
        recording.result = result
        return recording

    @staticmethod
    def _record(fn: Callable[[], object]) -> tuple[object, Iterable[tuple[float, int]]]:
        """Call ``fn()``; return its result, and (second, bytes), positive for what it allocated."""
        raise NotImplementedError

    @property
    def peak(self) -> int:
        """The most bytes held at once."""
        return max((held for _, held in self.samples), default=0)


def plot_allocations(recordings: Mapping[str, Allocations]) -> Axes:
    """Draw the megabytes that each of several functions held over time; return the axes."""
    from matplotlib import pyplot as plt

    _, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
    for number, (name, recording) in enumerate(recordings.items()):
        times = [1e3 * second for second, _ in recording.samples]
        held = [size / 1e6 for _, size in recording.samples]
        ax.step(times, held, where="post", label=name, color=COLORS[number % len(COLORS)])
    ax.set(xlabel=label("time (ms)"), ylabel=label("memory (MB)"), ylim=(0, None))
    ax.legend()
    return ax
