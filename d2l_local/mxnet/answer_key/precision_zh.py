"""Exercises of precision, made of chapters/text/precision.md by the builder: edit that."""

from d2l_local import mxnet as d2l


def ex_scale(answer):
    foreseen = {
        2: "梯度的两倍仍然变成零",
        3: "3不是2的幂",
        8: "这样可以，但更小的也行",
        2**16: "这样可以，但更小的也行",
        0.25: "这样梯度反而更小",
    }
    d2l.expect(answer, 4, within=0, foreseen=foreseen)


def ex_step_gain(answer):
    foreseen = {
        0.6 * 8: "能相加的是时间，不是速度：把两部分剩下的时间相加",
        0.4 + 0.6 * 8: "能相加的是时间，不是速度：把两部分剩下的时间相加",
        1 / 0.4: "这是上限，相当于矩阵乘法完全不花时间",
        0.4 + 0.6 / 8: "这是剩下的时间，速度是原来的几倍呢？",
        1 / (0.6 + 0.4 / 8): "变快的是哪一部分？",
    }
    d2l.expect(answer, 1 / (0.4 + 0.6 / 8), within=0.005, foreseen=foreseen)


def ex_code(answer):
    if isinstance(answer, int) and 0 <= answer < 256:
        answer = format(answer, "08b")  # Whoever writes 0b01001011
    assert isinstance(answer, str), "要填的是二进制位：引号里八个0或1"
    bits = "".join(answer.split()).replace("_", "").replace("0b", "")
    assert len(bits) == 8 and set(bits) <= {"0", "1"}, f"{answer}：应当是八位"
    sign, exponent, mantissa = bits[0], bits[1:5], bits[5:]
    assert sign == "1", "这个数是负的"
    assert exponent != "0110", "指数是6，存放时要加7"
    assert exponent == "1101", "应当取不超过90的最大的2的幂"
    assert mantissa != "100", "96相差6，还有更近的"
    assert mantissa != "101", "最前面的1不存放：尾数只数64之后的步数"
    assert mantissa == "011", (
        "从64到128有八步，每步是8：走几步最接近90？"
    )


def ex_bfloat16(to_bfloat16):
    import numpy as np

    def slow(x):  # Of its two neighbors in bfloat16, the nearer one
        bits = int(np.float32(x).view(np.uint32))
        low = bits - bits % 2**16
        below, above = [float(np.uint32(b).view(np.float32)) for b in (low, low + 2**16)]
        if abs(x - below) != abs(above - x):
            return below if abs(x - below) < abs(above - x) else above
        return above if low >> 16 & 1 else below

    random = np.random.RandomState(7)
    x = (random.randn(300) * 2.0 ** random.randint(-40, 40, 300)).astype(np.float32)
    ties = np.array([257, 259, -257, -259, 1.01171875], dtype=np.float32)
    found, tied = to_bfloat16(x.copy()), to_bfloat16(ties.copy())
    assert isinstance(found, np.ndarray), "返回的不是数组"
    assert found.dtype == np.float32, f"返回的是{found.dtype}，不是float32"
    assert found.shape == x.shape, "形状变了"
    assert (np.sign(found) == np.sign(x)).all(), "负数舍入之后仍是负数"
    assert not (found.view(np.uint32) % 2**16).any(), "留下的不止16位"
    right = np.array([slow(value) for value in x], dtype=np.float32)
    assert (found == right).all(), "不是最近的：直接截断会偏向零"
    assert (tied == [slow(value) for value in ties]).all(), (
        "257和259正好在中间：要取末位为0的"
    )


