"""Exercises of parallel-strategies, made of chapters/text/parallel-strategies.md by the builder: edit that."""

from d2l_local import torch as d2l
import numpy as np


def ex_bubble(answer):
    foreseen = {
        133: "with 133 exactly 5% is idle",
        140: "the bubble is compared with the whole time, not with the work",
        141: "the bubble is compared with the whole time, not with the work",
        153: "a pipeline of 8 stages idles for 7 micro-batches, not for 8",
    }
    d2l.expect(answer, 134, within=0.001, foreseen=foreseen)


def ex_layer(answer):
    array = 2 * 4096 * 4096 / 1e6
    foreseen = {
        2 * array: "a block has two halves, and each needs an all-reduce",
        array: "an all-reduce of two devices is two messages, and a block has two",
        8 * array: "that is forward and backward together",
        4 * array * 1e6: "those are bytes, and megabytes are asked for",
        128: "those are MiB, of 2**20 bytes",
    }
    d2l.expect(answer, 4 * array, foreseen=foreseen)


def ex_capacity(answer):
    foreseen = {
        0.24375: "that is a share; the question asks for a percentage",
        27.5: "the capacity is 1.25 times the even share",
        15.625: "that is what the expert keeps",
        60.9375: "that is the share of this expert's tokens, not of all",
    }
    d2l.expect(answer, 40 - 125 / 8, within=0.005, foreseen=foreseen)


def ex_cheapest(cheapest):
    assert list(cheapest([(100, 1)], 99)) == ["tensor"], (
        "100 parameters, 99 rows of one output: tensor"
    )
    assert list(cheapest([(100, 1)], 101)) == ["data"], (
        "the more rows, the better for data parallelism"
    )
    dense = [(37_752_832, 4096), (4_097_000, 1000)]
    found = list(cheapest([(307_392, 139_968), *dense], 128))
    assert found == ["data", "tensor", "tensor"], "decide for each layer by itself"
    rng = np.random.default_rng()
    layers = [tuple(int(n) for n in pair) for pair in rng.integers(1, 10**6, (50, 2))]
    rows = int(rng.integers(2, 9))
    wanted = ["data" if weights < rows * outputs else "tensor" for weights, outputs in layers]
    assert list(cheapest(layers, rows)) == wanted, "the outputs of all rows count"


def ex_uneven(best_cut):
    def longest(costs, speeds, cut):
        return max(sum(costs[:cut]) / speeds[0], sum(costs[cut:]) / speeds[1])

    cases = [([1] * 12, (3, 1)), ([1] * 12, (1, 3)), ([9, 1, 1, 1], (1, 1)), ([1, 1, 9], (9, 1))]
    rng = np.random.default_rng()
    for _ in range(20):
        costs = [int(cost) for cost in rng.integers(1, 20, rng.integers(2, 12))]
        first, second = [int(speed) for speed in rng.integers(1, 6, 2)]
        cases.append((costs, (first, second)))
    for costs, speeds in cases:
        cut = best_cut(list(costs), speeds)
        assert cut == int(cut) and 0 < cut < len(costs), (
            f"{cut} of {len(costs)} blocks: each device gets at least one"
        )
        took = longest(costs, speeds, int(cut))
        best = min(longest(costs, speeds, other) for other in range(1, len(costs)))
        assert took < best * 1.000001, (
            f"{cut} of {costs} at speeds {speeds}: the longer stage takes {took:.3g}, and {best:.3g} is possible"
        )


def ex_done(done):
    def ends(orders, times):
        orders, free = [list(order) for order in orders], [0] * len(orders)
        found: dict[tuple[int, str], int] = {}
        while any(orders):
            for i, order in enumerate(orders):
                sender = i - 1 if order and order[0][0] == "F" else i + 1
                outside = not 0 <= sender < len(orders)
                if order and (outside or (sender, order[0]) in found):
                    name = order.pop(0)
                    ready = 0 if outside else found[sender, name]
                    free[i] = found[i, name] = max(free[i], ready) + times[i][name[0]]
        return max(free)

    f_and_b = {"F": 1, "B": 2}
    assert done([["F0", "B0"]], [f_and_b]) == 3, (
        "one stage, one micro-batch: forward, then backward"
    )
    one, all_first = ["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]
    assert done([["F0", "B0"]] * 2, [f_and_b] * 2) != 3, (
        "a task waits for its input from the other stage"
    )
    assert done([all_first, one], [f_and_b] * 2) == 9, "m = 2, p = 2: (m + p - 1)(1 + 2) = 9"
    assert done([all_first] * 2, [{"F": 5, "B": 1}, {"F": 1, "B": 1}]) == 14, (
        "a slow first stage: each stage has its durations"
    )
    rng = np.random.default_rng()
    for p, m in ((2, 3), (3, 4), (4, 4), (3, 2)):
        times = [{"F": int(f), "B": int(b)} for f, b in rng.integers(1, 9, (p, 2))]
        gpipe = [[f"{kind}{j}" for kind in "FB" for j in range(m)]] * p
        in_turns = [[f"{kind}{j}" for j in range(m) for kind in "FB"]] * p
        for orders in (gpipe, in_turns):
            assert done(orders, times) == ends(orders, times), (
                "unequal stages, or an order that lets them wait: keep the end of every task"
            )


def ex_rows_first(rows_first):
    links = rows_first.__globals__["links"]  # That counts what the answer sends
    rng = np.random.default_rng()
    shapes = (5, 6), (6, 8), (8, 4)
    x, first, second = [links.place(rng.normal(size=shape), 0) for shape in shapes]
    links.count()
    found = list(rows_first(x, links.split(first, axis=0), links.split(second, axis=1)))
    sent = links.count()
    assert [tuple(piece.shape) for piece in found] == [(5, 2), (5, 2)], (
        "two pieces of two columns, please"
    )
    for i, piece in enumerate(found):
        try:
            links.send(piece, i, i)
        except ValueError:
            raise AssertionError("each device returns its own piece") from None
    x, first, second = [links.join([each]) for each in (x, first, second)]
    assert links.difference(links.join(found, 1), np.maximum(x @ first, 0) @ second) < 1e-4, (
        "relu of a sum is not the sum of relus: the devices must meet before relu"
    )
    assert sent == 4 * 2 * 5 * 8, "one all-reduce, of the hidden units, is enough"
