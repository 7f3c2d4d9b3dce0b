"""Exercises of sharding, made of chapters/text/sharding.md by the builder: edit that."""

from d2l_local import mxnet as d2l
import numpy as np


def ex_mixed(answer):
    foreseen = {
        112: "这是不分片的情形",
        14: "这是全部切分，即ZeRO-3的情形",
        7 * (2 + 14 / 8): "这把梯度也切分了，是ZeRO-2的情形",
        7 * (8 + 8 / 8): "这里优化器占12字节，其余占4字节",
        7 * 12 / 8: "权重和梯度也要保存",
    }
    d2l.expect(answer, 7 * (4 + 12 / 8), foreseen=foreseen)


def ex_fit(answer):
    foreseen = {
        112 / 15: "GPU的块数是整数",
        7: "7块GPU，每块要保存16 GB，而只剩15 GB",
        5: "各层输出和收集来的块也要占地方",
        112 / 24: "各层输出和收集来的块也要占地方",
    }
    d2l.expect(answer, 8, within=0.0001, foreseen=foreseen)


def ex_pcie(answer):
    right = 4 / 6 * 783e12 / 55e9
    foreseen = {
        2 * right: "太多了：两份中，一块GPU只发送一份",
        right * 6 / 8: "权重要收集两次，梯度每个数4字节",
        right * 12 / 8: "权重以2字节收集",
        right * 3: "训练时，每个参数、每个词元要算六次",
        right / 1e3: "看看单位",
    }
    d2l.expect(answer, right, foreseen=foreseen)


def ex_accumulate(answer):
    foreseen = {
        8: "权重只收集一次，不是每次都收集",
        9: "这是半个全归约的个数，而数据并行有两个",
        4: "权重也要收集",
        1: "每次都要做归约散射",
        2 / 9: "这是数据并行的倍数，题目问的是ZeRO-2",
    }
    d2l.expect(answer, (8 + 1) / 2, foreseen=foreseen)


def ex_keeps(keeps):
    import math
    import random

    assert math.isclose(keeps(4, 0, 4, 4, 8), 16), "数据并行保存全部16字节"
    assert not math.isclose(keeps(4, 1, 4, 4, 8), 13), "ZeRO-1切分的是两个移动平均"
    assert not math.isclose(keeps(4, 3, 4, 4, 8), 13), (
        "每个阶段也切分前面各阶段所切分的"
    )
    for _ in range(100):
        k, sizes = random.randint(2, 64), [random.randint(1, 12) for _ in range(3)]
        for stage in range(4):
            divided = sum(sizes[3 - stage :])
            right = sum(sizes) - divided + divided / k
            found = keeps(k, stage, *sizes)
            assert math.isclose(found, right), (
                f"k = {k}、第{stage}阶段、{sizes}时得到{found:.4g}，应为{right:.4g}"
            )


def ex_clip(clip):
    rng = np.random.default_rng()
    for case in range(20):
        sizes = rng.integers(1, 9, size=rng.integers(2, 6))
        shards = [rng.normal(scale=3 * i + 1, size=size) for i, size in enumerate(sizes)]
        whole = np.concatenate(shards)
        norm = float((whole**2).sum() ** 0.5)
        limit = norm * float(rng.uniform(0.2, 0.8) if case % 2 else rng.uniform(1.01, 1.2))
        found = clip([shard.copy() for shard in shards], limit)
        assert len(found) == len(shards), "每个设备返回一份"
        each = [shard * min(1, limit / (shard**2).sum() ** 0.5) for shard in shards]
        own = all(np.allclose(a, b) for a, b in zip(found, each))
        found, right = np.concatenate(found), whole * min(1, limit / norm)
        assert not own or np.allclose(found, right), "范数是各份合起来的范数"
        assert case % 2 or np.allclose(found, whole), "这个梯度没有超过limit"
        assert np.allclose(found, right), (
            f"现在的范数是{(found**2).sum() ** 0.5:.4g}，而limit是{limit:.4g}"
        )


def ex_stage(gather_once, trial):
    after, parameters = [], trial.layers * trial.xs[0].shape[1] ** 2

    def way(held, t):
        gather_once(held, t)
        after.append(held.bytes / parameters)

    once, devices = trial(way, divided="wmv"), len(trial.xs)
    half = 4 * (devices - 1) / devices
    assert once.difference < 1e-5, "权重与一个设备的结果不同"
    assert once.sent != 3 * half, "每一层只应收集一次"
    assert once.sent == 2 * half, f"每个参数发送了{once.sent:.2f}字节，而不是{2 * half:.2f}字节"
    assert max(after) == 12 / devices, "计算完毕，要丢弃收集来的权重"
