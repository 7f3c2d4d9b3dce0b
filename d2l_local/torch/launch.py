"""Functions of a notebook run by several processes, one a device, that ``torchrun`` starts."""

from __future__ import annotations

import inspect
import json
import socket
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

from d2l_local import processes
from d2l_local.machine.host import num_cores

# torchrun gives each process a session of its own: one that is killed would leave them behind.
_IMPORTS = """\
import argparse
import ctypes
import datetime
import json
import os
import sys

if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: end with the launcher

import torch
from torch import distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn import functional as F
"""
# NCCL where every process of the host has a GPU to itself, else Gloo on the CPU. A process that
# fails leaves at once, which ends the others' waiting, and `record` keeps what it said last.
_MAIN = """\
@record
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--arguments", type=json.loads, default={{}})
    parser.add_argument("--results")
    options = parser.parse_args()
    gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    timeout = datetime.timedelta(seconds={seconds})
    dist.init_process_group("nccl" if gpu else "gloo", timeout=timeout)
    result = {name}(device, **options.arguments)
    if options.results:
        with open(f"{{options.results}}/{{dist.get_rank()}}.json", "w", encoding="utf-8") as file:
            json.dump(result, file)
    dist.barrier()  # Gloo aborts a process whose peer has left while it is still at work
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Threads of PyTorch may abort a process that ends in the usual way
"""


def torchrun_script(fn: Callable, uses: Iterable[Callable] = (), seconds: float = 120) -> str:
    """The program that `torchrun` runs: what to copy to each host where there are several."""
    sources = [textwrap.dedent(inspect.getsource(f)) for f in (*uses, fn)]
    main = _MAIN.format(name=fn.__name__, seconds=seconds)
    return "\n\n".join([_IMPORTS, *sources, main])


def torchrun(
    fn: Callable,
    num_processes: int,
    *,
    uses: Iterable[Callable] = (),
    seconds: float = 120,
    **arguments: object,
) -> list:
    """Call ``fn(device, **arguments)`` in processes of one group; return each rank's result.

    ``fn`` and the functions that it ``uses`` travel as source text, with ``torch``, ``dist``,
    ``nn`` and ``F`` imported; arguments and results by way of JSON. ``device`` is a GPU of the
    process's own if there are enough, and the group's backend NCCL; else it is the CPU, of which
    each process gets a share of the cores, and the backend is Gloo. What the processes print
    appears here. Raises ValueError unless ``num_processes`` is a positive integer, TimeoutError
    after ``seconds``, RuntimeError with the last lines if a process fails; none is left behind.
    """
    if isinstance(num_processes, bool) or not isinstance(num_processes, int) or num_processes < 1:
        raise ValueError(f"num_processes must be a positive integer, not {num_processes!r}")
    with tempfile.TemporaryDirectory(prefix="d2l-torchrun-") as folder:
        script = Path(folder, "d2l_torchrun.py")
        script.write_text(torchrun_script(fn, uses, seconds), encoding="utf-8")
        command = [
            *(sys.executable, "-m", "torch.distributed.run"),
            *("--nnodes=1", "--master-addr=127.0.0.1", f"--master-port={_free_port()}"),
            *(f"--nproc-per-node={num_processes}", "--log-dir", folder),
            *(str(script), "--results", folder, "--arguments", json.dumps(arguments)),
        ]
        environment = {"OMP_NUM_THREADS": max(1, num_cores() // num_processes)}
        if sys.platform == "linux":  # Else Gloo looks up the host's name, which needs a network
            environment["GLOO_SOCKET_IFNAME"] = "lo"
        print(processes.run(command, seconds, fn.__name__, **environment), end="")
        results = [Path(folder, f"{rank}.json") for rank in range(num_processes)]
        return [json.loads(path.read_text(encoding="utf-8")) for path in results]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
