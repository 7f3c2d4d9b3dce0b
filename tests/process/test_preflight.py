"""``python -m d2l_local`` on machines where all is well, and on those where something is amiss.

Each runs in a process of its own, as a reader would start it; what is broken is really broken.
"""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.doors import preflight
from d2l_local.install import commands, installed
from d2l_local.machine import host

import psutil
import pytest
from helpers import assert_end
from settings import NOTHING_SET

pytestmark = pytest.mark.timeout(200)

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(preflight.__file__).parents[2]  # The checkout, or where the wheel was installed

PREFLIGHT = "import sys; from d2l_local.doors import preflight; "


def run(*arguments, python=sys.executable, cwd=ROOT, code=None, **environment):
    """Run the preflight, or ``code``, with nothing set but ``environment``."""
    start = ["-c", code] if code else ["-m", "d2l_local"]
    hidden = {*NOTHING_SET, "D2L_DATA", "MXNET_HOME"}
    kept = {key: value for key, value in os.environ.items() if key not in hidden}
    return subprocess.run(
        [str(python), *start, *arguments],
        cwd=cwd,
        env={**kept, **{key: str(value) for key, value in environment.items()}},
        capture_output=True,
        text=True,
        timeout=150,
    )


def verdict(done) -> tuple[str, str]:
    """The last line of a table: the verdict, and what to type."""
    text, _, command = done.stdout.splitlines()[-1].rpartition(". Type: ")
    return text, command


def rows(done) -> dict[str, str]:
    return dict(line.split("  ", 1) for line in done.stdout.splitlines() if "  " in line)


@pytest.fixture
def broken(tmp_path):
    """Return a function that makes an mxnet of some code, and the folder for PYTHONPATH."""

    def make(code):
        (tmp_path / "mxnet").mkdir()
        (tmp_path / "mxnet" / "__init__.py").write_text(code)
        return tmp_path

    return make


def distribution(folder, name, version="1.9.1"):
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


# --- All is well ----------------------------------------------------------------------------------


def test_a_machine_on_which_the_chapter_runs():
    done = run(cwd=PACKAGE)
    assert done.returncode == 0, done.stdout + done.stderr
    table = rows(done)
    assert list(table)[:4] == ["Python", "NumPy", "MXNet", "d2l"]
    assert {"GPUs", "BLAS kernel", "cores", "memory", "data set"} <= set(table)
    assert sys.executable in table["Python"]
    assert "1.9.1" in table["MXNet"]
    text, command = verdict(done)
    assert text.startswith("Ready: MXNet computes on ")
    assert command == commands.read("mxnet")
    # In columns
    assert (
        len(
            {
                line.index(value.strip())
                for line, value in zip(done.stdout.splitlines(), table.values())
            }
        )
        == 1
    )


def test_json_holds_all_of_it():
    done = run("--json")
    assert done.returncode == 0
    facts = json.loads(done.stdout)
    assert facts["ready"] is True
    assert facts["python"]["executable"] == sys.executable
    assert facts["packages"]["d2l"] == "1.0.3"
    assert facts["framework"]["threads"] == 1
    assert len(facts["framework"]["devices"]) >= 2
    assert facts["cores"] == host.num_cores()
    physical = psutil.virtual_memory().total / 2**30
    assert 0 < facts["memory"]["available_gib"] <= facts["memory"]["total_gib"] <= physical + 0.1
    assert facts["verdict"] and facts["command"]


def test_settings_of_the_reader_count():
    facts = json.loads(run("--json", MXNET_CPU_TEMP_COPY=7, OPENBLAS_CORETYPE="Prescott").stdout)
    assert facts["framework"]["scratch_copies"] == 7
    assert facts["framework"]["blas_kernel"] == "Prescott"


