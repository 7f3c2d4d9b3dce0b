"""`python3 -m d2l_local setup`: what it makes, and says where something is amiss.

uv is the clone's own. What it installs here is next to nothing, so that no network is needed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.install import installed, setup, uv
from d2l_local.machine import host

import pytest

ROOT = Path(__file__).resolve().parents[2]
MIRROR = "https://pypi.tuna.tsinghua.edu.cn/simple"

pytestmark = pytest.mark.timeout(200)
needs_uv = pytest.mark.skipif(not uv.found(), reason="there is no uv: make setup")
needs_make = pytest.mark.skipif(not shutil.which("make"), reason="there is no make")


@pytest.fixture
def tiny(tmp_path):
    """Return an environment that has nothing but a Python."""
    lock = tmp_path / "tiny.txt"
    lock.write_text("")
    return setup.Environment("tiny", "Tiny", tmp_path / "venv", ">=3.9", lock, package=False)


@pytest.fixture
def nothing_named(monkeypatch, tmp_path):
    """Let variables say nothing of packages, and give the file that says most of pip's."""
    for name in os.environ:
        if name.startswith(("PIP_", "UV_")) or name == "SSL_CERT_FILE":
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    return tmp_path / "pip.conf"


# ---- What is made --------------------------------------------------------------------------------


@needs_uv
def test_an_environment_has_this_python_and_is_made_once(tiny, capsys):
    assert not tiny.is_ready()
    setup.set_up(tiny)
    assert tiny.is_ready() and "Setting up Tiny in venv\n" in capsys.readouterr().out
    ask = "import sys; print(sys.version_info[:3], sys.prefix != sys.base_prefix)"
    said = subprocess.check_output([tiny.python, "-c", ask], text=True)
    assert said == f"{tuple(sys.version_info[:3])} True\n"
    setup.say_ready(tiny)
    version = sys.version.split()[0]
    assert f"venv is ready, with Python {version}. Type: " in capsys.readouterr().out


@needs_uv
def test_what_the_files_ask_for_is_brought_up_to_date_in_the_same_environment(tiny):
    setup.set_up(tiny)
    mine = tiny.folder / "mine"
    mine.touch()
    os.utime(tiny.locked)  # As git does where it only comes by
    assert tiny.is_ready()
    tiny.locked.write_text("# One more line\n")
    assert not tiny.is_ready()
    setup.set_up(tiny)
    assert tiny.is_ready() and mine.exists()
    setup.set_up(tiny, anew=True)
    assert tiny.is_ready() and not mine.exists()


@needs_uv
@pytest.mark.parametrize("wreck", ["it was killed", "its Python is gone"])
def test_an_environment_that_does_not_work_is_made_anew(tiny, wreck):
    setup.set_up(tiny)
    if wreck == "it was killed":  # Before the file says where the environment belongs
        (tiny.folder / "pyvenv.cfg").unlink()
    else:
        tiny.python.unlink()
        tiny.python.symlink_to("/usr/bin/python2.99")
    assert not tiny.is_ready()
    setup.set_up(tiny)
    assert subprocess.run([tiny.python, "-c", ""]).returncode == 0 and tiny.is_ready()


@needs_uv
def test_the_clone_is_found_by_a_relative_path(tiny):
    """With an absolute one of other letters, Python 3.11 does not start in the locale C."""
    pytest.importorskip("hatchling")
    if not str(ROOT).isascii():
        pytest.skip("from outside of the clone, its name is part of the way to it")
    tool = setup.Uv()
    setup.make(tiny, tool)
    [packages] = tiny.folder.glob("lib/python3*/site-packages")
    # The build needs packages of this Python, which are no part of the new one.
    hatchling = Path(sys.modules["hatchling"].__file__).parents[1]
    (packages / "of_this_python.pth").write_text(f"{hatchling}\n")
    setup.install_package(tiny, tool)
    [file] = packages.glob("*d2l_local.pth")
    assert file.read_text() == f"{os.path.relpath(ROOT, packages)}\n"
    (packages / "of_this_python.pth").unlink()
    command = [tiny.python, "-c", "import d2l_local; print(d2l_local.__file__)"]
    environment = {**os.environ, "PYTHONPATH": ""}
    found = subprocess.check_output(command, cwd=tiny.folder, text=True, env=environment)
    assert Path(found.strip()) == ROOT / "d2l_local/__init__.py"


