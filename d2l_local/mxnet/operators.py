"""Operators and copies in MXNet, to be timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from d2l_local.measure import operators as shared
from d2l_local.measure import timing
from d2l_local.measure.operators import Operator, Shape
from d2l_local.mxnet.device import num_gpus

import mxnet as mx
import numpy as np
from mxnet import autograd, nd


def operators(device: mx.Context, b: int = 64) -> dict[str, Operator]:
    """Return eleven operators of LeNet and ResNet-18 for ``b`` images on a device, by name.

    Each has ``run()`` and the shapes ``inputs``, ``weight`` (or None) and ``output``; all arrays
    are float32. The first eight are close to what their counts say, the last three are not.
    ValueError unless ``b`` is a positive integer.
    """

    def array(shape: Shape) -> nd.NDArray:
        return nd.random.uniform(shape=shape, ctx=device)

    def make(
        kind: str, inputs: tuple[Shape, ...], weight: Shape | None, output: Shape
    ) -> Callable[[], object]:
        x, *others = map(array, inputs)
        y = array(output)
        if kind == "relu":
            return lambda: nd.Activation(x, "relu", out=y)
        if kind == "sum":
            return lambda: nd.elemwise_add(x, *others, out=y)
        if kind == "norm":
            ones = [nd.ones(output[1], ctx=device) for _ in range(4)]

            def norm() -> nd.NDArray:
                with autograd.train_mode():
                    return nd.BatchNorm(x, *ones, out=y)

            return norm
        assert weight is not None
        w, options = array(weight), {"no_bias": True, "out": y}
        if kind == "dense":
            return lambda: nd.FullyConnected(x, w, num_hidden=weight[0], **options)
        pad, stride = shared.padding_and_stride(inputs[0], weight, output)
        options.update(kernel=weight[2:], pad=(pad, pad), stride=(stride, stride))
        return lambda: nd.Convolution(x, w, num_filter=weight[0], **options)

    return shared.operators(b, make)


def device_times(
    functions: Mapping[str, Callable[[], object]], repeats: int = 5, number: int = 1
) -> dict[str, float]:
    """Return the best of the seconds that each of several functions takes of its device, by name.

    Measured in turns, as `compare` does, each time as the mean of ``number`` calls in a row. On a
    CPU only the time counts for which this process's threads have run, so that other programs
    hardly disturb; where there is a GPU, it is the time on the wall.
    """
    on_gpu = num_gpus() > 0
    return timing.device_times(functions, repeats, number, synchronize=nd.waitall, on_gpu=on_gpu)


def copy_rates(device: mx.Context, sizes: Sequence[int]) -> np.ndarray:
    """Bytes that a device reads and writes in a second when it copies, for each of ``sizes``.

    A size is the bytes of source and copy together. The best of five, each of so many copies in a
    row that 16 MB are moved.
    """

    def seconds(size: int) -> float:
        x, y = nd.ones(size // 8, ctx=device), nd.ones(size // 8, ctx=device)
        number = max(1, 2**24 // size)
        return device_times({"copy": lambda: x.copyto(y)}, number=number)["copy"]

    return np.array([size / seconds(size) for size in sizes])
