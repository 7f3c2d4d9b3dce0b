"""NVIDIA's side of the machine: its driver and the GPUs, asked without any other package."""

from __future__ import annotations

import ctypes
import functools
import sys
from dataclasses import dataclass

# The driver's libraries: CUDA, and the management of GPUs.
CUDA, MANAGEMENT = "libcuda.so.1", "libnvidia-ml.so.1"
if sys.platform == "win32":
    CUDA, MANAGEMENT = "nvcuda.dll", "nvml.dll"

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{MAJOR,MINOR}


@dataclass(frozen=True)
class GPU:
    """A GPU as its driver describes it, which counts them by ``index``."""

    index: int
    name: str
    capability: tuple[int, int]

    def __str__(self) -> str:
        major, minor = self.capability
        return f"gpu({self.index}) {self.name}, compute capability {major}.{minor}"


@functools.cache
def installed_gpus() -> tuple[GPU, ...]:
    """The GPUs that the NVIDIA driver shows; empty without a driver."""
    cuda = library(CUDA)
    count = ctypes.c_int()
    if not cuda or cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    return tuple(_describe(cuda, i) for i in range(count.value))


def _describe(cuda: ctypes.CDLL, index: int) -> GPU:
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    name = ctypes.create_string_buffer(100)
    cuda.cuDeviceGet(ctypes.byref(device), index)
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
    return GPU(index, name.value.decode(), (major.value, minor.value))


def driver() -> tuple[str | None, str] | None:
    """Version of the NVIDIA driver and the newest CUDA it supports; None without a driver.

    The first is None where the driver's management library is not there to ask.
    """
    cuda = library(CUDA)
    if not cuda:
        return None
    newest = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(newest))
    version = ctypes.create_string_buffer(80)
    management = library(MANAGEMENT)
    if management and management.nvmlInit_v2() == 0:
        management.nvmlSystemGetDriverVersion(version, len(version))
        management.nvmlShutdown()
    major, minor = newest.value // 1000, newest.value % 1000 // 10
    return version.value.decode() or None, f"{major}.{minor}"


def library(name: str) -> ctypes.CDLL | None:
    """A shared object that the system's loader finds, or None."""
    # Not find_library, which knows no versions and takes CUDA 12's libraries for CUDA 11's.
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None
