"""Exercises of gpt, made of chapters/text/gpt.md by the builder: edit that."""

from d2l_local import mxnet as d2l


def ex_gpt_size(parameters):
    import random

    assert parameters(8, 0, 100, 0) != 2 * 100 * 8 + 16, "编号和分数共用一个矩阵"
    assert parameters(8, 0, 100, 0) != 100 * 8, (
        "最后一个块之后还有一次规范化"
    )
    assert parameters(8, 0, 0, 10) != 16, "位置也有向量"
    for _ in range(100):
        h, L = 4 * random.randint(1, 9), random.randint(1, 9)
        V, s = random.randint(1, 99), random.randint(1, 99)
        dense = (h + 1) * 3 * h + (h + 1) * h + (h + 1) * 4 * h + (4 * h + 1) * h
        right = L * (dense + 4 * h) + (V + s) * h + 2 * h
        found = parameters(h, L, V, s)
        assert found != right - L * 9 * h, "没有算全连接层的偏置？"
        assert found != right - L * 4 * h, "一个块里有两次规范化"
        assert found == right, (
            f"宽{h}，{L}层，词表{V}，上下文{s}：应当是{right}，而不是{found}"
        )


def ex_gpt_rate(tokens_per_second):
    import random

    for _ in range(100):
        mfu, P, N = (
            random.uniform(0.1, 0.9),
            1e12 * random.randint(1, 999),
            random.randint(1, 10**9),
        )
        L, h, s = random.randint(2, 40), random.randint(8, 4096), random.randint(8, 4096)
        right = mfu * P / (6 * N + 12 * L * h * s)
        d2l.expect(
            tokens_per_second(mfu, P, N, L, h, s),
            right,
            within=1e-6,
            foreseen={
                mfu * P / (6 * N): "漏了注意力的分数",
                mfu * P / (2 * N + 4 * L * h * s): "这只是前向传播",
                P / (6 * N + 12 * L * h * s): "这是达到峰值时的速率",
                mfu * P / (6 * N + 12 * h * s): "L个块里，每个都有分数",
            },
        )


def ex_run_cost(days):
    flop = 6 * 405e9 * 15.6e12
    right = flop / (16_384 * 989e12 * 0.4) / 86_400
    d2l.expect(
        days,
        right,
        within=0.02,
        foreseen={
            right * 0.4: "这是达到峰值时的天数：MFU是0.40",
            right / 3: "这只是前向传播",
            right * 86_400: "这是秒数",
            right * 24: "这是小时数",
            right * 16_384: "这是一块GPU要用的天数",
        },
    )


def ex_logits(vocabulary_from):
    import random

    found = vocabulary_from(768, 6)
    assert found not in (73728, 73729), "损失有三个数组，每个数4字节"
    assert found not in (4096, 4097), "是全部的块，不是一个块"
    assert vocabulary_from(3, 1) != 16, "16时两者相等；题目要求损失超过"
    for _ in range(100):
        h, L = random.randint(1, 999), random.randint(1, 99)
        right, found = 64 * h * L // 12 + 1, vocabulary_from(h, L)
        assert found == right, f"宽{h}，{L}层：应当是{right}，而不是{found}"


def ex_fits(most_rows):
    import random

    assert most_rows(100, 1000, 1, 1, 1, 1) >= 0, "状态本身就可能放不下：这时是0"
    for _ in range(200):
        L, h, V, s = [random.randint(1, 9) for _ in range(4)]
        N, row = random.randint(1, 99), s * (36 * L * h + 10 * V)
        memory = 14 * N + random.randint(0, 20 * row)
        right, found = (memory - 14 * N) // row, most_rows(memory, N, L, h, V, s)
        assert not isinstance(found, float) or found == int(found), "行数是整数：向下取整"
        float32 = (memory - 12 * N) // (s * (64 * L * h + 12 * V))
        assert found == right or found != max(0, float32), "这是float32的系数"
        assert found == right, f"{memory}字节放得下{right}行，而不是{found}行"


def ex_some_blocks(peak):
    import random

    for _ in range(100):
        k, h = random.randint(1, 9), random.randint(1, 99)
        m = random.randint(2, 9)
        right, found = h * (64 * (m * k - m + 1) + 4 * (m - 1)), peak(m * k, k, h)
        assert found != h * (64 * (m * k - m) + 4 * m), (
            "重计算最后一个块时，其余的块保留的都还在"
        )
        assert found != h * (64 * (m * k - m + 1) + 4 * m), (
            "块重新算过之后，它的输入已在64字节之内"
        )
        assert found == right, f"{m * k}个块，k = {k}，宽{h}：应当是{right}字节，而不是{found}"
