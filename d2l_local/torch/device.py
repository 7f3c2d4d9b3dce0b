"""Devices to compute on: GPUs, and the CPU where there are not enough of them."""

from __future__ import annotations

from collections import Counter

from d2l_local import backend
from d2l_local.base.arguments import index_of_device, number_of_devices
from d2l_local.base.language import say, translated
from d2l_local.measure.spans import lane_name
from d2l_local.torch import thread_stream

import torch

CPU = lane_name("cpu", 0)  # Its one lane


def num_gpus() -> int:
    """Number of GPUs that this build of PyTorch can compute on."""
    return torch.cuda.device_count()


def devices(n: int = 2) -> list[torch.device]:
    """``n`` devices: GPUs first, then the CPU, again and again if need be.

    To PyTorch the CPU is one device, whatever its cores. Where it appears more than once its shares
    of the work take turns, and ``.to`` does not copy between them. Raises ValueError unless ``n``
    is 1 to 4096.
    """
    number = number_of_devices(n)
    gpus = [torch.device("cuda", i) for i in range(min(number, num_gpus()))]
    return gpus + [torch.device("cpu")] * (number - len(gpus))


def try_gpu(i: int = 0) -> torch.device:
    """The ``i``-th of `devices`: GPU ``i``, or the CPU if there are fewer GPUs."""
    return devices(index_of_device(i) + 1)[-1]


def try_all_gpus() -> list[torch.device]:
    """All GPUs, or two devices if there are fewer than two GPUs: never an empty list."""
    return devices(max(2, num_gpus()))


def banner(used: list[torch.device]) -> None:
    """Print which devices a notebook uses and what is lost if they are not all GPUs."""
    say("devices: {devices} ({what})", devices=", ".join(map(str, used)), what=_what_they_are(used))
    cuda = f"CUDA {torch.version.cuda}" if torch.version.cuda else translated("CPU build")
    version, threads = torch.__version__.split("+")[0], torch.get_num_threads()
    template = "PyTorch {version}, {cuda}, {threads} threads"
    if threads == 1:
        template = "PyTorch {version}, {cuda}, {threads} thread"
    say(template, version=version, cuda=cuda, threads=threads)


def _what_they_are(used: list[torch.device]) -> str:
    gpus = [device for device in used if device.type == "cuda"]
    counts = Counter(torch.cuda.get_device_name(device) for device in dict.fromkeys(gpus))
    parts = [f"{count}× {name}" for name, count in counts.items()]
    if not gpus:
        parts.append(
            translated("GPUs here: {n}, too few" if num_gpus() else "no GPU here", n=num_gpus())
        )
        if torch.backends.mps.is_available():
            parts[-1] = translated("Apple's GPU is not used")
    if len(set(gpus)) < len(gpus):
        parts.append(translated("the shares of one GPU take turns"))
    cpus = sum(device.type == "cpu" for device in used)
    if cpus > 1:
        parts.append(translated("PyTorch has one CPU device, so its shares take turns"))
    elif cpus and gpus:
        parts.append(translated("the CPU stands in for another"))
    return translated("; ").join(parts)


def lane(device: torch.device) -> str:
    """The name of a device's lane in a Timeline; the CPU's holds what Python called."""
    return lane_name("gpu", device.index) if device.type == "cuda" else CPU


def synchronize() -> None:
    """Wait until every GPU is idle; ``torch.cuda.synchronize()`` waits for the current one.

    Waits for each `ThreadStream`, too, and raises what a call in one has raised; not within such a
    call, where nothing is queued.
    """
    thread_stream.synchronize()
    if torch.cuda.is_initialized():  # Else nothing was ever sent to a GPU
        for i in range(num_gpus()):
            torch.cuda.synchronize(i)


def examine() -> dict:
    """What `python -m d2l_local` says of PyTorch, after a small product on each device."""
    used = devices(max(1, num_gpus()))
    ones = [torch.ones(200, 200, device=device) for device in used]
    products = [x @ x for x in ones]
    return {
        "version": torch.__version__,
        "build": f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU",
        "devices": [backend.checked(p.device, p.cpu().numpy()) for p in products],
        "usable_gpus": list(range(num_gpus())),
        "threads": torch.get_num_threads(),
    }
