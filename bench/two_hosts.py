"""Runs a distributed job of each framework on hosts of this machine: ``python bench/two_hosts.py``.

Prints what docs/hosts.md has as a table: a push and a pull of MXNet's `dist_sync`, or an
all-reduce of PyTorch's `torchrun`, between two hosts on links of 100 Mbit/s, and what the section's
model says. Where the kernel has netem, also on links with a latency of 10 ms.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from d2l_local.base import processes
from d2l_local.simulate import hosts
from d2l_local.simulate.hosts import Hosts

W = 100e6 / 8  # Bytes per second
SIZES = (400_000, 4_000_000)  # Bytes
SECONDS = 120  # For one job
ROOT_PORT, MASTER_PORT = 9091, 29400
PYTHON = [sys.executable, "-u"]

PUSH_PULL = """
from d2l_local import mxnet as d2l  # Scheduler and server stay in here
import json, sys, time
import mxnet as mx
from mxnet import nd

kv, times = mx.kv.create("dist_sync"), []
for key, size in enumerate(json.loads(sys.argv[1])):
    x = nd.ones(size // 4)
    kv.init(key, x)
    best = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        kv.push(key, x)
        kv.pull(key, out=x)
        nd.waitall()
        best = min(best, time.perf_counter() - start)
    times.append(best)
print("times", json.dumps(times))
"""


def all_reduce_times(device, sizes):
    """Seconds of the fastest of four all-reduces of each size."""
    import time

    times = []
    for size in sizes:
        x, best = torch.ones(size // 4), float("inf")  # noqa: F821
        for _ in range(4):
            dist.barrier()  # noqa: F821
            start = time.perf_counter()
            dist.all_reduce(x)  # noqa: F821
            best = min(best, time.perf_counter() - start)
        times.append(best)
    return times


def outputs(started: Sequence[subprocess.Popen]) -> list[str]:
    """What each of the processes has printed; RuntimeError with its last lines if one fails."""
    found = []
    for process in started:
        output, _ = process.communicate(timeout=SECONDS)
        if process.returncode:
            raise RuntimeError(processes.last_lines(output))
        found.append(output)
    return found


def started(net: Hosts, host: int, command: Sequence[str], **environment) -> subprocess.Popen:
    """A program of this repository on a host."""
    variables = {"PYTHONPATH": Path(__file__).resolve().parents[1], "CUDA_VISIBLE_DEVICES": ""}
    return net.start(
        host,
        command,
        env=processes.variables({**variables, **environment}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def dist_sync(net: Hosts, *command: str) -> list[str]:
    """Run MXNet's job: scheduler, server and worker 0 on host 0, worker 1 on host 1.

    Returns the output of both workers.
    """
    places = [("scheduler", 0), ("server", 0), ("worker", 0), ("worker", 1)]
    job = []
    for role, host in places:
        variables = {
            "DMLC_ROLE": role,
            "DMLC_PS_ROOT_URI": net.addresses[0],
            "DMLC_PS_ROOT_PORT": ROOT_PORT,
            "DMLC_NUM_WORKER": 2,
            "DMLC_NUM_SERVER": 1,
            "DMLC_NODE_HOST": net.addresses[host],
            "DMLC_INTERFACE": "eth0",
        }
        job.append(started(net, host, [*PYTHON, *command], **variables))
    return outputs(job)[2:]


def torchrun(net: Hosts, fn: Callable, **arguments: object) -> list:
    """Run PyTorch's job, a process on each host; return what ``fn`` returns on each."""
    from d2l_local.torch.launch import torchrun_script

    with tempfile.TemporaryDirectory() as folder:
        functions = Path(folder, "job.py")
        functions.write_text(torchrun_script(fn))
        job = [
            started(
                net,
                host,
                [
                    *(*PYTHON, "-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={host}"),
                    *("--nproc-per-node=1", f"--master-addr={net.addresses[0]}"),
                    *(f"--master-port={MASTER_PORT}", "-m", "d2l_local.torch.worker"),
                    *("--functions", str(functions), "--call", fn.__name__),
                    *("--results", folder, "--arguments", json.dumps(arguments)),
                ],
                GLOO_SOCKET_IFNAME="eth0",
                OMP_NUM_THREADS=1,
            )
            for host in range(2)
        ]
        outputs(job)
        return [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(2)]


def mxnet_times(net: Hosts, sizes: Sequence[int]) -> list[float]:
    """Seconds of a push and a pull of each size, by the slower worker."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
        program.write(PUSH_PULL)
        program.flush()
        lines = dist_sync(net, program.name, json.dumps(sizes))
    times = [json.loads(line.partition("times ")[2].splitlines()[0]) for line in lines]
    return [max(both) for both in zip(*times)]


def torch_times(net: Hosts, sizes: Sequence[int]) -> list[float]:
    """Seconds of an all-reduce of each size, by the slower process."""
    return [max(both) for both in zip(*torchrun(net, all_reduce_times, sizes=sizes))]


def rows(measure: Callable, share: float, latency: float) -> list[tuple[int, float, float]]:
    """Size, seconds by the model and measured; ``share`` of the size crosses the link, twice."""
    with Hosts(2, W, latency) as net:
        own = net.seconds([[(0, 1, 1)], [(1, 0, 1)]], 8, 20) / 2
        times = measure(net, SIZES)
    return [(size, 2 * own + 2 * share * size / W, t) for size, t in zip(SIZES, times)]


# The whole value to the server and back; in a ring of two, half of it each way, twice
JOBS = {"mxnet": (mxnet_times, 1.0), "torch": (torch_times, 0.5)}


def main() -> None:
    """Print the table for the framework that this Python has."""
    import importlib.util

    if why := hosts.refusal():
        sys.exit(f"this takes network namespaces: {why}")
    latencies = [0.0, *([] if hosts.refusal(10e-3) else [10e-3])]
    for name in filter(importlib.util.find_spec, JOBS):
        for latency in latencies:
            for size, predicted, measured in rows(*JOBS[name], latency):
                print(
                    f"{name}, {size / 1e6} MB, {1e3 * latency:g} ms: model {predicted:.4f} s, "
                    f"measured {measured:.4f} s, {measured / predicted:.2f}"
                )


if __name__ == "__main__":
    main()
