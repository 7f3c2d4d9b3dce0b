"""d2l_local.torch: a drop-in for d2l's module, and helpers with the meanings of the MXNet ones."""

import contextlib
import importlib.metadata
import importlib.util
import os
import re
import sys
import tempfile
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import small_data
from helpers import python
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

torch = pytest.importorskip("torch")

from d2l_local import torch as d2l
from d2l_local.torch import kernels, ring
from d2l_local.torch.profiler import Profiler

from torch import distributed as dist

GPUS = torch.cuda.device_count()
CPU_ONLY = pytest.mark.skipif(GPUS > 0, reason="says what a machine without GPUs does")


# ---- The lock file ----


def test_what_pytorch_asks_for_is_locked():
    """All but itself and what belongs to one of its builds, which the machine chooses."""
    lock = Path(__file__).resolve().parents[2] / "requirements/pytorch.txt"
    lines = [line.rstrip(" \\") for line in lock.read_text().splitlines()]
    locked = [Requirement(line) for line in lines if re.match("[a-z0-9]", line)]
    here = {r.name: r.specifier for r in locked if not r.marker or r.marker.evaluate()}
    for requirement in map(Requirement, importlib.metadata.requires("torch")):
        name = canonicalize_name(requirement.name)
        if re.match("nvidia-|cuda-|triton", name):
            continue
        if not requirement.marker or requirement.marker.evaluate({"extra": ""}):
            [pin] = here[name]
            assert requirement.specifier.contains(pin.version), (requirement, pin)


# ---- The drop-in ---------------------------------------------------------------------------------


def test_import_is_quiet_and_leaves_mxnet_alone():
    done = python(
        """
        import sys
        from d2l_local import torch as d2l
        foreign = ("mxnet.", "d2l.mxnet.", "d2l_local.mxnet.", "d2l_local.prepare_mxnet.")
        assert not [name for name in sys.modules if f"{name}.".startswith(foreign)]
        with d2l.Timeline():
            d2l.torch.ones(3) + 1
        """
    )
    assert done.stdout == done.stderr == ""


def test_every_public_name_of_d2l_is_there():
    assert {"Accumulator", "plt", "train_ch6", "devices"} < {*dir(d2l)}  # Which loads d2l
    theirs = sys.modules["d2l.torch"]
    missing = [n for n in vars(theirs) if not n.startswith("_") and not hasattr(d2l, n)]
    assert missing == []


def test_d2l_uses_the_replacements():
    net = d2l.resnet18(10)
    assert net(torch.ones(2, 1, 96, 96)).shape == (2, 10)
    theirs = sys.modules["d2l.torch"]
    assert theirs.d2l is d2l and theirs.use_svg_display is d2l.use_svg_display


def test_d2l_is_loaded_when_one_of_its_names_is_asked_for():
    """With pandas, SciPy and Matplotlib it takes as long as half of PyTorch."""
    python(
        """
        import sys
        from d2l_local import torch as d2l
        d2l.measure(lambda: d2l.try_gpu(0), 1)
        late = {"d2l", "IPython", "matplotlib", "pandas", "scipy"}
        assert not late & {*sys.modules}, late & {*sys.modules}
        assert d2l.Accumulator(2).data == [0, 0] and "d2l" in sys.modules
        from d2l_local.torch import *
        assert train_ch6 is d2l.train_ch6 and Timeline is d2l.Timeline
        """
    )


def test_missing_torchvision_is_named_when_used_and_not_left_behind():
    code = (
        "import sys\nsys.modules['torchvision'] = None\n"  # Importing it raises ImportError
        "from d2l_local import torch as d2l\n"
        "try:\n    d2l.FashionMNIST()\nexcept ImportError as error:\n    print(error)\n"
        "assert 'torchvision' not in sys.modules\n"
    )
    assert "torchvision cannot be imported here" in python(code).stdout


# ---- Devices -------------------------------------------------------------------------------------


def test_devices_are_gpus_first_then_the_cpu():
    used = d2l.devices(GPUS + 2)
    assert [str(d) for d in used] == [f"cuda:{i}" for i in range(GPUS)] + ["cpu", "cpu"]
    assert d2l.try_gpu(0) == used[0]
    assert d2l.try_all_gpus() == d2l.devices(max(2, GPUS))


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


