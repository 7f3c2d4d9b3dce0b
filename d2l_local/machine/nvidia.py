"""NVIDIA's side of the machine: its driver and the GPUs, asked without any other package."""

from __future__ import annotations

import ctypes
import functools
import sys
from dataclasses import dataclass

CUDA = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"  # The driver's library

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


def library(name: str) -> ctypes.CDLL | None:
    """A shared object that the system's loader finds, or None."""
    # Not find_library, which knows no versions and takes CUDA 12's libraries for CUDA 11's.
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None
