"""What `torchrun` runs in each process: it calls a function of a file, in a group of them all.

It takes PyTorch alone and can be run by its path; `main` says what stands on the command line.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import sys
from pathlib import Path

# What lies beside this file must not take the place of other modules.
sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.realpath(__file__))]

import torch  # noqa: E402
from torch import distributed as dist  # noqa: E402
from torch.distributed.elastic.multiprocessing.errors import record  # noqa: E402


@record  # Keeps the last words of a process that fails; the others' waiting ends then
def main() -> None:
    """Call ``--call`` of ``--functions``, a file, with the device and ``--arguments``, in JSON.

    The result goes to the folder ``--results``, if there is one, as JSON in a file of the rank's
    number, and a file ``begun`` once the processes have met. A process waits for the others for
    ``--seconds``.
    """
    parser = argparse.ArgumentParser(fromfile_prefix_chars="@")
    parser.add_argument("--functions", type=Path, required=True)
    parser.add_argument("--call", required=True)
    parser.add_argument("--arguments", type=json.loads, default={})
    parser.add_argument("--results", type=Path)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    sys.path.insert(0, str(options.functions.resolve().parent))
    fn = getattr(importlib.import_module(options.functions.stem), options.call)

    # NCCL where every process of the host has a GPU to itself, else Gloo on the CPU.
    gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    timeout = datetime.timedelta(seconds=options.seconds)
    dist.init_process_group("nccl" if gpu else "gloo", timeout=timeout)
    if options.results and dist.get_rank() == 0:
        (options.results / "begun").touch()  # All have met
    try:
        result = fn(device, **options.arguments)
    except SystemExit as error:
        raise RuntimeError(
            f"{options.call} called sys.exit({error.code}); let it return"
        ) from error
    if options.results:
        file = options.results / f"{dist.get_rank()}.json"
        file.write_text(json.dumps(result), encoding="utf-8")
    dist.barrier()  # Gloo aborts a process whose peer has left while it is still at work
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # Threads of PyTorch may abort a process that ends in the usual way


if __name__ == "__main__":
    main()
