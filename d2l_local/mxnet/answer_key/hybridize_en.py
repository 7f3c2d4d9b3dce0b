"""Exercises of hybridize, made of chapters/text/hybridize.md by the builder: edit that."""

from d2l_local import mxnet as d2l
from mxnet import nd
from mxnet.gluon import nn
import os
import tempfile


def ex_graph_time(answer):
    foreseen = {
        24: "now the device is the longest part: it still computes 120 operators",
        5: "that adds issuing and computing before, but they happen at the same time",
        1200 / 280: "that adds issuing and computing, but they happen at the same time",
        0.25: "that is the time, as a share of what it was; the speed is asked",
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_cold(answer):
    foreseen = {
        5: "that is warm against warm, but the first of the ten calls is not",
        1000 / 2200: "the first call is one of the ten, so only nine take 20 µs",
        2.18: "that is how many times as long it takes; the speed-up is asked",
    }
    d2l.expect(answer, 1000 / 2180, within=0.005, foreseen=foreseen)


def ex_border(answer):
    foreseen = {
        282.8: "each weight takes 2 FLOP per row: a product and a sum",
        1264.9: "each of the 40 rows needs a product with every weight",
        1788.9: "each of the 40 rows takes a product and a sum with every weight",
        40_000: "a layer has w times w weights, so take the root",
    }
    d2l.expect(answer, 200, within=0.001, foreseen=foreseen)


def ex_speed_up(speed_up):
    import random

    def close(found, expected):
        return isinstance(found, (int, float)) and abs(found - expected) < 1e-6 * expected

    wide = speed_up(5, 20, 900, 30)
    assert close(wide, 1), f"with large operators nothing is gained, and you get {wide}"
    tiny = speed_up(5, 20, 1, 25)
    assert close(tiny, 4), f"5 tiny operators, 20 µs each, as a graph 25 µs: 4, and you get {tiny}"
    between = speed_up(10, 20, 8, 40)
    assert close(between, 2.5), f"the graph waits for the device: 2.5, and you get {between}"
    lost = speed_up(1, 20, 1, 40)
    assert close(lost, 0.5), f"one operator, and a graph that takes 40 µs: 0.5, and you get {lost}"
    for _ in range(50):
        N, t_q, t_c, graph_t_q = (random.randint(1, 60) for _ in range(4))
        before = max(N * t_q, N * t_c)
        after = max(graph_t_q, N * t_c)
        found = speed_up(N, t_q, t_c, graph_t_q)
        case = f"N={N}, t_q={t_q}, t_c={t_c}, graph_t_q={graph_t_q}"
        assert close(found, before / after), f"{case}: {before} / {after}, and you get {found}"


def ex_sharing(distinct_additions):
    def three_sums(a, b, c, d):
        return (a + b) + (c + d)

    def double_sum(a, b):
        return (a + b) + (a + b)

    def deep(x, y):
        z = y + x
        return (z + y) + (z + y) + z

    found = list(distinct_additions(three_sums, *"abcd"))
    assert found == [("a", "b"), ("c", "d"), ("(a + b)", "(c + d)")], f"three sums: {found}"
    found = list(distinct_additions(double_sum, *"ab"))
    assert len(found) != 3, "a + b is listed twice"
    assert found == [("a", "b"), ("(a + b)", "(a + b)")], f"double sum: {found}"
    found = list(distinct_additions(deep, *"xy"))
    twice = "((y + x) + y)"
    expected = [("y", "x"), ("(y + x)", "y"), (twice, twice), (f"({twice} + {twice})", "(y + x)")]
    assert found == expected, f"a deeper function: {found}"


def ex_rows(sum_rows):
    for shape in ((2, 2), (3, 4), (1, 5)):
        matrix = nd.arange(shape[0] * shape[1]).reshape(shape)
        expected = matrix.asnumpy().sum(axis=0).tolist()
        block = nn.HybridLambda(sum_rows)
        before = block(matrix).asnumpy().tolist()
        assert before == expected, f"{shape}: {before} is not the sum of the rows, {expected}"
        block.hybridize()
        after = block(matrix).asnumpy().tolist()
        assert after == expected, f"right before hybridize, and {after} after it"


def ex_numpy(run_graph):
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
        assert shape == expected.shape, f"the shape is {shape}, not {expected.shape}"
        error = abs(output - expected).max()
        where = "a layer that is used twice" if layers[0] is shared else "two layers"
        assert error < 1e-4, f"{where}: off by {error:.4f}. Is each operator there, and each bias?"
