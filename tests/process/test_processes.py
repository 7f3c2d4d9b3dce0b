"""Functions in a process of their own: results, output, environment, and no process left behind."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
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
        (eval("lambda: 1"), "defined with def"),
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


def test_an_end_without_python():
    with pytest.raises(RuntimeError, match="sudden_end failed with exit code 7"):
        in_new_process(sudden_end, seconds=60)


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


def test_a_signal_without_a_name():
    def killed():
        import os
        import signal

        os.kill(os.getpid(), signal.SIGRTMIN + 1)

    number = signal.SIGRTMIN + 1
    with pytest.raises(RuntimeError, match=f"killed was killed by signal {number}"):
        in_new_process(killed, seconds=60)
    assert processes.how_it_ended(-signal.SIGKILL) == "was killed by SIGKILL"


def test_output_that_is_no_text(capfd):
    def prints_bytes():
        import os

        os.write(1, b"one \xff byte\n")
        os.write(2, b"another \xff byte\n")
        return 1

    assert in_new_process(prints_bytes, seconds=60) == 1
    assert capfd.readouterr().out == "one \N{REPLACEMENT CHARACTER} byte\n"


def test_what_is_no_json_is_a_failure():
    with pytest.raises(RuntimeError, match="not JSON serializable"):
        in_new_process(no_json, seconds=60)


def test_time_limit_ends_grandchildren_too(tmp_path):
    pids = tmp_path / "pids"
    seconds = 3.0
    while not pids.exists():  # Once more with more time where Python starts slowly
        with pytest.raises(TimeoutError, match=f"endless was ended.*{seconds} seconds"):
            processes.run([sys.executable, "-c", ENDLESS, str(pids)], seconds, "endless")
        assert seconds < 60
        seconds *= 4
    assert_end(pids_in(pids))


def test_what_takes_too_long_has_printed_until_then(capfd):
    def endless():
        import time

        print("begun")
        time.sleep(600)

    seconds = 3
    while not capfd.readouterr().out:  # As above
        with pytest.raises(TimeoutError, match="endless was ended"):
            in_new_process(endless, seconds)
        assert seconds < 60
        seconds *= 4


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


def test_what_has_left_the_session_ends_with_a_caller_that_is_killed(tmp_path):
    endless = LEAVES + "import time; time.sleep(600)"
    outer = caller(RUNS_ENDLESS, endless, tmp_path / "pid")
    try:
        assert until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        left = int((tmp_path / "pid").read_text())
        assert runs(left)
    finally:
        outer.kill()
        outer.communicate()
    assert_end([left])


def test_a_job_within_a_job_ends_with_either(tmp_path):
    """The outer one finds what the inner one has started, whose guard may be gone, too."""
    with processes.Guarded() as outer:
        code = "import sys; from d2l_local.base import processes\n" + RUNS_ENDLESS
        pids = str(tmp_path / "pids")
        inner = outer.start([sys.executable, "-c", code, ENDLESS, pids])
        numbers = pids_in(tmp_path / "pids")
        outer.end()
        assert_end([inner.pid, *numbers])


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


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
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


FORKS = """
import multiprocessing, os, threading, time

def fork():
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.02)
    copy = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    copy.start()
    open(sys.argv[3], "w").write(str(copy.pid))

