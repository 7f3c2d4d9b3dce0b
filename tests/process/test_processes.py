"""Functions in a process of their own: results, output, environment, and no process left behind."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from d2l_local.base import processes
from d2l_local.base.processes import in_new_process

import pytest
from helpers import assert_end, runs, until

pytestmark = pytest.mark.timeout(120)

ENDLESS = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""


def pids_in(path) -> list[int]:
    """Wait for the two process numbers that ENDLESS writes."""
    assert until(lambda: path.exists() and len(path.read_text().split()) == 2)
    return [int(number) for number in path.read_text().split()]


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

    print("what it did until then")
    print("a hint from the child", file=sys.stderr)
    raise KeyError("no such thing")


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


def test_a_function_defined_inside_another():
    def inner():
        return 6 * 7

    assert in_new_process(inner, seconds=60) == 42


def test_a_function_named_like_a_module():
    def random():
        import random as module

        return module.Random(0).randint(0, 10**9)

    assert in_new_process(random, seconds=60) == random()


@pytest.mark.parametrize("name", ["main", "json", "open", "result", "_keep_result"])
def test_a_function_of_any_name(tmp_path, monkeypatch, name):
    (tmp_path / "named.py").write_text(f"def {name}():\n    return 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "named", raising=False)
    assert in_new_process(getattr(importlib.import_module("named"), name), seconds=60) == 42


@pytest.mark.parametrize(
    ("fn", "reason"),
    [
        (lambda: 1, "defined with def is needed, not <function <lambda>"),
        (len, "defined with def is needed, not <built-in function len>"),
        (None, "defined with def is needed, not None"),
    ],
)
def test_what_has_no_text(fn, reason):
    with pytest.raises(TypeError, match=reason):
        in_new_process(fn)


def test_a_function_typed_where_no_text_is_kept():
    names = {}
    exec("def f():\n    return 1", names)
    with pytest.raises(TypeError, match="text of f is not known; define it in a cell or in a file"):
        in_new_process(names["f"])


@pytest.mark.parametrize(
    "seconds", [0, -1, float("inf"), float("nan"), None, "60", True, 10**7, [60]]
)
def test_seconds_that_nobody_can_wait_for(seconds):
    with pytest.raises(ValueError, match="seconds must be a positive number of at") as caught:
        in_new_process(a_result, seconds=seconds)
    assert str(caught.value).endswith(f"not {seconds!r}")


def test_failure_is_told_with_the_last_lines(capfd):
    with pytest.raises(RuntimeError) as caught:
        in_new_process(failure, seconds=60)
    assert capfd.readouterr().out == "what it did until then\n"
    message = str(caught.value)
    assert "failure failed with exit code 1" in message
    assert "a hint from the child" in message
    assert message.endswith("KeyError: 'no such thing'")


@pytest.mark.parametrize("code", [0, 1])
def test_sys_exit_in_a_function(code):
    def leaves():
        import os
        import sys

        sys.exit(int(os.environ["CODE"]))

    with pytest.raises(RuntimeError, match=rf"leaves called sys.exit\({code}\); let it return"):
        in_new_process(leaves, seconds=60, CODE=code)


def test_an_end_that_looks_like_success():
    def leaves():
        import os

        os._exit(0)

    with pytest.raises(RuntimeError, match="leaves ended its process before it returned"):
        in_new_process(leaves, seconds=60)


def test_output_that_is_no_text(capfd):
    def prints_bytes():
        import os

        os.write(1, b"one \xff byte\n")
        os.write(2, b"another \xff byte\n")
        return 1

    assert in_new_process(prints_bytes, seconds=60) == 1
    assert capfd.readouterr().out == "one \N{REPLACEMENT CHARACTER} byte\n"


@pytest.mark.parametrize("begins", [True, False])
def test_what_takes_too_long_is_ended_with_its_children(tmp_path, monkeypatch, begins):
    """Seconds count from when it says that it has begun, however long it takes to do so."""
    monkeypatch.setattr(processes, "START", 60 if begins else 3)
    pids, begun = tmp_path / "pids", tmp_path / "begun"
    late = f"import pathlib, time; time.sleep(3 * {begins})\n{ENDLESS}".rpartition("time.sleep")[0]
    late += f"if {begins}: pathlib.Path(sys.argv[2]).touch()\ntime.sleep(600)"
    command = [sys.executable, "-c", late, str(pids), str(begun)]
    said = "still ran after 1 seconds" if begins else "had not begun after 3 seconds"
    with pytest.raises(TimeoutError, match=f"endless was ended: it {said}"):
        processes.run(command, 1, "endless", None, begun)
    if begins or pids.exists():
        assert_end(pids_in(pids))


def test_what_takes_too_long_has_printed_until_then(capfd):
    def endless():
        import time

        print("begun")
        time.sleep(600)

    with pytest.raises(TimeoutError, match="endless was ended: it still ran after 2 seconds"):
        in_new_process(endless, 2)
    assert capfd.readouterr().out == "begun\n"


def test_a_grandchild_that_outlives_the_child_is_ended():
    def parent():
        import subprocess
        import sys

        quiet = subprocess.DEVNULL
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet).pid

    assert_end([in_new_process(parent, seconds=60)])


RUNS_ENDLESS = "processes.run([sys.executable, '-c', *sys.argv[1:3]], 600, 'endless')"

LEAVES = """
import pathlib, subprocess, sys
command = [sys.executable, "-c", "import time; time.sleep(600)"]
pathlib.Path(sys.argv[1]).write_text(str(subprocess.Popen(command, start_new_session=True).pid))
"""


def test_what_has_left_the_session_ends_with_the_job_and_holds_up_nobody(tmp_path):
    start = time.monotonic()
    done = processes.completed([sys.executable, "-c", LEAVES, str(tmp_path / "pid")], 600, "it")
    assert done.returncode == 0 and time.monotonic() - start < 300
    assert_end([int((tmp_path / "pid").read_text())])


def caller(code, *arguments):
    """Start a Python program that starts others, and that a closed terminal ends, as by default.

    A child inherits the signals that are ignored, and nohup ignores SIGHUP.
    """
    default = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    code = default + "import sys; from d2l_local.base import processes\n" + code
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_nothing_outlives_the_caller(tmp_path, end):
    """The reader's Ctrl-C, which Jupyter sends as SIGINT, or a kernel that is shut down."""
    pids = tmp_path / "pids"
    outer = caller(RUNS_ENDLESS, ENDLESS, pids)
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


