"""Predicted schedules: tasks that wait for each other, and the stages of a pipeline."""

from __future__ import annotations

import itertools
import random

from d2l_local.measure.timeline import Timeline
from d2l_local.simulate.schedule import (
    pipeline_schedule,
    schedule,
    three_loops,
)

import pytest


def gpipe(m: int) -> list[str]:
    return [f"F{j}" for j in range(m)] + [f"B{j}" for j in range(m)]


def one_forward_one_backward(s: int, p: int, m: int) -> list[str]:
    first = min(p - s, m)
    later = [[f"B{j}"] + [f"F{j + first}"] * (j + first < m) for j in range(m)]
    return [*(f"F{j}" for j in range(first)), *itertools.chain(*later)]


def orders(kind: str, p: int, m: int) -> list[list[str]]:
    return [gpipe(m) if kind == "GPipe" else one_forward_one_backward(s, p, m) for s in range(p)]


def test_a_task_begins_when_its_lane_is_free_and_what_it_needs_is_done():
    timeline = schedule(
        {
            "gpu/0": [("backward 2", 2.0, []), ("backward 1", 3.0, [])],
            "gpu/0 copies": [
                ("all-reduce 2", 4.0, [("gpu/0", "backward 2")]),
                ("all-reduce 1", 1.0, [("gpu/0", "backward 1")]),
            ],
        }
    )
    assert timeline.lanes == {
        "gpu/0": [("backward 2", 0, 2), ("backward 1", 2, 5)],
        "gpu/0 copies": [("all-reduce 2", 2, 6), ("all-reduce 1", 6, 7)],
    }
    assert timeline.seconds == 7 and timeline.overlap("gpu/0", "gpu/0 copies") == 3 / 5


def test_random_plans_keep_every_promise_and_waste_no_time():
    rng = random.Random(0)
    for _ in range(50):
        names = [(f"lane{rng.randrange(3)}", str(i)) for i in range(12)]
        plan = {lane: [] for lane, _ in names}
        for i, (lane, name) in enumerate(names):
            needs = rng.sample(names[:i], min(i, rng.randrange(3)))
            plan[lane].append((name, rng.random(), needs))
        lanes = schedule(plan).lanes
        spans = {(lane, span.name): span for lane in lanes for span in lanes[lane]}
        for lane, tasks in plan.items():
            before = [0.0, *(span.end for span in lanes[lane])]
            for (name, seconds, needs), free in zip(tasks, before):
                span = spans[lane, name]
                assert span.start == max([free, *(spans[need].end for need in needs)])
                assert span.end == pytest.approx(span.start + seconds)


@pytest.mark.parametrize(
    "plan",
    [
        {"a": [("x", 1.0, [("b", "y")])], "b": [("y", 1.0, [("a", "x")])]},
        {"a": [("x", 1.0, [("a", "y")]), ("y", 1.0, [])]},
        {"a": [("x", 1.0, [("b", "nobody's")])]},
    ],
)
def test_tasks_that_wait_for_ever_are_named(plan):
    with pytest.raises(ValueError, match="what never ends: a: x"):
        schedule(plan)


@pytest.mark.parametrize("kind", ["GPipe", "1F1B"])
@pytest.mark.parametrize(("p", "m"), [(1, 3), (2, 1), (2, 4), (4, 8), (3, 2)])
def test_the_bubble_is_the_formula_s(kind, p, m):
    timeline = pipeline_schedule(orders(kind, p, m), {"F": 1.0, "B": 2.0})
    assert timeline.seconds == 3 * (m + p - 1)
    assert timeline.idle(*timeline.lanes) == pytest.approx((p - 1) / (m + p - 1))