threading.Thread(target=fork, daemon=True).start()
"""


def test_a_forked_copy_of_a_killed_caller_keeps_nothing_alive(tmp_path):
    pids, copy = tmp_path / "pids", tmp_path / "copy"
    outer = caller(FORKS + RUNS_ENDLESS, ENDLESS, pids, copy)
    numbers = []
    try:
        numbers = pids_in(pids)
        assert until(lambda: copy.exists() and copy.read_text())
        numbers.append(int(copy.read_text()))
        outer.kill()
        assert_end(numbers[:2])
        assert runs(numbers[2])
    finally:
        outer.kill()
        outer.wait()
        outer.stderr.close()
        for pid in filter(runs, numbers):
            os.kill(pid, signal.SIGKILL)


def test_a_forked_copy_ends_nothing():
    with processes.Guarded() as guarded:
        process = guarded.start([sys.executable, "-c", "import time; time.sleep(600)"])
        copy = os.fork()
        if not copy:
            guarded.close()
            os._exit(0)
        os.waitpid(copy, 0)
        assert process.poll() is None
    assert process.returncode == -signal.SIGKILL


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


def test_a_guard_that_is_used_again_ends_nothing_of_the_first_time(monkeypatch):
    guarded = processes.Guarded()
    with guarded:
        guarded.start(["true"])
    ended = []
    monkeypatch.setattr(processes, "kill", ended.append)
    with guarded:
        pass
    assert ended == []


def test_nothing_starts_that_nobody_guards(tmp_path):
    guarded = processes.Guarded()
    with pytest.raises(RuntimeError, match="outside of the block"):
        guarded.start(["touch", str(tmp_path / "started")])
    with guarded:
        pass
    with pytest.raises(RuntimeError, match="outside of the block"):
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


HOLDS = """
import os, sys
from d2l_local.base import processes
with processes.temporary_folder(sys.argv[1]) as folder:
    open(os.path.join(folder, "half a result"), "w").close()
    print(folder, flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def holder(where):
    """A process that holds a folder, and that folder."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", HOLDS, where], **pipes) as process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def left(folder):
    folder.mkdir()
    (folder / "result.json").write_text("{}")
    return folder


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_folders_of_killed_processes_are_swept_at_once(tmp_path, number):
    with holder(tmp_path) as (_, in_use), holder(tmp_path) as (process, folder):
        process.send_signal(number)
        process.wait()
        assert folder.exists()
        with processes.temporary_folder(tmp_path):
            assert not folder.exists() and list(in_use.iterdir())


def test_what_is_none_of_our_folders_stays(tmp_path):
    others = left(tmp_path / "d2l-1000")
    (tmp_path / "d2l-job-link").symlink_to(others)
    (tmp_path / "d2l-job-file").touch()
    with processes.temporary_folder(tmp_path):
        pass
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"d2l-job-link", "d2l-job-file", "d2l-1000"} and list(others.iterdir())


def test_a_folder_that_is_swept_before_it_is_held_is_made_anew(tmp_path, monkeypatch):
    made = []

    def swept(where, new=processes._new_folder):
        made.append(new(where))
        if len(made) == 1:
            os.rmdir(made[0].name)
        return made[-1]

    monkeypatch.setattr(processes, "_new_folder", swept)
    with processes.temporary_folder(tmp_path) as folder:
        assert folder == made[1].name and os.path.exists(folder)
    assert len(made) == 2 and not list(tmp_path.iterdir())


def test_nobody_sweeps_what_others_use(tmp_path):
    def use(number):
        for _ in range(50):
            with processes.temporary_folder(tmp_path) as folder:
                Path(folder, "mine").write_text(str(number))
                assert os.listdir(folder) == ["mine"]

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use, range(8)))
    assert not list(tmp_path.iterdir())


def test_a_disk_without_locks(tmp_path, monkeypatch):
    def refuses(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuses)
    other = left(tmp_path / "d2l-job-other")
    with processes.temporary_folder(tmp_path) as folder:
        assert os.path.exists(folder) and other.exists()
    assert not os.path.exists(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_folders_of_others_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    theirs = left(tmp_path / "d2l-job-theirs")
    os.chown(theirs, 12345, 12345)
    with processes.temporary_folder():
        assert theirs.exists()


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


def test_what_travels_is_source_text():
    """Nothing of this process is seen there: a function must import what it uses."""

    def needs_an_import():
        return json.dumps(random.random())

    with pytest.raises(RuntimeError, match="NameError"):
        in_new_process(needs_an_import, seconds=60)
