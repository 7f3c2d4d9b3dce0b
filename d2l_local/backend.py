"""What the backends of all frameworks share, made from what differs between them.

A backend is what a notebook calls `d2l`: `d2l_local.mxnet`, `d2l_local.torch`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from d2l_local import data
from d2l_local.base.language import SKIPPED, SKIPPED_1, say
from d2l_local.measure import allocations, memory, operation, timeline, timing

import numpy as np


class Backend(Protocol):
    """What every backend has, on top of all that d2l's module for the framework has.

    This is the contract that a new framework's module fulfils; ``tests/contract.py`` holds it to
    names, parameters and behavior. Devices and arrays are the framework's own. A backend may take
    further arguments, as long as they have defaults.
    """

    Timeline: type
    """Records what every device does: `d2l_local.measure.timeline.Timeline`."""

    Benchmark: type
    """``with d2l.Benchmark("description"):`` prints ``description: 0.1234 sec``."""

    Memory: type
    """``with d2l.Memory() as memory:`` samples the process's memory; `memory.peak` in bytes."""

    Held: type
    """``held = d2l.Held()`` counts what devices hold; ``held.peak`` in bytes, of the fullest."""

    Wire: type
    """``d2l.Wire(125e6, latency=1e-3).send(n)`` takes as long as a link; returns what waits."""

    Allocations: type
    """``d2l.Allocations.of(fn)`` counts the bytes of arrays that ``fn()`` holds, and their peak."""

    Crowding: type
    """``with d2l.Crowding() as crowding:`` tells the ``share`` of the cores that others took."""

    @staticmethod
    def devices(n: int = 2) -> list:
        """``n`` devices, GPUs first. ValueError unless ``n`` is a positive integer."""

    @staticmethod
    def try_gpu(i: int = 0) -> Any:
        """The ``i``-th of `devices`. ValueError unless ``i`` is 0, 1, 2, …"""

    @staticmethod
    def try_all_gpus() -> list:
        """All GPUs, or two devices if there are fewer than two: never an empty list."""

    @staticmethod
    def num_gpus() -> int:
        """How many GPUs the framework can compute on, or what stands in for them."""

    @staticmethod
    def num_cores() -> int:
        """How many CPU cores the process may run on."""

    @staticmethod
    def has_gpus(n: int) -> bool:
        """Whether there are ``n`` GPUs; if not, prints why a cell that needs them does nothing."""

    @staticmethod
    def lane(device: Any) -> str:
        """The name of a device's lane in a `Timeline`."""

    @staticmethod
    def banner(used: list) -> None:
        """Print which devices a notebook uses, in a line with ``devices: `` (in English)."""

    @staticmethod
    def examine() -> dict:
        """``version``, ``build``, ``devices`` (names), ``usable_gpus`` (indices), ``threads``."""

    @staticmethod
    def synchronize() -> None:
        """Wait until every device is idle."""

    @staticmethod
    def measure(fn: Callable[[], object], repeats: int = 5, number: int = 1) -> timing.Measurement:
        """Time ``fn()`` up to the moment of idle devices. ValueError unless ``repeats`` >= 1."""

    @staticmethod
    def compare(
        functions: Mapping[str, Callable[[], object]],
        repeats: int = 5,
        number: int = 1,
    ) -> dict[str, timing.Measurement]:
        """Time several functions in turns, so that their times can be compared."""

    @staticmethod
    def together(
        functions: Mapping[str, Callable[[], object]], repeats: int = 5
    ) -> tuple[dict[str, float], float]:
        """The seconds of each function alone, and of all, between which nothing waits."""

    @staticmethod
    def operation_times(
        op: Callable[[], object], n: int = 100, rounds: int = 10
    ) -> operation.OperationTimes:
        """Seconds to issue one operation, to compute it, and to notice its end."""

    @staticmethod
    def waits(call: Callable[[Any], object], job: Callable[[], Any]) -> bool:
        """Whether ``call(job())`` returns only when what ``job`` has queued is done."""

    @staticmethod
    def schedule(plan: Mapping[str, Sequence[tuple]]) -> timeline.Timeline:
        """The Timeline of a plan of tasks that wait for each other."""

    @staticmethod
    def pipeline_schedule(orders: Sequence[Sequence[str]], times: Any) -> timeline.Timeline:
        """When the stages of a pipeline would do their tasks."""

    @staticmethod
    def on_record(lane: str, name: str) -> contextlib.AbstractContextManager[None]:
        """Put what a block does on a lane of the Timeline that is recording, if one is."""

    @staticmethod
    def device_times(
        functions: Mapping[str, Callable[[], object]], repeats: int = 5, number: int = 1
    ) -> dict[str, float]:
        """The best of the seconds that each function takes of its device, measured in turns."""

    @staticmethod
    def copy_rates(device: Any, sizes: Sequence[int]) -> np.ndarray:
        """Bytes read and written in a second by copies on a device, for each size in bytes."""

    @staticmethod
    def own_core() -> contextlib.AbstractContextManager[None]:
        """Keep this thread on a core of its own inside a ``with`` block."""

    @staticmethod
    def law(section: str, measured: float, /, **parts: float) -> float:
        """Print a row of the law; return the share of the time that is hidden, from 0 to 1."""

    @staticmethod
    def plot_prediction(
        x: Sequence[float],
        predicted: Mapping[str, Sequence[float]],
        measured: Mapping[str, Sequence[float]],
        xlabel: str = "",
        ylabel: str = "",
        given: Mapping[str, Sequence[float]] | None = None,
    ) -> Any:
        """Draw predictions as lines, measurements as dots; print their errors; return the axes."""

    @staticmethod
    def plot_roofline(
        P: float, bandwidths: Mapping[str, float], dots: Mapping[str, tuple[float, float]]
    ) -> Any:
        """Draw the roofs over a device's rates, and operators as dots; return the axes."""

    @staticmethod
    def read_time(size: int, reads: int = 20_000, repeats: int = 5) -> float:
        """Seconds from one read to the next in ``size`` bytes of memory, in random order."""

    @staticmethod
    def plot_allocations(recordings: Mapping[str, allocations.Allocations]) -> Any:
        """Draw the megabytes that each of several functions held over time; return the axes."""

    @staticmethod
    def plot_timelines(
        timelines: Mapping[str, timeline.Timeline],
        predicted: Mapping[str, timeline.Timeline] | None = None,
    ) -> Any:
        """Draw recordings below each other, each with its name; return the figure."""

    Hosts: type
    """``with d2l.Hosts(4, bandwidth=12.5e6) as hosts:`` makes hosts of this machine, on links."""

    @staticmethod
    def has_hosts() -> bool:
        """Whether there can be `Hosts` here; if not, prints why a cell does nothing."""

    @staticmethod
    def in_new_process(
        fn: Callable[[], object], seconds: float = 120, **environment: object
    ) -> Any:
        """What ``fn()`` returns in a Python process of its own."""

    @staticmethod
    def load_data_fashion_mnist(
        batch_size: int,
        resize: Any = None,
        *,
        train_size: int | None = None,
        test_size: int | None = None,
        seed: int = 0,
    ) -> tuple[data.ArrayDataLoader, data.ArrayDataLoader]:
        """Training and test images of Fashion-MNIST as iterators over minibatches."""


