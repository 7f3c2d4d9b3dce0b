"""`make setup` after a failure and beside another one; the language that `make lab` opens.

A stand-in for uv makes the environment and installs nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UV = f"""#!/bin/sh
echo "$@, from $UV_DEFAULT_INDEX" >> calls
if [ "$1" = venv ]; then
    for folder; do :; done
    sleep 2
    exec {sys.executable} -m venv --without-pip "$folder"
fi
"""

pytestmark = [
    pytest.mark.timeout(200),
    pytest.mark.skipif(not shutil.which("make"), reason="there is no make"),
]


@pytest.fixture
def copy(tmp_path):
    """Return a folder with what `make setup` reads, and a stand-in for uv."""
    for file in ("Makefile", "pyproject.toml", "requirements", "d2l_local"):
        source = ROOT / file
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / file)
    for language in ("en", "zh"):
        (tmp_path / "chapters/mxnet" / language).mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/uv").write_text(UV)
    (tmp_path / "bin/uv").chmod(0o755)
    return tmp_path


def start(folder, *arguments, **environment):
    # As from a shell, also where make itself has started the tests.
    outer = {
        key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))
    }
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.Popen(
        ["make", f"PYTHON={sys.executable}", *arguments],
        cwd=folder,
        env={**outer, "PATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def make(folder, *arguments, **environment) -> str:
    process = start(folder, *arguments, **environment)
    output = process.communicate(timeout=100)[0]
    return output if process.returncode == 0 else f"failed: {output}"


def environments_made(folder) -> int:
    return (folder / "calls").read_text().count("venv --quiet")


def test_two_at_once_make_one_environment(copy):
    both = [start(copy, "setup") for _ in range(2)]
    outputs = [process.communicate(timeout=100)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert environments_made(copy) == 1
    make(copy, "setup")
    assert environments_made(copy) == 1


@pytest.mark.skipif(not shutil.which("flock"), reason="there is no flock")
def test_who_waits_for_another_make_says_so(copy):
    import fcntl

    with open(copy / "Makefile") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = start(copy, "setup")
        said = next(line for line in process.stdout if "make: " in line)
        assert said == "make: waits for another make that sets up\n"
        assert not (copy / "calls").exists()
    assert "make: waits" not in process.communicate(timeout=100)[0]
    assert process.returncode == 0 and environments_made(copy) == 1


@pytest.mark.parametrize("wreck", ["partial", "no environment", "its Python is gone"])
def test_an_environment_that_does_not_work_is_made_anew(copy, wreck):
    folder = copy / ".venv/bin"
    folder.mkdir(parents=True)
    if wreck == "no environment":  # Set-up was killed before it said where it belongs
        (folder / "python").symlink_to(sys._base_executable)
    elif wreck == "its Python is gone":
        (folder / "python").symlink_to("/usr/bin/python2.99")
        (copy / ".venv/ready-mxnet").touch()
    output = make(copy, "setup")
    assert "make: .venv has no Python that works; it is made anew" in output
    ask = "import sys; print(sys.prefix != sys.base_prefix)"
    assert subprocess.check_output([folder / "python", "-c", ask], text=True) == "True\n"
    assert (copy / ".venv/ready-mxnet").exists()


MIRROR = "https://pypi.tuna.tsinghua.edu.cn/simple"


@pytest.mark.parametrize("setting", ["PIP_INDEX_URL", "UV_DEFAULT_INDEX"])
@pytest.mark.parametrize("framework", ["mxnet", "pytorch"])
def test_whoever_names_an_index_gets_everything_from_it(copy, framework, setting):
    nothing_set = dict.fromkeys(("PIP_INDEX_URL", "PIP_FIND_LINKS", "UV_FIND_LINKS"), "")
    make(copy, "setup", f"FRAMEWORK={framework}", **{**nothing_set, setting: MIRROR})
    calls = (copy / "calls").read_text().splitlines()
    assert len(calls) >= 3 and all(call.endswith(f", from {MIRROR}") for call in calls)
    assert not [call for call in calls if "--torch-backend" in call]  # PyTorch's own address


def test_without_settings_pytorch_s_build_is_for_the_machine(copy):
    settings = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_FIND_LINKS", "UV_FIND_LINKS")
    make(copy, "setup", "FRAMEWORK=pytorch", **dict.fromkeys(settings, ""))
    assert (copy / "calls").read_text().count("--torch-backend=auto") == 1


def test_where_no_python_can_be_fetched_make_names_the_setting(copy):
    (copy / "bin/uv").write_text("#!/bin/sh\nexit 2\n")
    output = make(copy, "setup")
    assert output.startswith("failed: ")
    assert "here is no Python >=3.9,<3.14" in output and "UV_PYTHON_INSTALL_MIRROR" in output


def test_set_up_names_no_address_but_pip_s_and_uv_s_own():
    """What it needs is on a package index, of which a reader can name a mirror."""
    read = [ROOT / "Makefile", ROOT / "Dockerfile", *(ROOT / "requirements").glob("*.txt")]
    assert not [file.name for file in read if "github.com" in file.read_text("utf-8")]


def test_without_a_python_make_says_what_to_do(copy):
    output = make(copy, "PYTHON=/no/python", "help")
    assert "/no/python does not run here; name another: make PYTHON=" in output


@pytest.mark.parametrize(
    ("set_to", "opened"),
    [
        ("en_US:en", "en"),
        ("zh_CN:zh:en_US", "zh"),
        ("zh", "zh"),
        ("fr_FR:fr:zh", "zh"),
        ("de", "en"),
        ("", "en"),
    ],
)
def test_gettext_s_variable_opens_a_language_of_the_book(copy, set_to, opened):
    output = make(copy, "--dry-run", "lab", LANGUAGE=set_to)
    assert output.splitlines()[-1].endswith(f"--notebook-dir chapters/mxnet/{opened}")


def test_a_language_that_somebody_typed_must_be_there(copy):
    assert "chapters/mxnet/zh" in make(copy, "--dry-run", "lab", "LANGUAGE=zh").splitlines()[-1]
    output = make(copy, "--dry-run", "lab", "LANGUAGE=fr")
    assert output.startswith("failed: ") and "there is no language fr; there is: en zh" in output