def test_banner_says_that_one_gpu_is_too_few(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    d2l.banner([torch.device("cpu")] * 2)
    assert "cpu, cpu (GPUs here: 1, too few; PyTorch has one CPU" in capsys.readouterr().out


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


# ---- Time ----------------------------------------------------------------------------------------


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


def test_python_s_lane_is_on_the_clock_of_the_operators():
    x = torch.ones(300, 300)
    with d2l.Timeline() as timeline:
        with timeline.span("Python", "make"):
            x @ x
            time.sleep(0.01)
        x.relu()
    [made], [product, relu] = timeline.lanes["Python"], timeline.lanes["cpu/0"]
    assert made.start <= product.start < product.end <= made.end <= relu.start
    multiplied, less_busy = product.end - product.start, min(map(timeline.busy, timeline.lanes))
    assert timeline.overlap("Python", "cpu/0") == pytest.approx(multiplied / less_busy)


def test_a_replayed_job_is_what_was_captured_of_it(monkeypatch):
    job, calls = (lambda: calls.append("job")), []

    def capture(fn, device):
        assert fn is job and device == d2l.try_gpu()
        return lambda: calls.append("replay")

    monkeypatch.setattr(d2l, "capture", capture)
    d2l.seconds(job, replay=True)
    assert {*calls} == {"replay"}
    calls.clear()
    d2l.seconds({"a": job})
    assert {*calls} == {"job"}


def test_mlp_step_trains_the_layers_that_it_is_told():
    step = d2l.mlp_step(6, 5, 2, lr=0.1)
    torch.manual_seed(0)
    X = torch.rand(8, 6)
    losses = [step(X) for _ in range(60)]
    assert losses[0].shape == () and not losses[0].requires_grad
    assert losses[-1] < 0.1 * losses[0]
    before = torch.ones(4, 3)
    assert d2l.mlp_step(3, 1)(before).item() >= 0  # A single layer
    with pytest.raises(RuntimeError):
        step(torch.ones(8, 7))


def test_mlp_predict_keeps_no_graph():
    found = d2l.mlp_predict(6, 5, 2)(torch.ones(3, 6))
    assert found.shape == (3, 2) and not found.requires_grad


def test_the_tasks_of_a_step_can_be_called_again_and_again():
    tasks = d2l.layer_tasks(3, 8, 4)
    assert len(tasks) == 6
    backward = tasks[-1].func
    where = backward.__code__.co_freevars.index("head")
    gradients = []  # The same in each step: smaller ones would become subnormal, which are slow
    for _ in range(2):
        assert [task() for task in tasks] == [None] * 6
        gradients.append(backward.__closure__[where].cell_contents)
    assert (gradients[0] == gradients[1]).all() and gradients[0].any()


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

    timeline = d2l.Timeline()
    timeline._profiler = types.SimpleNamespace(stop=lambda: trace)
    timeline._set_lanes(timeline._stop())
    assert list(timeline.lanes) == ["cpu/0", "gpu/1", "gpu/1 copies", "gpu/10 copies"]
    assert timeline.overlap("gpu/1", "gpu/1 copies") == pytest.approx(1)
    assert len(timeline.lanes["gpu/10 copies"]) == 2
    assert timeline.lanes["gpu/1 copies"][0].start == pytest.approx(11e-6)


def test_a_trace_that_does_not_fit_is_an_error(monkeypatch, tmp_path):
    resource = pytest.importorskip("resource")  # Not on Windows
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)

    class Torchs:
        def stop(self):
            pass

        def export_chrome_trace(self, path):
            assert os.stat(os.path.dirname(path)).st_mode & 0o077 == 0
            Path(path).write_text('{"traceEvents": [')
            resource.setrlimit(resource.RLIMIT_FSIZE, (17, limits[1]))

    ours = Profiler.__new__(Profiler)  # Not begun
    ours._profiler = Torchs()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(OSError, match="could not write its trace; make room"):
            ours.stop()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


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


def ours():
    with d2l.Timeline():
        torch.ones(2) + 1


