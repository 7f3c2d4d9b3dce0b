"""Exercises of parallel-strategies, made of chapters/text/parallel-strategies.md by the builder: edit that."""

from d2l_local import mxnet as d2l
import numpy as np


def ex_bubble(answer):
    foreseen = {
        133: "133个时空闲恰好是5%",
        140: "气泡要与总时间相比，而不是与工作时间相比",
        141: "气泡要与总时间相比，而不是与工作时间相比",
        153: "8个阶段的流水线，空闲相当于7个微批次，不是8个",
    }
    d2l.expect(answer, 134, within=0.001, foreseen=foreseen)


def ex_layer(answer):
    array = 2 * 4096 * 4096 / 1e6
    foreseen = {
        2 * array: "一个块分前后两半，各要一次全归约",
        array: "两个设备的一次全归约是两条消息，而一个块要两次",
        8 * array: "这是前向和反向合计",
        4 * array * 1e6: "这是字节数，问的是MB",
        128: "这是MiB，一个是2**20字节",
    }
    d2l.expect(answer, 4 * array, foreseen=foreseen)


def ex_capacity(answer):
    foreseen = {
        0.24375: "这是比例，问的是百分数",
        27.5: "容量是平均份额的1.25倍",
        15.625: "这是专家留下的",
        60.9375: "这是占该专家词元的份额，不是占全部的",
    }
    d2l.expect(answer, 40 - 125 / 8, within=0.005, foreseen=foreseen)


def ex_cheapest(cheapest):
    assert list(cheapest([(100, 1)], 99)) == ["tensor"], (
        "100个参数，99行，每行一个输出：应选张量并行"
    )
    assert list(cheapest([(100, 1)], 101)) == ["data"], (
        "行数越多，数据并行越合算"
    )
    dense = [(37_752_832, 4096), (4_097_000, 1000)]
    found = list(cheapest([(307_392, 139_968), *dense], 128))
    assert found == ["data", "tensor", "tensor"], "要逐层决定"
    rng = np.random.default_rng()
    layers = [tuple(int(n) for n in pair) for pair in rng.integers(1, 10**6, (50, 2))]
    rows = int(rng.integers(2, 9))
    wanted = ["data" if weights < rows * outputs else "tensor" for weights, outputs in layers]
    assert list(cheapest(layers, rows)) == wanted, "要算上所有行的输出"


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
            f"{len(costs)}个块中的{cut}个：每个设备至少分到一个"
        )
        took = longest(costs, speeds, int(cut))
        best = min(longest(costs, speeds, other) for other in range(1, len(costs)))
        assert took < best * 1.000001, (
            f"{costs}中的{cut}个，速度为{speeds}：较长的阶段用{took:.3g}，而{best:.3g}就够"
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
        "一个阶段、一个微批次：先前向，后反向"
    )
    one, all_first = ["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]
    assert done([["F0", "B0"]] * 2, [f_and_b] * 2) != 3, (
        "任务要等另一个阶段传来输入"
    )
    assert done([all_first, one], [f_and_b] * 2) == 9, "m = 2，p = 2：(m + p - 1)(1 + 2) = 9"
    assert done([all_first] * 2, [{"F": 5, "B": 1}, {"F": 1, "B": 1}]) == 14, (
        "第一个阶段较慢：每个阶段各有用时"
    )
    rng = np.random.default_rng()
    for p, m in ((2, 3), (3, 4), (4, 4), (3, 2)):
        times = [{"F": int(f), "B": int(b)} for f, b in rng.integers(1, 9, (p, 2))]
        gpipe = [[f"{kind}{j}" for kind in "FB" for j in range(m)]] * p
        in_turns = [[f"{kind}{j}" for j in range(m) for kind in "FB"]] * p
        for orders in (gpipe, in_turns):
            assert done(orders, times) == ends(orders, times), (
                "各阶段不等，或者次序使它们等待：要记下每项任务的结束时间"
            )


def ex_rows_first(rows_first):
    links = rows_first.__globals__["links"]  # 统计答案发送了多少
    rng = np.random.default_rng()
    shapes = (5, 6), (6, 8), (8, 4)
    x, first, second = [links.place(rng.normal(size=shape), 0) for shape in shapes]
    links.count()
    found = list(rows_first(x, links.split(first, axis=0), links.split(second, axis=1)))
    sent = links.count()
    assert [tuple(piece.shape) for piece in found] == [(5, 2), (5, 2)], (
        "应当是两块，每块两列"
    )
    for i, piece in enumerate(found):
        try:
            links.send(piece, i, i)
        except ValueError:
            raise AssertionError("每个设备返回自己的那一块") from None
    x, first, second = [links.join([each]) for each in (x, first, second)]
    assert links.difference(links.join(found, 1), np.maximum(x @ first, 0) @ second) < 1e-4, (
        "和的relu不等于relu的和：做relu之前，两个设备必须会合"
    )
    assert sent == 4 * 2 * 5 * 8, "对隐藏单元做一次全归约就够了"
