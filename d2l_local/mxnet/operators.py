"""Operators and copies in MXNet, to be timed."""

from __future__ import annotations

from collections.abc import Callable

from d2l_local.measure import operators as shared
from d2l_local.measure.operators import Operator, Shape

import mxnet as mx
from mxnet import autograd, nd


def operators(device: mx.Context, b: int = 64) -> dict[str, Operator]:
    """Return eleven operators of LeNet and ResNet-18 for ``b`` images on a device, by name.

    Each has ``run()`` and the shapes ``inputs``, ``weight`` (or None) and ``output``; all arrays
    are float32. On CPUs the first eight are near what their counts say, the last three are not.
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


def copier(device: mx.Context, num_bytes: int) -> Callable[[], object]:
    """Return what copies so many bytes on a device, into the same array each time."""
    x, y = nd.ones(num_bytes // 4, ctx=device), nd.ones(num_bytes // 4, ctx=device)
    return lambda: x.copyto(y)
