"""The libraries that libmxnet.so needs and its wheel does not bring.

``libgomp.so.1``, and on x86-64 ``libquadmath.so.0``: MXNet links to the system's. A minimal
container has neither; then the copies inside scikit-learn's and SciPy's wheels are used.

On 64-bit ARM the wheel also asks for Arm Performance Libraries, which nobody but Arm may hand out.
Of their hundreds of functions MXNet calls 51, all of BLAS and LAPACK, which any system has under
other names: `STAND_INS`. libmxnet.so looks for what it needs in the folder that it is loaded from,
so it is loaded from a folder of symbolic links, in which those names are. That is over before MXNet
is imported, which finds its library there already; the folder is removed, and no other library sees
anything of it. Where Arm's own libraries are installed, MXNet takes those.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
from pathlib import Path

from d2l_local.base import processes
from d2l_local.install.loading import LoadError

ARM = platform.machine() == "aarch64"

# What MXNet needs of the system, and the wheel that has a copy where the system has none.
WHEELS = {"libgomp.so.1": "scikit-learn", "libquadmath.so.0": "scipy"}
SYSTEM_LIBRARIES = {
    "x86_64": ("libgomp.so.1", "libquadmath.so.0"),
    "aarch64": ("libgomp.so.1",),
}

# Arm's libraries, and what has their functions on other systems. MXNet takes none of the last one.
STAND_INS = {
    "libarmpl_lp64_mp.so": "libopenblas.so.0",
    "libamath.so": "liblapacke.so.3",
    "libastring.so": "liblapacke.so.3",
}
INSTALL_STAND_INS = "apt-get install libopenblas0-serial liblapacke"


def load_system_libraries() -> None:
    """Make available what libmxnet.so needs on this kind of machine; the process keeps it.

    Raises ImportError, which says what to install, where a library is missing.
    """
    for name in SYSTEM_LIBRARIES.get(platform.machine(), ()):
        load_system_library(name)


def load_system_library(name: str) -> None:
    """Make one of `WHEELS` available to libmxnet.so.

    Where the system has none, take the copy in a wheel. That one is called, say,
    ``libgomp-<hash>.so.1.0.0`` also inside, where the loader looks; we load a copy with the name
    set right. Raises ImportError where there is no such copy either.
    """
    import numpy

    try:
        ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        return
    except OSError as error:
        reason = error
    (stem, _, version), wheel = name.split("."), WHEELS[name]
    site_packages = Path(numpy.__file__).parents[1]
    bundled = sorted(site_packages.glob(f"*.libs/{stem}-*.so*"))
    if not bundled:
        raise ImportError(
            f"MXNet needs {name} ({reason}). Install it (Debian, Ubuntu: apt-get install "
            f"{stem}{version}; Fedora: dnf install {stem}), or pip install {wheel}, which has one."
        ) from reason
    own_name = bundled[0].name.encode()
    with processes.temporary_folder() as folder:
        copy = Path(folder, name)
        renamed = name.encode().ljust(len(own_name), b"\0")
        copy.write_bytes(bundled[0].read_bytes().replace(own_name, renamed))
        ctypes.CDLL(str(copy), mode=ctypes.RTLD_GLOBAL)  # Stays loaded after the file is gone


def load_mxnet_on_arm() -> None:
    """Load libmxnet.so of the wheel for ARM, with `STAND_INS` if Arm's own libraries are missing.

    Does nothing on other machines. Raises `LoadError` where the stand-ins are missing too. Any
    other problem is left to ``import mxnet``, which meets it again.
    """
    library = _libmxnet() if ARM else None
    if not library:
        return
    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        if any(name in str(error) for name in STAND_INS):
            _load_with_stand_ins(library)


def _load_with_stand_ins(library: Path) -> None:
    try:
        files = {name: _file_of(stand_in) for name, stand_in in STAND_INS.items()}
    except OSError as error:
        raise LoadError(
            "MXNet's wheel for ARM brings no BLAS and no LAPACK, and the system has none "
            f"({error}). Debian and Ubuntu have packages of them",
            INSTALL_STAND_INS,
        ) from error
    with processes.temporary_folder() as folder:
        # Beside MXNet's library lies libgfortran, which it looks for in the same place.
        for file in library.parent.glob("lib*.so*"):
            files.setdefault(file.name, str(file))
        for name, path in files.items():
            Path(folder, name).symlink_to(path)
        # Loaded under one name, it is found under the other: it is the same file.
        ctypes.CDLL(str(Path(folder, library.name)))


def _libmxnet() -> Path | None:
    """MXNet's library in the installed wheel; None without one, or if the reader names another."""
    spec = importlib.util.find_spec("mxnet")
    if not spec or not spec.origin or os.environ.get("MXNET_LIBRARY_PATH"):
        return None
    return Path(spec.origin).with_name("libmxnet.so")


class _LinkMap(ctypes.Structure):
    """The start of what glibc's loader keeps of each library."""

    _fields_ = [("address", ctypes.c_void_p), ("file", ctypes.c_char_p)]


def _file_of(name: str) -> str:
    """The path of the file that the loader finds for a library's name; loads it."""
    found = ctypes.POINTER(_LinkMap)()
    handle = ctypes.c_void_p(ctypes.CDLL(name)._handle)
    ctypes.CDLL(None).dlinfo(handle, _RTLD_DI_LINKMAP, ctypes.byref(found))
    return os.fsdecode(found.contents.file)


_RTLD_DI_LINKMAP = 2  # Of glibc's dlfcn.h
