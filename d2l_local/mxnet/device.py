"""Devices to compute on: GPUs that MXNet's wheel can use, and CPU cores as devices of their own.

``mx.cpu(0)``, ``mx.cpu(1)``, … are distinct devices to MXNet: each has a worker thread, and arrays
on one must be copied to be used on another. So every experiment with several devices runs on a
laptop.
"""

from __future__ import annotations

import functools
import itertools
import os
import warnings

from d2l_local.base.arguments import index_of_device, number_of_devices
from d2l_local.base.language import counted, say, translated
from d2l_local.install.builds import supports
from d2l_local.machine.host import num_cores
from d2l_local.machine.nvidia import GPU, installed_gpus
from d2l_local.measure.spans import lane_name
from d2l_local.prepare_mxnet import engine

engine.load()  # Before MXNet: whoever imports this module first has a prepared process too

from d2l_local import backend  # noqa: E402

import mxnet as mx  # noqa: E402


@functools.cache
def gpu_build() -> bool:
    """Whether MXNet was built for CUDA (``mxnet-cu112``)."""
    return mx.runtime.Features().is_enabled("CUDA")


def usable_gpus() -> list[GPU]:
    """The GPUs that this build of MXNet can compute on."""
    return list(filter(supports, installed_gpus())) if gpu_build() else []


# What `stand_in_for_gpus` has made of mx.gpu(0), mx.gpu(1), …; empty unless a reader asked for it.
stand_ins: list[mx.Context] = []


def gpu_contexts() -> list[mx.Context]:
    """Contexts of the GPUs that MXNet can compute on, or of the devices that stand in for GPUs."""
    return list(stand_ins) or [mx.gpu(gpu.index) for gpu in usable_gpus()]


def num_gpus() -> int:
    """Number of `gpu_contexts` (d2l counts those that this build of MXNet cannot use too)."""
    return len(gpu_contexts())


def devices(n: int = 2) -> list[mx.Context]:
    """``n`` distinct devices: usable GPUs first, then CPU contexts.

    Warns if there are more CPU devices than cores, because those then take turns. Raises
    ValueError unless ``n`` is 1 to 4096, and RuntimeError if two CPU devices would
    deadlock in this process (see `engine.require_parallel_cpus`).
    """
    n = number_of_devices(n)
    first = gpu_contexts()
    others = (cpu for cpu in map(mx.cpu, itertools.count()) if cpu not in first)
    used = list(itertools.islice(itertools.chain(first, others), n))
    prepare_cpus(used)
    return used


def prepare_cpus(used: list[mx.Context]) -> None:
    """See to it that the CPU devices among ``used`` can work; warnings and errors as `devices`."""
    cpus = [device for device in used if device.device_type == "cpu"]
    if len(cpus) > 1:
        engine.require_parallel_cpus()
    global _most_cpus
    _most_cpus = max([_most_cpus, *(cpu.device_id + 1 for cpu in cpus)])
    if len(cpus) > num_cores():
        warnings.warn(
            f"{len(cpus)} CPU devices on {counted(num_cores(), 'core')}: they take turns, so do "
            "not expect a speed-up from those beyond the cores.",
            stacklevel=3,
        )


def try_gpu(i: int = 0) -> mx.Context:
    """The ``i``-th of `devices`: a GPU, or a CPU context that no smaller ``i`` has.

    d2l gives ``cpu(0)`` for every ``i``, and two shards of a batch on one device then fail.
    """
    return devices(index_of_device(i) + 1)[-1]


def try_all_gpus() -> list[mx.Context]:
    """All usable GPUs, or two devices if there are fewer than two GPUs: never an empty list."""
    return devices(max(2, num_gpus()))


def lane(device: mx.Context) -> str:
    """The name of a device's lane in a Timeline: ``cpu/1`` of ``mx.cpu(1)``."""
    return lane_name(device.device_type, device.device_id)


def banner(used: list[mx.Context]) -> None:
    """Print which devices a notebook uses, what stands in for what, and how MXNet is set up."""
    say("devices: {devices} ({what})", devices=", ".join(map(str, used)), what=_stand_ins(used))
    print(engine.report().summary())


def _stand_ins(used: list[mx.Context]) -> str:
    cpus = [device for device in used if device.device_type == "cpu"]
    if not cpus:
        return translated("GPUs")
    if len(cpus) < len(used):
        n = len(used) - len(cpus)
        return translated(
            "{n} GPU, and CPU cores stand in for the others"
            if n == 1
            else "{n} GPUs, and CPU cores stand in for the others",
            n=n,
        )
    if len(cpus) > 1:
        return translated("CPU cores stand in for GPUs: {why}", why=why_no_gpu())
    return translated("a CPU core stands in for a GPU: {why}", why=why_no_gpu())


def why_no_gpu() -> str:
    gpus = installed_gpus()
    if not gpus:
        return translated("no NVIDIA GPU here")
    if not any(map(supports, gpus)):
        return translated(
            "MXNet's wheel has no code for {gpu}; the README names newer builds", gpu=gpus[0]
        )
    return translated("this is MXNet's CPU build, and {gpu} is idle", gpu=gpus[0])


_most_cpus = 0  # One more than the highest number of a CPU device that was handed out


def profiler_cores() -> int:
    """Number of lanes that MXNet's profiler keeps for CPU devices: one a core of the machine."""
    return os.cpu_count() or 1


def require_profilable() -> None:
    """Raise RuntimeError if MXNet's profiler would end the process because of a CPU device.

    It has a lane a core, then 32 for GPUs in the GPU build, and two for pinned and shared memory,
    takes a device's number as the index of its lane, and calls ``terminate`` beyond the last one.
    """
    room = profiler_cores() + (0 if gpu_build() else 2)
    if _most_cpus > room:
        raise RuntimeError(
            f"MXNet's profiler has room for {room} CPU devices on this machine and would end the "
            f"process; d2l.devices gave out cpu({_most_cpus - 1}). Restart the kernel and use "
            f"at most {room} to record a Timeline."
        )


def examine() -> dict:
    """What `python -m d2l_local` says of MXNet, after a small product on each device."""
    used = devices(max(2, num_gpus()))
    ones = [mx.nd.ones((200, 200), ctx=device) for device in used]
    products = [mx.nd.dot(x, x) for x in ones]
    report = engine.report()
    return {
        "version": report["MXNet"],
        "build": "GPU" if gpu_build() else "CPU",
        "devices": [backend.checked(p.context, p.asnumpy()) for p in products],
        "usable_gpus": [gpu.index for gpu in usable_gpus()],
        "blas_kernel": report["BLAS kernel"],
        "threads": int(report["threads"]),
        "scratch_copies": int(report["scratch copies"]),
    }