def test_a_device_with_two_pieces_and_a_gradient_in_two_parts():
    first, last = ["F0", "F1", "F0'", "F1'"], ["B0'", "W0'", "B0", "W0"]
    timeline = pipeline_schedule([[*first, *last]] * 2, {"F": 1.0, "B": 1.0, "W": 0.5})
    begins = {
        lane: {span.name: span.start for span in spans} for lane, spans in timeline.lanes.items()
    }
    assert begins["stage 1"] == {
        "F0": 1, "F1": 2, "F0'": 3, "F1'": 4, "B0'": 5, "W0'": 6, "B0": 7, "W0": 8
    }  # fmt: skip
    assert begins["stage 0"]["F0'"] == 2
    assert begins["stage 0"]["B0'"] == 6
    assert begins["stage 0"]["B0"] == 8


def test_the_slowest_stage_sets_the_tick():
    recorded = Timeline(
        {f"stage {s}": [(f"F{j}", 9 * j, 9 * j + t) for j in range(8)]
         for s, t in enumerate((1, 1, 2, 1))}
    )  # fmt: skip
    timeline = pipeline_schedule([[f"F{j}" for j in range(8)]] * 4, recorded)
    assert timeline.seconds == 7 * 2 + 5


def test_a_task_takes_as_long_as_in_the_recording():
    recorded = Timeline(
        {
            "stage 0": [("F0", 0, 2), ("copy of F0", 2, 3), ("B0", 9, 10)],
            "stage 1": [("F0", 3, 6), ("B0", 6, 9)],
        }
    )
    timeline = pipeline_schedule([["F0", "B0"], ["F0", "B0"]], recorded)
    assert timeline.lanes == {
        "stage 0": [("F0", 0, 2), ("B0", 8, 9)],
        "stage 1": [("F0", 2, 5), ("B0", 5, 8)],
    }


@pytest.mark.parametrize(
    ("orders", "message"),
    [
        ([["F0", "B0"], ["B0", "F0"]], "stage 1 does B0 before F0"),
        (
            [["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]],
            "never ends: stage 0: B0, stage 1: F1",
        ),
        ([["forward"]], "F0, B0, F1, …, not 'forward'"),
        ([["C0"]], "not 'C0'"),
        ([[""]], "not ''"),
        ([["F0", "W0", "B0"]], "stage 0 does W0 before B0"),
        ([["F0", "B0'"]], "stage 0 does B0' before F0'"),
        ([["F0", "F1", "F0"]], "stage 0 does F0 twice"),
        ([["F0", "B0"], ["F0"]], "never ends: stage 0: B0"),
        ([[], ["F0", "B0"]], "never ends: stage 1: F0"),
        ([["F0"], ["F0", "F0'", "B0'"]], "never ends: stage 1: F0'"),
    ],
)
def test_orders_that_no_pipeline_can_keep(orders, message):
    with pytest.raises(ValueError, match=message):
        pipeline_schedule(orders, {"F": 1.0, "B": 1.0})


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"F": -1.0, "B": 1.0}, "stage 0: F0 must take 0 seconds or more, not -1.0"),
        ({"F": 1.0, "B": float("nan")}, "stage 0: B0 must take 0 seconds or more, not nan"),
        ({"F": 1.0}, "times have no 'B', which B0 needs: {'F': 1.0}"),
        (Timeline({"stage 0": [("F0", 0, 1)]}), "the recording has B0 0 times on stage 0"),
        (Timeline(), "the recording has F0 0 times on stage 0"),
        (Timeline({"stage 0": [("F0", 0, 1), ("F0", 1, 2)]}), "has F0 2 times on stage 0"),
        (Timeline({"stage 0": [("F0", 1, 0), ("B0", 1, 2)]}), "not -1"),
    ],
)
def test_times_that_no_task_can_take(times, message):
    with pytest.raises(ValueError, match=message):
        pipeline_schedule([["F0", "B0"]], times)


def test_three_loops_wait_after_three_twelve_and_one():
    for loop, k in zip(three_loops("front", "back", "issue", "compute").values(), (3, 12, 1)):
        front, back = loop.lanes["front"], loop.lanes["back"]
        assert {span.name for span in front} == {"issue"} and len(back) == 12
        pauses = [i for i in range(1, 12) if front[i].start > front[i - 1].end + 1e-9]
        assert pauses == list(range(k, 12, k))
        assert all(front[i].start > back[i - 1].end for i in pauses)