# --- No MXNet -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def empty_python(tmp_path_factory):
    """Return a Python without a single package."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


@pytest.fixture
def copy(tmp_path):
    """Return a folder with a copy of the package and nothing else."""
    shutil.copytree(ROOT / "d2l_local", tmp_path / "here" / "d2l_local")
    return tmp_path / "here"


@pytest.fixture
def clone(copy):
    """Return a folder that the package takes for a clone of the repository."""
    for file in ("Makefile", "environment.yml"):
        (copy / file).touch()
    return copy


def test_a_python_without_packages_in_the_repository(empty_python, clone):
    done = run(python=empty_python, cwd=clone)
    assert done.returncode == 1
    table = rows(done)
    for name in ("NumPy", "MXNet", "d2l"):
        assert table[name].strip() == "not installed"
    assert "GiB" in table["memory"]
    assert table["data set"].strip() == "cannot be read: NumPy is not installed"
    text, command = verdict(done)
    missing = f"MXNet is not installed in this Python, {empty_python}"
    assert text == f"Not ready: MXNet does not run: {missing}"
    assert command == f"{empty_python} -m d2l_local setup"
    assert json.loads(run("--json", python=empty_python, cwd=clone).stdout)["ready"] is False


def test_the_wrong_python_is_sent_to_the_right_one(empty_python, clone, tmp_path):
    (clone / ".venv").mkdir()
    (clone / ".venv/ready-mxnet").touch()
    done = run(python=empty_python, cwd=clone)
    assert done.returncode == 1
    assert verdict(done)[1] == ".venv/bin/python -m d2l_local lab"
    done = run(python=empty_python, cwd=tmp_path, PYTHONPATH=clone)
    assert verdict(done)[1] == "here/.venv/bin/python -m d2l_local lab"


def test_a_broken_environment_of_the_repository_is_made_anew(clone):
    venv.create(clone / ".venv", with_pip=False, symlinks=True)
    (clone / ".venv" / "ready-mxnet").touch()
    done = run(python=clone / ".venv" / "bin" / "python", cwd=clone)
    assert verdict(done)[1] == ".venv/bin/python -m d2l_local setup --anew"


# --- PyTorch --------------------------------------------------------------------------------------


def test_a_python_for_pytorch_is_examined_for_pytorch(empty_python, clone, tmp_path):
    distribution(tmp_path, "torch", "2.13.0")
    done = run(python=empty_python, cwd=clone, PYTHONPATH=tmp_path)
    assert done.returncode == 1
    assert rows(done)["PyTorch"].strip() == "2.13.0"
    text, command = verdict(done)
    assert text.startswith(
        "Not ready: PyTorch does not run: PyTorch is not installed in this Python, "
    )
    assert command == f"{empty_python} -m d2l_local setup --framework pytorch"


@pytest.mark.skipif(
    not (installed.VENVS["pytorch"] / "ready-pytorch").exists(),
    reason="PyTorch's environment is not set up: make setup FRAMEWORK=pytorch",
)
def test_pytorch_where_it_runs():
    done = run(python=installed.VENVS["pytorch"] / "bin" / "python")
    assert done.returncode == 0, done.stdout
    text, command = verdict(done)
    assert text.startswith("Ready: PyTorch computes on ")
    assert command == ".venv-pytorch/bin/python -m d2l_local lab"
    assert "BLAS kernel" not in rows(done)


# --- MXNet that does not work ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise AttributeError('no attribute Prescott')", "AttributeError: no attribute Prescott"),
        ("raise RuntimeError('Check\\n  failed:\\n\\n36')", "RuntimeError: Check failed: 36"),
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL, as the system does where memory runs out"),
        ("import sys; sys.exit('enough')", "exit code 1: enough"),
        ("import os; print('{}'); os._exit(3)", "exit code 3"),
        ("import sys; sys.exit(0)", "exit code 0: it said nothing"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("raise OSError('libfoo.so.3: cannot open')", "libfoo.so.3: cannot open"),
    ],
)
def test_mxnet_that_cannot_be_imported(code, reason, broken):
    done = run(PYTHONPATH=broken(code))
    assert done.returncode == 1
    text, command = verdict(done)
    assert text.startswith("Not ready: MXNet does not run: ") and reason in text
    assert command
    assert done.stderr == ""


def test_mxnet_that_hangs_is_ended_with_its_children(broken, tmp_path):
    folder = broken(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(f'{{child.pid}}')\n"
        "time.sleep(1000)\n"
    )
    code = f"{PREFLIGHT}sys.exit(preflight.main([], seconds=10))"
    start = time.monotonic()
    done = run(code=code, PYTHONPATH=folder)
    assert time.monotonic() - start < 100
    assert done.returncode == 1
    assert "MXNet does not run: no answer within 10 seconds" in verdict(done)[0]
    child = int((tmp_path / "pids").read_text())
    assert_end([child])


def test_an_answer_counts_whatever_is_printed_before_it(broken):
    folder = broken("print('{\"error\": 1}')\nraise ValueError('the reason')")
    facts = json.loads(run("--json", PYTHONPATH=folder).stdout)
    assert facts["framework"]["error"] == "ValueError: the reason"


# --- GPUs -----------------------------------------------------------------------------------------

DRIVER = """
#include <string.h>
#include <unistd.h>
static const int capability[] = {%s};
int cuInit(unsigned flags) { return %s; }
int cuDeviceGetCount(int *count) { *count = sizeof capability / sizeof *capability; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strcpy(name, "NVIDIA H200"); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? capability[device] / 10 : capability[device] %% 10;
    return 0;
}
"""


@pytest.fixture
def driver(tmp_path):
    """Return a function that builds a driver for made-up GPUs and gives the folder with it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler to build a driver with")

    def build(*capabilities, cuinit="0"):
        source = DRIVER % (", ".join(map(str, capabilities)), cuinit)
        (tmp_path / "libcuda.c").write_text(source)
        command = [compiler, "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1"]
        subprocess.run([*command, tmp_path / "libcuda.c"], check=True)
        return tmp_path

    return build


