"""Operators whose times can be predicted: what they read and write, whatever the framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from d2l_local.base.arguments import positive_integer
from d2l_local.base.language import translated

Shape = tuple[int, ...]


class Operator(NamedTuple):
    """An operator on arrays of its own, in float32, and the shapes of these."""

    run: Callable[[], object]
    """Compute it once more. Wherever the framework can, into the same output: memory that is
    touched for the first time takes longer than much of what is computed in it."""

    inputs: tuple[Shape, ...]
    weight: Shape | None
    output: Shape


# How a framework makes what runs an operator of one kind, given the shapes
Make = Callable[[str, tuple[Shape, ...], "Shape | None", Shape], Callable[[], object]]


def operators(b: int, make: Make) -> dict[str, Operator]:
    """Return eleven operators of LeNet and ResNet-18 for ``b`` images of 28x28, by name.

    On CPUs the first eight are near what their counts say, the last three are not; ``/2`` is a
    stride of 2. The names are in the language in force. ``make`` gets the kind and the shapes:
    ``"conv"``, ``"dense"``, ``"relu"``, ``"sum"`` or ``"norm"`` (batch normalization in training).
    ValueError unless ``b`` is a positive integer.
    """
    b = positive_integer("b", b)
    wide, narrow = (b, 64, 28, 28), (b, 128, 14, 14)
    small, first = (b, 512, 4, 4), (b, 20, 26, 26)
    shapes: dict[str, tuple[str, tuple[Shape, ...], Shape | None, Shape]] = {
        "LeNet Conv 5x5, 20-50": ("conv", ((b, 20, 13, 13),), (50, 20, 5, 5), (b, 50, 9, 9)),
        "LeNet Dense 800-128": ("dense", ((b, 800),), (128, 800), (b, 128)),
        "LeNet ReLU, 26x26": ("relu", (first,), None, first),
        "ResNet Conv 64, 28x28": ("conv", (wide,), (64, 64, 3, 3), wide),
        "ResNet Conv 128, 14x14": ("conv", (narrow,), (128, 128, 3, 3), narrow),
        "ResNet Conv 512, 4x4": ("conv", (small,), (512, 512, 3, 3), small),
        "ResNet ReLU, 28x28": ("relu", (wide,), None, wide),
        "ResNet Add, 28x28": ("sum", (wide, wide), None, wide),
        "ResNet Conv 1-64, 28x28": ("conv", ((b, 1, 28, 28),), (64, 1, 3, 3), wide),
        "ResNet Conv 1x1 /2, 64-128": ("conv", (wide,), (128, 64, 1, 1), narrow),
        "ResNet BatchNorm, 28x28": ("norm", (wide,), None, wide),
    }
    return {translated(name): Operator(make(*each), *each[1:]) for name, each in shapes.items()}


def padding_and_stride(x: Shape, w: Shape, y: Shape) -> tuple[int, int]:
    """Return the padding and the stride with which a convolution of ``w`` makes ``y`` of ``x``."""
    stride = x[2] // y[2]
    return max(0, (y[2] - 1) * stride + w[2] - x[2]) // 2, stride
