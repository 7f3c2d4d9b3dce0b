"""`python3 -m d2l_local setup`: in a new clone, after a failure, beside another one, on any system.

A stand-in for uv makes the environment and installs nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.install import installed, setup, uv

import pytest
from helpers import python, until

ROOT = Path(__file__).resolve().parents[2]
# What set-up needs of uv: a cache's name, a Python, an environment, an editable package.
UV = f"""#!/bin/sh
echo "$@, from $UV_DEFAULT_INDEX, cached in $UV_CACHE_DIR" >> "$CALLS"
for last; do :; done
case "$1 $2" in
"cache dir") echo "$HOME/.cache/uv" ;;
"python find") echo '{sys.executable}' ;;
"venv --quiet")
    sleep 1
    '{sys.executable}' -m venv --without-pip "$last"
    if [ "$PRETENDED_SYSTEM" = win32 ]; then
        ln -s bin "$last/Scripts"
        ln -s python "$last/bin/python.exe"
        mkdir -p "$last/Lib/site-packages"
    fi ;;
"pip install")
    case "$*" in *--editable*)
        cd "$PWD"/.venv*
        for folder in lib/python3*/site-packages Lib/site-packages; do
            if [ -d $folder ]; then echo "$last" > $folder/_editable_impl_d2l_local.pth; fi
        done ;;
    esac ;;
