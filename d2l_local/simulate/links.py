"""Devices and the links between them, which count what they carry."""

from __future__ import annotations

import abc
import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from d2l_local.base.arguments import index, integer
from d2l_local.measure.timeline import Timeline
from d2l_local.simulate.schedule import neighbor, pipeline_schedule, stage

import numpy as np
import numpy.typing as npt


class Links(abc.ABC):
    """``k`` devices, numbered from 0, and the links between them.

    All exchange goes through `send`, which notes the bytes of each message in the list ``sent``.
    Arrays are the framework's own, on the device ``devices[i]`` of the number ``i``. ValueError
    unless ``k`` is a positive integer, and for a number that no device has.
    """

    def __init__(self, k: int = 2):
        self.devices = self._find(k)
        self.sent: list[int] = []

    # What a framework knows

    @abc.abstractmethod
    def _find(self, k: int) -> list[Any]:
        """Return ``k`` devices."""

    @abc.abstractmethod
    def _placed(self, x: Any, i: int) -> Any:
        """Return a copy of ``x``, also of NumPy's, in float32 on device ``i``."""

    @abc.abstractmethod
    def _device(self, x: Any) -> Any:
        """Return the device that an array is on."""

    @abc.abstractmethod
    def _cut(self, x: Any, start: int, stop: int, axis: int) -> Any:
        """Return a part of an array."""

    @abc.abstractmethod
    def _numpy(self, x: Any) -> npt.NDArray[Any]:
        """Return an array of any device as a NumPy array."""

    @abc.abstractmethod
    def _copied(self, x: Any, j: int) -> Any:
        """Return a copy of ``x`` on device ``j``, without a gradient, and note its bytes."""

    @abc.abstractmethod
    def _carry(self, x: Any, i: int, j: int) -> Any:
        """Return what `_copied` returns, which also makes the copy of the gradient."""

    @abc.abstractmethod
    def _synchronize(self) -> None:
        """Wait until all devices are idle."""

    @abc.abstractmethod
    def _finish(self, i: int, x: Any) -> None:
        """Wait until device ``i`` has computed ``x``."""

    @abc.abstractmethod
    def _at_once(self, calls: Sequence[Callable[[], None]]) -> None:
        """Make the calls at the same time, the ``i``-th for device ``i``, and wait for all."""

    # What follows from it

    def _number(self, i: object) -> int:
        return index("the number of a device", i, len(self.devices))

    def place(self, x: Any, i: int) -> Any:
        """Return a copy of ``x``, also of NumPy's, in float32 on device ``i``; not counted."""
        return self._placed(x, self._number(i))

    def split(self, x: Any, sizes: Sequence[int] | None = None, axis: int = 0) -> list[Any]:
        """Cut ``x`` along an axis, and return piece ``i`` on device ``i``; not counted.

        In pieces of the given sizes, by default as equal as possible. ValueError unless there is a
        positive size for each device, their sum is the length, and ``x`` has the axis.
        """
        if not -len(x.shape) <= axis < len(x.shape):
            raise ValueError(f"an array of shape {tuple(x.shape)} has no axis {axis!r}")
        length, k = x.shape[axis], len(self.devices)
        if sizes is None:
            if length < k:
                raise ValueError(
                    f"an axis of length {length} leaves nothing for some of {k} devices"
                )
            sizes = [length // k + (i < length % k) for i in range(k)]
        if len(sizes) != k or sum(sizes) != length or not all((integer(n) or 0) > 0 for n in sizes):
            raise ValueError(f"{sizes} are no sizes of {k} pieces that make {length}")
        ends = np.cumsum(sizes).tolist()
        pieces = [self._cut(x, end - size, end, axis) for size, end in zip(sizes, ends)]
        return [self.place(piece, i) for i, piece in enumerate(pieces)]

    def join(self, pieces: Sequence[Any], axis: int = 0) -> npt.NDArray[Any]:
        """Return the pieces of several devices as one NumPy array."""
        return np.concatenate([self._numpy(piece) for piece in pieces], axis)

    def send(self, x: Any, i: int, j: int) -> Any:
        """Return device ``j``'s copy of device ``i``'s array ``x``; if they are one, ``x`` itself.

        Differentiable: in backpropagation the gradient is sent from ``j`` to ``i``, and counts too.
        ValueError if ``x`` is not on device ``i``.
        """
        i, j = self._number(i), self._number(j)
        if self._device(x) != self.devices[i]:
            raise ValueError(
                f"device {i}, {self.devices[i]}, cannot send an array that is on {self._device(x)}"
            )
        return x if i == j else self._carry(x, i, j)

    def count(self) -> int:
        """Return how many bytes were sent since the last call, after waiting for all devices."""
        self._synchronize()
        total = sum(self.sent)
        self.sent.clear()
        return total

    def difference(self, ours: Any, right: Any) -> float:
        """Return the largest difference of two arrays, over the largest element of ``right``.

        They may be on any devices; of two lists, the largest of their arrays. A list of pieces is
        joined before it is compared with an array. ValueError if the shapes or the lengths differ.
        """
        if isinstance(right, (list, tuple)):
            if len(ours) != len(right):
                raise ValueError(f"{len(ours)} arrays, to be compared with {len(right)}")
            return max(self.difference(a, b) for a, b in zip(ours, right))
        if isinstance(ours, (list, tuple)):
            cut = [a < b for a, b in zip(ours[0].shape, right.shape)]
            ours = self.join(ours, cut.index(True) if any(cut) else 0)
        ours, right = [x if isinstance(x, np.ndarray) else self._numpy(x) for x in (ours, right)]
        if ours.shape != right.shape:
            raise ValueError(f"an array of {ours.shape} differs from one of {right.shape}")
        return float(abs(ours - right).max() / abs(right).max())

    def pipeline(
        self,
        orders: Sequence[Sequence[str]],
        forward: Callable[[int, int, Any], Any],
        backward: Callable[[int, int, Any], Any],
        inputs: Sequence[Any],
    ) -> Timeline:
        """Let each stage of a pipeline do its tasks in its order; return what it did when.

        Stage ``s`` is on device ``s``, with a thread of its own, which begins a task when the one
        before it has been computed and sent, and its input is there. For ``orders[s]`` see
        `pipeline_schedule`. ``forward(s, j, x)`` gets what stage ``s - 1`` returned for micro-batch
        ``j`` (the first stage ``inputs[j]``), ``backward(s, j, head)`` the gradient that stage
        ``s + 1`` returned (the last stage None). The Timeline has a lane a stage
        (``stage 0``) with a span a task (``F0``) and one for each message (``copy of F0``). Raises
        ValueError for an order that no pipeline can keep, more stages than devices and fewer
        ``inputs`` than micro-batches, and what a task raises.
        """
        pipeline_schedule(orders, {"F": 1.0, "B": 1.0})
        if len(orders) > len(self.devices):
            raise ValueError(f"{len(orders)} stages need as many devices, not {len(self.devices)}")
        tasks = [(s, name) for s, order in enumerate(orders) for name in order]
        receivers = {(s, name): neighbor(s, name) for s, name in tasks}
        last = max((int(name[1:]) for _, name in tasks), default=-1)
        if last >= len(inputs):
            raise ValueError(f"micro-batch {last} has no input: there are {len(inputs)}")
        arrived: dict[tuple[int, str], Future[Any]] = {task: Future() for task in tasks}
        numbers = range(len(orders))
        lanes: dict[str, list[tuple[str, float, float]]] = {stage(s): [] for s in numbers}
        origin = time.perf_counter()

        def timed(s: int, name: str, call: Callable[[], Any]) -> Any:
            begin = time.perf_counter() - origin
            result = call()
            self._finish(s, result)
            lanes[stage(s)].append((name, begin, time.perf_counter() - origin))
            return result

        def do(s: int, name: str) -> None:
            to = receivers[s, name]
            sender = 2 * s - to
            task, j, received = forward if name[0] == "F" else backward, int(name[1:]), None
            if (sender, name) in receivers:
                received = arrived[s, name].result()
            elif task is forward:
                received = inputs[j]
            result = timed(s, name, lambda: task(s, j, received))
            if (to, name) in receivers:
                copy = timed(s, f"copy of {name}", lambda: self._copied(result, to))
                arrived[to, name].set_result(copy)

        def work(s: int) -> None:
            try:
                for name in orders[s]:
                    do(s, name)
            except BaseException as error:
                for future in arrived.values():  # Else the others would wait for ever
                    with contextlib.suppress(Exception):
                        future.set_exception(error)
                raise

        self._at_once([functools.partial(work, s) for s in numbers])
        first = min((spans[0][1] for spans in lanes.values() if spans), default=0.0)
        for spans in lanes.values():
            spans[:] = [(name, begin - first, end - first) for name, begin, end in spans]
        return Timeline(lanes)


def nested(function: Callable[[Any], Any], arrays: Any) -> Any:
    """Apply a function to each array of nested lists."""
    if isinstance(arrays, (list, tuple)):
        return [nested(function, array) for array in arrays]
    return function(arrays)


def flat(arrays: Any) -> list[Any]:
    """Return the arrays of nested lists in one list."""
    if isinstance(arrays, (list, tuple)):
        return [array for part in arrays for array in flat(part)]
    return [arrays]
