"""Exercises of hardware, made of chapters/text/hardware.md by the builder: edit that."""

from d2l_local import mxnet as d2l
from mxnet import nd
from functools import partial


def ex_in_flight(answer):
    foreseen = {
        2.88e6: "这是在途的字节数：是多少个线程束要来的？",
        2.88: "这是在途的MB数：是多少个线程束要来的？",
        22500: "这是整个GPU的线程束数：它有132个SM",
        22500 / 132 * 32: "这是线程数：32个线程才是一个线程束",
        64: "容得下的只有这么多，但够吗？",
    }
    d2l.expect(answer, 171, within=0.004, foreseen=foreseen)


def ex_ridges(answer):
    foreseen = {
        37: "16位时I = b，从这里起H20计算受限，但仍是它更快",
        74: "float32才是I = b / 2，16位时每个权重的字节少一半",
        89: "float32才是I = b / 2，16位时每个权重的字节少一半",
        90: "float32才是I = b / 2，16位时每个权重的字节少一半",
        295: "从这里起H100计算受限，而它早就更快了",
        296: "从这里起H100计算受限，而它早就更快了",
        44: "44行时H20仍更快，快千分之四",
        148 / 3.35: "这里两者一样久，而行数是整数",
        1: "只有一行时两者都访存受限，而H20的W更高",
    }
    d2l.expect(answer, 45, within=0, foreseen=foreseen)


def ex_mfu(answer):
    mfu = 6 * 217e6 * 16 * 1024 / (50.3e-3 * 989e12)
    foreseen = {
        mfu / 3: "那只是前向传播：2次运算，不是6次",
        100 * mfu: "那是百分数",
        1 / mfu: "除反了：设备能做的，比模型需要的多",
        mfu / 16: "那只是一个1024词元的序列：一步有16个",
    }
    d2l.expect(answer, mfu, foreseen=foreseen)


def ex_waves(busy):
    import math
    import random

    assert busy(11 * 128, 12 * 128, 128, 132) == 1, "132块，132个SM：全都在忙"
    d2l.expect(
        busy(7 * 128, 19 * 128, 128, 132), 133 / 264, foreseen={1: "133块要做两轮"}
    )
    assert busy(1, 1, 128, 1) != 1, "分块伸出去的部分，算的是没人要的"
    found = busy(100, 1000, 128, 7)
    assert not math.isclose(found, 100_000 / (7 * 128**2)), (
        "100×1000个元素，面积相当于7个128的分块，但分块不能折弯：要多少块才能盖住？"
    )
    for _ in range(200):
        rows, columns = random.randint(1, 300), random.randint(1, 300)
        tile, sms = random.randint(2, 90), random.randint(1, 9)
        tiles = len(range(0, rows, tile)) * len(range(0, columns, tile))
        turns = len(range(0, tiles, sms))
        right = rows * columns / (turns * sms * tile * tile)
        found = busy(rows, columns, tile, sms)
        assert math.isclose(found, right), (
            f"busy({rows}, {columns}, {tile}, {sms})：{tiles}块，{turns}轮，不是{found:.4g}"
        )


def ex_stride(useful_rate):
    import numpy as np

    numbers = np.ones(2**24, dtype=np.float32)
    found = {step: max(useful_rate(numbers, step) for _ in range(3)) for step in (1, 16, 64)}
    assert found[1] < 1e11, "没有哪个核这么快：计时的部分包含求和吗？"
    assert found[1] > 1e7, "怎么这么久？只计求和的时间，返回每秒的元素数"
    assert found[16] < found[1] / 2, "16个数共用一条缓存行：只数用到的"
    assert found[64] > found[16] / 8, "从16起，每个数各占一条缓存行"


def ex_product(as_product):
    device = d2l.devices(2)[1]
    images = nd.random.uniform(shape=(2, 3, 4, 5), ctx=device)
    weights = nd.random.uniform(shape=(6, 3, 3, 3), ctx=device)
    as_product(images, weights)
    right = nd.Convolution(images, weights, no_bias=True, kernel=(3, 3), pad=(1, 1), num_filter=6)
    with d2l.Timeline() as timeline:
        found = as_product(images, weights)
    assert found.shape == right.shape, f"输出的形状是{right.shape}，不是{found.shape}"
    assert found.context == device, f"图像在{device}上，结果却在{found.context}上"
    assert (found - right).norm().asscalar() < 1e-3, "一行里的数与权重的次序一样吗？"
    names = [span.name for spans in timeline.lanes.values() for span in spans]
    assert "Convolution" not in names, "这是库的卷积"
    kinds = ("dot", "FullyConnected", "batch_dot", "linalg_gemm", "linalg_gemm2")
    products = sum(name in kinds for name in names)
    assert products == 1, f"要一次矩阵乘法，不是{products}次"


def ex_own(own):
    job, F, n = own()
    assert callable(job), "第一项是一个函数，由检查来调用"
    assert F > 0 and n > 0, "每个算子都要读写，也要计算"
    device = d2l.try_gpu()
    x = nd.random.uniform(shape=(1024, 1024), ctx=device)
    product = partial(nd.FullyConnected, x, x, no_bias=True, num_hidden=1024)
    P = 2 * 1024**3 / d2l.measure(product, 10, 5).minimum
    W = max(d2l.copy_rates(device, [2**20, 2**22, 2**24, 2**26]))
    took = d2l.measure(job, 10).minimum / max(F / P, n / W)
    assert took > 0.4, f"用时是下限的{took:.2f}倍：没有设备这么快。F或n是不是数多了？"
    assert took < 100, (
        f"用时是下限的{took:.0f}倍：测到的会不会是起步用时？换更大的数组"
    )
    print(f"{took:.1f}倍于下限，限制它的是" + ("P" if F / P > n / W else "W"))
