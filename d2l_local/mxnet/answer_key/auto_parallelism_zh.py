"""Exercises of auto-parallelism, made of chapters/text/auto-parallelism.md by the builder: edit that."""

from d2l_local import mxnet as d2l
from mxnet import nd


def ex_hidden(answer):
    compute, copies, together = 0.5049, 2.4849, 2.7566
    hidden = (compute + copies - together) / compute
    foreseen = {
        (compute + copies) / together: "这是与串行做相比的加速比",
        1 - hidden: "这是没有掩盖的比例",
        hidden * compute / copies: "是占复制的比例吗？能被掩盖的，是较短的一项",
        hidden * compute: "这是被掩盖的秒数",
        hidden * 100: "这是百分数，题目问的是比例",
        (0.5119 + 2.3757 - 1.6683) / 0.5119: "比全部还多？这一行的整体比一部分还先做完",
    }
    d2l.expect(answer, hidden, within=0.02, foreseen=foreseen)


def ex_pipeline(arrival):
    import random

    assert arrival([5], [3]) == 8, "只有一个结果时，先算后复制"
    assert arrival([5] * 20, [3] * 20) == 103, "复制短时，除最后一个外都被掩盖"
    assert arrival([3] * 20, [5] * 20) == 103, "复制长时，引擎才是较慢的一方"
    for _ in range(200):
        t_c, t_x = [[random.randint(1, 9) for _ in range(5)] for _ in range(2)]
        # The last is never sooner than what a result and all copies from it on need
        right = max(sum(t_c[: i + 1]) + sum(t_x[i:]) for i in range(5))
        assert arrival(t_c, t_x) == right, (
            f"长短不一：对于t_c = {t_c}、t_x = {t_x}，要逐个跟踪每个结果"
        )


def ex_shares(shares):
    for rows, speeds, done in (
        (1050, (20, 1), 50),
        (7, (1, 1), 4),
        (6, (1, 10), 0.6),
        (5, (2, 3, 4), 2 / 3),
    ):
        parts = list(shares(rows, speeds))
        assert sum(parts) == rows, f"{parts}：共{sum(parts)}行，不是{rows}行"
        assert all(part == int(part) for part in parts), f"{parts}：一行不能再分"
        took = max(part / speed for part, speed in zip(parts, speeds))
        assert took <= done, f"速度为{speeds}时，{parts}要用{took:.3g}，而{done}就能做完"


def ex_overlap(overlap):
    import math
    import random

    assert overlap([(0, 4)], [(1, 3)]) == 1, "较短的工作完全被掩盖，应当是1"
    assert overlap([(0, 2)], [(2, 4)]) == 0, "串行工作，应当是0"
    assert overlap([(0, 1), (2, 3)], [(1, 2), (3, 4)]) == 0, "色块之间的空闲不算忙碌"
    for _ in range(100):
        lanes = []
        for most in random.sample((2, 9), 2):  # Either may be the busier one
            ends = sorted(random.sample(range(40), 2 * random.randint(1, most)))
            lanes.append([(start / 2, end / 2) for start, end in zip(ends[::2], ends[1::2])])
        ticks = [{t for s, e in lane for t in range(int(2 * s), int(2 * e))} for lane in lanes]
        right = len(ticks[0] & ticks[1]) / min(map(len, ticks))
        assert math.isclose(overlap(*lanes), right, abs_tol=1e-9), (
            f"一个色块可能与几个色块同时，较忙的可能是任何一条泳道：{lanes}"
        )


def ex_issued(per_operation):
    import math
    import random

    assert math.isclose(per_operation(1, 6, 1), 6), "只有一个设备时，取两者中较长的一个"
    assert math.isclose(per_operation(6, 1, 2), 6), "所有设备都由同一个Python提交"
    assert math.isclose(per_operation(1, 6, 2), 3), "两个设备同时计算两个操作"
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
            f"t_q = {t_q}、t_c = {t_c}、k = {k}时得到{found:.3g}，应为{right:.3g}"
        )


def ex_bound(bound):
    import math
    import random

    turns = {"cpu/0": [("dot", 10, 14)], "cpu/1": [("dot", 14, 15), ("copy", 15, 16)]}
    lane, speed_up = bound(d2l.Timeline(turns))
    assert lane == "cpu/0", "要看时间，不看色块的个数，并取最忙的泳道"
    assert speed_up >= 1, "这小于1：题目问的是速度的倍数"
    assert speed_up <= 2, "程序从第一个色块开始"
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
            f"同一条泳道的色块可能重叠，重叠的时间只算一次：{lanes}"
        )


def ex_totals(totals):
    totals(nd.ones((2, 2)), nd.ones((2, 2)))  # The stub ends here, before anything is printed
    ones = [nd.ones((1000, 1000), ctx=device) for device in d2l.devices(2)]
    ones[1] *= 2
    with d2l.Timeline() as timeline:
        found = totals(*ones)
    assert all(isinstance(value, float) or value.shape == () for value in found), "还不是数值"
    d2l.expect(found[0], 1e9)
    d2l.expect(found[1], 4e9)
    lanes = [d2l.lane(one.context) for one in ones]
    products = [
        [span for span in timeline.lanes.get(lane, []) if span.name == "dot"] for lane in lanes
    ]
    assert all(products), "有一个设备没有做乘法"
    assert timeline.overlap(*lanes) > 0.4, "两个设备串行工作：中途读取了结果"
