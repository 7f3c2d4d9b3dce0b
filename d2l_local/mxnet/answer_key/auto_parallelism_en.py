"""Exercises of auto-parallelism, made of chapters/text/auto-parallelism.md by the builder: edit that."""

from d2l_local import mxnet as d2l
from mxnet import nd


def ex_hidden(answer):
    compute, copies, together = 0.5049, 2.4849, 2.7566
    hidden = (compute + copies - together) / compute
    foreseen = {
        (compute + copies) / together: "that is the speed-up over taking turns",
        1 - hidden: "that is the share that was not hidden",
        hidden * compute / copies: "of the copies? What can be hidden is the shorter part",
        hidden * compute: "those are the seconds that were hidden",
        hidden * 100: "that is in per cent: a share is asked for",
    }
    d2l.expect(answer, hidden, within=0.02, foreseen=foreseen)


def ex_chain(answer):
    foreseen = {
        100: "the last copy has no product left to hide behind",
        160: "that is in turns: the copies hide behind the products",
        65: "which of the two is the slower one?",
    }
    d2l.expect(answer, 103, within=0.001, foreseen=foreseen)


def ex_pipeline(arrival):
    import random

    assert arrival([5], [3]) == 8, "a single result is computed, then copied"
    assert arrival([5] * 20, [3] * 20) == 103, "short copies: all but the last are hidden"
    assert arrival([3] * 20, [5] * 20) == 103, "long copies: the engine is the slower one"
    for _ in range(200):
        t_c, t_x = [[random.randint(1, 9) for _ in range(5)] for _ in range(2)]
        # The last is never sooner than what a result and all copies from it on need
        right = max(sum(t_c[: i + 1]) + sum(t_x[i:]) for i in range(5))
        assert arrival(t_c, t_x) == right, (
            f"lengths differ: for t_c = {t_c}, t_x = {t_x} follow each result in turn"
        )


def ex_shares(shares):
    for rows, speeds, done in (
        (1050, (20, 1), 50),
        (7, (1, 1), 4),
        (6, (1, 10), 0.6),
        (5, (2, 3, 4), 2 / 3),
    ):
        parts = list(shares(rows, speeds))
        assert sum(parts) == rows, f"{parts}: {sum(parts)} rows, not {rows}"
        assert all(part == int(part) for part in parts), f"{parts}: rows cannot be divided"
        took = max(part / speed for part, speed in zip(parts, speeds))
        assert took <= done, f"{parts} for speeds {speeds} takes {took:.3g}, and {done} is possible"


def ex_overlap(overlap):
    import math
    import random

    assert overlap([(0, 4)], [(1, 3)]) == 1, "the shorter work is hidden: that is 1"
    assert overlap([(0, 2)], [(2, 4)]) == 0, "in turns: that is 0"
    assert overlap([(0, 1), (2, 3)], [(1, 2), (3, 4)]) == 0, "idle time between bars is not busy"
    for _ in range(100):
        lanes = []
        for most in random.sample((2, 9), 2):  # Either may be the busier one
            ends = sorted(random.sample(range(40), 2 * random.randint(1, most)))
            lanes.append([(start / 2, end / 2) for start, end in zip(ends[::2], ends[1::2])])
        ticks = [{t for s, e in lane for t in range(int(2 * s), int(2 * e))} for lane in lanes]
        right = len(ticks[0] & ticks[1]) / min(map(len, ticks))
        assert math.isclose(overlap(*lanes), right, abs_tol=1e-9), (
            f"one bar may lie beside several, and either lane may be the busier one: {lanes}"
        )


def ex_totals(totals):
    totals(nd.ones((2, 2)), nd.ones((2, 2)))  # The stub ends here, before anything is printed
    ones = [nd.ones((1000, 1000), ctx=device) for device in d2l.devices(2)]
    ones[1] *= 2
    with d2l.Timeline() as timeline:
        found = totals(*ones)
    assert all(isinstance(value, float) or value.shape == () for value in found), "not numbers yet"
    d2l.expect(found[0], 1e9)
    d2l.expect(found[1], 4e9)
    lanes = [d2l.lane(one.context) for one in ones]
    products = [
        [span for span in timeline.lanes.get(lane, []) if span.name == "dot"] for lane in lanes
    ]
    assert all(products), "one of the devices computes no product"
    assert timeline.overlap(*lanes) > 0.4, "the devices take turns: you look in between"
