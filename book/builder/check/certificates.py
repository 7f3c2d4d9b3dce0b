"""Rules of certificates: how fast a machine was, beside others that are described alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from book.builder.benchmark_guard import DRIFT, JOBS, rates
from book.builder.check.problem import HINT, UNREADY, Problem
from book.builder.notebook import ABOUT, Notebook, Run, measures
from book.builder.page import Page
from d2l_local.machine.facts import in_words, num_gpus

SLOW = 0.75  # Of the best known of such a machine; a job below it is told
COMPARED = ("python", "product")  # In which a story's machines are alike; GPUs in the second


def runs_of(page: Page) -> list[Run]:
    """Return the runs that a committed notebook records, without reading its cells."""
    if not page.path.exists():
        return []
    try:
        node = json.loads(page.path.read_text("utf-8"))
    except ValueError:  # What is wrong with it is said where it is checked
        return []
    found: list[Run] = node["metadata"].get(ABOUT, {}).get("runs", [])
    return found


def as_fast_as_known(page: Page, best: dict[tuple[str, str], float]) -> Iterator[Problem]:
    """Its machine was about as fast as the best run on one that is described alike.

    A neighbor who stays all the while slows the jobs before and after, and so shows in no drift.
    """
    for run in runs_of(page):
        for (job, place), rate in rates(run).items():
            known = best[job, place]
            if rate < SLOW * known:
                what = (
                    f"the run of {run['date']} on a slow machine: {job} at {rate:g} {JOBS[job]}, "
                    f"{rate / known:.0%} of the best known ({place})"
                )
                yield Problem(page.where, what, HINT, "runs on a slow machine")


def measured_runs(notebook: Notebook | None) -> list[Run]:
    """Return the runs that a story's values come from, each once: mostly one."""
    found: list[Run] = []
    for cell in notebook.work if notebook else ():
        if (measures(cell) or cell.kept) and cell.run and cell.run not in found:
            found.append(cell.run)
    return found


def of_one_run(page: Page) -> Iterator[Problem]:
    """A story's cells measure on one machine, in one run."""
    runs = measured_runs(page.committed) if page.is_story else []
    machines = list(dict.fromkeys(in_words(run["machine"]) for run in runs))
    if len(machines) > 1:
        yield Problem(page.where, f"told from two machines: {' and '.join(machines[:2])}", UNREADY)
    elif len(runs) > 1:
        dates = " and ".join(run["date"] for run in runs[:2])
        what = f"told from {len(runs)} runs, the first two of {dates}"
        yield Problem(page.where, what, UNREADY)


def of_one_machine(pages: Iterable[Page]) -> Iterator[Problem]:
    """A framework's stories come from one kind of machine, which was equally fast for all."""
    editions: dict[str, list[tuple[Page, Run]]] = {}
    for page in pages:
        runs = measured_runs(page.committed) if page.is_story else []
        if runs:
            editions.setdefault(page.framework, []).append((page, runs[0]))
    for (first, model), *others in editions.values():
        alike = [(first, model)]
        for page, run in others:
            if processor(run) == processor(model):
                alike.append((page, run))
            else:
                what = f"told from {processor(run)}, and {first.where} from {processor(model)}"
                yield Problem(page.where, what, UNREADY)
        for job in COMPARED[num_gpus(model["machine"]) > 0 :]:
            yield from _equally_fast(job, alike)


def _equally_fast(job: str, stories: list[tuple[Page, Run]]) -> Iterator[Problem]:
    found = [
        (rate, page)
        for page, run in stories
        for (name, _), rate in rates(run).items()
        if name == job
    ]
    best, fastest = max(found, key=lambda each: each[0], default=(0.0, None))
    for rate, page in found:
        if fastest and best / rate - 1 > DRIFT:
            what = (
                f"told from a slower machine: {job} at {rate:g} {JOBS[job]}, and at {best:g} "
                f"in {fastest.where}, further apart than {DRIFT:.0%}"
            )
            yield Problem(page.where, what, UNREADY)


def processor(run: Run) -> str:
    """Return what a run computed on, whatever number of GPUs and hosts: GPUs, or the machine."""
    machine = run["machine"]
    names = dict.fromkeys(gpu["name"] for gpu in machine.get("gpus", []))
    return ", ".join(names) if num_gpus(machine) else in_words(machine)
