"""Jobs on two hosts: they compute what one process does, in the time that the model says."""

from __future__ import annotations

import importlib.util
import re
import tempfile
from pathlib import Path

from d2l_local.simulate import hosts
from d2l_local.simulate.hosts import Hosts

import pytest
import two_hosts
from helpers import python
from two_hosts import JOBS, W, rows

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(hosts.refusal()), reason=f"no hosts: {hosts.refusal()}"),
]


def needs(name: str):
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"needs {name}")


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in JOBS])
def test_the_model_tells_the_time(name):
    found = rows(*JOBS[name], latency=0.0)
    for _, predicted, measured in found:
        assert measured > 0.9 * predicted
    # Other programs can only make it longer; the link is the slowest of all where much is sent.
    (_, _, little), (_, predicted, much) = found
    assert much < 1.7 * predicted and much > 4 * little


SINGLE = """
from d2l_local import mxnet as d2l
import mxnet as mx
from d2l_local.mxnet import train_lenet_dist
from mxnet import nd

data, _ = d2l.load_data_fashion_mnist(64, train_size=256)
mx.random.seed(0)
net = train_lenet_dist.train(mx.kv.create("local"), data, 1, 0.1, [mx.cpu()], "float64")
other = nd.load({path!r})
params = net._collect_params_with_prefix()
assert set(params) == set(other)
print(max(abs(params[name].data() - other[name]).max().asscalar() for name in other))
"""


@needs("mxnet")
def test_dist_sync_trains_as_one_process_does():
    with tempfile.TemporaryDirectory() as folder, Hosts(2, 10 * W) as net:
        path = str(Path(folder, "lenet.params"))
        options = ["--batch_size=64", "--num_epochs=1", "--lr=0.1", "--train_size=256"]
        program = [*("-m", "d2l_local.mxnet.train_lenet_dist"), *options, "--dtype=float64"]
        said = two_hosts.dist_sync(net, *program, "--save", path)
        assert sorted(re.findall(r"worker \d of 2", "".join(said))) == [
            "worker 0 of 2",
            "worker 1 of 2",
        ]
        # MXNet's server may keep weights in float32: the flag that decides is never set.
        assert float(python(SINGLE.format(path=path)).stdout.split()[-1]) < 1e-6


def trained(device, num_workers, rank=None):
    rank = dist.get_rank() if rank is None else rank  # noqa: F821
    torch.manual_seed(0)  # noqa: F821
    net = torch.nn.Linear(20, 3).double()  # noqa: F821
    X, y = torch.randn(64, 20).double(), torch.randint(3, (64,))  # noqa: F821
    mine = slice(rank, None, num_workers)
    for _ in range(20):
        net.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(X[mine]), y[mine], reduction="sum")  # noqa: F821
        (loss / len(X)).backward()
        for param in net.parameters():
            if num_workers > 1:
                dist.all_reduce(param.grad)  # noqa: F821
            param.data -= param.grad
    return [param.tolist() for param in net.parameters()]


@needs("torch")
def test_torchrun_trains_as_one_process_does(monkeypatch):
    import torch

    monkeypatch.setitem(globals(), "torch", torch)
    with Hosts(2, 10 * W) as net:
        first, second = two_hosts.torchrun(net, trained, num_workers=2)
    single = trained("cpu", 1, 0)
    assert first == second
    for ours, theirs in zip(first, single):
        assert (torch.tensor(ours) - torch.tensor(theirs)).abs().max() < 1e-10
