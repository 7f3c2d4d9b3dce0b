"""Exercises of multiple-gpus-concise, made of chapters/text/multiple-gpus-concise.md by the builder: edit that."""

from d2l_local import torch as d2l


def ex_last(answer):
    foreseen = {
        1: "最后一步的行数不到256，除数却是256",
        256 / 96: "除数太大，所以步长太短",
        160 / 256: "这是缺少的部分",
        96: "这是最后一个小批量的行数",
    }
    d2l.expect(answer, 96 / 256, within=0.02, foreseen=foreseen)


def ex_tail(answer):
    foreseen = {
        300: "最后一份后面没有计算可以掩盖它",
        450: "这是串行：其他份还在计算时，先好的就已经发送",
        270: "网线比反向传播快，要等梯度就绪",
        215: "一步从前向传播开始",
    }
    d2l.expect(answer, 315, within=1e-3, foreseen=foreseen)


def ex_sooner(answer):
    foreseen = {
        4: "每一步的用时也变长了",
        8 * 40 / 44: "那是每秒图像数之比：要看需要多少步",
        8: "每步的图像是八倍，不等于快到八倍",
        1500 * 44 / (6000 * 40): "这是用时之比：问的是速度的倍数",
    }
    d2l.expect(answer, 6000 * 40 / (1500 * 44), foreseen=foreseen)


def ex_buckets(buckets):
    import random

    found = list(buckets([1, 2, 3, 4], 100))
    assert found, "最后剩下的也要发送"
    assert found == [10], "总量不到`limit`时，结束时一次发送"
    assert list(buckets([2, 2], 2)) == [2, 2], "空桶不发送"
    assert list(buckets([5, 1, 1], 5)) != [5, 2], "反向传播从最后一层开始"
    assert list(buckets([5, 1, 1], 5)) == [7], "桶装满才发送，不能提前"
    assert list(buckets([1, 1, 2, 9], 2)) == [9, 2, 2], "每个装满的桶单独发送"
    for _ in range(100):
        sizes = [random.randint(1, 9) for _ in range(random.randint(1, 12))]
        limit, right = random.randint(1, 20), [0]
        for size in sizes[::-1]:
            right[-1] += size
            if right[-1] >= limit:
                right.append(0)
        right = [content for content in right if content]
        found = list(buckets(list(sizes), limit))
        assert found == right, f"{sizes}、limit为{limit}时得到{found}，应为{right}"


def ex_combine(combine):
    import random

    mean, variance = combine([1, 12], [1, 4], [2, 2])
    d2l.expect(mean, 6.5)
    assert variance != 2.5, "漏掉了各分片均值之间的方差"
    d2l.expect(variance, 32.75)
    mean, variance = combine([0, 3], [0, 0], [1, 2])
    assert mean != 1.5, "两行的分片，权重是一行的分片的两倍"
    d2l.expect(mean, 2)
    d2l.expect(variance, 2)
    for _ in range(20):
        shards = [
            [random.randint(1, 99) for _ in range(random.randint(1, 5))]
            for _ in range(random.randint(1, 4))
        ]
        means = [sum(shard) / len(shard) for shard in shards]
        squares = [sum(x * x for x in shard) / len(shard) for shard in shards]
        variances = [square - mean**2 for square, mean in zip(squares, means)]
        everything = sum(shards, [])
        right = sum(everything) / len(everything)
        mean, variance = combine(means, variances, [len(shard) for shard in shards])
        d2l.expect(mean, right, 1e-6)
        spread = sum((x - right) ** 2 for x in everything) / len(everything)
        d2l.expect(variance + 1, spread + 1, 1e-6)


def ex_warm_up(warm_up):
    import math
    import random

    rates = [warm_up(step, 1.0, 4) for step in range(7)]
    assert rates[0] > 0, "第一次更新的学习率是0"
    assert max(rates) <= 1 + 1e-9, "学习率一直在升：应当到lr为止"
    rises = [round(rates[i + 1] - rates[i], 6) for i in range(4)]
    assert rises == [0.2] * 4 and rates[4:] == [1.0] * 3, f"没有等量地升到lr：{rates}"
    assert warm_up(0, 0.5, 0) == 0.5, "不预热时，一开始就是lr"
    for _ in range(50):
        lr, num_steps, step = random.uniform(0.1, 3), random.randint(0, 9), random.randint(0, 12)
        right, found = lr * min(1, (step + 1) / (num_steps + 1)), warm_up(step, lr, num_steps)
        assert math.isclose(found, right), (
            f"step为{step}、lr为{lr:.3g}、num_steps为{num_steps}时得到{found:.3g}，应为{right:.3g}"
        )