@pytest.mark.parametrize(
    "call", [ours, lambda: d2l.Timeline.of(ours), lambda: d2l.Allocations.of(ours)]
)
def test_a_reader_s_profiler_is_left_alone(call):
    """It would be emptied, on another thread, or while it only warms up, too."""
    x = torch.ones(9, 9)
    with torch.profiler.profile(acc_events=True) as profiler:
        x @ x
        with pytest.raises(RuntimeError, match="is on already, .* end it before"):
            call()
        with ThreadPoolExecutor(1) as other:
            assert "is on already" in str(other.submit(call).exception())
        x + 1
    assert {"aten::mm", "aten::add"} <= {event.name for event in profiler.events()}
    warming_up = torch.profiler.schedule(wait=1, warmup=1, active=1)
    with torch.profiler.profile(schedule=warming_up, acc_events=True) as profiler:
        ours()  # While it waits it needs nothing
        profiler.step()
        with pytest.raises(RuntimeError, match="is on already"):
            call()
        profiler.step()
        x @ x
    assert "aten::mm" in {event.name for event in profiler.events()}
    ours()


def test_a_profiler_inside_of_a_recording_is_refused():
    """It ended the process: ours exported what was no longer there."""
    x = torch.ones(9, 9)
    later = torch.profiler.profile(acc_events=True)
    with d2l.Timeline() as timeline:
        x @ x
        for begin in (later.start, torch.autograd.profiler.profile().__enter__):
            with pytest.raises(RuntimeError, match="a Timeline is recording already"):
                begin()
        x + 1
    assert [span.name for span in timeline.lanes["cpu/0"]] == ["aten::matmul", "aten::add"]
    with pytest.raises(RuntimeError, match="Allocations.of is recording already"):
        d2l.Allocations.of(ours)
    ours()


# ---- The compiler --------------------------------------------------------------------------------


def test_a_back_end_that_keeps_the_operators_of_every_graph():
    graphs = d2l.Graphs()
    fn = torch.compile(lambda x: torch.relu(x + 1).add_(2), backend=graphs)
    assert fn(torch.ones(2)).tolist() == [4, 4] == fn(torch.ones(2)).tolist()
    assert graphs.operators == [["add", "relu", "add_"]]
    assert fn(torch.ones(3, dtype=torch.float64)).tolist() == [4, 4, 4]
    assert len(graphs.operators) == 2 and d2l.Graphs().operators == []
    torch.compiler.reset()


def test_the_back_end_is_one_that_works_here(monkeypatch, capsys):
    def compiler(works):
        def compile(fn):
            def compiled(x):
                if not works:
                    raise RuntimeError("no C++ compiler\n  found")
                return fn(x)

            return compiled

        return compile

    monkeypatch.setattr(torch, "compile", compiler(works=True))
    assert d2l.working_backend(torch.device("cpu")) == "inductor"
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(torch, "compile", compiler(works=False))
    assert d2l.working_backend(torch.device("cpu")) == "aot_eager"
    line = "No working compiler, so nothing gets faster: no C++ compiler\n"
    assert capsys.readouterr().out == line


# ---- Data ----------------------------------------------------------------------------------------


def test_minibatches(tmp_path, monkeypatch):
    monkeypatch.setenv("D2L_DATA", str(small_data.write(tmp_path, 100, 40)))
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


# ---- Queues on the CPU ---------------------------------------------------------------------------


def test_a_thread_stream_executes_in_order_what_is_launched_while_python_goes_on():
    stream, gate, done = d2l.ThreadStream("thread/0"), threading.Event(), []
    waits = stream.launch(gate.wait, 10)
    last = stream.launch(done.append, 1)
    assert not waits.query() and done == []
    gate.set()
    last.synchronize()
    assert done == [1] and waits.query() and stream.launch(max, 1, 2).synchronize() == 2


def test_two_thread_streams_work_at_once():
    streams, both = [d2l.ThreadStream(f"thread/{i}") for i in range(2)], threading.Barrier(2)
    for stream in streams:
        stream.launch(both.wait, 10)  # Which one alone would never pass
    d2l.synchronize()


def test_operators_in_a_thread_stream_use_one_core_and_others_as_many_as_before():
    before = torch.get_num_threads()
    stream = d2l.ThreadStream("thread/0")
    assert stream.launch(torch.get_num_threads).synchronize() == 1
    assert torch.get_num_threads() == before
    with ThreadPoolExecutor(1) as later:
        assert later.submit(torch.get_num_threads).result() == before


