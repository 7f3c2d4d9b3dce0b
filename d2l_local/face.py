"""What the faces of all frameworks share, made from what differs between them.

A face is what a notebook calls `d2l`: `d2l_local.mxnet`, `d2l_local.torch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from d2l_local import data
from d2l_local.measure import timing

import numpy as np


class Shared(NamedTuple):
    """The functions and classes that `make` makes."""

    Benchmark: type[timing.Benchmark]
    measure: Callable[..., timing.Measurement]
    has_gpus: Callable[[int], bool]
    load_data_fashion_mnist: Callable[..., tuple[data.ArrayDataLoader, data.ArrayDataLoader]]


def make(
    synchronize: Callable[[], None], num_gpus: Callable[[], int], convert: Callable[[Any], Any]
) -> Shared:
    """Return what a framework shares with the others.

    ``synchronize()`` waits until every device is idle; ``num_gpus()`` counts the GPUs that the
    framework can compute on, or what stands in for them; ``convert(array)`` makes the framework's
    array of a NumPy array, whose memory it may keep.
    """

    class Benchmark(timing.Benchmark):
        """``with d2l.Benchmark("description"):`` prints the block's time, up to idle devices."""

    Benchmark.synchronize = staticmethod(synchronize)

    def measure(fn: Callable[[], object], repeats: int = 5) -> timing.Measurement:
        """Time ``fn()`` ``repeats`` times, warmed up and up to the moment of idle devices."""
        return timing.measure(fn, repeats, synchronize=synchronize)

    def has_gpus(n: int) -> bool:
        """Whether there are ``n`` GPUs; if not, prints why a cell that needs them does nothing."""
        here = num_gpus()
        if here < n:
            print(f"skipped: this cell needs {n} GPU{'s' * (n > 1)}, and this machine has {here}")
        return here >= n

    def load_data_fashion_mnist(
        batch_size, resize=None, *, train_size=None, test_size=None, seed=0
    ):
        """Iterators over the training and test images of Fashion-MNIST, held in memory.

        Each minibatch is ``X``, float32 of shape (batch, 1, 28, 28) in [0, 1], and ``y``, integers
        of shape (batch,), as arrays of the framework. Where the data come from and the errors:
        `d2l_local.data.load_data_fashion_mnist`.
        """
        return data.load_data_fashion_mnist(
            batch_size,
            resize,
            train_size=train_size,
            test_size=test_size,
            seed=seed,
            convert=convert,
        )

    return Shared(Benchmark, measure, has_gpus, load_data_fashion_mnist)


def checked(device: object, product: np.ndarray) -> str:
    """The name of a device, after a look at the product of two 200x200 matrices of ones there.

    Raises ArithmeticError where an element of it is not 200.
    """
    if not (product == 200).all():
        raise ArithmeticError(f"the product of two matrices came out wrong on {device}")
    return str(device)
