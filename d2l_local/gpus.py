"""NVIDIA GPUs as their driver describes them, asked without MXNet, which need not be installed."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass

# mxnet-cu112 1.9.1 holds machine code for sm_50, 60, 70, 80 and 86 and no PTX: a GPU of the same
# major version and an equal or higher minor one runs it, a newer major version cannot.
OLDEST_CAPABILITY, NEWEST_CAPABILITY = (5, 0), (8, 9)

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{MAJOR,MINOR}


@dataclass(frozen=True)
class GPU:
    """A GPU as its driver describes it; ``index`` is the one that ``mx.gpu`` takes."""

    index: int
    name: str
    capability: tuple[int, int]

    @property
    def supported(self) -> bool:
        """Whether MXNet's wheel holds code for this GPU."""
        return OLDEST_CAPABILITY <= self.capability <= NEWEST_CAPABILITY

    def __str__(self) -> str:
        major, minor = self.capability
        return f"gpu({self.index}) {self.name}, compute capability {major}.{minor}"


@functools.cache
def installed_gpus() -> tuple[GPU, ...]:
    """The GPUs that the NVIDIA driver shows; empty without a driver."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ()
    count = ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
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
