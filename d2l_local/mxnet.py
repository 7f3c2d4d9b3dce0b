"""The chapter's helpers for MXNet: ``from d2l_local import mxnet as d2l``.

A drop-in for ``from d2l import mxnet as d2l`` (d2l 1.0.3): all its public names, with those below
added or put in place of d2l's own. Importing it prepares the process (`d2l_local.engine`) and does
not switch MXNet to NumPy semantics: ``npx.set_np()`` remains the reader's choice, as with d2l.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile

from d2l_local import engine

engine.load()  # Before anything else imports MXNet: it reads its settings only once

import d2l.mxnet as _d2l  # noqa: E402
import mxnet as mx  # noqa: E402
from d2l.mxnet import *  # noqa: E402, F403
from mxnet.util import is_np_array as _is_np_array  # noqa: E402

# d2l's functions look up their helpers in the global `d2l` of their module. Pointed here, they use
# the replacements below too.
_d2l.d2l = sys.modules[__name__]

# After `import *`, because these take the place of names of d2l's.
from d2l_local import data as _data  # noqa: E402
from d2l_local import devices as _devices  # noqa: E402
from d2l_local import timeline as _timeline  # noqa: E402
from d2l_local import timing as _timing  # noqa: E402
from d2l_local.cluster import Cluster, ClusterError  # noqa: E402, F401
from d2l_local.devices import (  # noqa: E402, F401
    banner,
    devices,
    num_cores,
    num_gpus,
    try_all_gpus,
    try_gpu,
)
from d2l_local.engine import report as engine_report  # noqa: E402, F401
from d2l_local.process import in_new_process  # noqa: E402, F401
from d2l_local.resnet import Residual, resnet18  # noqa: E402, F401
from d2l_local.stand_in import stand_in_for_gpus  # noqa: E402, F401
from d2l_local.training import (  # noqa: E402, F401
    Accumulator,
    Animator,
    accuracy,
    evaluate_accuracy,
    evaluate_accuracy_gpu,
    evaluate_accuracy_gpus,
    linreg,
    split_batch,
    train_batch_ch13,
    train_ch6,
    train_ch13,
    train_recsys_rating,
)


class Benchmark(_timing.Benchmark):
    """``with d2l.Benchmark("description"):`` prints the block's time once all devices are idle."""

    synchronize = staticmethod(mx.nd.waitall)


@contextlib.contextmanager
def benchmark(description: str = "Done in %.4f sec"):
    """`Benchmark` of the editions of 2019 and 2020: the description is the format of the line."""
    mx.nd.waitall()
    timer = _d2l.Timer()
    yield timer
    mx.nd.waitall()
    print(description % timer.stop())


def measure(fn, repeats: int = 5) -> _timing.Measurement:
    """Time ``fn()`` ``repeats`` times, warmed up and up to the moment when all devices are idle."""
    return _timing.measure(fn, repeats, synchronize=mx.nd.waitall)


# The engine's own entries in a trace, which take no time to speak of: freeing an array, waiting for
# one, seeding a device's random numbers. Any worker may run them for any device.
_BOOKKEEPING = frozenset({"DeleteVariable", "WaitForVar", "ResourceParallelRandomSetSeed"})


class Timeline(_timeline.Timeline):
    __doc__ = _timeline.Timeline.__doc__

    def __init__(self, lanes: dict[str, list] | None = None, bookkeeping: bool = False):
        """``lanes``: as of `d2l_local.timeline.Timeline`; ``bookkeeping``: leave in what MXNet's
        engine does for itself, such as ``DeleteVariable`` (to free an array) and ``WaitForVar``.
        """
        super().__init__(lanes)
        self._left_out = frozenset() if bookkeeping else _BOOKKEEPING

    def _start(self) -> None:
        _devices.require_profilable()
        mx.nd.waitall()
        handle, self._path = tempfile.mkstemp(suffix=".json", prefix="d2l-timeline-")
        os.close(handle)
        mx.profiler.set_config(
            profile_imperative=True,
            profile_symbolic=True,
            profile_api=False,
            # Two devices' first allocations at once may fail in it ("Invalid device index: 1").
            profile_memory=False,
            filename=self._path,
        )
        mx.profiler.set_state("run")

    def _wait(self) -> None:
        mx.nd.waitall()

    def _stop(self):
        mx.profiler.set_state("stop")
        # `finished=True` would close the file properly and forbid any later recording.
        mx.profiler.dump(finished=False)
        try:
            with open(self._path) as file:
                events = _parse_open_trace(file.read())
        finally:
            # Else it writes the file anew when the process ends. It deletes the file that it is
            # told, which root may do even to /dev/null; of what would lie inside, there is none.
            mx.profiler.set_config(filename=os.path.join(os.devnull, "none"))
            os.remove(self._path)
        return self._spans(
            [e for e in events if e["ph"] in "BE" and e["name"] not in self._left_out]
        )

    def _spans(self, events):
        open_spans, lanes = {}, _Lanes(events)
        for event in events:
            key = event["pid"], event["tid"], event["name"]
            if event["ph"] == "B":
                open_spans.setdefault(key, []).append(event["ts"])
            elif open_spans.get(key):
                yield lanes[event], event["name"], open_spans[key].pop() / 1e6, event["ts"] / 1e6


class _Lanes:
    """The device whose worker ran an event of MXNet's trace, e.g. ``cpu/1``.

    The trace's process id is the device: first the cores, then 32 GPUs (GPU build only), pinned
    memory and shared memory. Work on pinned memory is done by a core's worker, which the thread id
    tells; a CPU device beyond the last core has a thread of its own.
    """

    def __init__(self, events):
        self._cores = _devices.profiler_cores()
        self._worker_of = {e["tid"]: e["pid"] for e in events if e["pid"] < self._cores}

    def __getitem__(self, event) -> str:
        device = event["pid"]
        if device >= self._cores:
            device = self._worker_of.get(event["tid"], device)
        if device >= self._cores and _devices.gpu_build():
            return f"gpu/{device - self._cores}"
        return f"cpu/{device}"


def _parse_open_trace(text: str) -> list[dict]:
    """Events of a trace that MXNet has not closed: ``{"traceEvents": [ …`` or ``, …`` later on."""
    body = re.sub(r'^\s*\{\s*"traceEvents":\s*\[|^\s*,', "", text)
    return json.loads(f"[{body}]")


def load_data_fashion_mnist(batch_size, resize=None, *, train_size=None, test_size=None, seed=0):
    """Iterators over the training and test images of Fashion-MNIST, held in memory.

    Each minibatch is ``X``, float32 of shape (batch, 1, 28, 28) in [0, 1], and ``y``, int32 of
    shape (batch,): ``mx.np`` arrays after ``npx.set_np()``, ``mx.nd`` arrays before. Where the
    data come from and the errors: `d2l_local.data.load_data_fashion_mnist`.
    """
    return _data.load_data_fashion_mnist(
        batch_size,
        resize,
        train_size=train_size,
        test_size=test_size,
        seed=seed,
        convert=_to_mxnet,
    )


def _to_mxnet(array):
    # Without a copy: the loader makes every minibatch anew. Three times as fast as `nd.array`.
    shared = mx.nd.from_numpy(array)
    return shared.as_np_ndarray() if _is_np_array() else shared