def test_gpus_and_their_driver(driver):
    done = run(LD_LIBRARY_PATH=driver(90, 75))
    assert done.returncode == 0  # On CPU devices
    table = rows(done)
    assert "NVIDIA H200, compute capability 9.0: not used" in table["gpu(0)"]
    assert "code for 5.0 to 8.9 on x86-64; the README names newer" in table["gpu(0)"]
    assert "compute capability 7.5: idle with the CPU build" in table["gpu(1)"]
    command = shlex.split(table["gpu(1)"].partition("type: ")[2])
    assert "mxnet-cu112==1.9.1" in command


def test_a_driver_that_crashes_or_hangs(driver):
    done = run(LD_LIBRARY_PATH=driver(90, cuinit="*(volatile int *)0"))
    assert done.returncode == 0  # The CPU build asks no driver
    assert "cannot be asked: its process was killed by SIGSEGV" in rows(done)["GPUs"]
    code = f"{PREFLIGHT}sys.exit(preflight.main([], seconds=20))"
    done = run(code=code, LD_LIBRARY_PATH=driver(90, cuinit="sleep(1000)"))
    assert "cannot be asked: no answer within 20 seconds" in rows(done)["GPUs"]


@pytest.fixture
def facts(monkeypatch):
    """Return a function that gives the facts of a machine with these GPUs."""

    def make(*capabilities, build="GPU", usable=()):
        listed = [
            {"index": i, "name": "Made up", "compute_capability": c, "supported": c < "9"}
            for i, c in enumerate(capabilities)
        ]
        wheel = {"CPU": "mxnet", "GPU": "mxnet-cu112"}[build]
        return {
            "python": {"version": "3.11.7", "executable": "python"},
            "packages": {**dict.fromkeys(preflight.PACKAGES), wheel: "1.9.1"},
            "framework": {
                "name": "mxnet",
                "blas_kernel": "Zen",
                "threads": 1,
                "usable_gpus": list(usable),
            },
            "nvidia": {"gpus": listed},
            "cores": 4,
            "memory": {"total_gib": 8.0, "available_gib": None},
            "data": {"available": "Fashion-MNIST in ~/x"},
            **{"ready": True, "notes": [], "verdict": "all is well", "command": "make lab"},
        }

    return make


