"""Exercises of bottleneck, made of chapters/text/bottleneck.md by the builder: edit that."""

from d2l_local import torch as d2l
import lzma
import numpy as np


def ex_karp(answer):
    foreseen = {
        1 - 6.6 / 8: "这是损失的效率，不是份额",
        1 / 6.6: "这是八个设备的全部用时，其中还有分摊的工作",
        100 * (1 / 6.6 - 1 / 8) / (7 / 8): "要的是份额，不是百分数",
        1 / 6.6 - 1 / 8: "分摊的工作也只是除去这一份额之后的",
    }
    d2l.expect(answer, (1 / 6.6 - 1 / 8) / (7 / 8), within=0.02, foreseen=foreseen)


def ex_gain(gain):
    import math
    import random

    parts = {"读取": 3.0, "t_c": 6.0, "t_x": 1.0}
    assert math.isclose(gain(parts, "t_c", 2, True), 2), "并行时，6变成3，与“读取”一样长"
    assert math.isclose(gain(parts, "t_c", 6, True), 2), "并行时，轮到下一个最长的"
    nothing = gain(parts, "读取", 100, True)
    assert math.isclose(nothing, 1), "并行时，只有最长的部分起作用"
    found = gain(parts, "t_c", 2, False)
    assert not math.isclose(found, 7 / 10), "这是剩下的时间的份额，应取倒数"
    assert math.isclose(found, 10 / 7), "串行时，10变成3 + 3 + 1"
    assert parts["t_c"] == 6, "传入的parts被改动了"
    for _ in range(100):
        parts = {name: random.randint(1, 20) for name in random.sample("abcdefg", 4)}
        name, f, at_once = random.choice(list(parts)), random.randint(2, 9), random.random() < 0.5
        before, after = list(parts.values()), [t / f if n == name else t for n, t in parts.items()]
        right = max(before) / max(after) if at_once else sum(before) / sum(after)
        found = gain(dict(parts), name, f, at_once)
        assert math.isclose(found, right), (
            f"{parts}、{name}、{f}、{at_once}：得到{found:.3g}，应为{right:.3g}"
        )


def ex_diagnose(diagnose):
    import random

    busy, half = [("a", 0, 10)], [("a", 0, 3), ("b", 8, 10)]
    cases = [
        ({"input": busy, "gpu/0": half}, "input"),
        ({"Python": busy, "cpu/0": half}, "Python"),
        ({"gpu/0": half, "wire": busy}, "link"),
        ({"Python": half, "cpu/0": busy}, "device"),
        ({"gpu/0": busy, "gpu/1": busy}, "device"),
        ({"cpu/0": half, "cpu/1": busy}, "straggler"),
        ({"gpu/0": half, "input": [("a", 3, 8)]}, "turns"),
        ({"gpu/0": busy, "gpu/1": half, "gpu/2": busy}, "straggler"),
        ({"gpu/0": busy, "input": busy}, "input"),
    ]
    for _ in range(100):
        kind = random.choice(("cpu", "gpu", "device"))
        devices = [f"{kind}/{i}" for i in range(random.randint(2, 4))]
        others = {"input": "input", "Python": "Python", "wire": "link"}
        lanes = {lane: half for lane in random.sample([*others, *devices], 4)}
        chosen = random.choice([*lanes, *devices])
        lanes[chosen] = busy
        both = all(lanes[lane] is busy for lane in lanes if "/" in lane)
        cases.append((lanes, others.get(chosen, "device" if both else "straggler")))
    for lanes, right in cases:
        found = diagnose(d2l.Timeline(lanes))
        filled = ", ".join(lane for lane in lanes if lanes[lane] is busy)
        assert found == right, f"{', '.join(lanes)}中占满的是{filled}：得到{found}，应为{right}"


def ex_interval(interval):
    import random
    from math import comb

    found = interval([3, 1, 2, 5, 4, 7, 6])
    assert tuple(found) == (1, 7), f"七次用时中应取最小和最大的，不是{found}"
    found = tuple(interval(range(1, 42)))
    assert found != (15, 27), "41次中的第15个和第27个只有94%"
    assert found != (13, 29), "41次中的第13个和第29个也夹得住，但隔得更远"
    assert found == (14, 28), f"41次中应取第14个和第28个，不是{found}"
    for n in [6, 20, *random.sample(range(7, 200), 20)]:
        fits = [r for r in range(1, n // 2) if 40 * sum(comb(n, i) for i in range(r)) <= 2**n]
        ranks = random.sample(range(1, n + 1), n)
        found = tuple(interval(ranks))
        assert found == (fits[-1], n + 1 - fits[-1]), (
            f"{n}次用时中应取第{fits[-1]}个和第{n + 1 - fits[-1]}个，不是{found}"
        )


def ex_capstone(fast, slow, files, digits):
    decoded, three = [], files[:3]

    def decode(file):
        decoded.append(file)
        return lzma.decompress(file)

    found, losses = fast(three, digits, decode)
    right, expected = slow(three, digits)
    assert len(losses) == len(expected), f"{len(losses)}个损失，应有{len(expected)}个"
    assert np.allclose(found, right, atol=1e-4), "权重不同：上一步要在下一步之前完成"
    assert np.allclose(losses, expected, atol=1e-4), "权重对了，损失不对"
    assert set(decoded) == set(three), "漏掉了一个文件"
    assert len(decoded) == 3, f"输入：三个文件解码了{len(decoded)}次"
    fast(three, digits, decode)
    assert len(decoded) == 6, "第二次调用没有解码：是不是保留了上次调用的结果？"
    jobs = {"slow": lambda: slow(three, digits), "fast": lambda: fast(three, digits)}
    for _ in range(2):  # Other labels in each round: what was kept of a call is of no use
        digits = np.random.permutation(digits.flatten()).reshape(digits.shape)
        assert np.allclose(fast(three, digits)[0], slow(three, digits)[0], atol=1e-4), (
            "换了标签，权重就错了：是不是保留了上次调用的结果？"
        )
    sick, well = d2l.compare(jobs, 2).values()
    print(f"速度是原来的{well.speedup(sick):.1f}倍")
    assert well.speedup(sick) > 4, "不到四倍：哪条泳道占满了？"
