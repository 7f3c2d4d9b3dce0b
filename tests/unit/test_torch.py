"""d2l_local.torch: a drop-in for d2l's module, and helpers with the meanings of the MXNet ones."""

import ast
import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from helpers import until

torch = pytest.importorskip("torch")

from d2l_local import data  # noqa: E402
from d2l_local import torch as d2l  # noqa: E402
from d2l_local.torch import launch  # noqa: E402
from d2l_local.torch.launch import torchrun_script  # noqa: E402

from torch import distributed as dist  # noqa: E402

GPUS = torch.cuda.device_count()
CPU_ONLY = pytest.mark.skipif(GPUS > 0, reason="says what a machine without GPUs does")


def python(code, **variables):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


# ---- The drop-in ---------------------------------------------------------------------------------


def test_import_is_quiet_and_leaves_mxnet_alone():
    done = python(
        "import sys\nfrom d2l_local import torch as d2l\n"
        "assert not [m for m in sys.modules if m.split('.')[0] == 'mxnet']\n"
        "with d2l.Timeline():\n    d2l.torch.ones(3) + 1\n"
    )
    assert done.stdout == done.stderr == ""


def test_every_public_name_of_d2l_is_there():
    from d2l import torch as theirs

    missing = [n for n in vars(theirs) if not n.startswith("_") and not hasattr(d2l, n)]
    assert missing == []


def test_d2l_uses_the_replacements():
    from d2l import torch as theirs

    assert theirs.d2l is d2l
    net = d2l.resnet18(10)
    assert net(torch.ones(2, 1, 96, 96)).shape == (2, 10)


def test_missing_torchvision_is_named_when_used_and_not_left_behind():
    code = (
        "import sys\nsys.modules['torchvision'] = None\n"  # Importing it raises ImportError
        "from d2l_local import torch as d2l\n"
        "assert 'torchvision' not in sys.modules\n"
        "try:\n    d2l.FashionMNIST()\nexcept ImportError as error:\n    print(error)\n"
    )
    assert "torchvision cannot be imported here" in python(code).stdout


# ---- Devices -------------------------------------------------------------------------------------


def test_devices_are_gpus_first_then_the_cpu():
    used = d2l.devices(GPUS + 2)
    assert [str(d) for d in used] == [f"cuda:{i}" for i in range(GPUS)] + ["cpu", "cpu"]
    assert d2l.try_gpu(0) == used[0]
    assert d2l.try_all_gpus() == d2l.devices(max(2, GPUS))


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", None, True])
def test_a_bad_number_of_devices(n):
    with pytest.raises(ValueError, match=r"positive integer, not " + repr(n)):
        d2l.devices(n)


@pytest.mark.parametrize("i", [-1, 0.5, "0", False])
def test_a_bad_index_of_a_device(i):
    with pytest.raises(ValueError, match=r"0, 1, 2, …, not " + repr(i)):
        d2l.try_gpu(i)


@CPU_ONLY
def test_banner_says_what_is_lost_without_a_gpu(capsys):
    d2l.banner(d2l.devices(2))
    first, second = capsys.readouterr().out.splitlines()
    assert first == (
        "devices: cpu, cpu (no GPU here; PyTorch has one CPU device, so its shares take turns)"
    )
    assert second.startswith(f"PyTorch {torch.__version__.split('+')[0]}, ")
    d2l.banner(d2l.devices(1))
    assert capsys.readouterr().out.startswith("devices: cpu (no GPU here)\n")


