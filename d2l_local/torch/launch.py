"""What a notebook defines, run by several processes, one a device, that ``torchrun`` starts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from d2l_local.base import definitions, processes
from d2l_local.base.arguments import positive_integer
from d2l_local.machine.host import num_cores
from d2l_local.torch.device import num_gpus

HERE = Path(__file__).parent
IMPORTS = """\
import os
import time

import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F
"""
LOOPBACK = {"linux": "lo", "darwin": "lo0"}  # Interfaces; Windows has none with a fixed name
LONGEST_ARGUMENT = 100_000  # Characters; Linux takes 128 KiB


def torchrun_script(fn: Callable, uses: Iterable[Callable] = ()) -> str:
    """The module with ``fn`` and what it uses: what to copy to each host where there are several.

    `d2l_local.torch.worker` calls it. Raises TypeError for what is no function (``uses``: or class
    with a method) with a known source text.
    """
    definitions.check_function(fn)
    parts = [IMPORTS, *map(definitions.source, [*uses, fn])]
    return "\n\n\n".join(part.strip() for part in parts) + "\n"


def torchrun(
    fn: Callable,
    num_processes: int,
    *,
    uses: Iterable[Callable] = (),
    seconds: float = processes.SECONDS,
    **arguments: object,
) -> list:
    """Call ``fn(device, **arguments)`` in processes of one group; return each rank's result.

    ``fn`` and the functions and classes that it ``uses`` (a base class before what is derived from
    it) travel as source text, with ``os``, ``time``, ``torch``, ``dist``, ``nn`` and ``F``
    imported; what was set on a class after its definition stays here. Arguments and results travel
    by way of JSON.

    ``device`` is a GPU of the process's own if there are enough, and the group's backend NCCL; else
    it is the CPU, of which each process gets a share of the cores, and the backend is Gloo. What
    the processes print appears here. Only this host can reach them (on Windows, the network, too,
    unless a firewall forbids it), which is all of its users: PyTorch asks for no password, so
    others can crash the job or change what it computes. Nothing that they send is restored as
    objects, unless ``fn`` gathers or broadcasts objects, which travel by `pickle`.

    Raises ValueError unless ``num_processes`` is a positive integer and ``seconds`` a positive
    number, TypeError as `torchrun_script`; TimeoutError ``seconds`` after all
    processes have met, RuntimeError with the last lines if one fails or ends before ``fn`` returns;
    none is left behind.
    """
    num_processes = positive_integer("num_processes", num_processes)
    processes.check_seconds(seconds)
    module = torchrun_script(fn, uses)
    with processes.temporary_folder() as folder:
        functions = Path(folder, "d2l_torchrun.py")
        functions.write_text(module, encoding="utf-8")
        command = [
            *(sys.executable, str(HERE / "loopback.py")),
            *(f"--nproc-per-node={num_processes}", "--log-dir", folder, str(HERE / "worker.py")),
            *("--functions", str(functions), "--call", fn.__name__, "--results", folder),
            *("--seconds", str(float(processes.START + seconds))),
            *_on_the_command_line(arguments, Path(folder)),
        ]
        environment: dict[str, object] = {"OMP_NUM_THREADS": max(1, num_cores() // num_processes)}
        if num_gpus() < num_processes:  # Else libraries take those that there are too few of
            environment["CUDA_VISIBLE_DEVICES"] = ""
        if lo := LOOPBACK.get(sys.platform):  # Else they listen at the address of the host's name
            environment |= {"GLOO_SOCKET_IFNAME": lo, "NCCL_SOCKET_IFNAME": lo}
        if sys.platform == "win32":  # Not all builds have libuv there, and none needs it
            environment["USE_LIBUV"] = 0
        begun = Path(folder, "begun")
        processes.run(command, seconds, fn.__name__, sys.stdout, begun, **environment)
        results = [Path(folder, f"{rank}.json") for rank in range(num_processes)]
        if missing := [path.stem for path in results if not path.exists()]:
            raise RuntimeError(
                f"{fn.__name__} ended its process before it returned, on rank {', '.join(missing)}"
            )
        return [json.loads(path.read_text(encoding="utf-8")) for path in results]


def _on_the_command_line(arguments: dict[str, object], folder: Path) -> list[str]:
    text = json.dumps(arguments)
    if len(text) <= LONGEST_ARGUMENT:
        return ["--arguments", text]
    file = folder / "arguments"
    file.write_text(f"--arguments\n{text}\n", encoding="utf-8")
    return [f"@{file}"]
