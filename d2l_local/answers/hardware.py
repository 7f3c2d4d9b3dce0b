"""Exercises of hardware, made of chapters/text/hardware.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_in_flight(answer, *, d2l):
    foreseen = {
        2.88e6: translated("so many bytes are on their way: how many warps have asked for them?"),
        2.88: translated("so many MB are on their way: how many warps have asked for them?"),
        22500: translated("so many warps has the whole GPU: it has 132 SMs"),
        22500 / 132 * 32: translated("those are threads: 32 of them are a warp"),
        64: translated("so many have room, but is it enough?"),
    }
    d2l.expect(answer, 171, within=0.004, foreseen=foreseen)


def ex_ridges(answer, *, d2l):
    foreseen = {
        37: translated("I = b in 16 bits, and there the H20 becomes compute-bound, but is still the faster one"),
        74: translated("I = b / 2 holds for float32: in 16 bits a weight has half as many bytes"),
        89: translated("I = b / 2 holds for float32: in 16 bits a weight has half as many bytes"),
        90: translated("I = b / 2 holds for float32: in 16 bits a weight has half as many bytes"),
        295: translated("there the H100 becomes compute-bound, and has long been the faster one"),
        296: translated("there the H100 becomes compute-bound, and has long been the faster one"),
        44: translated("for 44 rows the H20 is still faster, by 0.4 percent"),
        148 / 3.35: translated("there both take equally long: rows are whole"),
        1: translated("for one row both are memory-bound, and the H20 has the higher W"),
    }
    d2l.expect(answer, 45, within=0, foreseen=foreseen)


def ex_mfu(answer, *, d2l):
    mfu = 6 * 217e6 * 16 * 1024 / (50.3e-3 * 989e12)
    foreseen = {
        mfu / 3: translated("that is the forward propagation alone: 2 FLOP, not 6"),
        100 * mfu: translated("that is in per cent"),
        1 / mfu: translated("that is the other way round: the device can do more than the model needs"),
        mfu / 16: translated("that is one sequence of 1024 tokens: a step has 16"),
    }
    d2l.expect(answer, mfu, foreseen=foreseen)


def ex_waves(busy, *, d2l):
    import math
    import random

    assert busy(11 * 128, 12 * 128, 128, 132) == 1, translated("132 tiles on 132 SMs: all are busy")
    d2l.expect(
        busy(7 * 128, 19 * 128, 128, 132), 133 / 264, foreseen={1: translated("133 tiles take two turns")}
    )
    assert busy(1, 1, 128, 1) != 1, translated("a tile that juts out computes what nobody needs")
    found = busy(100, 1000, 128, 7)
    assert not math.isclose(found, 100_000 / (7 * 128**2)), (
        translated("100 x 1000 elements would fill 7 tiles of 128, but tiles cannot be bent: how many cover them?")
    )
    for _ in range(200):
        rows, columns = random.randint(1, 300), random.randint(1, 300)
        tile, sms = random.randint(2, 90), random.randint(1, 9)
        tiles = len(range(0, rows, tile)) * len(range(0, columns, tile))
        turns = len(range(0, tiles, sms))
        right = rows * columns / (turns * sms * tile * tile)
        found = busy(rows, columns, tile, sms)
        assert math.isclose(found, right), (
            translated("busy({0}, {1}, {2}, {3}): {4} tiles in {5} turns, not {6:.4g}", rows, columns, tile, sms, tiles, turns, found)
        )


def ex_stride(useful_rate, *, d2l):
    import numpy as np

    numbers = np.ones(2**24, dtype=np.float32)
    found = {step: max(useful_rate(numbers, step) for _ in range(3)) for step in (1, 16, 64)}
    assert found[1] < 1e11, translated("no core sums so fast: is the sum in what you time?")
    assert found[1] > 1e7, translated("what takes so long? Time the sum alone, and return elements per second")
    assert found[16] < found[1] / 2, translated("16 numbers share a line: count those that are used")
    assert found[64] > found[16] / 8, translated("from 16 on each number has a line of its own")


def ex_product__mxnet(as_product, *, d2l):
    from mxnet import nd

    device = d2l.devices(2)[1]
    images = nd.random.uniform(shape=(2, 3, 4, 5), ctx=device)
    weights = nd.random.uniform(shape=(6, 3, 3, 3), ctx=device)
    as_product(images, weights)
    right = nd.Convolution(images, weights, no_bias=True, kernel=(3, 3), pad=(1, 1), num_filter=6)
    with d2l.Timeline() as timeline:
        found = as_product(images, weights)
    assert found.shape == right.shape, translated("the output has the shape {0}, not {1}", right.shape, found.shape)
    assert found.context == device, translated("the images lie on {0}, and the result on {1}", device, found.context)
    assert (found - right).norm().asscalar() < 1e-3, translated("do a row and the weights have the same order?")
    names = [span.name for spans in timeline.lanes.values() for span in spans]
    assert "Convolution" not in names, translated("that is the library's convolution")
    kinds = ("dot", "FullyConnected", "batch_dot", "linalg_gemm", "linalg_gemm2")
    products = sum(name in kinds for name in names)
    assert products == 1, translated("one product is asked for, not {0}", products)


def ex_product__torch(as_product, *, d2l):
    import torch

    from torch.utils._python_dispatch import TorchDispatchMode

    device, names = d2l.try_gpu(), []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func).split(".")[1])
            return func(*args, **(kwargs or {}))

    images, weights = torch.rand(2, 3, 4, 5, device=device), torch.rand(6, 3, 3, 3, device=device)
    right = torch.conv2d(images, weights, padding=1)
    with Names():
        found = as_product(images, weights)
    assert found.shape == right.shape, translated("the output has the shape {0}, not {1}", right.shape, found.shape)
    assert found.device == right.device, translated("the images lie on {0}, and the result elsewhere", device)
    assert (found - right).norm() < 1e-3, translated("do a row and the weights have the same order?")
    assert not any("convolution" in name for name in names), translated("that is the library's convolution")
    products = sum(name in ("mm", "bmm", "addmm", "baddbmm", "mv", "dot") for name in names)
    assert products == 1, translated("one product is asked for, not {0}", products)


def ex_own__mxnet(own, *, d2l):
    from mxnet import nd
    from functools import partial

    job, F, n = own()
    assert callable(job), translated("the first is a function, which the check calls")
    assert F > 0 and n > 0, translated("every operator reads and writes something, and computes something")
    device = d2l.try_gpu()
    x = nd.random.uniform(shape=(1024, 1024), ctx=device)
    product = partial(nd.FullyConnected, x, x, no_bias=True, num_hidden=1024)
    P = 2 * 1024**3 / d2l.measure(product, 10, 5).minimum
    W = max(d2l.copy_rates(device, [2**20, 2**22, 2**24, 2**26]))
    took = d2l.measure(job, 10).minimum / max(F / P, n / W)
    assert took > 0.4, translated("{0:.2f} times its bound: no device is so fast. Is F or n too large?", took)
    assert took < 100, (
        translated("{0:.0f} times its bound: is it the floor that you measure? Take larger arrays", took)
    )
    print(translated("{0:.1f} times its bound by ", took) + ("P" if F / P > n / W else "W"))


def ex_own__torch(own, *, d2l):
    from functools import partial
    import torch

    job, F, n = own()
    assert callable(job), translated("the first is a function, which the check calls")
    assert F > 0 and n > 0, translated("every operator reads and writes something, and computes something")
    device = d2l.try_gpu()
    x = torch.rand(1024, 1024, device=device)
    P = 2 * 1024**3 / d2l.measure(partial(torch.mm, x, x), 10, 5).minimum
    W = max(d2l.copy_rates(device, [2**20, 2**22, 2**24, 2**26]))
    took = d2l.measure(job, 10).minimum / max(F / P, n / W)
    assert took > 0.4, translated("{0:.2f} times its bound: no device is so fast. Is F or n too large?", took)
    assert took < 100, (
        translated("{0:.0f} times its bound: is it the floor that you measure? Take larger arrays", took)
    )
    print(translated("{0:.1f} times its bound by ", took) + ("P" if F / P > n / W else "W"))
