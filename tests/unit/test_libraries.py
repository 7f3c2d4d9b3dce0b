"""What libmxnet.so is given of the libraries that it needs, on x86-64 and on ARM."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from d2l_local.install import builds, loading
from d2l_local.machine import nvidia
from d2l_local.prepare_mxnet import engine, libraries

import pytest
from helpers import python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="MXNet's wheels are for Linux")


@pytest.mark.parametrize(
    ("machine", "names"),
    [
        ("x86_64", ["libgomp.so.1", "libquadmath.so.0"]),
        ("aarch64", ["libgomp.so.1"]),  # Its wheel does not link to libquadmath
        ("riscv64", []),
    ],
)
def test_each_kind_of_machine_is_asked_for_what_its_wheel_links_to(machine, names, monkeypatch):
    loaded = []
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(libraries, "load_system_library", loaded.append)
    libraries.load_system_libraries()
    assert loaded == names
    assert set(names) <= set(libraries.WHEELS)


# --- Arm's libraries ------------------------------------------------------------------------------


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """Return the path of the library of an MXNet for ARM that cannot be loaded."""
    (tmp_path / "mxnet").mkdir()
    (tmp_path / "mxnet" / "__init__.py").touch()
    library = tmp_path / "mxnet" / "libmxnet.so"
    library.write_text("no library")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mxnet", raising=False)
    monkeypatch.delenv("MXNET_LIBRARY_PATH", raising=False)
    monkeypatch.setattr(libraries, "ARM", True)
    return library


def loader(monkeypatch, *absent: str) -> list[str]:
    """Have a system without these libraries; return the list of what is loaded from now on."""
    loaded = []

    def load(name, *args, **kwargs):
        loaded.append(name)
        for each in absent:
            if name == each or name.endswith("libmxnet.so"):
                raise OSError(f"{each}: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(libraries.ctypes, "CDLL", load)
    return loaded


def test_without_a_blas_the_error_says_what_to_install(wheel, monkeypatch):
    loader(monkeypatch, "libarmpl_lp64_mp.so", "libopenblas.so.0")
    with pytest.raises(loading.LoadError) as caught:
        libraries.load_mxnet_on_arm()
    assert caught.value.command == "apt-get install libopenblas0-serial liblapacke"
    assert "(libopenblas.so.0: cannot open" in caught.value.reason
    assert "MXNet's wheel for ARM" in caught.value.reason


def test_arm_s_own_libraries_are_taken_where_they_are(wheel, monkeypatch):
    loaded = loader(monkeypatch)
    libraries.load_mxnet_on_arm()
    assert loaded == [str(wheel)]


def test_a_library_that_the_reader_has_built_is_left_alone(wheel, monkeypatch):
    monkeypatch.setenv("MXNET_LIBRARY_PATH", "/opt/mxnet/libmxnet.so")
    loaded = loader(monkeypatch, "libarmpl_lp64_mp.so")
    libraries.load_mxnet_on_arm()
    assert loaded == []


LOAD = """
    import ctypes, json
    from pathlib import Path
    from d2l_local.prepare_mxnet import libraries

    folder = Path({folder!r})
    libraries.ARM = True
    libraries.STAND_INS = {{"libarmpl_lp64_mp.so": str(folder / "openblas.so")}}
    libraries._libmxnet = lambda: folder / "libmxnet.so"
    try:
        ctypes.CDLL(str(folder / "libmxnet.so"))
    except OSError as error:
        before = str(error)
    libraries.load_mxnet_on_arm()
    again = ctypes.CDLL(str(folder / "libmxnet.so"))  # As MXNet does
    print(json.dumps([before, again.answer()]))
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_the_loader_finds_a_stand_in_under_arm_s_name(tmp_path):
    """A library that is linked as MXNet's, loaded as MXNet's; any machine's loader will do."""

    def compiled(name: str, code: str, *options: str) -> Path:
        command = ["cc", "-shared", "-fPIC", "-o", name, "-x", "c", "-", *options]
        subprocess.run(command, cwd=tmp_path, input=code, text=True, check=True)
        return tmp_path / name

    arm = compiled("libarmpl_lp64_mp.so", "int blas(void) { return 0; }")
    code = "int blas(void); int answer(void) { return blas(); }"
    linked = ("-L.", "-larmpl_lp64_mp", "-Wl,--disable-new-dtags,-rpath,$ORIGIN")
    compiled("libmxnet.so", code, *linked)
    arm.unlink()
    compiled("openblas.so", "int blas(void) { return 51; }")
    (tmp_path / "tmp").mkdir()
    done = python(LOAD.format(folder=str(tmp_path)), TMPDIR=str(tmp_path / "tmp"))
    before, answer = json.loads(done.stdout)
    assert "libarmpl_lp64_mp.so: cannot open" in before
    assert answer == 51
    assert list((tmp_path / "tmp").iterdir()) == []  # Nothing is left but what is loaded


# --- What is said of ARM --------------------------------------------------------------------------


def test_on_arm_the_system_s_blas_chooses_its_kernel_whatever_the_flags_are(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.setattr(libraries, "ARM", True)
    monkeypatch.setattr(engine, "cpu_flags", lambda: {"avx2", "fma"})  # An emulator may show these
    assert engine._choose_blas_kernel() == (None, "on ARM the system's OpenBLAS chooses")


def test_mxnet_has_no_gpu_build_for_arm(monkeypatch):
    monkeypatch.setattr(nvidia, "installed_gpus", lambda: [nvidia.GPU(0, "T4G", (7, 5))])
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert builds.fitting_build() == "cu112"
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert builds.fitting_build() == "mxnet"
