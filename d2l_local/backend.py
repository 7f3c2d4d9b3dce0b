"""What every framework's backend has, and what follows of it from the rest.

A backend is what a notebook calls `d2l`: `d2l_local.mxnet`, `d2l_local.torch`. Its module exports a
`Backend` of its own, the names of `d2l_local.shared`, and what only its framework has.
"""

from __future__ import annotations

import abc
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from d2l_local import data
from d2l_local.base.language import SKIPPED, SKIPPED_1, say
from d2l_local.lesson.exercise import judge
from d2l_local.machine import crowding
from d2l_local.measure import memory, operation, timeline, timing

import numpy as np


class Backend(abc.ABC):
    """The contract of a framework: what it must define, and what it gets for that.

    ``tests/contract.py`` holds a backend to names, parameters and behavior. Devices and arrays are
    the framework's own. What a subclass defines may take further arguments, as long as they have
    defaults. One part is optional: a module whose framework tells what it allocates may export
    `Allocations`, a subclass of that of `d2l_local.measure.allocations`, and `plot_allocations`.
    """

    Timeline: type[timeline.Timeline]
    """Records what every device does."""

    Benchmark: type[timing.Benchmark]
    Memory: type[memory.Memory]

    def __init__(self) -> None:
        wait = self.synchronize  # By another name than the one that it gets in the classes

        class Benchmark(timing.Benchmark):
            """``with d2l.Benchmark("description"):`` prints a block's time, up to idle devices."""

            synchronize = staticmethod(wait)

        class Memory(memory.Memory):
            __doc__ = memory.Memory.__doc__

            synchronize = staticmethod(wait)

        self.Benchmark, self.Memory = Benchmark, Memory

    # --- What a framework defines -----------------------------------------------------------------

    @abc.abstractmethod
    def devices(self, n: int = 2) -> list:
        """``n`` devices, GPUs first. ValueError unless ``n`` is a positive integer."""

    @abc.abstractmethod
    def try_gpu(self, i: int = 0) -> Any:
        """The ``i``-th of `devices`. ValueError unless ``i`` is 0, 1, 2, …"""

    @abc.abstractmethod
    def try_all_gpus(self) -> list:
        """All GPUs, or two devices if there are fewer than two: never an empty list."""

    @abc.abstractmethod
    def num_gpus(self) -> int:
        """How many GPUs the framework can compute on, or what stands in for them."""

    @abc.abstractmethod
    def lane(self, device: Any) -> str:
        """The name of a device's lane in a `Timeline`."""

    @abc.abstractmethod
    def banner(self, used: list) -> None:
        """Print which devices a notebook uses, in a line with ``devices: `` (in English)."""

    @abc.abstractmethod
    def examine(self) -> dict:
        """``version``, ``build``, ``devices`` (names), ``usable_gpus`` (indices), ``threads``."""

    @abc.abstractmethod
    def synchronize(self) -> None:
        """Wait until every device is idle."""

    @abc.abstractmethod
    def _convert(self, array: np.ndarray) -> Any:
        """The framework's array of a NumPy array, whose memory it may keep."""

    @abc.abstractmethod
    def _copier(self, device: Any, num_bytes: int) -> Callable[[], object]:
        """What copies so many bytes on a device, into the same array each time."""

    # --- What follows -----------------------------------------------------------------------------

    def has_gpus(self, n: int) -> bool:
        """Whether there are ``n`` GPUs; if not, prints why a cell that needs them does nothing."""
        here = self.num_gpus()
        if here < n:
            say(SKIPPED if n > 1 else SKIPPED_1, n=n, here=here)
        return here >= n

    def check(self, exercise: str, *answers: object) -> None:
        """Tell the reader of an exercise whether the answer is right.

        ``d2l.check("ex-rows", answer)`` asks `d2l_local.answers`, which no notebook shows, and says
        what `judge` does. Raises ValueError for an exercise that there is not.
        """
        d2l = sys.modules[type(self).__module__]
        checks = _checks(d2l.__name__.rpartition(".")[2])
        if exercise not in checks:
            known = ", ".join(sorted(checks)) or "none"
            raise ValueError(f"there is no exercise {exercise}; there is {known}")
        judge(functools.partial(checks[exercise], d2l=d2l), *answers)

    def seconds(
        self,
        jobs: Callable[[], object] | Mapping[Any, Callable[[], object]],
        replay: bool = False,
    ) -> Any:
        """Seconds of one call of a job, or of each of several: the shortest of many rounds.

        ``seconds(job)`` is a float, ``seconds({"name": job, …})`` a dict of floats. A job is called
        without arguments, and lasts until every device is idle. After a call that does not count,
        every round times each job, in an order drawn anew, and a short one as the mean of so many
        calls in a row that they last a millisecond: so what disturbs the machine disturbs all
        alike, and in the best round hardly any. Rounds go on for half a second, at least seven of
        them. So a job is called many times, thousands if it is short: one that changes an array
        in place must leave numbers that it can go on with.

        With ``replay`` PyTorch records what a job does on the first GPU, and only replays that
        (`capture`), so that issuing costs nothing; elsewhere it changes nothing. What other
        programs took of the cores meanwhile, ``excuses`` knows. Raises ValueError for no jobs,
        TypeError for what cannot be called, RuntimeError in a Timeline's block, and what a job
        raises.
        """
        several = jobs if isinstance(jobs, Mapping) else {"job": jobs}
        with crowding.Crowding() as crowding.latest:
            found = timing.seconds(
                several,
                synchronize=self.synchronize,
                prepare=self._replayed if replay else lambda job: job,
            )
        return found if several is jobs else found["job"]

    def _replayed(self, job: Callable[[], object]) -> Callable[[], object]:
        """What does the same as ``job`` without issuing it anew, where the framework can."""
        return job

    def measure(
        self, fn: Callable[[], object], repeats: int = 5, number: int = 1
    ) -> timing.Measurement:
        """Time ``fn()`` ``repeats`` times, warmed up and up to the moment of idle devices.

        Seconds per call: each of ``samples`` is the mean of ``number`` calls in a row; ``issued``
        has the part until they had returned.
        """
        return timing.measure(fn, repeats, number, synchronize=self.synchronize)

    def compare(
        self, functions: Mapping[str, Callable[[], object]], repeats: int = 5, number: int = 1
    ) -> dict[str, timing.Measurement]:
        """Time several functions ``repeats`` times each, in turns, as `measure` times one."""
        return timing.compare(functions, repeats, number, synchronize=self.synchronize)

    def together(
        self, functions: Mapping[str, Callable[[], object]], repeats: int = 5
    ) -> tuple[dict[str, float], float]:
        """The parts and the whole of `law`: seconds of each function alone, by name, and of all.

        All together are called one after the other, and nothing waits in between. The best of
        ``repeats`` rounds, in each of which everything takes its turn as in `compare`.
        """
        return timing.together(functions, repeats, synchronize=self.synchronize)

    def operation_times(
        self, op: Callable[[], object], n: int = 100, rounds: int = 10
    ) -> operation.OperationTimes:
        """Measure what one call ``op()`` costs, in several ``rounds``.

        In each, ``t_q`` comes from ``n`` calls in a row, with the clock read before anyone waits;
        ``t_c`` is the typical duration in a recording of ``n`` calls; and ``t_w`` is what remains
        of ``n`` calls with a wait for each. Both rows of calls are made three times, since a
        recording leaves the caches cold. The fastest counts, for other programs only add time;
        where they are many, short rounds find a gap between them.

        ``n`` should be smaller than the device's queue (about 1,000 on NVIDIA's GPUs), or ``t_q``
        holds waiting for room. Raises ValueError unless ``n`` and ``rounds`` are positive integers,
        RuntimeError inside of a Timeline's block, and what ``op`` raises.
        """
        return operation.operation_times(
            op, n, rounds, synchronize=self.synchronize, recorder=self.Timeline
        )

    def waits(self, call: Callable[[Any], object], job: Callable[[], Any]) -> bool:
        """Whether ``call(job())`` returns only when the job is done.

        ``job()`` queues work, long beside what the call itself takes, and returns what the call is
        given; both are called once before. The call waits if more than half of the time passes
        before it returns: where the job is long, that is hardly any of it or almost all. Where
        nothing is queued (PyTorch's CPU), every call counts as one that waits. Raises what they
        raise.
        """
        return operation.waits(call, job, synchronize=self.synchronize)

    def device_times(
        self, functions: Mapping[str, Callable[[], object]], repeats: int = 5, number: int = 1
    ) -> dict[str, float]:
        """Return the best of the seconds that each of several functions takes of its device.

        Measured in turns, as `compare` does, each time as the mean of ``number`` calls in a row. On
        a CPU only the time counts for which the process's threads have run: so other programs,
        which take cores away, hardly disturb. Where the system counts that coarsely (Windows), and
        for GPUs, it is the time on the wall.
        """
        return timing.device_times(
            functions,
            repeats,
            number,
            synchronize=self.synchronize,
            on_gpu=self.num_gpus() > 0,
        )

    def copy_rates(self, device: Any, sizes: Sequence[int], rounds: int = 20) -> np.ndarray:
        """Bytes that a device reads and writes in a second when it copies, for each of ``sizes``.

        A size is the bytes of source and copy together. In every round each size takes its turn,
        with so many copies in a row that at least 4 MB are moved, and the shortest time on the
        wall counts: whatever disturbs only adds time. As the section on hardware shows.
        """

        def repeated(size: int) -> Callable[[], None]:
            copy = self._copier(device, size // 2)

            def job() -> None:
                for _ in range(numbers[size]):
                    copy()

            return job

        numbers = {size: max(1, 2**22 // size) for size in sizes}
        times = self.compare({str(size): repeated(size) for size in sizes}, rounds)
        return np.array([size * numbers[size] / times[str(size)].minimum for size in sizes])

    def load_data_fashion_mnist(
        self, batch_size, resize=None, *, train_size=None, test_size=None, seed=0
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
            convert=self._convert,
        )


@functools.cache
def _checks(backend: str) -> dict[str, Callable[..., object]]:
    """What judges the answers to each exercise in a backend's notebooks, by its name."""
    from d2l_local.answers import SECTIONS  # Not before, since most programs ask for none

    found = {}
    for section in SECTIONS:
        for name, function in vars(section).items() if backend in section.BACKENDS else ():
            exercise, _, only = name.partition("__")
            if name.startswith("ex_") and only in ("", backend):
                found[exercise.replace("_", "-")] = function
    return found


def names(backend: Backend) -> dict[str, Any]:
    """What the module of a framework exports of its backend: all that is public, by name."""
    return {name: getattr(backend, name) for name in dir(backend) if not name.startswith("_")}


def checked(device: object, product: np.ndarray) -> str:
    """The name of a device, after a look at the product of two 200x200 matrices of ones there.

    Raises ArithmeticError where an element of it is not 200.
    """
    if not (product == 200).all():
        raise ArithmeticError(f"the product of two matrices came out wrong on {device}")
    return str(device)