def test_banner_counts_a_gpu_once(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA T4")
    one, other = torch.device("cuda", 0), torch.device("cuda", 1)
    for used, what in (
        ([one, other], "2× NVIDIA T4"),
        ([one, one], "1× NVIDIA T4; the shares of one GPU take turns"),
        ([one, torch.device("cpu")], "1× NVIDIA T4; the CPU stands in for another"),
    ):
        d2l.banner(used)
        assert f"({what})" in capsys.readouterr().out


def test_has_gpus_says_why_not(capsys):
    assert d2l.has_gpus(GPUS)
    assert capsys.readouterr().out == ""
    assert not d2l.has_gpus(GPUS + 1)
    assert f"and this machine has {GPUS}\n" in capsys.readouterr().out


# ---- Time ----------------------------------------------------------------------------------------


def test_measure_and_benchmark(capsys):
    calls = []
    result = d2l.measure(lambda: calls.append(time.sleep(0.01)), repeats=3)
    assert len(calls) == 4 and len(result.samples) == 3 and result.minimum >= 0.01
    with d2l.Benchmark("both"):
        time.sleep(0.01)
    assert capsys.readouterr().out.startswith("both: 0.0")


def test_timeline_has_the_operators_that_python_called():
    x = torch.ones(200, 200)
    with d2l.Timeline() as timeline:
        (x @ x).relu()
        x.clone()
    names = [span.name for span in timeline.lanes["cpu/0"]]
    assert names == ["aten::matmul", "aten::relu", "aten::clone"]
    first, second, _ = timeline.lanes["cpu/0"]
    assert 0 == first.start < first.end <= second.start
    assert 0 < timeline.busy("cpu/0") <= timeline.lanes["cpu/0"][-1].end


def test_timeline_lanes_of_gpus(monkeypatch):
    """The trace of a machine with GPUs, in the profiler's own format."""
    trace = {
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid": 1, "ts": 10, "dur": 5},
            {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 20, "dur": 9, "args": {"device": 1}},
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pinned)", "ts": 21,
             "dur": 4, "args": {"device": 1}},
            {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 30, "dur": 2,
             "args": {"device": 10}},
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP (Device -> Device)", "ts": 40,
             "dur": 1, "args": {"fromDevice": 10, "inDevice": 10, "toDevice": 1}},
            {"ph": "X", "cat": "python_function", "name": "run", "ts": 0, "dur": 99},
        ]
    }  # fmt: skip

    class Profiler:
        def stop(self):
            pass

        def export_chrome_trace(self, path):
            with open(path, "w") as file:
                json.dump(trace, file)

    timeline = d2l.Timeline()
    timeline._profiler = Profiler()
    timeline._set_lanes(timeline._stop())
    assert list(timeline.lanes) == ["cpu/0", "gpu/1", "gpu/1 copies", "gpu/10 copies"]
    assert timeline.overlap("gpu/1", "gpu/1 copies") == pytest.approx(1)
    assert len(timeline.lanes["gpu/10 copies"]) == 2
    assert timeline.lanes["gpu/1 copies"][0].start == pytest.approx(11e-6)


def test_timeline_records_once_at_a_time_and_again_after_an_error():
    with d2l.Timeline(), pytest.raises(RuntimeError, match="recording already"):
        d2l.Timeline().__enter__()
    with pytest.raises(ZeroDivisionError), d2l.Timeline() as timeline:
        torch.ones(2) + 1
        1 / 0  # noqa: B018
    assert [span.name for span in timeline.lanes["cpu/0"]][-1] == "aten::add"
    with d2l.Timeline() as empty:
        pass
    assert empty.lanes == {}


# ---- Data ----------------------------------------------------------------------------------------


def test_minibatches(monkeypatch):
    monkeypatch.setattr(data, "load_dataset", lambda: data.digits("a test wants no network"))
    train, test = d2l.load_data_fashion_mnist(32, train_size=100, test_size=40)
    X, y = next(iter(train))
    assert (X.shape, X.dtype, y.shape, y.dtype) == (
        (32, 1, 28, 28),
        torch.float32,
        (32,),
        torch.int64,
    )
    assert X.min() >= 0 and X.max() <= 1
    assert [len(y) for _, y in test] == [32, 8]
    torch.nn.functional.cross_entropy(torch.zeros(32, 10), y)  # Takes no labels of 32 bits


# ---- torchrun ------------------------------------------------------------------------------------


def total(x):
    return 2 * x


def rank_and_sum(device, x):
    t = torch.tensor([float(total(dist.get_rank() + x))], device=device)
    dist.all_reduce(t)
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}")
    return [dist.get_rank(), t.item()]


def one_fails(device, mark):
    if dist.get_rank() == 1:
        raise ValueError("the cat ate it")
    dist.barrier()  # For ever, if nobody ends it


def never_ends(device, folder):
    import time

    open(f"{folder}/{dist.get_rank()}", "w").close()
    time.sleep(600)


def processes_of(name):
    """Ids of the processes whose command names ``name``; one that was killed may take a moment."""

    def found():
        return [p.pid for p in psutil.process_iter() if name in _command(p)]

    until(lambda: not found())
    return found()


def _command(process):
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def test_torchrun_returns_what_each_rank_returns(capfd):
    results = d2l.torchrun(rank_and_sum, 2, uses=[total], x=3)
    assert results == [[0, 14.0], [1, 14.0]]
    output = capfd.readouterr()
    # The processes are not buffered, so that one's line may come into the other's.
    assert sorted(re.findall(r"rank \d of 2", output.out)) == ["rank 0 of 2", "rank 1 of 2"]


def test_torchrun_names_the_error_of_a_rank_and_ends_the_others():
    with pytest.raises(RuntimeError, match=r"(?s)one_fails failed.*ValueError: the cat ate it"):
        d2l.torchrun(one_fails, 2, mark=f"test {os.getpid()}")
    assert processes_of(f"test {os.getpid()}") == []


