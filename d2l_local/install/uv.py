"""uv, which makes the environments: where it is, and what it has to be told of pip's settings."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

BIN = "Scripts" if sys.platform == "win32" else "bin"
# Where set-up fetches one to, in a clone.
FETCHED = Path(__file__).resolve().parents[2] / ".uv"
# uv has its own names for three of pip's settings; a reader who set pip's means uv too.
SETTINGS = {
    "UV_FIND_LINKS": "PIP_FIND_LINKS",
    "UV_DEFAULT_INDEX": "PIP_INDEX_URL",
    "SSL_CERT_FILE": "PIP_CERT",
}


def found() -> str | None:
    """The path of a uv: of the machine, of this Python or of the clone; None if there is none."""
    folders = (os.environ.get("PATH", os.defpath), sysconfig.get_path("scripts"), FETCHED / BIN)
    return shutil.which("uv", path=os.pathsep.join(map(str, folders)))


def settings() -> dict[str, str]:
    """Those of pip's settings that uv has not been given, by uv's names."""
    return {
        name: ",".join(value.split()) if name == "UV_FIND_LINKS" else value  # uv's separator
        for name, pip_s in SETTINGS.items()
        if not os.environ.get(name) and (value := os.environ.get(pip_s))
    }


def elsewhere() -> bool:
    """Whether the reader has named where packages come from."""
    named = {**os.environ, **settings()}
    return any(named.get(name) for name in ("UV_FIND_LINKS", "UV_DEFAULT_INDEX"))


def for_this_machine() -> list[str]:
    """The option that chooses PyTorch's build: for CUDA where there is a driver, else for the CPU.

    uv takes it from PyTorch's own address then. A reader who has named another may reach no other
    than that, and gets what it offers.
    """
    return [] if elsewhere() else ["--torch-backend=auto"]


def python_in(venv: Path) -> Path:
    """The interpreter of a virtual environment."""
    return venv / BIN / ("python.exe" if sys.platform == "win32" else "python")


def brings_cuda() -> bool:
    """Whether PyTorch's build for this machine has CUDA's libraries with it, which are gigabytes.

    An index has none other for Linux. What a page or folder of builds has is not known.
    """
    named = {**os.environ, **settings()}
    if named.get("UV_FIND_LINKS"):
        return False
    if named.get("UV_DEFAULT_INDEX"):
        return sys.platform == "linux"
    return has_driver()


def has_driver() -> bool:
    """Whether there is an NVIDIA driver, as uv finds out; asking the driver itself could hang."""
    return os.path.exists("/proc/driver/nvidia/version") or bool(shutil.which("nvidia-smi"))