def test_gpus_that_are_used(facts):
    text = preflight.table(facts("7.5", "9.0", usable=[0]))
    assert "gpu(0)       Made up, compute capability 7.5: used\n" in text
    assert "compute capability 9.0: not used, because MXNet's wheel has code for 5.0 to" in text
    assert "MXNet        1.9.1, GPU build (mxnet-cu112)\n" in text
    assert text.endswith("\n\nReady: all is well. Type: make lab")


# --- Data, memory, Python -------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ["", "full"])
def test_data_are_not_fetched(tmp_path, asked):
    done = run(XDG_CACHE_HOME=tmp_path, TMPDIR=tmp_path, D2L_DATA=asked)
    assert done.returncode == 0
    expected = "not here yet" if asked else "a sample of Fashion-MNIST, which comes with d2l_local"
    assert expected in rows(done)["data set"]
    assert not list(tmp_path.rglob("*.gz"))


@pytest.mark.parametrize(
    ("total", "available", "little"),
    [(1.0, 0.8, True), (24.0, 1.5, True), (1.9, None, True), (6.0, 5.0, False), (4.0, None, False)],
)
def test_little_memory_is_named(facts, total, available, little):
    made = facts()
    made["memory"] = {"total_gib": total, "available_gib": available}
    made["notes"] = list(preflight._notes(made))
    needed = frameworks.load()["mxnet"].memory
    free = total if available is None else available
    note = f"\nNote: the largest notebook takes {needed} GiB of memory, and {free} are free; where"
    assert (note in preflight.table(made)) == little
    assert preflight.table(made).splitlines()[-1] == "Ready: all is well. Type: make lab"


def test_little_memory_does_not_keep_a_reader_away():
    """Most notebooks take far less than the largest."""
    little = (
        "import sys; from d2l_local.doors import preflight; from d2l_local.machine import host\n"
    )
    little += "host.memory = lambda: {'total_gib': 1.0, 'available_gib': 0.9}\n"
    done = run("--json", code=little + "sys.exit(preflight.main())")
    assert done.returncode == 0, done.stdout
    answer = json.loads(done.stdout)
    assert answer["ready"] is True and len(answer["notes"]) == 1


def test_a_python_that_is_too_old():
    """The first file compiles there, and says so before any other is read."""
    source = (ROOT / "d2l_local" / "__main__.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 4))
    ast.parse((ROOT / "d2l_local" / "__init__.py").read_text(), feature_version=(3, 4))
    code = (
        "import sys; sys.version_info = (3, 8, 10, 'final', 0)\n"
        "import runpy; runpy.run_module('d2l_local', run_name='__main__')"
    )
    done = run(code=code)
    assert done.returncode == 1 and done.stdout == ""
    assert f"needs Python 3.9 or newer, and {sys.executable} is Python 3.8." in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_python_that_is_too_new_is_named(monkeypatch, facts):
    failed = {"framework": {"name": "mxnet", "error": "the reason"}, "nvidia": {}, "data": {}}
    known = "MXNet is known to run on Python 3.9 to 3.13, and this is 3.14"
    assert "known to run" not in next(preflight._problems(failed))[0]
    assert not any("known to run" in note for note in preflight._notes(facts()))
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    assert next(preflight._problems(failed))[0] == f"MXNet does not run: the reason. {known}"
    [note] = preflight._notes(facts())  # Also where nothing has failed yet
    assert note.startswith(known) and "make a new environment with one of these" in note


@pytest.mark.parametrize(
    ("system", "typed"),
    [
        ("linux", "unset D2L_DATA"),
        ("win32", "set D2L_DATA= (in PowerShell: Remove-Item Env:D2L_DATA)"),
    ],
)
def test_what_unsets_a_variable_is_what_the_system_s_shell_knows(monkeypatch, facts, system, typed):
    found = {**facts(), "data": {"error": "no such folder"}}
    monkeypatch.setattr(commands.sys, "platform", system)
    assert typed in [command for _, command in preflight._problems(found)]
