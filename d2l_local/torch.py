"""The chapter's helpers for PyTorch: ``from d2l_local import torch as d2l``.

A drop-in for ``from d2l import torch as d2l`` (d2l 1.0.3): all its public names, with those below
added or put in place of d2l's own. They have the names and meanings of `d2l_local.mxnet`'s.
"""

from __future__ import annotations

import importlib
import json
import operator
import os
import sys
import tempfile
import types
from collections import Counter

# The profiler reports each of its steps on stderr otherwise; it looks when PyTorch loads.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")

import torch


def _import_d2l() -> types.ModuleType:
    """Import ``d2l.torch``, also where torchvision is missing or was built for another PyTorch.

    d2l imports torchvision for data sets and image files that this chapter does not use.
    """
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError, OSError) as error:
        for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        sys.modules["torchvision"] = _Missing(
            "torchvision", f"torchvision cannot be imported here ({error}); install the build of "
            f"it that belongs to PyTorch {torch.__version__}"
        )  # fmt: skip
    try:
        return importlib.import_module("d2l.torch")
    finally:
        if isinstance(sys.modules["torchvision"], _Missing):  # Others shall see that it is missing
            del sys.modules["torchvision"]


class _Missing(types.ModuleType):
    """A module of which every attribute can be imported and none can be used."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(f"{self.__name__}.{name}", self.__doc__)

    def __call__(self, *args, **kwargs):
        raise ImportError(f"{self.__name__}: {self.__doc__}")


_d2l = _import_d2l()
from d2l.torch import *  # noqa: E402, F403

# d2l's functions look up their helpers in the global `d2l` of their module. Pointed here, they use
# the replacements below too.
_d2l.d2l = sys.modules[__name__]

# After `import *`, because these take the place of names of d2l's.
from d2l_local import data as _data  # noqa: E402
from d2l_local import timeline as _timeline  # noqa: E402
from d2l_local import timing as _timing  # noqa: E402
from d2l_local.engine import num_cores  # noqa: E402, F401
from d2l_local.process import in_new_process  # noqa: E402, F401
from d2l_local.torchrun import torchrun, torchrun_script  # noqa: E402, F401


def num_gpus() -> int:
    """Number of GPUs that this build of PyTorch can compute on."""
    return torch.cuda.device_count()


def has_gpus(n: int) -> bool:
    """Whether there are ``n`` GPUs; prints why a cell that needs them does nothing otherwise."""
    if num_gpus() < n:
        print(f"skipped: this cell needs {n} GPU{'s' * (n > 1)}, and this machine has {num_gpus()}")
    return num_gpus() >= n


def devices(n: int = 2) -> list[torch.device]:
    """``n`` devices: GPUs first, then the CPU, again and again if need be.

    To PyTorch the CPU is one device, whatever its cores. Where it appears more than once its shares
    of the work take turns, and ``.to`` does not copy between them. Raises ValueError unless ``n``
    is a positive integer.
    """
    try:
        number = operator.index(n)
    except TypeError:
        number = 0
    if isinstance(n, bool) or number < 1:
        raise ValueError(f"the number of devices must be a positive integer, not {n!r}")
    gpus = [torch.device("cuda", i) for i in range(min(number, num_gpus()))]
    return gpus + [torch.device("cpu")] * (number - len(gpus))


def try_gpu(i: int = 0) -> torch.device:
    """The ``i``-th of `devices`: GPU ``i``, or the CPU if there are fewer GPUs."""
    if isinstance(i, bool) or not hasattr(i, "__index__") or operator.index(i) < 0:
        raise ValueError(f"the index of a device must be 0, 1, 2, …, not {i!r}")
    return devices(operator.index(i) + 1)[-1]


def try_all_gpus() -> list[torch.device]:
    """All GPUs, or two devices if there are fewer than two GPUs: never an empty list."""
    return devices(max(2, num_gpus()))


def banner(used: list[torch.device]) -> None:
    """Print which devices a notebook uses and what is lost if they are not all GPUs."""
    print(f"devices: {', '.join(map(str, used))} ({_what_they_are(used)})")
    cuda = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    version, threads = torch.__version__.split("+")[0], torch.get_num_threads()
    print(f"PyTorch {version}, {cuda}, {threads} thread{'s' * (threads > 1)}")


def _what_they_are(used: list[torch.device]) -> str:
    gpus = [device for device in used if device.type == "cuda"]
    counts = Counter(torch.cuda.get_device_name(device) for device in dict.fromkeys(gpus))
    parts = [f"{count}× {name}" for name, count in counts.items()] or ["no GPU here"]
    if len(set(gpus)) < len(gpus):
        parts.append("the shares of one GPU take turns")
    cpus = sum(device.type == "cpu" for device in used)
    if cpus > 1:
        parts.append("PyTorch has one CPU device, so its shares take turns")
    elif cpus and gpus:
        parts.append("the CPU stands in for another")
    return "; ".join(parts)


def synchronize() -> None:
    """Wait until every GPU is idle; ``torch.cuda.synchronize()`` waits for the current one."""
    if torch.cuda.is_initialized():  # Else nothing was ever sent to a GPU
        for i in range(num_gpus()):
            torch.cuda.synchronize(i)


class Benchmark(_timing.Benchmark):
    """``with d2l.Benchmark("description"):`` prints the block's time once all devices are idle."""

    synchronize = staticmethod(synchronize)


