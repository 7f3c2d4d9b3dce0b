"""The program that `torchrun` runs in each process: what a notebook defines goes in below."""

import os
import sys
import time


def end_with_launcher():
    # This process has a session of its own, which would outlive a launcher that is killed.
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
        return
    import threading

    import psutil

    launcher = psutil.Process(os.getppid())

    def watch():
        launcher.wait()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


end_with_launcher()

import torch
from torch import distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn import functional as F

# --- The functions --------------------------------------------------------------------------------


@record  # Keeps the last words of a process that fails; the others' waiting ends then
def call_in_group(fn, seconds):
    import argparse
    import datetime
    import json
    import pathlib

    parser = argparse.ArgumentParser(fromfile_prefix_chars="@")
    parser.add_argument("--arguments", type=json.loads, default={})
    parser.add_argument("--results")
    options = parser.parse_args()

    # NCCL where every process of the host has a GPU to itself, else Gloo on the CPU.
    gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    timeout = datetime.timedelta(seconds=seconds)
    dist.init_process_group("nccl" if gpu else "gloo", timeout=timeout)
    try:
        result = fn(device, **options.arguments)
    except SystemExit as error:
        raise RuntimeError(f"{fn.__name__} called sys.exit({error.code}); let it return") from error
    if options.results:
        file = pathlib.Path(options.results, f"{dist.get_rank()}.json")
        file.write_text(json.dumps(result), encoding="utf-8")
    dist.barrier()  # Gloo aborts a process whose peer has left while it is still at work
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # Threads of PyTorch may abort a process that ends in the usual way