def test_synchronize_waits_for_thread_streams_and_raises_their_errors_once():
    stream, x = d2l.ThreadStream("thread/0"), torch.ones(3)
    stream.launch(time.sleep, 0.05)
    stream.launch(x.add_, 1)
    d2l.synchronize()
    assert x.tolist() == [2, 2, 2]
    stream.launch(x.reshape, 7)
    stream.launch(x.add_, 1)
    with pytest.raises(RuntimeError, match="shape"):
        d2l.synchronize()
    d2l.synchronize()
    assert x.tolist() == [3, 3, 3]


def test_a_call_in_a_thread_stream_does_not_wait_for_itself():
    measured = d2l.ThreadStream("thread/0").launch(d2l.measure, lambda: None, 1)
    assert measured.future.result(60).minimum >= 0


def test_a_timeline_has_a_lane_for_each_thread_stream():
    stream, x = d2l.ThreadStream("thread/0"), torch.rand(300, 300)
    stream.launch(torch.mm, x, x)
    with d2l.Timeline() as timeline:
        x.add(1)
        for _ in range(3):
            stream.launch(torch.mm, x, x)
        stream.synchronize()
        x.sub(1)
    assert list(timeline.lanes) == ["cpu/0", "thread/0"]
    products, calls = timeline.lanes["thread/0"], timeline.lanes["cpu/0"]
    assert [span.name for span in products] == ["mm"] * 3
    # Both by one clock
    begin, end = calls[0].end, calls[-1].start
    assert begin <= products[0].start and products[-1].end <= end
    with d2l.Timeline() as timeline:
        x.add(1)
    assert list(timeline.lanes) == ["cpu/0"]


def test_what_has_no_name_of_its_own_is_recorded_by_that_of_its_class():
    stream = d2l.ThreadStream("thread/0")
    with d2l.Timeline() as timeline:
        computed = stream.launch(torch.nn.Linear(3, 2), torch.ones(1, 3))
        stream.synchronize()
    assert [span.name for span in timeline.lanes["thread/0"]] == ["Linear"]
    assert computed.future.result().shape == (1, 2)


def test_a_thread_stream_ends_with_its_object():
    stream = d2l.ThreadStream("short/0")
    ended = stream.launch(threading.current_thread).synchronize()
    del stream
    ended.join(10)
    assert not ended.is_alive()


def test_jobs_of_the_cpu_run_at_once_with_a_core_each():
    cpu, both = torch.device("cpu"), threading.Barrier(2)
    assert d2l.at_once([dict, list], [cpu, cpu]) == [{}, []]

    def meet(result):
        both.wait(10)  # Which one alone would never pass
        return result, torch.get_num_threads()

    with d2l.Timeline() as timeline:
        assert d2l.at_once([partial(meet, 1), partial(meet, 2)], [cpu, cpu]) == [(1, 1), (2, 1)]
    assert {lane: [span.name for span in spans] for lane, spans in timeline.lanes.items()} == {
        "core/0": ["meet"],
        "core/1": ["meet"],
    }
    with pytest.raises(ValueError, match="1 jobs for 2 devices"):
        d2l.at_once([dict], [cpu, cpu])


def test_jobs_have_ended_when_one_of_them_raises():
    cpu, done = torch.device("cpu"), []

    def late():
        time.sleep(0.05)
        done.append(1)

    with pytest.raises(ZeroDivisionError):
        d2l.at_once([lambda: 1 / 0, late], [cpu, cpu])
    assert done == [1]
    with pytest.raises(ZeroDivisionError):
        d2l.at_once([late, lambda: 1 / 0], [cpu, torch.device("cuda")])
    assert done == [1, 1]
    d2l.synchronize()


def test_what_waits_next_does_not_get_the_error_of_a_second_job():
    cpu = torch.device("cpu")
    with pytest.raises(ZeroDivisionError):
        d2l.at_once([lambda: 1 / 0, lambda: [][0]], [cpu, cpu])
    d2l.synchronize()

    stream = d2l.ThreadStream("thread/0")
    stream.launch(lambda: 1 / 0)
    stream.launch(lambda: [][0])
    with pytest.raises(ZeroDivisionError):
        d2l.synchronize()
    d2l.synchronize()


