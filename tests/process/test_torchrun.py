"""torchrun of d2l_local.torch: results, errors, and that nothing stays behind."""

import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from helpers import run_cells, until

torch = pytest.importorskip("torch")

from d2l_local import torch as d2l
from d2l_local.torch import launch
from d2l_local.torch.launch import torchrun_script

from torch import distributed as dist
from torch import nn


def total(x):
    return 2 * x


def rank_and_sum(device, x):
    t = torch.tensor([float(total(dist.get_rank() + x))], device=device)
    dist.all_reduce(t)
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}")
    return [dist.get_rank(), t.item()]


def one_fails(device, mark):
    if dist.get_rank() == 1:
        print("looked for it")
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


def visible_gpus(device):
    return os.environ.get("CUDA_VISIBLE_DEVICES", "all")


def test_gpus_too_few_for_all_are_seen_by_none(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for there, seen in ((0, ""), (1, ""), (2, "all")):
        monkeypatch.setattr(launch, "num_gpus", lambda there=there: there)
        assert d2l.torchrun(visible_gpus, 2) == [seen, seen]


def test_torchrun_returns_what_each_rank_returns(capfd):
    results = d2l.torchrun(rank_and_sum, 2, uses=[total], x=3)
    assert results == [[0, 14.0], [1, 14.0]]
    output = capfd.readouterr()
    # The processes are not buffered, so that one's line may come into the other's.
    assert sorted(re.findall(r"rank \d of 2", output.out)) == ["rank 0 of 2", "rank 1 of 2"]


def test_torchrun_names_the_error_of_a_rank_and_ends_the_others(capfd):
    with pytest.raises(RuntimeError, match=r"(?s)one_fails failed.*ValueError: the cat ate it"):
        d2l.torchrun(one_fails, 2, mark=f"test {os.getpid()}")
    assert "looked for it" in capfd.readouterr().out
    assert processes_of(f"test {os.getpid()}") == []


def test_no_process_outlives_a_caller_that_is_killed(tmp_path):
    code = "import sys; from test_torchrun import *; "
    code += "d2l.torchrun(never_ends, 2, folder=sys.argv[1])"
    here = Path(__file__).parent
    (scratch := tmp_path.with_name("scratch")).mkdir()  # It cannot clean up any more
    path = os.pathsep.join(filter(None, [str(here.parent), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": path}
    command = [sys.executable, "-c", code, str(tmp_path)]
    caller = subprocess.Popen(command, cwd=here, env=environment)
    started = until(lambda: len(list(tmp_path.iterdir())) == 2, 200)
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
    """Its second begins when the processes have met, which takes a busy host many."""
    with pytest.raises(TimeoutError, match="never_ends was ended: it still ran after 1 seconds"):
        d2l.torchrun(never_ends, 2, seconds=1, folder=str(tmp_path))
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


def interfaces(device):
    return [os.environ[f"{name}_SOCKET_IFNAME"] for name in ("GLOO", "NCCL")]


@pytest.mark.skipif(sys.platform != "linux", reason="the loopback interface has another name")
def test_a_job_keeps_to_the_loopback_interface_whatever_this_host_is_called():
    assert d2l.torchrun(interfaces, 1) == [["lo", "lo"]]


TELLS_WHO_RESTORES = """
import pickle, sys
def loads(*args, _loads=pickle.loads, **kwargs):
    with open({file!r}, "a") as file:
        print(sys._getframe(1).f_globals.get("__name__"), file=file)
    return _loads(*args, **kwargs)
pickle.loads = loads
pickle.loads(pickle.dumps(1))
"""


def test_nothing_that_comes_through_the_store_is_restored(tmp_path, monkeypatch):
    """To restore an object is to run the code in it, and everybody on this host can send some."""
    file = tmp_path / "restored by"
    (tmp_path / "sitecustomize.py").write_text(TELLS_WHO_RESTORES.format(file=str(file)))
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)
    d2l.torchrun(rank_and_sum, 2, uses=[total], x=3)
    assert set(file.read_text().split()) == {"sitecustomize"}


@pytest.mark.parametrize("name", ["main", "json", "d2l_torchrun", "dist", "torch"])
def test_torchrun_with_a_function_of_any_name(tmp_path, monkeypatch, name):
    (tmp_path / "named.py").write_text(f"def {name}(device, x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "named", raising=False)
    assert d2l.torchrun(getattr(importlib.import_module("named"), name), 1, x=41) == [42]


CLASSES = [
    """
    import json
    import torch
    from d2l_local import torch as d2l
    """,
    """
    from torch import nn

    class Block(nn.Module):
        scale = 2
        def __init__(self, width):
            super().__init__()
            self.linear = nn.Linear(width, 1, bias=False)
            nn.init.ones_(self.linear.weight)

        @torch.no_grad()
        def forward(self, X):
            return F.relu(self.linear(X)) * self.scale
    """,
    """
    def counted(cls):
        cls.count = 2
        return cls

    @counted
    class Net(Block):
        @property
        def home(self): return "a"

        def forward(self, X):
            return super().forward(X) + self.count
    """,
    """
    def job(device):
        total = Net(3).to(device)(torch.ones(1, 3, device=device))
        dist.all_reduce(total)
        return [total.item(), Net(3).home]

    uses = [Block, counted, Net]
    results = d2l.torchrun(job, 2, uses=uses)
    """,
    """
    class Block(nn.Module):
        def forward(self, X):
            return X.sum()
        def __init__(self, width):
            super().__init__()
    """,
    """
    results += d2l.torchrun(job, 1, uses=iter([Block, *uses[1:]]))
    results += d2l.torchrun(job, 1, uses=uses)
    print(json.dumps(results))
    """,
]


def test_torchrun_with_classes_of_a_notebook(tmp_path):
    """With what they are made of, and in the form that each had when it was defined."""
    out = run_cells([textwrap.dedent(cell) for cell in CLASSES], tmp_path)
    assert json.loads(out) == [[16.0, "a"], [16.0, "a"], [5.0, "a"], [8.0, "a"]]


def test_torchrun_with_classes_that_it_cannot_send():
    with pytest.raises(
        TypeError, match="a function defined with def is needed, not <class .*Path'"
    ):
        d2l.torchrun(Path, 1)
    with pytest.raises(TypeError, match="the source text of Made is not known; .* with a method"):
        d2l.torchrun(total, 1, uses=[type("Made", (), {})])


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


def test_torchrun_with_what_has_no_text():
    with pytest.raises(TypeError, match="defined with def is needed, not <function .*lambda"):
        d2l.torchrun(lambda device: 1, 1)


@pytest.mark.parametrize("n", [0, 1.0, "2", True])
def test_torchrun_with_a_bad_number_of_processes(n):
    with pytest.raises(ValueError, match="num_processes must be a positive integer, not"):
        d2l.torchrun(total, n)


def test_the_worker_calls_what_torchrun_script_returns(tmp_path):
    """As docs/hosts.md does on several hosts."""
    (tmp_path / "job.py").write_text(torchrun_script(rank_and_sum, [total]))
    options = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=1"]
    called = ["--functions", "job.py", "--call", "rank_and_sum", "--arguments", '{"x": 1}']
    done = subprocess.run(
        [sys.executable, *options, "-m", "d2l_local.torch.worker", *called],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "rank 0 of 1" in done.stdout


# ---- The cable -----------------------------------------------------------------------------------


def over_a_cable(device):
    from d2l_local import torch as d2l

    cable, gradients = d2l.Cable(20e6), []
    for hooked in (True, False):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(300, 200), nn.Linear(200, 1))
        ddp = nn.parallel.DistributedDataParallel(net, process_group=cable.group)
        if hooked:
            ddp.register_comm_hook(cable, d2l.Cable.send)
        for _ in range(2):  # Buckets have their order from the second step on
            net.zero_grad()
            with d2l.Timeline() as timeline:
                ddp(torch.ones(1, 300) * (1 + dist.get_rank())).sum().backward()
        gradients.append([p.grad.flatten().tolist() for p in net.parameters()])
        if hooked:
            lanes = timeline.lanes
    return gradients, lanes


def test_a_cable_averages_as_ddp_does_and_its_bytes_take_their_time():
    results = d2l.torchrun(over_a_cable, 2)
    for (hooked, plain), lanes in results:
        for ours, right in zip(hooked, plain):
            assert ours == pytest.approx(right, rel=1e-5)
        timeline = d2l.Timeline(lanes)
        assert all(span.is_copy for span in timeline.lanes["cable"])
        assert timeline.busy("cable") >= 4 * (200 * 301 + 201) / 20e6
    assert results[0][0] == results[1][0]


def wrong_cable(device):
    from d2l_local import torch as d2l

    try:
        d2l.Cable(0)
    except ValueError as error:
        return str(error)


def resnet_buckets(device):
    from d2l_local import torch as d2l

    cable, cpu, counts = d2l.Cable(2e9), torch.device("cpu"), []
    for options in ({}, {"bucket_cap_mb": 1000}):
        compute, step = d2l.resnet_step(cpu, 1, cable, **options)
        compute()
        step()
        with d2l.Timeline() as timeline:
            step()
        counts.append(len(timeline.lanes["cable"]))
    return counts


def test_a_step_of_resnet_sends_several_buckets_or_a_single_one():
    for several, single in d2l.torchrun(resnet_buckets, 2):
        assert several > 1 == single
    assert d2l.torchrun(wrong_cable, 1) == ["bytes_per_second must be a positive number, not 0"]


def transformers(device):
    from d2l_local import torch as d2l

    found = []
    for sharded, recompute in ((False, False), (True, False), (True, True)):
        sizes = {"layers": 2, "width": 16, "words": 50, "recompute": recompute}
        step, count = d2l.transformer_step(device, sharded, **sizes)
        [(net,)] = [[c.cell_contents] for c in step.__closure__
                    if isinstance(c.cell_contents, nn.Module)]  # fmt: skip
        seconds, python, peak = d2l.step_costs(step, 1, 2)
        assert min(seconds, python) > 0 and (peak > 0) == (device.type == "cuda")
        local = [p.to_local() if sharded else p for p in net.parameters()]
        found.append([count, sum(p.numel() for p in local), bool(local[0].isfinite().all())])
    return found


def test_a_transformer_is_replicated_or_sharded():
    count = 2 * 50 * 16 + 2 * (12 * 16**2 + 13 * 16)
    expected = [[count, count, True], [count, count // 2, True], [count, count // 2, True]]
    assert d2l.torchrun(transformers, 2) == [expected] * 2


@pytest.fixture
def finds_cut_gpt(monkeypatch):
    """Processes of torchrun import what the benchmark cuts a GPT with."""
    import cut_gpt

    monkeypatch.setenv("PYTHONPATH", os.path.dirname(cut_gpt.__file__), prepend=os.pathsep)


def cut_losses(device, dtype):
    """Losses of three steps, and the norm of all gradients of the last, for each of the cuts."""
    from d2l_local import torch as d2l

    from cut_gpt import cut_step

    found = []
    for cut in (None, "dp", "tp", "pp"):
        torch.manual_seed(0)
        net = d2l.GPT(64, 32, 4, 4, 16, bias=False).to(device, getattr(torch, dtype))
        step = cut_step(net, cut, 2)
        ids = torch.randint(64, (8, 17), device=device)
        losses = [step(ids).item() for _ in range(3)]
        norm = net.blocks[0].norm1.weight.grad.float().norm().item()
        found.append([losses, norm, sum(p.numel() for p in net.parameters())])
    return found


def test_a_gpt_is_cut_in_three_ways_that_compute_what_one_process_does(finds_cut_gpt):
    for rank, (alone, dp, tp, pp) in enumerate(d2l.torchrun(cut_losses, 2, dtype="float32")):
        assert alone[0][0] > alone[0][2]
        for cut in (dp, tp, pp):
            assert cut[0] == pytest.approx(alone[0], rel=1e-5)
        of_rank_0 = [tp, dp, pp] if rank == 0 else [tp]  # What dp sums there, and the first block
        assert [each[1] for each in of_rank_0] == pytest.approx([alone[1]] * len(of_rank_0), 1e-4)
        assert alone[2] == dp[2] == 64 * 32 + 16 * 32 + 4 * (12 * 32**2 + 2 * 32) + 32
        assert tp[2] == alone[2] - 4 * 6 * 32**2
        assert pp[2] == alone[2] - 2 * (12 * 32**2 + 2 * 32) - (32 if rank == 0 else 16 * 32)


def cut_refusals(device):
    from d2l_local import torch as d2l

    from cut_gpt import cut_step

    found = []
    for heads, bias, cut, b, rows in (
        (4, False, "ep", 2, 4), (4, True, "tp", 2, 4), (4, True, "pp", 2, 4),
        (1, False, "tp", 2, 4),
        (4, False, "tp", 1, 4), (4, False, "dp", 2, 6), (4, False, None, 4, 6),
    ):  # fmt: skip
        try:
            step = cut_step(d2l.GPT(64, 32, 2, heads, 16, bias), cut, b)
            step(torch.zeros(rows, 17, dtype=torch.long))
        except ValueError as error:
            found.append(str(error))
    return found


def test_what_cannot_be_cut_is_refused(finds_cut_gpt):
    assert d2l.torchrun(cut_refusals, 2)[1] == [
        "there is no cut 'ep', but 'dp', 'tp', 'pp', and None",
        *["cut a network without biases: their sums would have them k times"] * 2,
        "1 heads cannot be divided by 2",
        "1 rows of a micro-batch cannot be divided by 2",
        "6 rows cannot be divided by 4",
        "6 rows cannot be divided by 4",
    ]


def decoded(device):
    from d2l_local import torch as d2l

    from cut_gpt import cut_costs, cut_decoder

    torch.manual_seed(0)
    net = d2l.GPT(64, 32, 4, 4, 16, bias=False).to(device)
    ids, calls = torch.randint(64, (3, 12), device=device), (5, 1, 6)
    whole = net(ids)
    step, cache = cut_decoder(net, 3, 16)
    parts = torch.cat([step(part) for part in ids.split(calls, dim=1)], dim=1)
    cache.keep(0)
    errors = [(x - whole).abs().max().item() for x in (parts, step(ids))]
    costs = cut_costs(device, "pp", "tiny", rows=4, b=1, tokens=8, vocabulary=32)
    return errors, cache.kept[0].shape, costs


def test_a_decoder_cut_by_heads_gives_the_whole_scores_and_what_a_cut_costs(finds_cut_gpt):
    for errors, shape, (seconds, peak, loss) in d2l.torchrun(decoded, 2):
        assert max(errors) < 1e-5 and shape == [2, 3, 2, 16, 8]
        assert seconds > 0 and (peak > 0) == (d2l.num_gpus() > 1) and 2 < loss < 4
