"""Whether other programs had a hand in what a notebook measured while it was executed.

A run records what *others* took of the cores while cells that measure were executed, at worst;
how fast fixed jobs were before and after, because a neighbor can take the memory's bandwidth
without taking a core; and what troubled the GPUs:

    {"others": {"share": 0.013, "cell": "loops_1", "copy": [9.8, 9.7], "product": [91, 92],
                "python": [31.2, 31.4]}}

The jobs are a copy (GB/s) and a product (GFLOP/s) on CPU cores or, where PyTorch has a GPU, on the
first one, whose memory no neighbor shares, and there a *transfer* from the host's pinned memory
(GB/s). On every machine a loop of Python counts (millions of steps a second): how fast the host
issues what a GPU computes is a matter of its own. Records of before December 2026 lack it. The
system counts a core's time in steps of 10 ms, so that short cells are judged together, half a
second at least.

Before and after tell nothing of a machine that is slow all the while. So `check` holds a run's
jobs against the `best_known` of all runs on machines that are described alike.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from book.builder.notebook import Run, measures
from d2l_local.machine.crowding import MOST, Crowding
from d2l_local.machine.facts import facts, in_words

from nbformat import NotebookNode

DRIFT = 0.15  # A job that is so much slower or faster afterwards had company
WINDOW = 0.5  # Seconds over which others' share is told
TRIES = 3  # Executions of a section until it is published as disturbed
STEPS = 100_000  # Of the loop of Python
JOBS = {"copy": "GB/s", "product": "GFLOP/s", "transfer": "GB/s", "python": "million steps/s"}
SLOWED = "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown"


class BenchmarkGuard:
    """Looks at what else the machine does while cells are executed, and before and after."""

    def __init__(self) -> None:
        self.record: dict[str, Any] = {"share": 0.0}

    def start(self) -> None:
        self._refer()
        self._open()

    def after_cell(self, cell: NotebookNode) -> None:
        """Take note of a cell that has just been executed."""
        self._cells.append(cell)
        if time.monotonic() - self._since >= WINDOW:
            self._close()
            self._open()

    def stop(self) -> None:
        """Look no longer; the notebook's processes are there still, as their ending is not its."""
        time.sleep(max(0.0, WINDOW - (time.monotonic() - self._since)))
        self._close()

    def finish(self) -> None:
        """See how fast the machine is now that the notebook has left it."""
        self._refer()

    def _open(self) -> None:
        self._cells: list[NotebookNode] = []
        self._since = time.monotonic()
        self._crowding = Crowding().__enter__()

    def _close(self) -> None:
        self._crowding.__exit__()
        timed = [cell.id for cell in self._cells if measures(cell)]
        if timed and self._crowding.share > self.record["share"]:
            self.record.update(share=round(self._crowding.share, 3), cell=timed[0])
        if timed and (slowed := _slowed()):
            self.record.update(gpus=slowed)

    def _refer(self) -> None:
        if others := _gpu_processes():
            self.record.update(gpus=others)
        for job, rate in _references().items():
            self.record.setdefault(job, []).append(rate)


def disturbed(run: Run) -> str | None:
    """Say why what was measured in a run was disturbed by; None if by nothing."""
    record = run.get("others")
    if record is None:
        return "executed without a benchmark guard"
    if record["share"] > MOST:
        return f"other programs took {record['share']:.0%} of the cores while {record['cell']} ran"
    for job, (before, after) in _judged(record).items():
        if abs(after / before - 1) > DRIFT:
            return f"{job}: {before:g} before and {after:g} after, further apart than {DRIFT:.0%}"
    return str(record["gpus"]) if "gpus" in record else None


def disturbance(run: Run) -> float:
    """Return how far others have disturbed a run: at most 1 if that is no matter."""
    record: dict[str, Any] = run["others"]
    drifts = [abs(after / before - 1) for before, after in _judged(record).values()]
    return float(max(record["share"] / MOST, max(drifts) / DRIFT) + 10 * ("gpus" in record))


def _judged(record: dict[str, Any]) -> dict[str, list[float]]:
    """Return the jobs that must not drift: not Python's beside a GPU.

    On GPUs' hosts it changes by two from one moment to the next, and a GPU's work does not mind.
    """
    jobs = _jobs(record)
    return {job: two for job, two in jobs.items() if job != "python" or "transfer" not in jobs}


