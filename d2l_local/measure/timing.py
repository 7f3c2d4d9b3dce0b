"""Timing that waits for what it times. No framework is known here: the caller says how to wait."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from d2l_local.base.arguments import positive_integer
from d2l_local.base.language import say, translated
from d2l_local.measure.timeline import Timeline

Job = Callable[[], object]
Name = TypeVar("Name")

LEAST = 1e-3  # Seconds of a job in a round: far more than what reading the clock and waiting take
LONG = 0.5  # Seconds after which no round begins
ROUNDS = 7  # But so many there are


def seconds(
    jobs: Mapping[Name, Job], *, synchronize: Callable[[], None], prepare: Callable[[Job], Job]
) -> dict[Name, float]:
    """The shortest time of a call of each of several jobs, in seconds, as `Backend.seconds` says.

    What is called is what ``prepare`` makes of a job.
    """
    if not jobs:
        raise ValueError("there is nothing to time: no job is given")
    for name, job in jobs.items():
        if not callable(job):
            kind = type(job).__name__
            raise TypeError(f"{name!r} must be a function to call, `lambda: …`, not a {kind}")
    if Timeline._recording is not None:
        raise RuntimeError("a Timeline is recording, which takes time: end it, then time")
    calls = {name: prepare(job) for name, job in jobs.items()}
    for call in calls.values():
        call()  # What loads, allocates and compiles
    synchronize()
    numbers = dict.fromkeys(jobs, 1)  # Calls in a row
    shortest = dict.fromkeys(jobs, math.inf)
    draw, start, rounds = random.Random(0), time.perf_counter(), 0
    while rounds < ROUNDS or time.perf_counter() - start < LONG:
        for name in draw.sample([*jobs], len(jobs)):
            # In any round, for a call may have seemed long because it was disturbed
            while (took := _in_a_row(calls[name], numbers[name], synchronize)) < LEAST:
                numbers[name] *= 2
            shortest[name] = min(shortest[name], took / numbers[name])
        rounds += 1
    return shortest


def _in_a_row(call: Job, number: int, synchronize: Callable[[], None]) -> float:
    """Seconds of so many calls, until every device is idle."""
    synchronize()
    start = time.perf_counter()
    for _ in range(number):
        call()
    synchronize()
    return time.perf_counter() - start


@dataclass(frozen=True)
class Measurement:
    """Repeated wall-clock times of one function, in seconds. Prints as one line.

    ``issued`` has, for each of ``samples``, the part until the call had returned, which may be
    before what it issued was done.
    """

    samples: tuple[float, ...]
    issued: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def minimum(self) -> float:
        return min(self.samples)

    @property
    def maximum(self) -> float:
        return max(self.samples)

    def speedup(self, baseline: Measurement) -> float:
        """Return how many times as fast as ``baseline``, measured in turns with it, this is.

        Each sample is compared with the baseline's of the same round, which the same disturbances
        have met, and the median of the ratios returned. Raises ValueError if the numbers of samples
        differ.
        """
        if len(self.samples) != len(baseline.samples):
            counts = len(self.samples), len(baseline.samples)
            raise ValueError("{} samples, but {} of the baseline: compare both".format(*counts))
        return statistics.median(a / b for a, b in zip(baseline.samples, self.samples))

    def __str__(self) -> str:
        return translated(
            "{median:.4f} sec (median of {n}, {minimum:.4f} to {maximum:.4f})",
            median=self.median,
            n=len(self.samples),
            minimum=self.minimum,
            maximum=self.maximum,
        )

    __repr__ = __str__


def measure(
    fn: Callable[[], object],
    repeats: int = 5,
    number: int = 1,
    *,
    synchronize: Callable[[], None],
) -> Measurement:
    """Time ``fn()`` ``repeats`` times after one untimed call: seconds per call.

    Each sample is the mean of ``number`` calls in a row, between which nothing waits.
    ``synchronize`` waits until every device is idle; it is called before the clock starts and
    before it stops. Raises ValueError for fewer than one repeat or call, and whatever ``fn``
    raises.
    """
    return compare({"": fn}, repeats, number, synchronize=synchronize)[""]


def compare(
    functions: Mapping[str, Callable[[], object]],
    repeats: int = 5,
    number: int = 1,
    *,
    synchronize: Callable[[], None],
    clock: Callable[[], float] | None = None,
) -> dict[str, Measurement]:
    """Time each of several functions ``repeats`` times, one after the other in every round.

    So what disturbs the machine for a while disturbs all of them alike, and their times can be
    compared. The order is drawn anew in every round, so that what recurs, as an allocator that
    alternates between two places, hits all alike, too. Each is called once untimed before; for the
    arguments and errors see `measure`. ``clock()`` is the time in seconds, by default on the wall.
    """
    positive_integer("repeats", repeats)
    positive_integer("number", number)
    clock = clock or time.perf_counter
    for fn in functions.values():
        fn()
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in functions}
    draw = random.Random(0)
    for _ in range(repeats):
        for name, fn in draw.sample([*functions.items()], len(functions)):
            synchronize()
            start = clock()
            for _ in range(number):
                fn()
            issued = clock() - start
            synchronize()
            samples[name].append(((clock() - start) / number, issued / number))
    return {name: Measurement(*zip(*seconds)) for name, seconds in samples.items()}


def device_times(
    functions: Mapping[str, Callable[[], object]],
    repeats: int = 5,
    number: int = 1,
    *,
    synchronize: Callable[[], None],
    on_gpu: bool,
) -> dict[str, float]:
    """The best of the seconds that each function takes of its device, as `Backend.device_times`."""
    clock = time.perf_counter if on_gpu or _is_coarse(time.process_time) else _processor_time
    times = compare(functions, repeats, number, synchronize=synchronize, clock=clock)
    return {name: measurement.minimum for name, measurement in times.items()}


def _processor_time() -> float:
    """Seconds for which the process's threads have run.

    What a thread on another core has done since the clock's last tick, which may be milliseconds,
    Linux adds when the thread stops. It has just said that it is done: let it stop.
    """
    time.sleep(1e-4)
    return time.process_time()


def _is_coarse(clock: Callable[[], float]) -> bool:
    """Whether a clock that runs while this is called counts in steps of more than 0.1 ms.

    What Python says of its resolution is the unit: 0.1 µs on Windows, which counts 1/64 s. The
    shortest of some steps is its step: a longer one may be another thread's time that Linux adds.
    """
    return min(_step(clock) for _ in range(5)) > 1e-4


def _step(clock: Callable[[], float]) -> float:
    before = clock()
    while (after := clock()) == before:
        pass
    return after - before


def together(
    functions: Mapping[str, Callable[[], object]],
    repeats: int = 5,
    *,
    synchronize: Callable[[], None],
) -> tuple[dict[str, float], float]:
    """Seconds of each function alone, and of all one after the other, as `Backend.together`."""
    whole = " and ".join(["", *functions])  # Longer than any of the names
    jobs = {**functions, whole: lambda: [fn() for fn in functions.values()]}
    times = compare(jobs, repeats, synchronize=synchronize)
    parts = {name: times[name].minimum for name in functions}
    return parts, times[whole].minimum


class Benchmark:
    """Print how long a block took, up to the moment at which every device is idle.

    ``with Benchmark("both devices"): …`` prints ``both devices: 0.1234 sec`` (d2l's format). After
    an exception in the block nothing is printed and the exception goes on. ``seconds`` keeps the
    time. Subclasses say how to ``synchronize``.
    """

    seconds: float

    def __init__(self, description: str = "Done"):
        self.description = description

    @staticmethod
    def synchronize() -> None:
        """Wait until every device is idle."""
        raise NotImplementedError

    def __enter__(self) -> Benchmark:
        self.synchronize()
        self._start = time.perf_counter()
        return self

    def __exit__(self, exception_type: object, exception: object, traceback: object) -> None:
        if exception_type is None:
            self.synchronize()
            self.seconds = time.perf_counter() - self._start
            done = "Done"
            what = translated(done) if self.description == done else self.description
            say("{what}: {seconds:.4f} sec", what=what, seconds=self.seconds)