def ex_difference(smaller_blocks, finer_scales):
    import numpy as np

    def e2m1(x):
        gap = 2.0 ** (np.maximum(np.frexp(x)[1] - 1, 0) - 1)
        return np.clip(np.round(x / gap) * gap, -6, 6)

    def e4m3(x):
        gap = 2.0 ** (np.maximum(np.frexp(x)[1] - 1, -6) - 3)
        return np.clip(np.round(x / gap) * gap, -448, 448)

    x = 0.02 * np.random.RandomState(0).randn(256, 256)
    errors = {}
    for size in (16, 32):
        blocks = x.reshape(-1, size)
        top = np.abs(blocks).max(axis=1, keepdims=True)
        powers = 2.0 ** (np.frexp(top)[1] - 3)
        whole = np.abs(x).max() / (6 * 448)
        fine = e4m3(top / whole / 6) * whole
        for kind, scale in (("power", powers), ("fine", fine), ("exact", top / 6)):
            rounded = e2m1(blocks / scale) * scale
            errors[kind, size] = float(np.linalg.norm(rounded - blocks) / np.linalg.norm(x))
    foreseen = {
        errors["power", 32]: "这是MXFP4，什么也没改",
        errors["fine", 16]: "这是NVFP4，两处都改了",
        errors["exact", 16]: "这个缩放因子是float32，两种格式都不是这样",
        errors["exact", 32]: "这个缩放因子是float32，两种格式都不是这样",
        100 * errors["power", 16]: "这是百分数，题目问的是比例",
        100 * errors["fine", 32]: "这是百分数，题目问的是比例",
    }
    d2l.expect(smaller_blocks, errors["power", 16], within=0.003, foreseen=foreseen)
    d2l.expect(finer_scales, errors["fine", 32], within=0.003, foreseen=foreseen)


def ex_dynamic(next_scale):
    import random

    assert tuple(next_scale(1024, 5, False)) == (1024, 6), (
        "正常的一步只计数，不改倍数"
    )
    scale, good = next_scale(1024, 1999, True)
    assert scale == 512, "只要溢出，倍数就减半，不管之前如何"
    assert good == 0, "溢出之后步数归零"
    scale, good = next_scale(1024, 1999, False)
    assert scale == 2048, "第2000步正常时倍数加倍"
    assert good == 0, "加倍之后步数归零"
    assert tuple(next_scale(1024, 1998, False)) == (1024, 1999), (
        "1,999步还不是2,000步"
    )
    for _ in range(100):
        scale, good = 2 ** random.randint(1, 20), random.randint(0, 1998)
        right = {True: (scale / 2, 0), False: (scale, good + 1)}
        for overflow in (True, False):
            assert tuple(next_scale(scale, good, overflow)) == right[overflow], (
                f"倍数{scale}，正常{good}步，溢出{overflow}：应当是{right[overflow]}"
            )


def ex_stochastic(stochastic):
    import numpy as np

    random = np.random.RandomState()
    for p in (0.2, *random.uniform(0.1, 0.9, 20)):
        gap, whole = 2.0 ** random.randint(-6, 3), random.randint(-9, 9)
        found = stochastic(np.full((100, 200), (whole + p) * gap), gap, random)
        assert isinstance(found, np.ndarray) and found.shape == (100, 200), (
            "返回的不是与x形状相同的数组"
        )
        steps = found / gap
        assert (steps == np.round(steps)).all(), "有的不是间隔的整数倍"
        assert ((steps == whole) | (steps == whole + 1)).all(), (
            f"{whole + p:.2f}个间隔在{whole}与{whole + 1}之间：应当取其中之一"
        )
        assert steps.min() < steps.max(), "相等的数全都走向同一边：要逐个随机抽取"
        up = (steps > whole).mean()
        assert abs(up - 0.5) < 0.04 or abs(up - p) < abs(up - (1 - p)), (
            "离得近的邻居，概率应当更大"
        )
        assert abs(up - p) < 0.03, (
            f"高出整数倍{p:.2f}个间隔时，有{up:.2f}的数向上舍入"
        )
    exact = np.array([-2.0, 0.0, 3.5])
    assert (stochastic(exact, 0.5, random) == exact).all(), "间隔的整数倍应当保持不变"