def test_capture_records_what_a_gpu_does_and_returns_the_function_itself_on_the_cpu():
    device = d2l.try_gpu()
    x = torch.zeros(3, device=device)

    def add():
        x.add_(1)

    launch = d2l.capture(add, device)
    assert (launch is add) == (device.type == "cpu")
    before = x.clone()
    launch()
    assert (x - before).tolist() == [1, 1, 1]


def test_a_second_queue_is_a_stream_or_a_thread():
    on_cpu = d2l.side_stream(torch.device("cpu"))
    assert isinstance(on_cpu, d2l.ThreadStream) and on_cpu.name == "cpu/0 copies"
    if GPUS:
        assert isinstance(d2l.side_stream(torch.device("cuda", 0)), torch.cuda.Stream)


def test_an_exchange_that_fails_is_awaited_no_longer(monkeypatch):
    def all_reduce(gradients, group):
        raise RuntimeError("the other process is gone")

    monkeypatch.setattr(dist, "new_group", lambda backend: None)
    monkeypatch.setattr(dist, "get_world_size", lambda group: 2)
    monkeypatch.setattr(dist, "all_reduce", all_reduce)
    arrived = d2l.Cable(1e9).send(types.SimpleNamespace(buffer=lambda: torch.ones(2)))
    with pytest.raises(RuntimeError, match="is gone"):
        d2l.synchronize()
    assert arrived.done()
    with pytest.raises(RuntimeError, match="is gone"):
        arrived.wait()


# ---- The ring ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 5])
def test_what_the_ring_queues_adds_up(k, monkeypatch):
    """Without streams, in the order in which it is queued: one order that the streams allow."""
    stream = types.SimpleNamespace(wait_stream=lambda other: None)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    vectors = [torch.randint(100, (11,)) for _ in range(k)]
    expected = sum(vectors)
    ring._ring(vectors, [torch.zeros_like(v) for v in vectors], [stream] * k, [stream] * k)
    assert all(torch.equal(vector, expected) for vector in vectors)


def test_a_ring_takes_vectors_on_different_gpus():
    for vectors in ([], [torch.zeros(8)], [torch.zeros(8), torch.zeros(8)]):
        with pytest.raises(ValueError, match="on each of several GPUs"):
            d2l.Ring(vectors)


@pytest.mark.skipif(GPUS < 2, reason="needs two GPUs")
def test_a_ring_adds_each_time_and_leaves_what_was_there():
    vectors = [torch.full((1001,), float(i + 1), device=d) for i, d in enumerate(d2l.devices(2))]
    added = d2l.Ring(vectors)
    assert [vector[0].item() for vector in vectors] == [1, 2]
    for total in (3, 6):
        added()
        d2l.synchronize()
        assert all((vector == total).all() for vector in vectors)
    with pytest.raises(ValueError, match="differ"):
        d2l.Ring([vectors[0], vectors[1][:7]])


def test_apple_s_gpu_is_no_device_and_is_named(monkeypatch, capsys):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert {device.type for device in (d2l.try_gpu(0), *d2l.try_all_gpus())} == {"cpu"}
    d2l.banner(d2l.try_all_gpus())
    assert "Apple's GPU is not used" in capsys.readouterr().out
    assert d2l.examine()["usable_gpus"] == []


def interpreted_sums():
    from d2l_local import torch as d2l

    import torch

    triton, tl = d2l.load_triton(torch.device("cpu"))

    @triton.jit
    def double(x, y, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, 2 * tl.load(x + i))

    x, y = torch.arange(8.0), torch.zeros(8)
    double[(2,)](x, y, 4)
    return [d2l.has_triton(), y.tolist()]


def test_without_a_gpu_triton_interprets_kernels():
    pytest.importorskip("triton")
    found = d2l.in_new_process(interpreted_sums, CUDA_VISIBLE_DEVICES="")
    assert found == [True, [2.0 * i for i in range(8)]]


def test_where_triton_is_missing_kernels_can_be_defined_and_a_line_says_what_to_type(
    monkeypatch, capsys
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv(kernels.INTERPRET, "0")
    triton, tl = d2l.load_triton(torch.device("cpu"))

    @triton.jit
    def double(x, B: tl.constexpr):
        return 2 * x

    assert double(3, 1) == 6 and not d2l.has_triton()
    assert "--no-deps triton" in capsys.readouterr().out
