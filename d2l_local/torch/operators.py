"""Operators and copies in PyTorch, to be timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from d2l_local.measure import operators as shared
from d2l_local.measure import timing
from d2l_local.measure.operators import Operator, Shape
from d2l_local.torch.device import num_gpus, synchronize

import numpy as np
import torch
from torch.nn import functional as F


def operators(device: torch.device, b: int = 64) -> dict[str, Operator]:
    """Return eleven operators of LeNet and ResNet-18 for ``b`` images on a device, by name.

    Each has ``run()`` and the shapes ``inputs``, ``weight`` (or None) and ``output``; all arrays
    are float32. The first eight are close to what their counts say, the last three are not.
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
            ones = [torch.ones(output[1], device=device) for _ in range(4)]
            return lambda: F.batch_norm(x, *ones, training=True)
        assert weight is not None
        w = torch.rand(weight, device=device)
        if kind == "dense":
            return lambda: torch.mm(x, w.T, out=y)
        pad, stride = shared.padding_and_stride(inputs[0], weight, output)
        return lambda: torch.conv2d(x, w, padding=pad, stride=stride)

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
    return timing.device_times(functions, repeats, number, synchronize=synchronize, on_gpu=on_gpu)


def copy_rates(device: torch.device, sizes: Sequence[int]) -> np.ndarray:
    """Bytes that a device reads and writes in a second when it copies, for each of ``sizes``.

    A size is the bytes of source and copy together. The best of five, each of so many copies in a
    row that 16 MB are moved.
    """

    def seconds(size: int) -> float:
        x, y = torch.ones(2, size // 8, device=device)
        number = max(1, 2**24 // size)
        return device_times({"copy": lambda: y.copy_(x)}, number=number)["copy"]

    return np.array([size / seconds(size) for size in sizes])
