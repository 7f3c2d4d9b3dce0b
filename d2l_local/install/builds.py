"""MXNet's builds: what each asks for, the GPUs that it runs on, and the CUDA libraries it loads.

All of it is asked without MXNet, which need not be installed, and without any other package.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.metadata
import os
import platform
import sys
from pathlib import Path

from d2l_local.machine import nvidia

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

# Whose names the backend for MXNet has.
D2L = "d2l==1.0.3"

WHEELS = ("mxnet", "mxnet-cu112")
# The builds by the names of their extras in pyproject.toml, with what each alone needs.
BUILDS = {
    "mxnet": ["mxnet==1.9.1"],
    "cu112": ["mxnet-cu112==1.9.1", *sorted({package for _, package in CUDA_LIBRARIES})],
}


def supports(gpu: nvidia.GPU) -> bool:
    """Whether MXNet's wheel holds code for a GPU; there is none with GPUs' code for ARM."""
    return (
        platform.machine() != "aarch64" and OLDEST_CAPABILITY <= gpu.capability <= NEWEST_CAPABILITY
    )


def fitting_build() -> str:
    """Which of `BUILDS` suits this machine: ``cu112`` if there is a GPU that MXNet can use."""
    return "cu112" if any(map(supports, nvidia.installed_gpus())) else "mxnet"


def installed_builds() -> list[str]:
    """The distributions of MXNet that are installed. Of two, each has overwritten the other."""
    return [name for name in WHEELS if any(importlib.metadata.distributions(name=name))]


def gpu_wheel_installed() -> bool:
    """Whether MXNet's GPU build (``mxnet-cu112``) is installed, beside the CPU build or alone."""
    return "mxnet-cu112" in installed_builds()


def missing_cuda_libraries() -> list[tuple[str, str]]:
    """(shared object, PyPI package) of the CUDA libraries that the GPU build would not find."""
    return [
        (name, package)
        for name, package in CUDA_LIBRARIES
        if not (_packaged(name) or nvidia.library(name))
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
