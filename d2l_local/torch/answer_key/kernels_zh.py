"""Exercises of kernels, made of chapters/text/kernels.md by the builder: edit that."""

from d2l_local import torch as d2l


def ex_passes(answer):
    foreseen = {
        7: "这是它读写的总遍数；一个核函数要读写几遍？",
        3: "求平均不要时间吗？它要读所有的平方",
        2.5: "最后的乘法也要把所有元素读一遍、写一遍",
        5: "算子是五个，但有的既读又写，而核函数要读一遍、写一遍",
        4: "每行的平均几乎不写什么",
        1 / 3.5: "问的是用时的倍数，不是它的倒数",
    }
    d2l.expect(answer, 3.5, foreseen=foreseen)


def ex_tile(smallest_tile):
    import random

    found = smallest_tile(64e9, 1e9, 2)
    assert found != 64, "每字节64次是脊点；每个数2字节时，多大的分块才有这么多？"
    assert found != 32, "每个数的字节越多，分块要越大，而不是越小"
    assert found == 128, f"每字节T/2次要达到脊点64：{found}不对"
    found = smallest_tile(65e9, 1e9, 2)
    assert found != 128, "要每字节65次，而128的分块只有64次"
    assert found != 130, "130够了，但要的是2的幂"
    assert smallest_tile(64e9, 1e9, 4) == 256, "每个数4字节时，分块每字节只有T/4次"
    for _ in range(100):
        P, W, size = random.uniform(1e10, 1e15), random.uniform(1e9, 1e13), random.choice([1, 2, 4])
        T = 1
        while T / size < P / W:
            T *= 2
        found = smallest_tile(P, W, size)
        assert found == T, f"P / W = {P / W:.4g}，每个数{size}字节：应当是{T}，而不是{found}"


def ex_stages(stages):
    import random

    found = stages(256, 256, 64, 2, 232448)
    assert found != 4, "四级要262,144字节，而只有232,448字节"
    assert found != 7, "每一级有两个矩阵各一段"
    assert found == 3, f"每级65,536字节：232,448字节放得下3级，而不是{found}级"
    assert stages(128, 64, 32, 2, 24576) == 2, "每级12,288字节，正好放下2级"
    for _ in range(100):
        rows, columns, K = [random.choice([16, 32, 64, 128, 256]) for _ in range(3)]
        size, shared = random.choice([1, 2, 4]), random.randint(50_000, 250_000)
        right = shared // (K * (rows + columns) * size)
        found = stages(rows, columns, K, size, shared)
        assert found == right, (
            f"stages({rows}, {columns}, {K}, {size}, {shared})：放得下{right}级，而不是{found}级"
        )


def ex_online(merge):
    import numpy as np

    random = np.random.RandomState()

    def part(scores, values):
        m = scores.max()
        e = np.exp(scores - m)
        return m, e.sum(), e @ values

    for case in range(60):
        shift = (0, 1000, -1000)[case % 3]
        scores, values = 3 * random.randn(9) + shift, random.randn(9, 4)
        cut = random.randint(1, 9)
        first, second = part(scores[:cut], values[:cut]), part(scores[cut:], values[cut:])
        m, total, o = part(scores, values)
        kept = [np.copy(each) for each in (*first, *second)]
        with np.errstate(all="ignore"):
            found_m, found_total, found_o = merge(*first, *second)
        assert all(np.array_equal(a, b) for a, b in zip(kept, (*first, *second))), (
            "不要改动传入的数组"
        )
        assert np.isfinite(found_total) and np.all(np.isfinite(found_o)), (
            "有数上溢了：只有分数之差才能作指数"
        )
        assert np.isclose(found_m, m), "两部分合起来最大的分数，是两个最大值中较大的一个"
        assert not np.isclose(found_total, first[1] + second[1], rtol=1e-9), (
            "两个总和各自相对于自己的最大分数，要先统一"
        )
        assert np.isclose(found_total, total), "指数的正负号对吗？"
        assert np.shape(found_o) == np.shape(o), f"o的形状应当是{np.shape(o)}"
        assert not np.allclose(found_o, o / total), "这已经除过了：要的是o，不是o除以l"
        assert np.allclose(found_o, o), "o要与总和一样修正"


def ex_scores(answer):
    n = 32768
    foreseen = {
        16 * n * n: "这是数的个数，每个数2字节",
        2 * n * n: "这只是一个头",
        16 * n * 2: "每个词元与每个词元之间都有一个分数",
        4 * 16 * n * n: "这是float32",
        2 * 16 * n * n / 1e9: "这是GB数，问的是字节",
        2 * 16 * n * n / 2**30: "这是GiB数，问的是字节",
    }
    d2l.expect(answer, 2 * 16 * n * n, foreseen=foreseen)


def ex_pays(smallest_width):
    import random

    right = 5 / 4e12 / (1 / 800e12 - 1 / 1400e12)
    foreseen = {
        right / 2: "N×N的矩阵乘法要2N³次浮点运算，要舍入的矩阵有两个",
        2 * right: "N×N的矩阵乘法要2N³次浮点运算，要舍入的矩阵有两个",
        5 / 4e12 * 800e12: "FP8省下的是两个用时之差，它本身也要用时",
        5 / 4e12 * 1400e12: "这是拿舍入与FP8的乘法比较",
        5 / 4e12 * (1400e12 - 800e12): "能相减的是用时，不是速率",
    }
    d2l.expect(smallest_width(800e12, 1400e12, 4e12, 5), right, foreseen=foreseen)
    for _ in range(50):
        P16, factor = random.uniform(1e14, 1e15), random.uniform(1.3, 2.5)
        W, moved = random.uniform(1e12, 8e12), random.uniform(3, 40)
        right = moved / W / (1 / P16 - 1 / (factor * P16))
        d2l.expect(smallest_width(P16, factor * P16, W, moved), right)