def test_no_process_outlives_a_caller_that_is_killed(tmp_path):
    code = "import sys; from test_torch import *; "
    code += "d2l.torchrun(never_ends, 2, folder=sys.argv[1])"
    here = Path(__file__).parent
    (scratch := tmp_path.with_name("scratch")).mkdir()  # It cannot clean up any more
    path = os.pathsep.join(filter(None, [str(here.parent), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": path}
    command = [sys.executable, "-c", code, str(tmp_path)]
    caller = subprocess.Popen(command, cwd=here, env=environment)
    started = until(lambda: len(list(tmp_path.iterdir())) == 2)
    caller.kill()
    caller.wait()
    assert started
    assert processes_of(str(tmp_path)) == []


def aborts_at_exit(device):
    import atexit

    atexit.register(os.abort)  # As threads of PyTorch do now and then
    return 1


def test_what_happens_after_the_result_counts_for_nothing():
    assert d2l.torchrun(aborts_at_exit, 2) == [1, 1]


def test_torchrun_ends_what_does_not_end(tmp_path):
    with pytest.raises(TimeoutError, match="never_ends was ended: it still ran after 15 seconds"):
        d2l.torchrun(never_ends, 2, seconds=15, folder=str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2  # Else there was nothing to end
    assert processes_of(str(tmp_path)) == []


def listens_where():
    """The addresses at which processes below this one listen."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            # psutil 6 gave it a new name.
            connections = getattr(process, "net_connections", None) or process.connections
            found |= {c.laddr.ip for c in connections(kind="inet") if c.status == "LISTEN"}
    return found


def waits_for(device, folder, file):
    import pathlib
    import time

    dist.all_reduce(torch.ones(1, device=device))  # Now everybody is connected
    pathlib.Path(folder, str(dist.get_rank())).touch()
    while not os.path.exists(file):
        time.sleep(0.02)


def test_the_network_cannot_reach_a_job(tmp_path):
    go = tmp_path / "go"
    (ready := tmp_path / "ready").mkdir()
    with ThreadPoolExecutor() as pool:
        job = pool.submit(d2l.torchrun, waits_for, 2, folder=str(ready), file=str(go))
        until(lambda: len(list(ready.iterdir())) == 2 or job.done())
        addresses = listens_where()
        go.touch()
        job.result()
    assert addresses == {"127.0.0.1"}


@pytest.mark.parametrize("name", ["main", "json", "result", "options", "pathlib"])
def test_torchrun_with_a_function_of_any_name(tmp_path, monkeypatch, name):
    (tmp_path / "named.py").write_text(f"def {name}(device, x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "named", raising=False)
    assert d2l.torchrun(getattr(importlib.import_module("named"), name), 1, x=41) == [42]


def test_torchrun_with_a_name_that_the_program_needs():
    names = {
        target.id if isinstance(target, ast.Name) else target.asname or target.name
        for statement in ast.parse((launch.HERE / "worker.py").read_text()).body
        for target in getattr(statement, "names", getattr(statement, "targets", []))
    } | {"call_in_group"}
    assert names == set(launch.RESERVED)

    def dist(device):
        return 1

    for uses, fn in (((), dist), ((dist,), total)):
        with pytest.raises(ValueError, match="has a dist of its own; give the function another"):
            d2l.torchrun(fn, 1, uses=uses)


def leaves(device, code):
    import sys

    if dist.get_rank() == 0:
        sys.exit(code)
    dist.barrier()


def leaves_at_once(device):
    os._exit(0)


def test_torchrun_with_a_function_that_does_not_return():
    with pytest.raises(RuntimeError, match=r"leaves called sys.exit\(0\); let it return"):
        d2l.torchrun(leaves, 2, code=0)
    with pytest.raises(RuntimeError, match="leaves_at_once ended .* before it returned, on rank 0"):
        d2l.torchrun(leaves_at_once, 1)


def length(device, text):
    os.write(1, b"no text: \xff\n")
    return len(text)


def test_torchrun_with_a_long_argument_and_output_that_is_no_text(capfd):
    assert d2l.torchrun(length, 1, text="@ü\n" * 100_000) == [300_000]
    assert "no text: \N{REPLACEMENT CHARACTER}" in capfd.readouterr().out


@pytest.mark.parametrize("seconds", [0, None, "60", float("inf"), float("nan")])
def test_torchrun_with_seconds_that_nobody_can_wait_for(seconds):
    with pytest.raises(ValueError, match="seconds must be a positive number .* not"):
        d2l.torchrun(total, 1, seconds=seconds)
    with pytest.raises(ValueError, match="seconds must be a positive number .* not"):
        torchrun_script(total, seconds=seconds)


def test_torchrun_with_what_has_no_text():
    with pytest.raises(TypeError, match="defined with def is needed, not <function .*lambda"):
        d2l.torchrun(lambda device: 1, 1)


@pytest.mark.parametrize("n", [0, 1.0, "2", True])
def test_torchrun_with_a_bad_number_of_processes(n):
    with pytest.raises(ValueError, match="num_processes must be a positive integer, not"):
        d2l.torchrun(total, n)


def test_torchrun_script_is_a_program_of_its_own(tmp_path):
    script = tmp_path / "job.py"
    script.write_text(torchrun_script(rank_and_sum, [total]))
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=1",
         str(script), "--arguments", '{"x": 1}'],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "rank 0 of 1" in done.stdout
