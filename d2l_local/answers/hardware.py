"""Exercises of hardware, made of chapters/text/hardware.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_strangers(answer, *, d2l):
    import random
    from functools import partial

    import numpy as np

    draw = random.Random(0)
    cases = [
        ([0], 1, 1),
        ([1, 1, 1], 3, 3),
        ([2, 0, 2, 0, 1], 3, 2),
        ([0] * 4, 2, 2),
        ([3] * 5, 4, 2),
    ]
    for _ in range(60):
        number, n = draw.randint(1, 5), draw.randint(1, 12)
        cases.append(([draw.randrange(number) for _ in range(n)], number, draw.randint(1, 5)))
    for choice, number, most in cases:
        calls = []

        def layer(weights, own):
            own = np.asarray(own)
            assert own.ndim == 2, translated("a layer takes an array of rows, also where there is only one")
            assert 1 <= len(own) <= most, (
                translated("{0} rows in a call, where 1 to {1} are allowed", len(own), most)
            )
            calls.append(len(own))
            return own @ weights

        weights = np.random.default_rng(0).standard_normal((number, 3, 2))
        rows = np.random.default_rng(1).standard_normal((len(choice), 3))
        given = rows.copy(), choice.copy()
        found = np.asarray(answer(rows, choice, [partial(layer, w) for w in weights], most))
        assert (rows == given[0]).all() and choice == given[1], translated("rows and choices are the caller's")
        right = np.stack([row @ weights[k] for row, k in zip(rows, choice)])
        assert found.shape == right.shape, translated("the shape is {0}, not {1}", right.shape, found.shape)
        assert np.allclose(found, right), translated("{0}: is each result where its row was?", choice)
        assert sum(calls) == len(choice), (
            translated("{0} rows computed, where there are {1}", sum(calls), len(choice))
        )
        least = sum(-(-choice.count(k) // most) for k in set(choice))
        assert len(calls) == least, (
            translated("{0}, {1} in a call: {2} calls, where {3} would do", choice, most, len(calls), least)
        )
    d = 2048
    weights = np.ones((2, d, d), dtype=np.float32)
    rows, choice = np.ones((64, d), dtype=np.float32), [i % 2 for i in range(64)]
    layers = [partial(lambda weights, own: own @ weights, w) for w in weights]
    jobs = {most: partial(answer, rows, choice, layers, most) for most in (1, 32)}
    times = d2l.seconds(jobs)
    print(translated("one by one: {0:.1f} times as long", times[1] / times[32]))


def ex_break__mxnet(culprit, *, d2l):
    from mxnet import nd

    device = d2l.try_gpu()
    least = 2 * 10**9 if device.device_type == "gpu" else 256 * 10**6
    bytes_of_calls: list[int] = []

    def relu(x, y):
        assert x.size == y.size, translated("x and y have equally many numbers")
        bytes_of_calls[-1] += 8 * x.size
        nd.Activation(x, "relu", out=y)

    bytes_of_calls.append(0)
    job = culprit(relu)
    assert callable(job), translated("it returns a function, which the check calls")

    def counted():
        bytes_of_calls.append(0)
        job()

    a, b = (nd.ones(least // 16, ctx=device) for _ in range(2))
    counted()
    n = bytes_of_calls[-1]
    assert n >= least, translated("a call counts {0:,.0f} MB, where {1:,.0f} are asked for", n / 1000000.0, least / 1000000.0)
    times = d2l.seconds({"copy": lambda: a.copyto(b), "own": counted})
    assert min(bytes_of_calls[1:]) >= least, translated("a later call does less than the first")
    share = times["own"] / n / (times["copy"] / (8 * a.size))
    assert share < 0.8, translated("{0:.2f} times the bound: these bytes do come from memory", share)
    print(translated("{0:.2f} times the bound", share))


def ex_break__torch(culprit, *, d2l):
    import torch

    device = d2l.try_gpu()
    least = 2 * 10**9 if device.type == "cuda" else 256 * 10**6
    bytes_of_calls: list[int] = []

    def relu(x, y):
        assert x.numel() == y.numel(), translated("x and y have equally many numbers")
        assert x.is_contiguous() and y.is_contiguous(), translated("take arrays whose numbers lie side by side")
        bytes_of_calls[-1] += x.nbytes + y.nbytes
        torch.clamp_min(x, 0, out=y)

    bytes_of_calls.append(0)
    job = culprit(relu)
    assert callable(job), translated("it returns a function, which the check calls")

    def counted():
        bytes_of_calls.append(0)
        job()

    a, b = (torch.ones(least // 16, device=device) for _ in range(2))
    counted()
    n = bytes_of_calls[-1]
    assert n >= least, translated("a call counts {0:,.0f} MB, where {1:,.0f} are asked for", n / 1000000.0, least / 1000000.0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    times = d2l.seconds(
        {"other": lambda: torch.clamp_min(a, 0, out=b), "own": counted}, replay=True
    )
    torch.set_num_threads(threads)
    assert min(bytes_of_calls[1:]) >= least, translated("a later call does less than the first")
    share = times["own"] / n / (times["other"] / (2 * a.nbytes))
    assert share < 0.8, translated("{0:.2f} times the bound: these bytes do come from memory", share)
    print(translated("{0:.2f} times the bound", share))


def ex_own__mxnet(own, *, d2l):
    from mxnet import nd
    from functools import partial

    operator, inputs, F, n = own()
    assert callable(operator), translated("the first is a function, which the check calls with the arrays")
    output = operator(*inputs)
    outputs = output if isinstance(output, (list, tuple)) else [output]
    assert all(isinstance(each, nd.NDArray) for each in outputs), translated("the function returns its output")
    read, write = (sum(4 * each.size for each in arrays) for arrays in (inputs, outputs))
    foreseen = {
        (read + write) / 4: translated("that counts numbers, of 4 bytes each"),
        write: translated("that is what it writes, without what it reads"),
        read: translated("that is what it reads, without what it writes"),
    }
    d2l.expect(n, read + write, within=0.02, foreseen=foreseen)
    assert F > 0, translated("every operator computes something")
    device = d2l.try_gpu()
    x = nd.random.uniform(shape=(1024, 1024), ctx=device)
    product = partial(nd.FullyConnected, x, x, no_bias=True, num_hidden=1024)
    times = d2l.seconds({"product": product, "own": lambda: operator(*inputs)})
    P = 2 * 1024**3 / times["product"]
    W = max(d2l.copy_rates(device, [2**20, 2**22, 2**24, 2**26]))
    took = times["own"] / max(F / P, n / W)
    assert took > 0.3, translated("{0:.2f} times its bound: no device is so fast. Is F too large?", took)
    assert took < 100, (
        translated("{0:.0f} times its bound: is it a call that you measure? Take larger arrays", took)
    )
    print(translated("{0:.1f} times its bound by ", took) + ("P" if F / P > n / W else "W"))


def ex_own__torch(own, *, d2l):
    from functools import partial
    import torch

    from torch.utils.flop_counter import FlopCounterMode

    operator, inputs, F, n = own()
    assert callable(operator), translated("the first is a function, which the check calls with the arrays")
    with FlopCounterMode(display=False) as counter:
        output = operator(*inputs)
    outputs = output if isinstance(output, (list, tuple)) else [output]
    assert all(torch.is_tensor(each) for each in outputs), translated("the function returns its output")
    read, write = (sum(each.nbytes for each in arrays) for arrays in (inputs, outputs))
    size = inputs[0].element_size()
    foreseen = {
        (read + write) / size: translated("that counts numbers, of {0} bytes each", size),
        write: translated("that is what it writes, without what it reads"),
        read: translated("that is what it reads, without what it writes"),
    }
    d2l.expect(n, read + write, within=0.02, foreseen=foreseen)
    assert F > 0, translated("every operator computes something")
    known = counter.get_total_flops()  # Of products and convolutions alone
    if known:
        d2l.expect(F, known, within=0.1, foreseen={known / 2: translated("a product and a sum are two FLOP")})
    device, d = d2l.try_gpu(), 4096 if d2l.num_gpus() else 1024
    dtype = inputs[0].dtype if inputs[0].is_floating_point() else torch.float32
    x = torch.rand(d, d, device=device).to(dtype)
    times = d2l.seconds({"product": partial(torch.mm, x, x), "own": lambda: operator(*inputs)})
    P = 2 * d**3 / times["product"]
    W = max(d2l.copy_rates(device, [2**20, 2**22, 2**24, 2**26]))
    took = times["own"] / max(F / P, n / W)
    assert took > 0.3, translated("{0:.2f} times its bound: no device is so fast. Is F too large?", took)
    assert took < 100, (
        translated("{0:.0f} times its bound: is it a call that you measure? Take larger arrays", took)
    )
    print(translated("{0:.1f} times its bound by ", took) + ("P" if F / P > n / W else "W"))


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
    known = numbers.size / d2l.measure(numbers.sum).minimum
    assert found[1] < 2.5 * known, translated("too fast by far: elements are asked for, not their bytes")
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
    kinds = ("dot", "FullyConnected", "batch_dot", "linalg_gemm", "linalg_gemm2", "_npi_matmul")
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
