"""Functions in a process of their own: results, output, environment, and no process left behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

from d2l_local import process
from d2l_local.process import in_new_process

import pytest

pytestmark = pytest.mark.timeout(120)

ENDLESS = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""


def runs(pid: int) -> bool:
    """Whether a process is there and is more than an entry that nobody has collected yet."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def assert_end(pids) -> None:
    """Wait for processes that were killed to be gone."""
    deadline = time.monotonic() + 30
    while any(map(runs, pids)):
        assert time.monotonic() < deadline, f"still running: {[p for p in pids if runs(p)]}"
        time.sleep(0.02)


def pids_in(path) -> list[int]:
    """Wait for the two process numbers that ENDLESS writes."""
    deadline = time.monotonic() + 30
    while True:
        numbers = path.read_text().split() if path.exists() else []
        if len(numbers) == 2:
            return [int(number) for number in numbers]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def a_result():
    import os

    return {"pid": os.getpid(), "list": [1, 2.5, None, True, "乘"]}


def chatter():
    print("first line")
    print("最后一行")


def environment():
    import os

    return {name: os.environ.get(name) for name in ("D2L_NEW", "D2L_GONE", "D2L_KEPT")}


def failure():
    import sys

    print("a hint from the child", file=sys.stderr)
    raise KeyError("no such thing")


def sudden_end():
    import os

    os._exit(7)


def no_json():
    return {1, 2}


def test_result_comes_back_from_another_process():
    result = in_new_process(a_result, seconds=60)
    assert result["list"] == [1, 2.5, None, True, "乘"]
    assert result["pid"] != os.getpid()


def test_output_is_shown(capfd):
    assert in_new_process(chatter, seconds=60) is None
    assert capfd.readouterr().out == "first line\n最后一行\n"


def test_environment(monkeypatch):
    monkeypatch.setenv("D2L_GONE", "1")
    monkeypatch.setenv("D2L_KEPT", "1")
    monkeypatch.delenv("D2L_NEW", raising=False)
    seen = in_new_process(environment, seconds=60, D2L_NEW=4, D2L_GONE=None)
    assert seen == {"D2L_NEW": "4", "D2L_GONE": None, "D2L_KEPT": "1"}
    assert "D2L_NEW" not in os.environ
    assert os.environ["D2L_GONE"] == "1"


def test_remove_a_variable_that_is_not_set(monkeypatch):
    monkeypatch.delenv("D2L_GONE", raising=False)
    assert in_new_process(environment, seconds=60, D2L_GONE=None)["D2L_GONE"] is None


def test_a_function_defined_inside_another():
    def inner():
        return 6 * 7

    assert in_new_process(inner, seconds=60) == 42


def test_a_function_named_like_a_module():
    def random():
        import random as module

        return module.Random(0).randint(0, 10**9)

    assert in_new_process(random, seconds=60) == globals()["random"].Random(0).randint(0, 10**9)


def test_failure_is_told_with_the_last_lines():
    with pytest.raises(RuntimeError) as caught:
        in_new_process(failure, seconds=60)
    message = str(caught.value)
    assert "failure failed with exit code 1" in message
    assert "a hint from the child" in message
    assert message.endswith("KeyError: 'no such thing'")


def test_an_end_without_python():
    with pytest.raises(RuntimeError, match="sudden_end failed with exit code 7"):
        in_new_process(sudden_end, seconds=60)


def test_what_is_no_json_is_a_failure():
    with pytest.raises(RuntimeError, match="not JSON serializable"):
        in_new_process(no_json, seconds=60)


def test_time_limit_ends_grandchildren_too(tmp_path):
    pids = tmp_path / "pids"
    seconds = 3.0
    while not pids.exists():  # Once more with more time where Python starts slowly
        with pytest.raises(TimeoutError, match=f"endless was ended.*{seconds} seconds"):
            process.run([sys.executable, "-c", ENDLESS, str(pids)], seconds, "endless")
        assert seconds < 60
        seconds *= 4
    assert_end(pids_in(pids))


def test_a_grandchild_that_outlives_the_child_is_ended():
    def parent():
        import subprocess
        import sys

        quiet = subprocess.DEVNULL
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet).pid

    assert_end([in_new_process(parent, seconds=60)])


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_caller(tmp_path, end):
    """The reader's Ctrl-C, which Jupyter sends as SIGINT, or a kernel that is shut down."""
    pids = tmp_path / "pids"
    outer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from d2l_local import process\n"
            "process.run([sys.executable, '-c', *sys.argv[1:]], 600, 'endless')",
            ENDLESS,
            str(pids),
        ],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        numbers = pids_in(pids)
        os.killpg(outer.pid, end)
        errors = outer.communicate(timeout=60)[1]
    finally:
        outer.kill()
        outer.wait()
    try:
        assert ("KeyboardInterrupt" in errors) == (end == signal.SIGINT)
        assert_end(numbers)
    finally:
        for pid in filter(runs, numbers):
            os.kill(pid, signal.SIGKILL)


def test_a_command_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="no-such-command"):
        process.run(["no-such-command"], 60, "nothing")


def test_no_file_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    in_new_process(a_result, seconds=60)
    with pytest.raises(RuntimeError):
        in_new_process(failure, seconds=60)
    assert list(tmp_path.iterdir()) == []


def test_what_travels_is_source_text():
    """Nothing of this process is seen there: a function must import what it uses."""

    def needs_an_import():
        return json.dumps(random.random())

    with pytest.raises(RuntimeError, match="NameError"):
        in_new_process(needs_an_import, seconds=60)