def measure(fn, repeats: int = 5) -> _timing.Measurement:
    """Time ``fn()`` ``repeats`` times, warmed up and up to the moment when all devices are idle."""
    return _timing.measure(fn, repeats, synchronize=synchronize)


class Timeline(_timeline.Timeline):
    __doc__ = (
        _timeline.Timeline.__doc__
        + """
    Every GPU has two lanes, ``"gpu/0"`` for kernels and ``"gpu/0 copies"`` for what moves data
    (copies, collectives); the lane ``"cpu/0"`` holds the operators that Python called, which take
    the time of launching a kernel where the work is a GPU's.
    """
    )

    def _start(self) -> None:
        synchronize()
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        self._profiler = torch.profiler.profile(activities=activities, acc_events=True)
        self._profiler.start()

    def _wait(self) -> None:
        synchronize()

    def _stop(self):
        self._profiler.stop()
        handle, path = tempfile.mkstemp(suffix=".json", prefix="d2l-timeline-")
        os.close(handle)
        try:
            self._profiler.export_chrome_trace(path)
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
        finally:
            os.remove(path)
        events = [e for e in events if e.get("ph") == "X"]
        yield from _outermost([e for e in events if e.get("cat") == "cpu_op"])
        for event in events:
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
                args = event["args"]  # A copy between GPUs names three, of which one carries it out
                lane = f"gpu/{args['device'] if 'device' in args else args['inDevice']}"
                moves = event["cat"] == "gpu_memcpy" or event["name"].startswith("nccl")
                yield _span(event, f"{lane} copies" if moves else lane)


def _outermost(operators: list[dict]):
    """Of the operators on the CPU, those that no other operator of their thread called."""
    end: dict = {}
    for event in sorted(operators, key=lambda e: (e["ts"], -e["dur"])):
        if event["ts"] >= end.get(event["tid"], 0):
            end[event["tid"]] = event["ts"] + event["dur"]
            yield _span(event, "cpu/0")


def _span(event: dict, lane: str) -> tuple[str, str, float, float]:
    return lane, event["name"], event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6


def load_data_fashion_mnist(batch_size, resize=None, *, train_size=None, test_size=None, seed=0):
    """Iterators over the training and test images of Fashion-MNIST, held in memory.

    Each minibatch is ``X``, float32 of shape (batch, 1, 28, 28) in [0, 1], and ``y``, int64 of
    shape (batch,). Where the data come from and the errors:
    `d2l_local.data.load_data_fashion_mnist`.
    """
    return _data.load_data_fashion_mnist(
        batch_size,
        resize,
        train_size=train_size,
        test_size=test_size,
        seed=seed,
        convert=_to_torch,
    )


def _to_torch(array) -> torch.Tensor:
    # Without a copy: the loader makes every minibatch anew. Losses want labels of 64 bits.
    tensor = torch.from_numpy(array)
    return tensor if tensor.is_floating_point() else tensor.long()
