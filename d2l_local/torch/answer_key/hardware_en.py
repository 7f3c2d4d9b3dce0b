"""Exercises of hardware, made of chapters/text/hardware.md by the builder: edit that."""

from d2l_local import torch as d2l
import torch
from functools import partial


def ex_in_flight(answer):
    foreseen = {
        2.88e6: "so many bytes are on their way: how many warps have asked for them?",
        2.88: "so many MB are on their way: how many warps have asked for them?",
        22500: "so many warps has the whole GPU: it has 132 SMs",
        22500 / 132 * 32: "those are threads: 32 of them are a warp",
        64: "so many have room, but is it enough?",
    }
    d2l.expect(answer, 171, within=0.004, foreseen=foreseen)


def ex_ridges(answer):
    foreseen = {
        37: "I = b in 16 bits, and there the H20 becomes compute-bound, but is still the faster one",
        74: "I = b / 2 holds for float32: in 16 bits a weight has half as many bytes",
        89: "I = b / 2 holds for float32: in 16 bits a weight has half as many bytes",
        90: "I = b / 2 holds for float32: in 16 bits a weight has half as many bytes",
        295: "there the H100 becomes compute-bound, and has long been the faster one",
        296: "there the H100 becomes compute-bound, and has long been the faster one",
        44: "for 44 rows the H20 is still faster, by 0.4 percent",
        148 / 3.35: "there both take equally long: rows are whole",
        1: "for one row both are memory-bound, and the H20 has the higher W",
    }
    d2l.expect(answer, 45, within=0, foreseen=foreseen)


def ex_mfu(answer):
    mfu = 6 * 217e6 * 16 * 1024 / (50.3e-3 * 989e12)
    foreseen = {
        mfu / 3: "that is the forward propagation alone: 2 FLOP, not 6",
        100 * mfu: "that is in per cent",
        1 / mfu: "that is the other way round: the device can do more than the model needs",
        mfu / 16: "that is one sequence of 1024 tokens: a step has 16",
    }
    d2l.expect(answer, mfu, foreseen=foreseen)


def ex_waves(busy):
    import math
    import random

    assert busy(11 * 128, 12 * 128, 128, 132) == 1, "132 tiles on 132 SMs: all are busy"
    d2l.expect(
        busy(7 * 128, 19 * 128, 128, 132), 133 / 264, foreseen={1: "133 tiles take two turns"}
    )
    assert busy(1, 1, 128, 1) != 1, "a tile that juts out computes what nobody needs"
    found = busy(100, 1000, 128, 7)
    assert not math.isclose(found, 100_000 / (7 * 128**2)), (
        "100 x 1000 elements would fill 7 tiles of 128, but tiles cannot be bent: how many cover them?"
    )
    for _ in range(200):
        rows, columns = random.randint(1, 300), random.randint(1, 300)
        tile, sms = random.randint(2, 90), random.randint(1, 9)
        tiles = len(range(0, rows, tile)) * len(range(0, columns, tile))
        turns = len(range(0, tiles, sms))
        right = rows * columns / (turns * sms * tile * tile)
        found = busy(rows, columns, tile, sms)
        assert math.isclose(found, right), (
            f"busy({rows}, {columns}, {tile}, {sms}): {tiles} tiles in {turns} turns, not {found:.4g}"
        )


def ex_stride(useful_rate):
    import numpy as np

    numbers = np.ones(2**24, dtype=np.float32)
    found = {step: max(useful_rate(numbers, step) for _ in range(3)) for step in (1, 16, 64)}
    assert found[1] < 1e11, "no core sums so fast: is the sum in what you time?"
    assert found[1] > 1e7, "what takes so long? Time the sum alone, and return elements per second"
    assert found[16] < found[1] / 2, "16 numbers share a line: count those that are used"
    assert found[64] > found[16] / 8, "from 16 on each number has a line of its own"


def ex_product(as_product):
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
    assert found.shape == right.shape, f"the output has the shape {right.shape}, not {found.shape}"
    assert found.device == right.device, f"the images lie on {device}, and the result elsewhere"
    assert (found - right).norm() < 1e-3, "do a row and the weights have the same order?"
    assert not any("convolution" in name for name in names), "that is the library's convolution"
    products = sum(name in ("mm", "bmm", "addmm", "baddbmm", "mv", "dot") for name in names)
    assert products == 1, f"one product is asked for, not {products}"


def ex_own(own):
    job, F, n = own()
    assert callable(job), "the first is a function, which the check calls"
    assert F > 0 and n > 0, "every operator reads and writes something, and computes something"
    device = d2l.try_gpu()
    x = torch.rand(1024, 1024, device=device)
    P = 2 * 1024**3 / d2l.measure(partial(torch.mm, x, x), 10, 5).minimum
    W = max(d2l.copy_rates(device, [2**20, 2**22, 2**24, 2**26]))
    took = d2l.measure(job, 10).minimum / max(F / P, n / W)
    assert took > 0.4, f"{took:.2f} times its bound: no device is so fast. Is F or n too large?"
    assert took < 100, (
        f"{took:.0f} times its bound: is it the floor that you measure? Take larger arrays"
    )
    print(f"{took:.1f} times its bound by " + ("P" if F / P > n / W else "W"))
