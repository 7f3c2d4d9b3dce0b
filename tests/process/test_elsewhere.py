"""The PyTorch edition on macOS and Windows, as far as a Linux can pretend to be one of them.

`tests/elsewhere/sitecustomize.py` hides from d2l_local what these systems lack; `make types` finds
each use of it without running anything. No machine of theirs was at hand.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import assert_end, needs, runs, until

needs("torch")

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = {"darwin": "macOS", "win32": "Windows"}
pytestmark = pytest.mark.timeout(200)


@pytest.fixture(params=SYSTEMS)
def elsewhere(request, tmp_path):
    """Return the variables with which a Python is on another system, in a locale without Unicode.

    Its temporary files have a folder of their own, which must be empty in the end.
    """
    (tmp_path / "tmp").mkdir()
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    if not str(ROOT).isascii():  # Linux takes the names of files from the locale; they do not
        locale = {"LC_ALL": "C.UTF-8"}
    path = [ROOT / "tests" / "elsewhere", ROOT, os.environ.get("PYTHONPATH", "")]
    yield {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "PRETENDED_SYSTEM": request.param,
        "TMPDIR": str(tmp_path / "tmp"),
        "MPLBACKEND": "agg",
        **locale,
        "PYTHONIOENCODING": "cp1252:backslashreplace",
    }


def python(environment, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=180,
    )


def test_preflight_says_what_runs_natively(elsewhere):
    done = python(elsewhere, "-m", "d2l_local")
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    system = SYSTEMS[elsewhere["PRETENDED_SYSTEM"]]
    assert f"MXNet     does not run on {system}\n" in done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith("Ready: PyTorch computes on ") and last.endswith(" -m d2l_local lab")


SECTION = """
import json
from d2l_local import torch as d2l
from d2l_local.machine import facts, host
from d2l_local.measure import timing
import torch

def speaks():
    print("最后一行")
    return "乘"

def total(device, n):
    x = torch.full((n,), float(dist.get_rank()))
    dist.all_reduce(x)
    return x.sum().item()

devices = d2l.try_all_gpus()
d2l.banner(devices)
x = torch.ones(300, 300)
with d2l.own_core(), d2l.Crowding() as crowding, d2l.Timeline() as timeline:
    x @ x
times = d2l.device_times({"product": lambda: x @ x}, 2)
d2l.law("here", 1.5, a=1.0, b=1.0)
from d2l_local.torch import launch
launch.LOOPBACK["darwin"] = "lo"  # As it is called here
print(json.dumps({
    "lanes": [lane for lane, spans in timeline.lanes.items() if spans],
    "times": times,
    "try_gpu": str(d2l.try_gpu(0)),
    "crowding": crowding.share,
    "memory": host.memory(),
    "facts": facts.facts(),
    "said": d2l.in_new_process(speaks),
    "totals": d2l.torchrun(total, 2, n=3),
}))
"""


def test_what_a_notebook_calls(elsewhere, tmp_path):
    (section := tmp_path / "section.py").write_text(SECTION, encoding="utf-8")
    done = python({**elsewhere, "CUDA_VISIBLE_DEVICES": ""}, section)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["lanes"] == ["cpu/0"] and found["times"]["product"] > 0
    assert found["try_gpu"] == "cpu" and 0 <= found["crowding"] <= 1
    assert found["memory"]["total_gib"] >= found["memory"]["available_gib"] > 0
    assert found["facts"]["cores"] >= 1 and found["said"] == "乘"
    assert found["totals"] == [3.0, 3.0]
    assert not list((tmp_path / "tmp").glob("d2l-tmp-*"))


ENDLESS = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""


def numbers_in(path):
    assert until(lambda: path.exists() and len(path.read_text().split()) == 2)
    return [int(number) for number in path.read_text().split()]


def test_nothing_outlives_a_kernel_that_is_killed(elsewhere, tmp_path):
    code = "import sys; from d2l_local.base import processes\n"
    code += "processes.run([sys.executable, '-c', *sys.argv[1:3]], 600, 'endless')"
    command = [sys.executable, "-c", code, ENDLESS, str(tmp_path / "pids")]
    with subprocess.Popen(command, cwd=ROOT, env=elsewhere) as kernel:
        numbers = numbers_in(tmp_path / "pids")
        kernel.kill()
    try:
        assert_end(numbers)
    finally:
        for pid in filter(runs, numbers):
            os.kill(pid, 9)


def test_what_takes_too_long_is_ended_with_its_children(elsewhere, tmp_path):
    code = "import sys; from d2l_local.base import processes\n"
    code += "processes.run([sys.executable, '-c', *sys.argv[1:3]], 2, 'endless')"
    done = python(elsewhere, "-c", code, ENDLESS, tmp_path / "pids")
    assert "TimeoutError: endless was ended: it still ran after 2 seconds" in done.stderr
    if (tmp_path / "pids").exists():  # It is not where Python starts slowly
        assert_end(numbers_in(tmp_path / "pids"))


@pytest.mark.parametrize("framework", ["mxnet", "pytorch"])
def test_set_up_is_of_the_edition_that_runs_there(elsewhere, framework):
    code = (
        f"from d2l_local.install import commands, installed; print(commands.set_up({framework!r}))"
    )
    command = python(elsewhere, "-c", code).stdout.strip().removesuffix(" --anew")
    assert command.endswith(" -m d2l_local setup")  # PyTorch's is the usual one here
    for readme in ("README.md", "README.zh.md"):
        text = (ROOT / readme).read_text(encoding="utf-8")
        assert "`python3 -m d2l_local setup`" in text
        assert "`python`" in text or "`python -m d2l_local setup`" in text  # Windows has no python3
