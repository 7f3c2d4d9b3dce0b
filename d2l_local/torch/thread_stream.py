"""A queue for PyTorch's CPU, which has none: a thread that takes the place of a GPU's stream."""

from __future__ import annotations

import collections
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import torch

_streams: weakref.WeakSet[ThreadStream] = weakref.WeakSet()
_here = threading.local()  # Has the attribute `streams` in their threads


class Event(NamedTuple):
    """What was launched, with the methods of ``torch.cuda.Event`` that tell whether it is done."""

    future: Future

    def query(self) -> bool:
        """Whether it is done, or has failed."""
        return self.future.done()

    def synchronize(self) -> object:
        """Wait until it is done; return its result, or raise what it has raised."""
        return self.future.result()


class ThreadStream:
    """A thread that executes one after the other what is launched, as a GPU does with a stream.

    On a CPU, PyTorch computes an operator within its call, with all cores. Here the call is handed
    to a thread, and the operators in it use one core, so that two streams can work at once.
    `d2l.synchronize` waits for all streams, and raises what a call in them has raised since; a
    `Timeline` has a lane of this ``name`` with a span a call. The thread ends with the object.
    """

    def __init__(self, name: str):
        self.name = name
        self._calls: collections.deque[Future] = collections.deque()
        self._recorded: list[tuple[str, float, float]] | None = None
        self._thread = ThreadPoolExecutor(1, name, setattr, (_here, "streams", True))
        # PyTorch's number of threads is each thread's own. When a thread first asks, it takes the
        # one that any thread has set last.
        threads = torch.get_num_threads()
        self._thread.submit(torch.get_num_threads).result()
        self._thread.submit(torch.set_num_threads, 1).result()
        torch.set_num_threads(threads)
        _streams.add(self)

    def launch(self, fn: Callable, *args: object, **keywords: object) -> Event:
        """Hand over the call ``fn(*args, **keywords)`` and return at once, before it is done."""
        while self._calls and self._calls[0].done() and not self._calls[0].exception():
            self._calls.popleft()
        self._calls.append(self._thread.submit(self._call, fn, args, keywords))
        return Event(self._calls[-1])

    def synchronize(self) -> None:
        """Wait until all calls are done; raise what the first that failed has raised."""
        finish([self])

    def _call(self, fn: Callable, args: tuple, keywords: dict) -> object:
        begin = time.time()
        try:
            return fn(*args, **keywords)
        finally:
            if self._recorded is not None:
                named = getattr(fn, "func", fn)  # A partial has no name of its own, nor has a layer
                name = getattr(named, "__name__", type(named).__name__)
                self._recorded.append((name, begin, time.time()))


def synchronize() -> None:
    """Wait for all streams; for none within a call of one, which would wait for itself."""
    # Copying even an empty set of weak references takes microseconds
    if _streams and not hasattr(_here, "streams"):
        finish(list(_streams))


def finish(streams: Sequence[ThreadStream]) -> None:
    """Wait for all calls, and forget them, failures too: raise the first, once."""
    calls = []
    for stream in streams:
        while stream._calls:
            calls.append(stream._calls.popleft())
    wait(calls)
    for call in calls:
        call.result()


def record() -> None:
    """Let all streams note from now on what they do."""
    for stream in list(_streams):
        stream._recorded = []


def recorded() -> Iterator[tuple[str, str, float, float]]:
    """End `record`, and yield (lane, name, start, end), in seconds since 1970."""
    for stream in list(_streams):
        for span in stream._recorded or ():
            yield stream.name, *span
        stream._recorded = None


_cores: list[ThreadStream] = []


def at_once(jobs: Sequence[Callable[[], object]], devices: Sequence[torch.device]) -> list:
    """Call ``jobs[i]()`` for ``devices[i]`` so that the devices work at once; return the results.

    Calls for GPUs follow each other, because they only launch. Those for the CPU run in threads,
    a `ThreadStream` each, ``core/0``, ``core/1``, …, on one core each; they have ended when this
    returns. Raises ValueError unless there is a job for each device, and what a job raises.
    """
    if len(jobs) != len(devices):
        raise ValueError(f"at_once: {len(jobs)} jobs for {len(devices)} devices")
    _cores.extend(ThreadStream(f"core/{i}") for i in range(len(_cores), len(jobs)))
    try:
        results = [
            job() if device.type == "cuda" else core.launch(job).future
            for job, device, core in zip(jobs, devices, _cores)
        ]
    finally:
        finish(_cores)
    return [result.result() if isinstance(result, Future) else result for result in results]


def side_stream(device: torch.device) -> torch.cuda.Stream | ThreadStream:
    """A second queue for copies from a device: a stream of a GPU, a thread on the CPU."""
    return torch.cuda.Stream(device) if device.type == "cuda" else ThreadStream("cpu/0 copies")