esac
"""
NOTHING_NAMED = dict.fromkeys((*uv.SETTINGS, *uv.SETTINGS.values(), "UV_CACHE_DIR"), "")

pytestmark = pytest.mark.timeout(200)


@pytest.fixture(params=["clone"])
def copy(request, tmp_path):
    """Return a folder with what set-up reads, and a stand-in for uv."""
    folder = tmp_path / request.param
    folder.mkdir()
    for file in ("Makefile", "environment.yml", "pyproject.toml", "requirements", "d2l_local"):
        source = ROOT / file
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / file)
    # make takes python3; and cannot be given a path with a space.
    (folder / "bin").mkdir()
    for name, program in (("uv", UV), ("python3", f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")):
        (folder / "bin" / name).write_text(program, encoding="utf-8")
        (folder / "bin" / name).chmod(0o755)
    return folder


def start(folder, *arguments, **environment):
    # As from a shell, also where make itself has started the tests.
    outer = {
        key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))
    }
    own = {"CALLS": str(folder / "calls"), **NOTHING_NAMED}
    own["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = ["make"] if arguments[0] == "make" else [sys.executable]
    return subprocess.Popen(
        [*command, *arguments[arguments[0] == "make" :]],
        cwd=folder,
        env={**outer, **own, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def said(folder, *arguments, **environment) -> str:
    process = start(folder, *arguments, **environment)
    output = process.communicate(timeout=100)[0]
    return output if process.returncode == 0 else f"failed: {output}"


def set_up(folder, *arguments, **environment) -> str:
    return said(folder, "-m", "d2l_local", "setup", *arguments, **environment)


def calls(folder) -> list[str]:
    file = folder / "calls"
    return file.read_text().splitlines() if file.exists() else []


def environments_made(folder) -> int:
    return sum(call.startswith("venv --quiet") for call in calls(folder))


# ---- All is made, once ---------------------------------------------------------------------------


def test_everything_is_installed_from_the_lock_file_and_then_nothing_more(copy):
    output = set_up(copy)
    first, *_, last = output.splitlines()
    row = frameworks.load()["mxnet"]
    assert first.startswith(f"Setting up MXNet in .venv: {row.minutes} min")
    assert f" {row.download} GB to download and {row.disk} GB on disk" in first
    assert last == ".venv is ready. Type: make lab" or not shutil.which("make")
    python, made = copy / ".venv/bin/python", calls(copy)
    lock = f"pip sync --quiet --compile-bytecode --require-hashes --python {python}"
    assert any(call.startswith(f"{lock} {copy}/requirements/mxnet.txt,") for call in made)
    package = "pip install --quiet --no-deps --no-build-isolation --offline"
    assert any(call.startswith(f"{package} --python {python} --editable {copy},") for call in made)
    assert set_up(copy) == f"{last}\n" and set_up(copy, "--quiet") == ""
    assert calls(copy) == made


@pytest.mark.parametrize("file", ["requirements/mxnet.txt", "pyproject.toml"])
def test_what_the_files_ask_for_is_brought_up_to_date(copy, file):
    set_up(copy)
    made = calls(copy)
    os.utime(copy / file)  # As git does where it only comes by
    set_up(copy)
    assert calls(copy) == made
    with open(copy / file, "a") as lines:
        lines.write("# One more line\n")
    set_up(copy)
    again = [call.split(",")[0] for call in calls(copy)[len(made) :]]
    assert any("pip sync" in call for call in again) and environments_made(copy) == 1


def test_a_language_of_the_book_is_spoken(copy):
    output = set_up(copy, D2L_LANGUAGE="zh")
    assert output.startswith("正在.venv中安装MXNet版：") and ".venv已就绪。请输入：" in output


@pytest.mark.parametrize("framework", ["mxnet", "web"])
def test_make_sets_up_by_the_same_command(copy, framework):
    if not shutil.which("make"):
        pytest.skip("there is no make")
    target = "setup" if framework == "mxnet" else ".venv-web/ready-web"
    assert "Setting up" in said(copy, "make", target)
    made = calls(copy)
    assert "Setting up" not in said(copy, "make", target) and calls(copy) == made
    assert any("--editable" in call for call in made) != (framework == "web")


def test_a_python_that_somebody_asks_for(copy):
    set_up(copy, "--python", "3.12")
    [find] = [call for call in calls(copy) if call.startswith("python find")]
    assert " 3.12," in find


# ---- Where something is amiss --------------------------------------------------------------------


@pytest.mark.parametrize("wreck", ["partial", "no environment", "its Python is gone"])
def test_an_environment_that_does_not_work_is_made_anew(copy, wreck):
    folder = copy / ".venv/bin"
    folder.mkdir(parents=True)
    if wreck == "no environment":  # Set-up was killed before it said where it belongs
        (folder / "python").symlink_to(sys._base_executable)
    elif wreck == "its Python is gone":
        (folder / "python").symlink_to("/usr/bin/python2.99")
        (copy / ".venv/ready-mxnet").touch()
    assert ".venv has no Python that works; it is made anew" in set_up(copy)
    ask = "import sys; print(sys.prefix != sys.base_prefix)"
    assert subprocess.check_output([folder / "python", "-c", ask], text=True) == "True\n"
    assert (copy / ".venv/ready-mxnet").exists()


def test_an_environment_whose_python_was_removed_is_not_ready(copy):
    set_up(copy)
    (copy / ".venv/bin/python").unlink()
    assert "is made anew" in set_up(copy) and environments_made(copy) == 2


def test_where_no_python_can_be_fetched_the_setting_is_named(copy):
    fails = UV.replace(f"echo '{sys.executable}'", "exit 2").replace("sleep 1", "exit 2")
    (copy / "bin/uv").write_text(fails)
    output = set_up(copy)
    assert output.startswith("failed: ") and "Traceback" not in output
    assert "Here is no Python >=3.9,<3.14" in output and "UV_PYTHON_INSTALL_MIRROR" in output
    assert f"This one is {sys.version.split()[0]}" in output


def test_what_uv_says_stands_and_python_is_not_blamed(copy):
    fails = UV.replace("sleep 1", "echo 'error: no space left on /some/where' >&2; exit 2")
    (copy / "bin/uv").write_text(fails)
    output = set_up(copy)
    assert output.startswith("failed: ") and "error: no space left on /some/where" in output
    assert "UV_PYTHON_INSTALL_MIRROR" not in output and "Traceback" not in output
    assert not (copy / ".venv/ready-mxnet").exists()


def test_a_cache_that_cannot_be_written_is_replaced(copy):
    home = copy / "home"
    home.mkdir()
    set_up(copy, HOME=str(home))
    assert calls(copy)[-1].endswith("cached in ")
    shutil.rmtree(home)
    home.symlink_to("/proc/self/fdinfo")  # Where not even root can write
    shutil.rmtree(copy / ".venv")
    assert "uv's cache cannot be written here" in set_up(copy, HOME=str(home))
    assert calls(copy)[-1].endswith(f"cached in {copy}/.uv/cache")
    shutil.rmtree(copy / ".venv")
    assert "cache" not in set_up(copy, HOME=str(home), UV_CACHE_DIR="/some/cache")
    assert calls(copy)[-1].endswith("cached in /some/cache")


@pytest.fixture
def here(copy, monkeypatch):
    """Let `install` take the copy for the clone that it is in."""
    monkeypatch.setattr(setup, "ROOT", copy)
    monkeypatch.setattr(installed, "ROOT", copy)
    monkeypatch.setattr(installed, "VENVS", {"mxnet": copy / ".venv"})
    return copy


def fails(capsys) -> str:
    assert setup.main(["--framework", "mxnet"]) == 1
    return capsys.readouterr().err


def test_too_little_room_is_refused_before_anything_is_made(here, monkeypatch, capsys):
    monkeypatch.setattr(setup, "free", lambda folder: 0.3)
    needed = frameworks.load()["mxnet"].disk
    assert f"it takes {needed} GB in {here}, where 0.3 GB are free" in fails(capsys)
    assert not (here / ".venv").exists()


def test_a_disk_that_fills_up_is_named_beside_what_uv_says(here, monkeypatch, capsys):
    class Full:
        def __init__(self, gigabytes):
            monkeypatch.setattr(setup, "free", lambda folder: 0.0)
            raise RuntimeError("uv pip sync failed: No space left on device")

    monkeypatch.setattr(setup, "Uv", Full)
    error = fails(capsys)
    assert "No space left on device\nThe disk is full: 0.0 GB are free in" in error


def test_a_clone_that_cannot_be_written(here, monkeypatch, capsys):
    monkeypatch.setattr(installed, "writable", lambda folder: False)
    error = fails(capsys)
    assert f"{here} cannot be written" in error and len(error.splitlines()) == 1


def test_without_a_clone_the_notebooks_are_what_there_is_to_get(here, capsys):
    (here / "Makefile").unlink()
    assert "is no clone" in (error := fails(capsys)) and "-m d2l_local get" in error


def test_a_framework_without_a_build_for_this_system(here, monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "MXNet has no build for this system. Type: docker build" in fails(capsys)


def test_a_python_that_cannot_make_environments_names_the_package(monkeypatch):
    monkeypatch.setattr(setup.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="apt-get install python3-venv"):
        setup.fetch_uv()


def test_a_python_that_is_too_old_says_so():
    """It cannot read the rest, so this stands in the one file that it can."""
    source = (ROOT / "d2l_local/__main__.py").read_text("utf-8")
    head = source.partition("\ndef ")[0].replace("sys.version_info", "(3, 8)")
    done = python(head, fails=True)
    assert "needs Python 3.9 to 3.13" in done.stderr and "is Python 3.8" in done.stderr
    assert "python3 -m d2l_local setup" in done.stderr


# ---- Two at once, and interrupted ----------------------------------------------------------------


def test_two_at_once_make_one_environment(copy):
    both = [start(copy, "-m", "d2l_local", "setup") for _ in range(2)]
    outputs = [process.communicate(timeout=100)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert environments_made(copy) == 1
    assert sum("Another set-up is at work here" in output for output in outputs) == 1


def test_who_waits_for_another_set_up_says_so(copy):
    (copy / "build").mkdir()
    with open(copy / "build/setup.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = start(copy, "-m", "d2l_local", "setup")
        assert "waits for it" in process.stdout.readline()
        assert not calls(copy)
    assert "waits" not in process.communicate(timeout=100)[0]
    assert process.returncode == 0 and environments_made(copy) == 1


def test_ctrl_c_leaves_nothing_running_and_says_how_to_go_on(copy):
    pid = copy / "pid"
    (copy / "bin/uv").write_text(UV.replace("sleep 1", f"echo $$ > {pid}; exec sleep 100"))
    process = start(copy, "-m", "d2l_local", "setup")
    assert until(pid.exists)
    time.sleep(0.2)
    process.send_signal(2)
    assert "interrupted. The same command goes on" in process.communicate(timeout=50)[0]
    assert process.returncode == 130
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
        pytest.fail("uv still runs")


# ---- Where packages come from --------------------------------------------------------------------

MIRROR = "https://pypi.tuna.tsinghua.edu.cn/simple"


@pytest.mark.parametrize("setting", ["PIP_INDEX_URL", "UV_DEFAULT_INDEX"])
@pytest.mark.parametrize("framework", ["mxnet", "pytorch"])
def test_whoever_names_an_index_gets_everything_from_it(copy, framework, setting):
    set_up(copy, "--framework", framework, **{setting: MIRROR})
    made = [call for call in calls(copy) if call.startswith(("pip", "venv"))]
    assert len(made) >= 3 and all(f", from {MIRROR}," in call for call in made)
    assert not [call for call in made if "--torch-backend" in call]  # PyTorch's own address


def test_without_settings_pytorch_s_build_is_for_the_machine(copy):
    set_up(copy, "--framework", "pytorch")
    [build] = [call for call in calls(copy) if "--torch-backend=auto" in call]
    assert f"--requirement {copy}/requirements/torch.txt" in build


def test_uv_gets_pip_s_settings_unless_it_has_its_own(monkeypatch):
    for name, value in NOTHING_NAMED.items():
        monkeypatch.setenv(name, value)
    assert uv.settings() == {} and not uv.elsewhere()
    monkeypatch.setenv("PIP_FIND_LINKS", "/one /two")
    monkeypatch.setenv("PIP_INDEX_URL", MIRROR)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://mine")
    assert uv.settings() == {"UV_FIND_LINKS": "/one,/two"} and uv.elsewhere()


@pytest.mark.parametrize(
    ("named", "driver", "system", "expected"),
    [
        ({}, False, "linux", False),
        ({}, True, "linux", True),
        ({"PIP_INDEX_URL": MIRROR}, False, "linux", True),
        ({"PIP_INDEX_URL": MIRROR}, False, "darwin", False),
        ({"PIP_FIND_LINKS": "/wheels"}, True, "linux", False),
    ],
)
def test_what_brings_gigabytes_of_cuda(named, driver, system, expected, monkeypatch):
    for name, value in {**NOTHING_NAMED, **named}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(uv, "has_driver", lambda: driver)
    monkeypatch.setattr(sys, "platform", system)
    assert uv.brings_cuda() == expected


def test_set_up_names_no_address_but_pip_s_and_uv_s_own():
    """What it needs is on a package index, of which a reader can name a mirror."""
    read = [ROOT / "Makefile", ROOT / "Dockerfile", *(ROOT / "requirements").glob("*.txt")]
    read += [Path(setup.__file__), Path(uv.__file__)]
    assert not [file.name for file in read if "github.com" in file.read_text("utf-8")]


# ---- Other systems, other letters ----------------------------------------------------------------


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_it_is_the_same_on_other_systems(copy, system):
    """On a Linux that hides from d2l_local what these lack: tests/elsewhere/sitecustomize.py."""
    path = os.pathsep.join([str(ROOT / "tests/elsewhere"), str(copy)])
    output = set_up(copy, PRETENDED_SYSTEM=system, PYTHONPATH=path)
    python = "Scripts/python.exe" if system == "win32" else "bin/python"
    assert output.startswith("Setting up PyTorch in .venv-pytorch: ")  # MXNet has no build for it
    assert output.endswith(f"Type: .venv-pytorch/{python} -m d2l_local lab\n")
    [sync] = [call for call in calls(copy) if call.startswith("pip sync")]
    assert f"--python {copy}/.venv-pytorch/{python} " in sync
    again = set_up(copy, PRETENDED_SYSTEM=system, PYTHONPATH=path)
    assert again.count("\n") == 1 and environments_made(copy) == 1
    found = {file.parent: file.read_text() for file in copy.glob(".venv*/**/*d2l_local.pth")}
    assert found and all((folder / to.strip()).resolve() == copy for folder, to in found.items())


@pytest.mark.parametrize("copy", ["a clone 中文"], indirect=True)
def test_the_clone_is_found_in_a_folder_with_other_letters_and_in_any_locale(copy):
    """With its absolute path there, Python 3.11 does not start in the locale C."""
    set_up(copy, LC_ALL="C")
    [file] = copy.glob(".venv/lib/python3*/site-packages/*d2l_local.pth")
    assert file.read_bytes() == b"../../../..\n"
    done = subprocess.run(
        [copy / ".venv/bin/python", "-c", "import d2l_local; print(ascii(d2l_local.__file__))"],
        cwd=copy.parent,
        env={**os.environ, "LC_ALL": "C", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == ascii(str(copy / "d2l_local/__init__.py")), done.stderr


def test_the_editable_installation_really_is_relative(tmp_path, monkeypatch):
    """By uv and hatchling themselves, without a network."""
    pytest.importorskip("hatchling")
    if not uv.found():
        pytest.skip("there is no uv")
    if not str(ROOT).isascii():
        pytest.skip("from outside of the clone, its name is part of the way to it")
    made = setup.Environment("mxnet", "MXNet", tmp_path / "venv", "", tmp_path / "none.txt")
    tool = setup.Uv()
    tool("venv", "--quiet", "--python", sys.executable, made.folder)
    [packages] = made.folder.glob("lib/python3*/site-packages")
    # The build needs packages of this Python, which are no part of the new one.
    hatchling = Path(sys.modules["hatchling"].__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", str(hatchling))
    setup.install_package(made, tool)
    [file] = packages.glob("*d2l_local.pth")
    assert file.read_text() == f"{os.path.relpath(ROOT, packages)}\n"
    command = [made.python, "-c", "import d2l_local; print(d2l_local.__file__)"]
    environment = {**os.environ, "PYTHONPATH": ""}
    found = subprocess.check_output(command, cwd=tmp_path, text=True, env=environment)
    assert Path(found.strip()) == ROOT / "d2l_local/__init__.py"


# ---- make ----------------------------------------------------------------------------------------


def test_without_a_python_make_says_what_to_do(copy):
    if not shutil.which("make"):
        pytest.skip("there is no make")
    output = said(copy, "make", "PYTHON=/no/python", "help")
    assert "/no/python does not run here; name another: make PYTHON=" in output
