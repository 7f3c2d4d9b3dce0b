"""When tasks would begin and end that wait for each other: predictions to lay over a recording."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from d2l_local.measure.timeline import Timeline

Task = tuple[str, float, Iterable[tuple[str, str]]]
"""Name, seconds and the tasks it waits for, each as (lane, name)."""


def schedule(plan: Mapping[str, Sequence[Task]]) -> Timeline:
    """Return the Timeline of a plan in which nothing but the tasks takes time.

    Each lane does its tasks in order: one begins as soon as the one before it and all that it waits
    for have ended. ``{"gpu/0": [("backward", 2.0, [])], "gpu/0 copies": [("all-reduce", 1.0,
    [("gpu/0", "backward")])]}``. Raises ValueError if tasks wait for each other in a circle, or for
    one that nobody does, if a lane does a task twice, or one takes no number of seconds from 0 on.
    """
    for lane, tasks in plan.items():
        done_once = set()
        for name, seconds, _ in tasks:
            if name in done_once:
                raise ValueError(f"{lane} does {name} twice")
            done_once.add(name)
            if not 0 <= seconds < math.inf:
                raise ValueError(f"{lane}: {name} must take 0 seconds or more, not {seconds!r}")
    ends: dict[tuple[str, str], float] = {}
    lanes: dict[str, list[tuple[str, float, float]]] = {lane: [] for lane in plan}
    waiting = True
    while waiting:
        waiting = False
        for lane, tasks in plan.items():
            done = lanes[lane]
            for name, seconds, needs in tasks[len(done) :]:
                needs = list(needs)
                if any(need not in ends for need in needs):
                    break
                start = max([done[-1][2] if done else 0.0, *(ends[need] for need in needs)])
                ends[lane, name] = start + seconds
                done.append((name, start, start + seconds))
                waiting = True
    stuck = [f"{lane}: {tasks[len(lanes[lane])][0]}" for lane, tasks in plan.items()
             if len(lanes[lane]) < len(tasks)]  # fmt: skip
    if stuck:
        raise ValueError(f"these tasks wait for what never ends: {', '.join(stuck)}")
    return Timeline(lanes)


def three_loops(front: str, back: str, issue: str, compute: str) -> dict[str, Timeline]:
    """Return three loops of twelve operations each, A, B and C, for the reader to tell apart.

    ``front`` issues, ``back`` computes, and after every so many operations ``front`` waits for
    ``back``. The lanes and their spans have the names that are given. How often a loop waits is
    asked of the reader, so no notebook shows it.
    """

    def loop(k: int, t_q: float, t_c: float) -> Timeline:
        issued = ended = 0.0
        lanes: dict[str, list[tuple[str, float, float]]] = {front: [], back: []}
        for i in range(1, 13):
            lanes[front].append((issue, issued, issued + t_q))
            issued += t_q
            begin = max(issued, ended)
            ended = begin + t_c
            lanes[back].append((compute, begin, ended))
            if i % k == 0:
                issued = ended + 1e-3
        return Timeline(lanes)

    return {"A": loop(3, 1e-3, 2e-3), "B": loop(12, 3e-3, 1e-3), "C": loop(1, 1e-3, 1e-3)}


def stage(s: int) -> str:
    """Return the lane of a pipeline's stage: ``stage 0``."""
    return f"stage {s}"


def neighbor(s: int, name: str) -> int:
    """Return the stage that gets the result of a task of stage ``s``; it may not exist.

    The next one if it is the forward pass of a micro-batch (``F0``), else the one before.
    """
    if name[:1] not in ("F", "B") or not name[1:].isdigit():
        raise ValueError(f"a task of a stage is called F0, B0, F1, …, not {name!r}")
    return s + 1 if name[0] == "F" else s - 1


def pipeline_schedule(
    orders: Sequence[Sequence[str]], times: Mapping[str, float] | Timeline
) -> Timeline:
    """Return when the stages of a pipeline would do their tasks, as a `Timeline`.

    ``orders[s]`` are the tasks of stage ``s`` in its order: ``F3`` is the forward pass of
    micro-batch 3, which waits for that of stage ``s - 1``; ``B3`` is its backward pass, which
    waits for that of stage ``s + 1``. If a device has several pieces of the network, ``F3'`` is
    what it does with the second one, after the last device has done ``F3``. If ``B3`` computes
    only the gradient of the input, ``W3`` computes that of the weights, which nobody waits for.
    ``times`` has the seconds of each kind of task (``{"F": 1, "B": 2}``), or is a recording, whose
    tasks take as long here. Sending takes no time. The lanes are called ``stage 0``, ``stage 1``,
    …. Raises ValueError for an order that no pipeline can keep, and for ``times`` that lack a task
    or are not 0 or more.
    """

    def seconds(s: int, name: str) -> float:
        if not isinstance(times, Timeline):
            if name[0] not in times:
                raise ValueError(f"times have no {name[0]!r}, which {name} needs: {dict(times)}")
            return times[name[0]]
        spans = [span for span in times.lanes.get(stage(s), []) if span.name == name]
        if len(spans) != 1:
            raise ValueError(f"the recording has {name} {len(spans)} times on {stage(s)}, not once")
        return spans[0].end - spans[0].start

    tasks = {(s, name) for s, order in enumerate(orders) for name in order}
    plan: dict[str, list[Task]] = {}
    for s, order in enumerate(orders):
        plan[stage(s)] = todo = []
        for i, name in enumerate(order):
            needs = _needs(s, name, len(orders), tasks)
            before = {"B": "F", "W": "B"}.get(name[0])
            if before and before + name[1:] not in order[:i]:
                raise ValueError(f"{stage(s)} does {name} before {before}{name[1:]}")
            todo.append((name, seconds(s, name), [(stage(other), task) for other, task in needs]))
    return schedule(plan)


def _needs(s: int, name: str, p: int, tasks: set[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the stage and the task that a task of stage ``s`` waits for, done or not; none for W.

    A backward pass waits for that of the next piece of the network, if this has a forward pass.
    """
    found = re.fullmatch(r"([FBW])(\d+)('*)", name)
    if not found:
        raise ValueError(f"a task of a stage is called F0, B0, F1, …, not {name!r}")
    kind, j, pieces = found.groups()
    number = len(pieces) * p + s + (-1 if kind == "F" else 1)  # Of the piece of the network
    other, which = number % p, j + "'" * (number // p)
    waits = number >= 0 if kind == "F" else kind == "B" and (other, f"F{which}") in tasks
    return [(other, kind + which)] if waits else []
