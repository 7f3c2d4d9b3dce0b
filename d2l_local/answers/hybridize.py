"""Exercises of hybridize, made of chapters/text/hybridize.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_sharing(distinct_additions, *, d2l):
    def three_sums(a, b, c, d):
        return (a + b) + (c + d)

    def double_sum(a, b):
        return (a + b) + (a + b)

    def deep(x, y):
        z = y + x
        return (z + y) + (z + y) + z

    found = list(distinct_additions(three_sums, *"abcd"))
    assert found == [("a", "b"), ("c", "d"), ("(a + b)", "(c + d)")], translated("three sums: {0}", found)
    found = list(distinct_additions(double_sum, *"ab"))
    assert len(found) != 3, translated("a + b is listed twice")
    assert found == [("a", "b"), ("(a + b)", "(a + b)")], translated("double sum: {0}", found)
    found = list(distinct_additions(deep, *"xy"))
    twice = "((y + x) + y)"
    expected = [("y", "x"), ("(y + x)", "y"), (twice, twice), (f"({twice} + {twice})", "(y + x)")]
    assert found == expected, translated("a deeper function: {0}", found)


def ex_verdict__mxnet(verdict, *, d2l):
    from mxnet import nd

    functions = {
        "F.relu(x)": ("same", lambda F, x: F.relu(x)),
        "F.sum(x, axis=0)": ("same", lambda F, x: F.sum(x, axis=0)),
        "x * len(x)": ("other", lambda F, x: x * len(x)),
        "x[0]": ("other", lambda F, x: x[0]),
        "sum(rows)": ("other", lambda F, x: sum(row for row in x)),
        translated("abs(x) of an array"): ("other", lambda F, x: F.abs(x) if F is nd else x * 1),
        "x.asnumpy()": ("error", lambda F, x: x * float(x.asnumpy().sum())),
        "x.shape": ("error", lambda F, x: x.reshape((x.shape[0], -1))),
    }
    for name, (expected, function) in functions.items():
        for columns in (3, 7):
            found = verdict(function, columns)
            assert found == expected, translated("{0}: {1!r} in place of {2!r}", name, found, expected)


def ex_busy__mxnet(make, *, d2l):
    from functools import partial

    jobs, operations = {}, 0
    for way in ("before", "after"):
        net, rows = make()
        net.initialize()
        net(rows).wait_to_read()
        shapes = [parameter.shape for parameter in net.collect_params().values()]
        operations = sum(2 * len(rows) * s[0] * s[1] for s in shapes if len(s) == 2)
        if way == "after":
            net.hybridize(static_alloc=True, static_shape=True)
        jobs[way] = partial(net, rows)
    told = f"{operations / 1e6:.0f}"
    assert operations >= 50e6, translated("only {0} million operations", told)
    took = d2l.seconds(jobs)
    gain = took["before"] / took["after"]
    enough = gain > 1.4 or (gain > 1.2 and d2l.excuses(translated("the graph is faster")))
    assert enough, (
        translated("{0} million operations, but {1:.1f} times as fast: how many are in a call?", told, gain)
    )


def ex_graph_time(answer, *, d2l):
    foreseen = {
        24: translated("now the device is the longest part: it still computes 120 operators"),
        5: translated("that adds issuing and computing before, but they happen at the same time"),
        1200 / 280: translated("that adds issuing and computing, but they happen at the same time"),
        0.25: translated("that is the time, as a share of what it was; the speed is asked"),
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_cold(answer, *, d2l):
    foreseen = {
        5: translated("that is warm against warm, but the first of the ten calls is not"),
        1000 / 2200: translated("the first call is one of the ten, so only nine take 20 µs"),
        2.18: translated("that is how many times as long it takes; the speed-up is asked"),
    }
    d2l.expect(answer, 1000 / 2180, within=0.005, foreseen=foreseen)


def ex_border(answer, *, d2l):
    foreseen = {
        282.8: translated("each weight takes 2 FLOP per row: a product and a sum"),
        1264.9: translated("each of the 40 rows needs a product with every weight"),
        1788.9: translated("each of the 40 rows takes a product and a sum with every weight"),
        40_000: translated("a layer has w times w weights, so take the root"),
    }
    d2l.expect(answer, 200, within=0.001, foreseen=foreseen)


def ex_speed_up(speed_up, *, d2l):
    import random

    def close(found, expected):
        return isinstance(found, (int, float)) and abs(found - expected) < 1e-6 * expected

    wide = speed_up(5, 20, 900, 30)
    assert close(wide, 1), translated("with large operators nothing is gained, and you get {0}", wide)
    tiny = speed_up(5, 20, 1, 25)
    assert close(tiny, 4), translated("5 tiny operators, 20 µs each, as a graph 25 µs: 4, and you get {0}", tiny)
    between = speed_up(10, 20, 8, 40)
    assert close(between, 2.5), translated("the graph waits for the device: 2.5, and you get {0}", between)
    lost = speed_up(1, 20, 1, 40)
    assert close(lost, 0.5), translated("one operator, and a graph that takes 40 µs: 0.5, and you get {0}", lost)
    for _ in range(50):
        N, t_q, t_c, graph_t_q = (random.randint(1, 60) for _ in range(4))
        before = max(N * t_q, N * t_c)
        after = max(graph_t_q, N * t_c)
        found = speed_up(N, t_q, t_c, graph_t_q)
        case = f"N={N}, t_q={t_q}, t_c={t_c}, graph_t_q={graph_t_q}"
        assert close(found, before / after), translated("{0}: {1} / {2}, and you get {3}", case, before, after, found)


def ex_rows__mxnet(sum_rows, *, d2l):
    from mxnet import nd
    from mxnet.gluon import nn

    for shape in ((2, 2), (3, 4), (1, 5)):
        matrix = nd.arange(shape[0] * shape[1]).reshape(shape)
        expected = matrix.asnumpy().sum(axis=0).tolist()
        block = nn.HybridLambda(sum_rows)
        before = block(matrix).asnumpy().tolist()
        assert before == expected, translated("{0}: {1} is not the sum of the rows, {2}", shape, before, expected)
        block.hybridize()
        after = block(matrix).asnumpy().tolist()
        assert after == expected, translated("right before hybridize, and {0} after it", after)


def ex_numpy__mxnet(run_graph, *, d2l):
    from mxnet import nd
    from mxnet.gluon import nn
    import os
    import tempfile

    import json

    shared = nn.Dense(6, in_units=6)
    for layers in ([nn.Dense(9, in_units=6), nn.Dense(4, in_units=9)], [shared, shared]):
        net = nn.HybridSequential()
        net.add(layers[0], nn.Activation("relu"), layers[1])
        net.initialize()
        for parameter in net.collect_params().values():
            parameter.set_data(nd.random.normal(shape=parameter.shape))
        data = nd.random.normal(shape=(5, 6))
        net.hybridize()
        expected = net(data).asnumpy()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net")
            net.export(path)
            with open(f"{path}-symbol.json") as file:
                graph = json.load(file)
            saved = nd.load(f"{path}-0000.params")
        arrays = {name.split(":")[1]: value.asnumpy() for name, value in saved.items()}
        output = run_graph(graph, {**arrays, "data": data.asnumpy()})
        shape = getattr(output, "shape", None)
        assert shape == expected.shape, translated("the shape is {0}, not {1}", shape, expected.shape)
        error = abs(output - expected).max()
        where = translated("a layer that is used twice") if layers[0] is shared else translated("two layers")
        assert error < 1e-4, translated("{0}: off by {1:.4f}. Is each operator there, and each bias?", where, error)


def ex_pieces__torch(leaky, *, d2l):
    import torch

    cases = [-1.0, 2.0], [4.0, -6.0, 0.0], torch.randn(20).mul(8).round().tolist()
    for values in cases:
        x = torch.tensor(values)
        expected = [v if v > 0 else v / 2 for v in values]
        found = leaky(x).tolist()
        assert found == expected, translated("{0} becomes {1}", values, found)
        torch.compiler.reset()
        try:
            torch.compile(leaky, backend=d2l.Graphs(), fullgraph=True)(x)
        except RuntimeError:
            raise AssertionError(translated("right, but the graph breaks")) from None


def ex_guard__torch(guarded, *, d2l):
    state, made = {"factor": 2}, []

    def make():
        factor = state["factor"]
        made.append(factor)
        return lambda: 10 * factor

    call = guarded(make, lambda: (state["factor"],))
    assert callable(call), translated("it returns a function, which the check calls")
    found = call()
    assert found == 20, translated("the graph returns 20, and your function {0}", found)
    assert call() == 20 and made == [2], translated("nothing has changed, and it traces again")
    state["factor"] = 3
    found = call()
    assert found == 30, translated("a fact has changed, and it still returns {0}", found)
    state["factor"] = 2
    found = call()
    assert found == 20, translated("the fact has changed back, and it still returns {0}", found)
    assert made == [2, 3], translated("it traces again for facts for which it had a graph")
