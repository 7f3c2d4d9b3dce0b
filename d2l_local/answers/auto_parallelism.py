"""Exercises of auto-parallelism, made of chapters/text/auto-parallelism.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_totals__mxnet(totals, *, d2l):
    from mxnet import nd

    totals(nd.ones((2, 2)), nd.ones((2, 2)))  # The stub ends here, before anything is printed
    ones = [nd.ones((1000, 1000), ctx=device) for device in d2l.devices(2)]
    ones[1] *= 2
    with d2l.Timeline() as timeline:
        found = totals(*ones)
    assert all(isinstance(value, float) or value.shape == () for value in found), translated("not numbers yet")
    d2l.expect(found[0], 1e9)
    d2l.expect(found[1], 4e9)
    lanes = [d2l.lane(one.context) for one in ones]
    products = [
        [span for span in timeline.lanes.get(lane, []) if span.name == "dot"] for lane in lanes
    ]
    assert all(products), translated("one of the devices computes no product")
    assert timeline.overlap(*lanes) > 0.4, translated("the devices take turns: you look in between")


def ex_engine__mxnet(ends, *, d2l):
    import random

    assert list(ends([("a", 2, []), ("b", 3, [])])) == [2, 3], translated("two devices work at once")
    assert list(ends([("a", 2, []), ("b", 3, [0])])) == [2, 5], translated("what it needs must be done first")
    found = list(ends([("a", 5, []), ("a", 1, [0]), ("a", 5, [])]))
    assert found != [5, 6, 11], translated("the sum joins when its product is done, behind what is queued")
    assert found == [5, 11, 10], translated("a product, its sum, a product on one device: {0}", found)
    for _ in range(200):
        operations = []
        for i in range(random.randint(1, 9)):
            needs = random.sample(range(i), random.randint(0, min(i, 2)))
            operations.append((random.choice("abc"), random.randint(1, 9), needs))
        done: dict[int, int] = {}
        busy: dict[str, tuple[int, int]] = {}  # A device's operation, and when it ends
        queues: dict[str, list[int]] = {}
        joined: set[int] = set()
        now = 0
        while len(done) < len(operations):
            for device, (i, end) in [*busy.items()]:
                if end == now:
                    done[i] = busy.pop(device)[1]
            for i, (device, _, needs) in enumerate(operations):
                if i not in joined and done.keys() >= {*needs}:
                    joined.add(i)
                    queues.setdefault(device, []).append(i)
            for device, queue in queues.items():
                if queue and device not in busy:
                    i = queue.pop(0)
                    busy[device] = i, now + operations[i][1]
            now += 1
        right = [done[i] for i in range(len(operations))]
        found = list(ends(operations))
        assert found == right, translated("{0}: {1}, and it is {2}", operations, found, right)


def ex_bound(bound, *, d2l):
    import math
    import random

    turns = {"cpu/0": [("dot", 10, 14)], "cpu/1": [("dot", 14, 15), ("copy", 15, 16)]}
    lane, speed_up = bound(d2l.Timeline(turns))
    assert lane == "cpu/0", translated("count the time, not the bars, and take the busiest lane")
    assert speed_up >= 1, translated("that is below 1: how many times as fast?")
    assert speed_up <= 2, translated("the program begins where the first bar does")
    for _ in range(100):
        lanes = {}
        for name in random.sample(["cpu/0", "gpu/0", "gpu/0 copies", "disk"], 3):
            starts = sorted(random.sample(range(5, 60), random.randint(1, 6)))
            lanes[name] = [("work", start, start + random.randint(1, 12)) for start in starts]
        ticks = {
            name: {tick for _, start, end in spans for tick in range(start, end)}
            for name, spans in lanes.items()
        }
        busiest = max(map(len, ticks.values()))
        every = set().union(*ticks.values())
        lane, speed_up = bound(d2l.Timeline(lanes))
        right = (max(every) + 1 - min(every)) / busiest
        assert len(ticks[lane]) == busiest and math.isclose(speed_up, right), (
            translated("bars of one lane may overlap, and their time counts once: {0}", lanes)
        )


def ex_hidden(answer, *, d2l):
    compute, copies, together = 0.5049, 2.4849, 2.7566
    hidden = (compute + copies - together) / compute
    foreseen = {
        (compute + copies) / together: translated("that is the speed-up over taking turns"),
        1 - hidden: translated("that is the share that was not hidden"),
        hidden * compute / copies: translated("of the copies? What can be hidden is the shorter part"),
        hidden * compute: translated("those are the seconds that were hidden"),
        hidden * 100: translated("that is in per cent: a share is asked for"),
        (0.5119 + 2.3757 - 1.6683) / 0.5119: translated("more than all? There the whole is done before a part"),
    }
    d2l.expect(answer, hidden, within=0.02, foreseen=foreseen)


def ex_shares(shares, *, d2l):
    for rows, speeds, done in (
        (1050, (20, 1), 50),
        (7, (1, 1), 4),
        (6, (1, 10), 0.6),
        (5, (2, 3, 4), 2 / 3),
    ):
        parts = list(shares(rows, speeds))
        assert sum(parts) == rows, translated("{0}: {1} rows, not {2}", parts, sum(parts), rows)
        assert all(part == int(part) for part in parts), translated("{0}: rows cannot be divided", parts)
        took = max(part / speed for part, speed in zip(parts, speeds))
        assert took <= done, translated("{0} for speeds {1} takes {2:.3g}, and {3} is possible", parts, speeds, took, done)


def ex_overlap(overlap, *, d2l):
    import math
    import random

    assert overlap([(0, 4)], [(1, 3)]) == 1, translated("the shorter work is hidden: that is 1")
    assert overlap([(0, 2)], [(2, 4)]) == 0, translated("in turns: that is 0")
    assert overlap([(0, 1), (2, 3)], [(1, 2), (3, 4)]) == 0, translated("idle time between bars is not busy")
    for _ in range(100):
        lanes = []
        for most in random.sample((2, 9), 2):  # Either may be the busier one
            ends = sorted(random.sample(range(40), 2 * random.randint(1, most)))
            lanes.append([(start / 2, end / 2) for start, end in zip(ends[::2], ends[1::2])])
        ticks = [{t for s, e in lane for t in range(int(2 * s), int(2 * e))} for lane in lanes]
        right = len(ticks[0] & ticks[1]) / min(map(len, ticks))
        assert math.isclose(overlap(*lanes), right, abs_tol=1e-9), (
            translated("one bar may lie beside several, and either lane may be the busier one: {0}", lanes)
        )


def ex_issued(per_operation, *, d2l):
    import math
    import random

    assert math.isclose(per_operation(1, 6, 1), 6), translated("on one device, the longer of the two counts")
    assert math.isclose(per_operation(6, 1, 2), 6), translated("one Python issues for all the devices")
    assert math.isclose(per_operation(1, 6, 2), 3), translated("two devices compute two operations at once")
    for _ in range(100):
        t_q, t_c, k = random.randint(1, 9), random.randint(1, 60), random.randint(1, 8)
        done = {}
        for rounds in 500, 1000:  # What the second half adds
            free = [0] * k
            for i in range(rounds * k):
                free[i % k] = max(free[i % k], (i + 1) * t_q) + t_c
            done[rounds] = max(free)
        right = (done[1000] - done[500]) / (500 * k)
        found = per_operation(t_q, t_c, k)
        assert math.isclose(found, right, rel_tol=0.02), (
            translated("{0:.3g} for t_q = {1}, t_c = {2}, k = {3}, and it is {4:.3g}", found, t_q, t_c, k, right)
        )


def ex_at_once__torch(at_once, *, d2l):
    import threading

    both = threading.Barrier(2, timeout=2)
    try:
        found = at_once(lambda: (both.wait(), 1)[1], lambda: (both.wait(), 2)[1])
    except threading.BrokenBarrierError:
        raise AssertionError(translated("the jobs take turns: the first waits for the second")) from None
    assert found is not None, translated("it returns nothing")
    assert all(isinstance(each, int) for each in found), translated("results, not events: wait for them")
    assert list(found) == [1, 2], translated("the results come in another order than the jobs")
    assert list(at_once(lambda: 5)) == [5], translated("one job alone gives one result")


def ex_pipeline__torch(arrival, *, d2l):
    import random

    assert arrival([5], [3]) == 8, translated("a single result is computed, then copied")
    assert arrival([5] * 20, [3] * 20) == 103, translated("short copies: all but the last are hidden")
    assert arrival([3] * 20, [5] * 20) == 103, translated("long copies: the engine is the slower one")
    for _ in range(200):
        t_c, t_x = [[random.randint(1, 9) for _ in range(5)] for _ in range(2)]
        # The last is never sooner than what a result and all copies from it on need
        right = max(sum(t_c[: i + 1]) + sum(t_x[i:]) for i in range(5))
        assert arrival(t_c, t_x) == right, (
            translated("lengths differ: for t_c = {0}, t_x = {1} follow each result in turn", t_c, t_x)
        )