@needs_make
@pytest.mark.parametrize("target", ["setup", "lab", "run"])
def test_make_sets_up_with_the_python_that_it_is_given(target):
    command = ["make", "--no-print-directory", "--dry-run", target]
    command += [f"PYTHON={sys.executable}", "FRAMEWORK=pytorch"]
    said = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()[0]
    quiet = "" if target == "setup" else " --quiet"  # Who goes on need not be told how
    assert said.split() == f"{sys.executable} -m d2l_local setup --framework pytorch{quiet}".split()


@needs_make
def test_without_a_python_make_says_what_to_do():
    command = ["make", "PYTHON=/no/python", "help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "/no/python does not run here; name another: make PYTHON=" in done.stderr


@pytest.mark.parametrize(
    ("minor", "fits"), [(8, False), (9, True), (13, True), (14, False)], ids=str
)
def test_which_pythons_an_environment_takes(minor, fits):
    mxnet = frameworks.load()["mxnet"].requires_python
    made = setup.Environment("mxnet", "MXNet", Path(), mxnet, Path())
    assert made.takes(minor) == fits
    assert setup.WEB.takes(99) and not setup.WEB.takes(10)


@pytest.mark.parametrize(
    ("system", "python"), [("darwin", "bin/python"), ("win32", "Scripts/python.exe")]
)
def test_on_other_systems_it_is_the_edition_that_runs_there(system, python):
    """On a Linux that hides from d2l_local what these lack: tests/elsewhere/sitecustomize.py."""
    ask = (
        "from d2l_local.base import frameworks\nfrom d2l_local.install import setup\n"
        "print(setup.environment(frameworks.fitting()).python.as_posix())"
    )
    path = os.pathsep.join([str(ROOT / "tests/elsewhere"), str(ROOT)])
    environment = {**os.environ, "PRETENDED_SYSTEM": system, "PYTHONPATH": path}
    said = subprocess.check_output([sys.executable, "-c", ask], text=True, env=environment)
    assert said.strip() == f"{ROOT}/.venv-pytorch/{python}"


# ---- Where something is amiss --------------------------------------------------------------------


@needs_uv
def test_where_no_python_can_be_fetched_the_setting_is_named(tiny, capsys):
    with pytest.raises(RuntimeError, match="UV_PYTHON_INSTALL_MIRROR") as error:
        setup.make(replace(tiny, pythons=">=3.40,<3.41"), setup.Uv())
    assert f"This one is {sys.version.split()[0]}" in str(error.value)
    assert f"Tiny does not run on Python {sys.version.split()[0]}" in capsys.readouterr().out


@needs_uv
def test_what_uv_says_stands_and_nothing_is_ready(tiny):
    tiny.locked.write_text("no-hash==1.0\n")
    with pytest.raises(RuntimeError, match="(?s)uv pip sync .*hash") as error:
        setup.set_up(tiny)
    assert "UV_PYTHON_INSTALL_MIRROR" not in str(error.value) and not tiny.ready.exists()
    assert "goes on from here. Where pypi.org cannot be reached" in str(error.value)


def fails(capsys) -> str:
    assert setup.main(["--framework", "mxnet", "--anew"]) == 1
    return capsys.readouterr().err


def test_a_clone_that_cannot_be_written(monkeypatch, capsys):
    monkeypatch.setattr(host, "writable", lambda folder: False)
    error = fails(capsys)
    assert f"{ROOT} cannot be written" in error and len(error.splitlines()) == 1


def test_without_a_clone_the_notebooks_are_what_there_is_to_get(monkeypatch, capsys):
    monkeypatch.setattr(installed, "checkout", lambda: False)
    assert "is no clone" in (error := fails(capsys)) and "-m d2l_local get" in error


def test_a_framework_without_a_build_for_this_system(monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "darwin")
    error = fails(capsys)
    assert "MXNet has no build for this system" in error and "Docker" in error
    assert "Type: " in error and "--framework mxnet" not in error


def test_a_python_that_cannot_make_environments_names_the_package(monkeypatch, tmp_path):
    monkeypatch.setattr(setup, "UV", replace(setup.UV, folder=tmp_path))
    monkeypatch.setattr(setup.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="apt-get install python3-venv"):
        setup.fetch_uv()


def test_a_python_that_is_closed_to_a_class_is_named(tiny, tmp_path, monkeypatch, capsys):
    clone, closed = tmp_path / "clone", tmp_path / "home"
    for folder in (tiny.python.parent, clone, closed):
        folder.mkdir(parents=True)
    (closed / "python").touch()
    tiny.python.symlink_to(closed / "python")
    closed.chmod(0o755)
    monkeypatch.setattr(setup, "ROOT", clone)
    setup.warn_of_closed_python(tiny)
    assert capsys.readouterr().err == ""
    closed.chmod(0o700)
    setup.warn_of_closed_python(tiny)
    said = capsys.readouterr().err
    assert f"lies in {closed}, which is closed to others" in said and "--anew" in said
    monkeypatch.setattr(setup, "ROOT", closed / "clone")  # Then nobody else can want it
    setup.warn_of_closed_python(tiny)
    assert capsys.readouterr().err == ""


# ---- A reader's own settings ---------------------------------------------------------------------


def wheel(folder: Path, name: str = "tiny", needs: str = "") -> str:
    """Make a package of nothing but a program called uv, and return its line in a lock file."""
    file, info = folder / f"{name}-1-py3-none-any.whl", f"{name}-1.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
    metadata += f"Requires-Dist: {needs}\n" if needs else ""
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", "[console_scripts]\nuv = os:getcwd\n")
        archive.writestr(f"{info}/RECORD", "")
    return f"{name}==1 --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


def test_of_a_reader_s_settings_only_the_sources_reach_our_environments(
    nothing_named, tmp_path, monkeypatch
):
    """``user = true`` made pip refuse; and a module on PYTHONPATH came before Python's own."""
    lock = tmp_path / "uv.txt"
    lock.write_text(wheel(tmp_path))
    nothing_named.write_text(
        f"[global]\nfind-links = {tmp_path}\nindex-url = file://{tmp_path}/none\n"
        "[install]\nuser = true\n"
    )
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "venv.py").write_text("raise SystemExit('this is no venv')")
    monkeypatch.setattr(uv, "FOLDER", tmp_path / ".uv")
    monkeypatch.setattr(setup, "UV", replace(setup.UV, folder=tmp_path / ".uv", locked=lock))
    setup.fetch_uv()
    assert setup.UV.is_ready() and uv.found() == str(tmp_path / ".uv/bin/uv")
    assert not (tmp_path / "elsewhere").exists()
    tool = setup.Uv()
    assert tool.settings["UV_FIND_LINKS"] == str(tmp_path)
    assert tool.settings["UV_DEFAULT_INDEX"] == f"file://{tmp_path}/none"
    assert tool.settings["PYTHONPATH"] is None