class Shared(NamedTuple):
    """The functions and classes that `make` makes."""

    Benchmark: type[timing.Benchmark]
    Memory: type[memory.Memory]
    measure: Callable[..., timing.Measurement]
    compare: Callable[..., dict[str, timing.Measurement]]
    together: Callable[..., tuple[dict[str, float], float]]
    operation_times: Callable[..., operation.OperationTimes]
    waits: Callable[..., bool]
    has_gpus: Callable[[int], bool]
    device_times: Callable[..., dict[str, float]]
    copy_rates: Callable[[Any, Sequence[int]], np.ndarray]
    load_data_fashion_mnist: Callable[..., tuple[data.ArrayDataLoader, data.ArrayDataLoader]]


def make(
    synchronize: Callable[[], None],
    num_gpus: Callable[[], int],
    convert: Callable[[Any], Any],
    copier: Callable[[Any, int], Callable[[], object]],
    recorder: type[timeline.Timeline],
) -> Shared:
    """Return what a framework shares with the others.

    ``synchronize()`` waits until every device is idle; ``num_gpus()`` counts the GPUs that the
    framework can compute on, or what stands in for them; ``convert(array)`` makes the framework's
    array of a NumPy array, whose memory it may keep; ``copier(device, num_bytes)`` makes what
    copies so many bytes on a device; ``recorder`` is its Timeline.
    """
    wait = synchronize  # By another name than the one that it gets in the class

    class Benchmark(timing.Benchmark):
        """``with d2l.Benchmark("description"):`` prints the block's time, up to idle devices."""

        synchronize = staticmethod(wait)

    class Memory(memory.Memory):
        __doc__ = memory.Memory.__doc__

        synchronize = staticmethod(wait)

    def measure(fn: Callable[[], object], repeats: int = 5, number: int = 1) -> timing.Measurement:
        """Time ``fn()`` ``repeats`` times, warmed up and up to the moment of idle devices.

        Seconds per call: each of ``samples`` is the mean of ``number`` calls in a row; ``issued``
        has the part until they had returned.
        """
        return timing.measure(fn, repeats, number, synchronize=synchronize)

    def compare(
        functions: Mapping[str, Callable[[], object]],
        repeats: int = 5,
        number: int = 1,
    ) -> dict[str, timing.Measurement]:
        """Time several functions ``repeats`` times each, in turns, as `measure` times one."""
        return timing.compare(functions, repeats, number, synchronize=synchronize)

    def together(
        functions: Mapping[str, Callable[[], object]], repeats: int = 5
    ) -> tuple[dict[str, float], float]:
        """The parts and the whole of `law`: seconds of each function alone, by name, and of all.

        All together are called one after the other, and nothing waits in between. The best of
        ``repeats`` rounds, in each of which everything takes its turn as in `compare`.
        """
        return timing.together(functions, repeats, synchronize=synchronize)

    def operation_times(
        op: Callable[[], object], n: int = 100, rounds: int = 10
    ) -> operation.OperationTimes:
        return operation.operation_times(op, n, rounds, synchronize=synchronize, recorder=recorder)

    operation_times.__doc__ = operation.operation_times.__doc__

    def waits(call: Callable[[Any], object], job: Callable[[], Any]) -> bool:
        return operation.waits(call, job, synchronize=synchronize)

    waits.__doc__ = operation.waits.__doc__

    def has_gpus(n: int) -> bool:
        """Whether there are ``n`` GPUs; if not, prints why a cell that needs them does nothing."""
        here = num_gpus()
        if here < n:
            say(SKIPPED if n > 1 else SKIPPED_1, n=n, here=here)
        return here >= n

    def device_times(
        functions: Mapping[str, Callable[[], object]], repeats: int = 5, number: int = 1
    ) -> dict[str, float]:
        on_gpu = num_gpus() > 0
        return timing.device_times(
            functions, repeats, number, synchronize=synchronize, on_gpu=on_gpu
        )

    device_times.__doc__ = timing.device_times.__doc__

    def copy_rates(device: Any, sizes: Sequence[int]) -> np.ndarray:
        """Bytes that a device reads and writes in a second when it copies, for each of ``sizes``.

        A size is the bytes of source and copy together. The best of five, each of so many copies in
        a row that 16 MB are moved.
        """

        def seconds(size: int) -> float:
            number = max(1, 2**24 // size)
            return device_times({"": copier(device, size // 2)}, number=number)[""]

        return np.array([size / seconds(size) for size in sizes])

    def load_data_fashion_mnist(
        batch_size, resize=None, *, train_size=None, test_size=None, seed=0
    ):
        """Iterators over the training and test images of Fashion-MNIST, held in memory.

        Each minibatch is ``X``, float32 of shape (batch, 1, 28, 28) in [0, 1], and ``y``, integers
        of shape (batch,), as arrays of the framework. Where the data come from and the errors:
        `d2l_local.data.load_data_fashion_mnist`.
        """
        return data.load_data_fashion_mnist(
            batch_size,
            resize,
            train_size=train_size,
            test_size=test_size,
            seed=seed,
            convert=convert,
        )

    return Shared(
        Benchmark,
        Memory,
        measure,
        compare,
        together,
        operation_times,
        waits,
        has_gpus,
        device_times,
        copy_rates,
        load_data_fashion_mnist,
    )


def checked(device: object, product: np.ndarray) -> str:
    """The name of a device, after a look at the product of two 200x200 matrices of ones there.

    Raises ArithmeticError where an element of it is not 200.
    """
    if not (product == 200).all():
        raise ArithmeticError(f"the product of two matrices came out wrong on {device}")
    return str(device)
