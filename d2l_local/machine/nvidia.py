"""NVIDIA's side of the machine: driver, GPUs, and the CUDA libraries of MXNet's GPU build.

All of it is asked without MXNet, which need not be installed, and without any other package.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.metadata
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

# mxnet-cu112 1.9.1 holds machine code for sm_50, 60, 70, 80 and 86 and no PTX: a GPU of the same
# major version and an equal or higher minor one runs it, a newer major version cannot.
OLDEST_CAPABILITY, NEWEST_CAPABILITY = (5, 0), (8, 9)

# What mxnet-cu112 links to and the PyPI package of each, in an order in which each library finds
# those it needs.
CUDA_LIBRARIES = [
    ("libcudart.so.11.0", "nvidia-cuda-runtime-cu11"),
    ("libnvToolsExt.so.1", "nvidia-nvtx-cu11"),
    ("libnvrtc.so.11.2", "nvidia-cuda-nvrtc-cu11"),
    ("libcublasLt.so.11", "nvidia-cublas-cu11"),
    ("libcublas.so.11", "nvidia-cublas-cu11"),
    ("libcufft.so.10", "nvidia-cufft-cu11"),
    ("libcurand.so.10", "nvidia-curand-cu11"),
    ("libcusolver.so.11", "nvidia-cusolver-cu11"),
    ("libnccl.so.2", "nvidia-nccl-cu11"),
    ("libcudnn.so.8", "nvidia-cudnn-cu11<9"),
]

# Where d2l_local.colab puts them: Colab's own CUDA libraries have files of the same names.
CUDA_FOLDER = Path(__file__).parents[1] / "cuda"

# The driver's libraries: CUDA, and the management of GPUs.
CUDA, MANAGEMENT = "libcuda.so.1", "libnvidia-ml.so.1"
if sys.platform == "win32":
    CUDA, MANAGEMENT = "nvcuda.dll", "nvml.dll"

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{MAJOR,MINOR}


# --- GPUs and their driver ------------------------------------------------------------------------


@dataclass(frozen=True)
class GPU:
    """A GPU as its driver describes it; ``index`` is the one that ``mx.gpu`` takes."""

    index: int
    name: str
    capability: tuple[int, int]

    @property
    def supported(self) -> bool:
        """Whether MXNet's wheel holds code for this GPU; there is none with GPUs' code for ARM."""
        return (
            platform.machine() != "aarch64"
            and OLDEST_CAPABILITY <= self.capability <= NEWEST_CAPABILITY
        )

    def __str__(self) -> str:
        major, minor = self.capability
        return f"gpu({self.index}) {self.name}, compute capability {major}.{minor}"


@functools.cache
def installed_gpus() -> tuple[GPU, ...]:
    """The GPUs that the NVIDIA driver shows; empty without a driver."""
    cuda = _library(CUDA)
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
    cuda = _library(CUDA)
    if not cuda:
        return None
    newest = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(newest))
    version = ctypes.create_string_buffer(80)
    management = _library(MANAGEMENT)
    if management and management.nvmlInit_v2() == 0:
        management.nvmlSystemGetDriverVersion(version, len(version))
        management.nvmlShutdown()
    major, minor = newest.value // 1000, newest.value % 1000 // 10
    return version.value.decode() or None, f"{major}.{minor}"


def _library(name: str) -> ctypes.CDLL | None:
    # Not find_library, which knows no versions and takes CUDA 12's libraries for CUDA 11's.
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


# --- MXNet's GPU build ----------------------------------------------------------------------------


def gpu_wheel_installed() -> bool:
    """Whether MXNet's GPU build (``mxnet-cu112``) is installed, beside the CPU build or alone."""
    return any(importlib.metadata.distributions(name="mxnet-cu112"))


def missing_cuda_libraries() -> list[tuple[str, str]]:
    """(shared object, PyPI package) of the CUDA libraries that the GPU build would not find."""
    return [
        (name, package)
        for name, package in CUDA_LIBRARIES
        if not (_packaged(name) or _library(name))
    ]


def load_cuda_libraries() -> None:
    """Load the CUDA libraries of the ``nvidia-*-cu11`` packages for the GPU build, if it is here.

    One that the packages do not hold, or that itself misses another one, is left to the system's
    loader; `missing_cuda_libraries` names them if MXNet then fails to load.
    """
    if not gpu_wheel_installed():
        return
    # MXNet was compiled with cuDNN 8.1 and would warn of 8.9, which takes its calls all the same.
    os.environ.setdefault("MXNET_CUDNN_LIB_CHECKING", "0")
    for name, _ in CUDA_LIBRARIES:
        if path := _packaged(name):
            with contextlib.suppress(OSError):
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def _packaged(name: str) -> Path | None:
    for folder in (CUDA_FOLDER, *map(Path, sys.path)):
        for path in folder.glob(f"nvidia/*/lib/{name}"):
            return path
    return None