@needs_uv
def test_uv_gets_pip_s_settings_unless_it_has_its_own(nothing_named, monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert uv.settings() == {} and not uv.elsewhere({})
    monkeypatch.setenv("PIP_CONFIG_FILE", str(nothing_named))
    assert uv.for_this_machine({}) == ["--torch-backend=auto"]
    nothing_named.write_text("[global]\nindex-url = https://of-the-file\n")
    assert uv.settings()["UV_DEFAULT_INDEX"] == "https://of-the-file"
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", MIRROR)
    monkeypatch.setenv("PIP_FIND_LINKS", "/one /two")
    assert uv.settings() == {"UV_DEFAULT_INDEX": MIRROR, "UV_FIND_LINKS": "/one,/two"}
    assert uv.for_this_machine(uv.settings()) == []  # PyTorch's own address is not asked
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://mine")
    assert uv.settings() == {"UV_FIND_LINKS": "/one,/two"} and uv.elsewhere({})
    options = setup.sources()
    assert options == ["--index-url=https://mine", "--find-links=/one", "--find-links=/two"]
    monkeypatch.setenv("SSL_CERT_FILE", "/home/Jane,Doe/ca.pem")
    assert setup.sources()[-1] == "--cert=/home/Jane,Doe/ca.pem"
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setenv("PIP_CERT", "/home/Jane Doe/ca.pem")
    assert uv.settings()["SSL_CERT_FILE"] == "/home/Jane Doe/ca.pem"


@needs_uv
@pytest.mark.parametrize("needs", ["", "nvidia_cuda"])
@pytest.mark.parametrize("gpus", [(), ("an H200",)])
def test_a_build_with_cuda_that_no_gpu_uses_is_told_before_it_comes(
    tiny, nothing_named, tmp_path, monkeypatch, capsys, needs, gpus
):
    """As a mirror of PyPI has PyTorch for Linux, where PIP_FIND_LINKS lacks the CPU's build."""
    wheel(tmp_path, "nvidia_cuda")
    wheel(tmp_path, "framework", needs)
    nothing_named.write_text(
        f"[global]\nfind-links = {tmp_path}\nindex-url = file://{tmp_path}/none\n"
    )
    (tmp_path / "framework.txt").write_text("framework==1\n")
    monkeypatch.setattr(setup.nvidia, "installed_gpus", lambda: gpus)
    setup.set_up(replace(tiny, unlocked=tmp_path / "framework.txt"))
    told = "the build with CUDA" in capsys.readouterr().err
    assert told == bool(needs and not gpus)


@needs_uv
def test_without_a_home_uv_s_files_are_in_the_clone(monkeypatch):
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    monkeypatch.setattr(host, "has_home", lambda: True)
    assert "UV_CACHE_DIR" not in setup.Uv().settings
    monkeypatch.setattr(host, "has_home", lambda: False)
    assert setup.Uv().settings["UV_CACHE_DIR"] == f"{uv.FOLDER}/cache"
    monkeypatch.setenv("UV_CACHE_DIR", "/some/cache")
    assert "UV_CACHE_DIR" not in setup.Uv().settings


@needs_uv
def test_another_version_of_uv_is_not_taken(monkeypatch, tmp_path):
    """Uv 0.5 of the machine failed at an option after it had fetched 150 packages."""
    (tmp_path / "uv").write_text("#!/bin/sh\nexit 2\n")
    (tmp_path / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert setup.Uv().path == str(uv.FOLDER / "bin/uv")
    monkeypatch.setattr(setup, "UV", replace(setup.UV, locked=tmp_path / "uv"))
    assert not setup.UV.is_ready()  # Fetched for another commit, it is fetched again


@needs_make
def test_no_other_python_s_packages_reach_what_make_calls():
    command = ["make", "--eval", "show: ; @env", "show"]
    environment = {**os.environ, "PYTHONPATH": "/of/another/python", "PYTHONHOME": ""}
    said = subprocess.check_output(command, cwd=ROOT, text=True, env=environment)
    assert "PATH=" in said and "PYTHONPATH" not in said and "PYTHONHOME" not in said


def test_set_up_names_no_address_but_pip_s_and_uv_s_own():
    """What it needs is on a package index, of which a reader can name a mirror."""
    read = [ROOT / "Makefile", ROOT / "Dockerfile", *(ROOT / "requirements").glob("*.txt")]
    read += [Path(setup.__file__), Path(uv.__file__)]
    assert not [file.name for file in read if "github.com" in file.read_text("utf-8")]
