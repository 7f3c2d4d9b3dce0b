"""Whether a build notices that other programs have a hand in what its cells measure."""

from __future__ import annotations

import itertools
import subprocess
import sys
import types

from book.builder import benchmark_guard, build
from book.builder.benchmark_guard import BenchmarkGuard, disturbance, disturbed
from book.builder.cli import main
from book.builder.execute import execute
from book.builder.notebook import measures, read_notebook
from d2l_local.machine.crowding import Crowding

import psutil
import pytest
import small_chapter
from nbformat.v4 import new_code_cell, new_notebook

TIMED = """
```{code-cell}
:tags: [nbval-ignore-output]
print(__import__("random").random())
```
"""
QUIET = {"share": 0.04, "cell": "a", "copy": [10.0, 9.0], "product": [90, 100]}


def test_what_is_not_disturbed():
    assert disturbed({"others": QUIET}) is None and disturbance({"others": QUIET}) <= 1
    for loud, told in (
        ({"share": 0.06}, "other programs took 6% of the cores while a ran"),
        ({"copy": [10.0, 8.0]}, "copy: 10 before and 8 after, further apart than 15%"),
        ({"product": [80, 100]}, "product: 80 before and 100 after, further apart than 15%"),
        ({"transfer": [30, 20]}, "transfer: 30 before and 20 after, further apart than 15%"),
        ({"python": [30, 20]}, "python: 30 before and 20 after, further apart than 15%"),
        ({"gpus": "a GPU slowed its clock down"}, "a GPU slowed its clock down"),
    ):
        run = {"others": {**QUIET, **loud}}
        assert disturbed(run) == told and disturbance(run) > 1
    assert disturbed({}) == "executed without a benchmark guard"


def test_a_guard_judges_timed_cells_over_half_a_second(monkeypatch):
    """Others compute in the third window only, in which no cell is timed, then in the fourth."""
    now, shares = itertools.count(), iter([0.01, 0.0, 0.9, 0.3, 0.0])
    monkeypatch.setattr(benchmark_guard.time, "monotonic", lambda: next(now) / 5)
    monkeypatch.setattr(benchmark_guard.time, "sleep", lambda seconds: None)

    class Made(Crowding):
        def __exit__(self, *exception):
            self.share = next(shares)

    monkeypatch.setattr(benchmark_guard, "Crowding", Made)
    benchmark = BenchmarkGuard()
    benchmark.start()
    for name in "abcdefgh":
        timed = {"tags": ["nbval-ignore-output"]} if name not in "ef" else {}
        cell = new_code_cell("1", metadata=timed)
        cell.id = name
        benchmark.after_cell(cell)
    benchmark.stop()
    benchmark.finish()
    assert benchmark.record["share"] == 0.3 and benchmark.record["cell"] == "g"
    assert len(benchmark.record["copy"]) == len(benchmark.record["product"]) == 2
    assert min(*benchmark.record["copy"], *benchmark.record["product"]) > 0
    assert len(benchmark.record["python"]) == 2 and min(benchmark.record["python"]) > 0


def test_python_is_timed_on_every_machine(monkeypatch):
    """A loop of 100,000 steps in 5 ms, beside a GPU's jobs."""
    cuda = types.SimpleNamespace(is_available=lambda: True, empty_cache=lambda: None)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(benchmark_guard, "facts", lambda: {"gpus": ["one"]})
    monkeypatch.setattr(benchmark_guard, "_of_gpu", lambda: {"copy": 3000, "transfer": 55})
    monkeypatch.setattr(benchmark_guard, "_median", lambda job: job() or 0.005)
    assert benchmark_guard._references() == {"copy": 3000, "transfer": 55, "python": 20}


def test_a_notebooks_own_end_is_no_part_of_what_others_took(tmp_path):
    """A kernel that is ended gives its memory back, which takes a core for a while."""
    seen = []

    def look():
        seen.append(psutil.pid_exists(int((tmp_path / "pid").read_text("utf-8"))))

    guard = types.SimpleNamespace(
        start=lambda: None, after_cell=lambda cell: None, stop=look, finish=look
    )
    source = "import os, pathlib\nn = pathlib.Path('pid').write_text(str(os.getpid()))"
    execute(new_notebook(cells=[new_code_cell(source)]), tmp_path, tmp_path, guard=guard)
    assert seen == [True, False]


@pytest.mark.parametrize(
    ("shares", "published"), [([0.0], 0.0), ([0.5, 0.0], 0.0), ([0.3, 0.2, 0.4], 0.2)]
)
def test_a_section_is_executed_again_while_others_compute(
    tmp_path, monkeypatch, capsys, shares, published
):
    left = list(shares)

    class Loud(BenchmarkGuard):
        def start(self):
            self.record = {**QUIET, "share": left.pop(0)}

        def after_cell(self, cell):
            pass

        def stop(self):
            pass

        finish = stop

    monkeypatch.setattr(build, "BenchmarkGuard", Loud)
    small_chapter.make(tmp_path, small=small_chapter.bilingual(TIMED, "pytorch"))
    root = ["--root", str(tmp_path)]
    assert main(["build", *root]) == 0 and not left
    told = capsys.readouterr().out
    path = tmp_path / "chapters/pytorch/zh/small.ipynb"
    [run] = [cell.run for cell in read_notebook(path).code if cell.run and measures(cell)]
    assert run["others"]["share"] == published
    line = f"1 cell of {run['date']}, disturbed: other programs took {published:.0%} of the cores"
    assert (line in told) == (published > 0)
    assert main(["check", "--section", "small", *root]) == 0
    assert capsys.readouterr().out.count(f"{path.name}: {line}") == (2 if published else 0)
    assert main(["check", *root]) == 0
    assert (
        "disturbed outputs: 2, which `make check SECTIONS=<section>` shows"
        in capsys.readouterr().out
    ) == bool(published)
    assert main(["check", "--release", *root]) == (1 if published else 0)


def test_a_notebook_that_measures_nothing_needs_no_guard(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "BenchmarkGuard", None)
    text = TIMED.replace(":tags: [nbval-ignore-output]\n", "")
    small_chapter.make(tmp_path, small=small_chapter.bilingual(text, "pytorch"))
    assert main(["build", "--root", str(tmp_path)]) == 0
    assert main(["check", "--release", "--root", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("own", "told"), [(False, "GPUs were used by 1 other processes"), (True, None)]
)
def test_only_gpus_in_sight_are_asked_for_the_processes_of_others(monkeypatch, own, told):
    """The builder's own context is one of them once it has timed a GPU."""
    asked = []

    def run(command, **options):
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, stdout="4711\n")

    torch = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: own))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(benchmark_guard, "facts", lambda: {"gpus": ["one", "two"]})
    monkeypatch.setattr(benchmark_guard.subprocess, "run", run)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert benchmark_guard._gpu_processes() == told
    assert "--id=1" in asked[0]
