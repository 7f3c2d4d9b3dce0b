"""Operators and copies in PyTorch, to be timed."""

from __future__ import annotations

from collections.abc import Callable

from d2l_local.measure import operators as shared
from d2l_local.measure.operators import Operator, Shape

import torch
from torch.nn import functional as F


def operators(device: torch.device, b: int = 64) -> dict[str, Operator]:
    """Return eleven operators of LeNet and ResNet-18 for ``b`` images on a device, by name.

    Each has ``run()`` and the shapes ``inputs``, ``weight`` (or None) and ``output``; all arrays
    are float32. On CPUs the first eight are near what their counts say, the last three are not.
    ValueError unless ``b`` is a positive integer.
    """

    def make(
        kind: str, inputs: tuple[Shape, ...], weight: Shape | None, output: Shape
    ) -> Callable[[], object]:
        x, *others = [torch.rand(shape, device=device) for shape in inputs]
        y = torch.rand(output, device=device)
        if kind == "relu":
            return lambda: torch.clamp_min(x, 0, out=y)
        if kind == "sum":
            return lambda: torch.add(x, *others, out=y)
        if kind == "norm":
            mean, var, gamma, beta = (torch.ones(output[1], device=device) for _ in range(4))
            return lambda: F.batch_norm(x, mean, var, gamma, beta, training=True)
        assert weight is not None
        w = torch.rand(weight, device=device)
        if kind == "dense":
            return lambda: torch.mm(x, w.T, out=y)
        pad, stride = shared.padding_and_stride(inputs[0], weight, output)
        return lambda: torch.conv2d(x, w, padding=pad, stride=stride)

    return shared.operators(b, make)


def copier(device: torch.device, num_bytes: int) -> Callable[[], object]:
    """Return what copies so many bytes on a device, into the same array each time."""
    x, y = torch.ones(2, num_bytes // 4, device=device)
    return lambda: y.copy_(x)