@pytest.mark.parametrize("search", ["", "."])
def test_a_module_beside_the_notebook_disarms_no_guard(tmp_path, monkeypatch, search):
    monkeypatch.setenv("PYTHONPATH", f"{search}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    (tmp_path / "tempfile.py").write_text("raise SystemExit('not the one that was meant')")
    folder = f"import os; os.chdir({str(tmp_path)!r})\n"
    outer = caller(folder + RUNS_ENDLESS, ENDLESS, tmp_path / "pids")
    numbers = []
    try:
        numbers = pids_in(tmp_path / "pids")
        outer.kill()
        assert_end(numbers)
    finally:
        outer.kill()
        outer.communicate()
        for pid in filter(runs, numbers):
            os.kill(pid, signal.SIGKILL)


def test_a_group_that_somebody_else_has_started():
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        with processes.Guarded() as guarded:
            guarded.watch(process.pid)
        assert process.wait(timeout=60) == -signal.SIGKILL


def test_what_was_never_read_holds_up_nobody():
    with processes.Guarded() as guarded:
        deaf, other = (guarded.start(["true"], stdin=subprocess.PIPE) for _ in range(2))
        deaf.wait()
        deaf.stdin.write(b"to nobody")
    assert other.returncode is not None and deaf.stdin.closed


def test_nothing_starts_that_nobody_guards(tmp_path):
    guarded = processes.Guarded()
    with pytest.raises(RuntimeError, match="start touch inside of the block"):
        guarded.start(["touch", str(tmp_path / "started")])
    with guarded:
        pass
    with pytest.raises(RuntimeError, match="start touch inside of the block"):
        guarded.start(["touch", str(tmp_path / "started")])
    assert guarded._started == [] and list(tmp_path.iterdir()) == []


def test_a_command_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="no-such-command"):
        processes.run(["no-such-command"], 60, "nothing")


def test_no_file_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    in_new_process(a_result, seconds=60)
    with pytest.raises(RuntimeError):
        in_new_process(failure, seconds=60)
    assert list(tmp_path.iterdir()) == []


def test_no_room_for_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match="name another folder in TMPDIR: .*missing"):
        in_new_process(a_result)
    with pytest.raises(FileNotFoundError, match="directory; make room: .*missing"):
        processes.temporary_folder(tmp_path / "missing").__enter__()


def test_only_the_standard_library_is_needed(tmp_path):
    """Preflight says what is missing, so it must do without."""
    for name in ("psutil", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not installed')")
    code = (
        "import sys; from d2l_local.base import processes\n"
        "print(processes.run([sys.executable, '-c', 'print(6 * 7)'], 60, 'answer'))"
    )
    path = os.pathsep.join([str(tmp_path), str(Path(processes.__file__).parents[2])])
    done = processes.run([sys.executable, "-c", code], 60, "outer", PYTHONPATH=path)
    assert done.split() == ["42"]
