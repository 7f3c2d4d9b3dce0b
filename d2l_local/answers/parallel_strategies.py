"""Exercises of parallel-strategies, made of chapters/text/parallel-strategies.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_bubble(answer, *, d2l):
    foreseen = {
        133: translated("with 133 exactly 5% is idle"),
        140: translated("the bubble is compared with the whole time, not with the work"),
        141: translated("the bubble is compared with the whole time, not with the work"),
        153: translated("a pipeline of 8 stages idles for 7 micro-batches, not for 8"),
    }
    d2l.expect(answer, 134, within=0.001, foreseen=foreseen)


def ex_layer(answer, *, d2l):
    array = 2 * 4096 * 4096 / 1e6
    foreseen = {
        2 * array: translated("a block has two halves, and each needs an all-reduce"),
        array: translated("an all-reduce of two devices is two messages, and a block has two"),
        8 * array: translated("that is forward and backward together"),
        4 * array * 1e6: translated("those are bytes, and megabytes are asked for"),
        128: translated("those are MiB, of 2**20 bytes"),
    }
    d2l.expect(answer, 4 * array, foreseen=foreseen)


def ex_capacity(answer, *, d2l):
    foreseen = {
        0.24375: translated("that is a share; the question asks for a percentage"),
        27.5: translated("the capacity is 1.25 times the even share"),
        15.625: translated("that is what the expert keeps"),
        60.9375: translated("that is the share of this expert's tokens, not of all"),
    }
    d2l.expect(answer, 40 - 125 / 8, within=0.005, foreseen=foreseen)


def ex_cheapest(cheapest, *, d2l):
    import numpy as np

    assert list(cheapest([(100, 1)], 99)) == ["tensor"], (
        translated("100 parameters, 99 rows of one output: tensor")
    )
    assert list(cheapest([(100, 1)], 101)) == ["data"], (
        translated("the more rows, the better for data parallelism")
    )
    dense = [(37_752_832, 4096), (4_097_000, 1000)]
    found = list(cheapest([(307_392, 139_968), *dense], 128))
    assert found == ["data", "tensor", "tensor"], translated("decide for each layer by itself")
    rng = np.random.default_rng()
    layers = [tuple(int(n) for n in pair) for pair in rng.integers(1, 10**6, (50, 2))]
    rows = int(rng.integers(2, 9))
    wanted = ["data" if weights < rows * outputs else "tensor" for weights, outputs in layers]
    assert list(cheapest(layers, rows)) == wanted, translated("the outputs of all rows count")


def ex_uneven(best_cut, *, d2l):
    import numpy as np

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
            translated("{0} of {1} blocks: each device gets at least one", cut, len(costs))
        )
        took = longest(costs, speeds, int(cut))
        best = min(longest(costs, speeds, other) for other in range(1, len(costs)))
        assert took < best * 1.000001, (
            translated("{0} of {1} at speeds {2}: the longer stage takes {3:.3g}, and {4:.3g} is possible", cut, costs, speeds, took, best)
        )


def ex_done(done, *, d2l):
    import numpy as np

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
        translated("one stage, one micro-batch: forward, then backward")
    )
    one, all_first = ["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]
    assert done([["F0", "B0"]] * 2, [f_and_b] * 2) != 3, (
        translated("a task waits for its input from the other stage")
    )
    assert done([all_first, one], [f_and_b] * 2) == 9, translated("m = 2, p = 2: (m + p - 1)(1 + 2) = 9")
    assert done([all_first] * 2, [{"F": 5, "B": 1}, {"F": 1, "B": 1}]) == 14, (
        translated("a slow first stage: each stage has its durations")
    )
    rng = np.random.default_rng()
    for p, m in ((2, 3), (3, 4), (4, 4), (3, 2)):
        times = [{"F": int(f), "B": int(b)} for f, b in rng.integers(1, 9, (p, 2))]
        gpipe = [[f"{kind}{j}" for kind in "FB" for j in range(m)]] * p
        in_turns = [[f"{kind}{j}" for j in range(m) for kind in "FB"]] * p
        for orders in (gpipe, in_turns):
            assert done(orders, times) == ends(orders, times), (
                translated("unequal stages, or an order that lets them wait: keep the end of every task")
            )


def ex_rows_first(rows_first, *, d2l):
    import numpy as np

    links = rows_first.__globals__["links"]  # That counts what the answer sends
    rng = np.random.default_rng()
    shapes = (5, 6), (6, 8), (8, 4)
    x, first, second = [links.place(rng.normal(size=shape), 0) for shape in shapes]
    links.count()
    found = list(rows_first(x, links.split(first, axis=0), links.split(second, axis=1)))
    sent = links.count()
    assert [tuple(piece.shape) for piece in found] == [(5, 2), (5, 2)], (
        translated("two pieces of two columns, please")
    )
    for i, piece in enumerate(found):
        try:
            links.send(piece, i, i)
        except ValueError:
            raise AssertionError(translated("each device returns its own piece")) from None
    x, first, second = [links.join([each]) for each in (x, first, second)]
    assert links.difference(links.join(found, 1), np.maximum(x @ first, 0) @ second) < 1e-4, (
        translated("relu of a sum is not the sum of relus: the devices must meet before relu")
    )
    assert sent == 4 * 2 * 5 * 8, translated("one all-reduce, of the hidden units, is enough")