def rates(run: Run) -> dict[tuple[str, str], float]:
    """Return how fast a run's fixed jobs were, the mean of before and after, in units of `JOBS`.

    The keys say which job, and on what: a GPU's is the same in every host, and Python's speed
    depends on its version, too.
    """
    record, host = run.get("others", {}), in_words(run["machine"])
    device = run["machine"]["gpus"][0]["name"] if "transfer" in record else host
    places = dict.fromkeys(JOBS, device)
    if "python" in record:
        version = ".".join(run["versions"]["python"].split(".")[:2])
        places["python"] = f"{host}, Python {version}"
    return {(job, places[job]): statistics.mean(two) for job, two in _jobs(record).items()}


def best_known(runs: Iterable[Run]) -> dict[tuple[str, str], float]:
    """Return the highest of these runs' `rates`."""
    best: dict[tuple[str, str], float] = {}
    for run in runs:
        for key, rate in rates(run).items():
            best[key] = max(rate, best.get(key, rate))
    return best


def _jobs(record: dict[str, Any]) -> dict[str, list[float]]:
    """Return the rates of the fixed jobs, before and after."""
    return {job: rates for job, rates in record.items() if job in JOBS}


def _references() -> dict[str, float]:
    """Return how fast the fixed jobs are now."""
    return {**_of_device(), "python": _of_python()}


def _of_device() -> dict[str, float]:
    """Return how fast the jobs of the first GPU are now, or of the cores."""
    if facts().get("gpus"):
        with contextlib.suppress(ImportError):
            import torch

            if torch.cuda.is_available():
                rates = _of_gpu()
                torch.cuda.empty_cache()  # The notebook is to have all of the memory
                return rates
    return _of_cpu()


def _of_python() -> float:
    """Return how many millions of steps Python takes a second, in a loop on one core."""

    def steps() -> None:
        total = 0
        for number in range(STEPS):
            total += number & 3

    return round(STEPS / _median(steps) / 1e6, 1)


def _of_cpu() -> dict[str, float]:
    """Return how fast a copy (GB/s, read and written) and a product (GFLOP/s) are now."""
    import numpy as np

    source, rows = np.ones(4_000_000), np.ones((768, 768), np.float32)
    target, result = np.empty_like(source), np.empty_like(rows)
    copy = _median(lambda: np.copyto(target, source))
    product = _median(lambda: np.dot(rows, rows, out=result))
    return {
        "copy": round(2 * source.nbytes / copy / 1e9, 1),
        "product": round(2 * len(rows) ** 3 / product / 1e9),
    }


def _of_gpu() -> dict[str, float]:
    """Return how fast the first GPU's copy, product and transfer are now."""
    import torch

    rows = torch.ones(4096, 4096, dtype=torch.bfloat16, device="cuda")
    source = torch.ones(2**28, dtype=torch.uint8, device="cuda")
    result, target, pinned = rows.clone(), source.clone(), source.cpu().pin_memory()
    for _ in range(500):  # Until the clocks of an idle GPU have risen
        torch.mm(rows, rows, out=result)
    wait = torch.cuda.synchronize
    product = _median(lambda: torch.mm(rows, rows, out=result), wait)
    copy = _median(lambda: target.copy_(source), wait)
    transfer = _median(lambda: source.copy_(pinned, non_blocking=True), wait)
    return {
        "copy": round(2 * pinned.nbytes / copy / 1e9),
        "product": round(2 * 4096**3 / product / 1e9),
        "transfer": round(pinned.nbytes / transfer / 1e9, 1),
    }


def _median(job: Callable[[], object], wait: Callable[[], None] = lambda: None) -> float:
    """Return the median time of a job, and of the wait for its end, in seconds; it begins warm."""
    times = []
    for _ in range(16):
        started = time.perf_counter()
        job()
        wait()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


def _gpu_processes() -> str | None:
    """Say which processes use GPUs while none of the notebook's does."""
    torch = sys.modules.get("torch")
    own = int(torch is not None and torch.cuda.is_initialized())  # Since the first reference
    others = len(_smi("--query-compute-apps=pid").split()) - own
    return f"GPUs were used by {others} other processes" if others > 0 else None


def _slowed() -> str | None:
    """Say that a GPU's clock was slowed down, by heat for example."""
    names = [f"clocks_throttle_reasons.{name}" for name in SLOWED]
    active = "Active" in _smi(f"--query-gpu={','.join(names)}").replace("Not Active", "")
    return "a GPU slowed its clock down" if active else None


def _smi(query: str) -> str:
    """Return what NVIDIA's tool answers; nothing without GPUs."""
    if facts().get("gpus"):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            command = ["nvidia-smi", query, "--format=csv,noheader"]
            command += [f"--id={visible}"] if visible else []
            found = subprocess.run(command, capture_output=True, text=True, timeout=20)
            return "" if found.returncode else found.stdout
    return ""
