"""What errors tell a reader to type is typed here: each command is there, and takes these words.

Each error is met in a process of its own, as a reader would meet it. What would install or remove
something is asked for its help in place of that.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from d2l_local.base.processes import variables
from d2l_local.install import installed

import pytest
from settings import NOTHING_SET

pytestmark = pytest.mark.timeout(200)

ROOT = Path(__file__).resolve().parents[2]
DOCTOR = ("-m", "d2l_local")
IMPORT = ("-c", "from d2l_local import mxnet as d2l; d2l.FashionMNIST")


@pytest.fixture(scope="module")
def empty_python(tmp_path_factory):
    """Return a Python without a single package."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


@pytest.fixture
def fails(tmp_path):
    """Return a function that runs Python to its error, and types what that says; see `typed`."""

    def run(*arguments, python=sys.executable, refused=True, **environment):
        environment = variables(
            {**dict.fromkeys(NOTHING_SET), "PYTHONPATH": tmp_path, "D2L_DATA": None, **environment}
        )
        done = subprocess.run(
            [str(python), *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert bool(done.returncode) == refused
        *_, last = (done.stdout + done.stderr).splitlines()
        return last, typed(last, tmp_path, environment)

    return run


def typed(message: str, folder: Path, environment: dict[str, str]) -> list[str]:
    """Type the commands at the end of a message, and return them; the test fails if one does."""
    commands = re.search(r"[Tt]ype: (.*)$", message)[1].split(" && ")
    for command in commands:
        harmless = command if command.startswith(("mv ", "unset ")) else f"{command} --help"
        done = subprocess.run(
            harmless, shell=True, cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
    return commands


def distribution(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def package(folder: Path, name: str, code: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(code)


# ---- A framework ---------------------------------------------------------------------------------


def test_mxnet_is_missing(fails, empty_python):
    said, [command] = fails(*IMPORT, python=empty_python, PYTHONPATH=ROOT)
    assert f"MXNet is not installed in this Python, {empty_python}" in said
    assert " -m d2l_local " in command


@pytest.mark.skipif(bool(importlib.util.find_spec("torch")), reason="PyTorch is installed")
def test_pytorch_is_missing(fails):
    said, [command] = fails("-c", "from d2l_local import torch")
    assert "PyTorch is not installed in this Python" in said and " -m d2l_local " in command


def test_mxnet_is_missing_where_there_is_no_clone(fails, empty_python, tmp_path):
    shutil.copytree(ROOT / "d2l_local", tmp_path / "d2l_local")
    _, [command] = fails(*IMPORT, python=empty_python)
    assert command.endswith("-m d2l_local get")
    _, [command] = fails(*DOCTOR, "setup", python=empty_python)
    assert command.endswith("-m d2l_local get")


def test_the_gpu_build_lacks_a_driver(fails, tmp_path):
    package(tmp_path, "mxnet", "raise OSError('libcuda.so.1: cannot open shared object file')")
    distribution(tmp_path, "mxnet-cu112", "1.9.1")
    said, commands = fails(*IMPORT)
    assert "needs an NVIDIA driver" in said and commands[-1].endswith("mxnet==1.9.1")


def test_both_builds_are_installed(fails, tmp_path):
    distribution(tmp_path, "mxnet", "1.9.1")
    distribution(tmp_path, "mxnet-cu112", "1.9.1")
    said, (remove, install) = fails(*DOCTOR)
    assert "both mxnet and mxnet-cu112 are installed" in said
    assert "uninstall" in remove and " install " in install


# ---- Another library -----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [IMPORT, DOCTOR], ids=["import", "doctor"])
def test_d2l_is_of_another_version(arguments, fails, tmp_path):
    package(tmp_path, "d2l", "__version__ = '0.17.6'")
    distribution(tmp_path, "d2l", "0.17.6")
    said, [command] = fails(*arguments)
    assert "d2l 0.17.6 is installed, and the chapter" in said
    assert command.endswith(installed.D2L)


def test_mxnet_is_of_another_version(fails, tmp_path):
    package(tmp_path, "mxnet", "__version__ = '2.0.0'\ndef __getattr__(name): return None")
    said, [command] = fails(*IMPORT)
    assert "MXNet 2.0.0 is installed" in said and command.endswith("--no-deps mxnet==1.9.1")


@pytest.mark.parametrize("name", ["mxnet", "d2l", "numpy"])
def test_a_reader_s_file_has_a_library_s_name(name, fails, tmp_path):
    file = tmp_path / f"{name}.py"
    file.write_text("notes = 1")
    said, [command] = fails(*IMPORT)
    assert f"{name} is your file {file}" in said and command == f"mv {name}.py my_{name}.py"
    assert not file.exists() and (tmp_path / f"my_{name}.py").exists()


def test_pythonpath_names_another_python_s_packages(fails, tmp_path):
    package(tmp_path, "numpy", "import numpy._of_another_python")
    said, commands = fails(*DOCTOR)
    assert "numpy comes from" in said and commands == ["unset PYTHONPATH"]


# ---- Doors ---------------------------------------------------------------------------------------


def test_jupyterlab_is_missing(fails, empty_python):
    said, [command] = fails(*DOCTOR, "lab", python=empty_python, PYTHONPATH=ROOT)
    assert "JupyterLab is not installed" in said and " pip install " in command


def test_there_are_no_notebooks(fails, tmp_path):
    said, [command] = fails(*DOCTOR, "lab", "--book", str(tmp_path))
    assert "there are no notebooks in" in said and command.endswith("-m d2l_local get")


def test_the_data_folder_is_none(fails):
    said, commands = fails(*DOCTOR, D2L_DATA="/no/folder")
    assert "/no/folder" in said and commands == ["unset D2L_DATA"]


def test_the_environment_is_of_half_a_job(fails):
    said, commands = fails(*IMPORT, DMLC_ROLE="server")
    assert "DMLC_ROLE='server'" in said and commands == ["unset DMLC_ROLE"]


def test_nothing_is_amiss(fails):
    said, [command] = fails(*DOCTOR, refused=False)
    assert said.startswith("Ready: ") and command.endswith(" -m d2l_local lab")
