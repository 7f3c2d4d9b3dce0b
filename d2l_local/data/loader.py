"""Fashion-MNIST as minibatches."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable, Iterator
from typing import Any

from d2l_local.base.arguments import integer, positive_integer
from d2l_local.data.idx import Images
from d2l_local.data.notice import announce
from d2l_local.data.resize import bilinear
from d2l_local.data.sources import Dataset, load_dataset

import numpy as np
import numpy.typing as npt


class ArrayDataLoader:
    """Minibatches of images and labels that are already in memory; no worker processes.

    - ``images``: uint8 array of shape (n, height, width), black 0 and white 255.
    - ``labels``: integer array of shape (n,).
    - ``batch_size``: positive int. The last batch is smaller if this does not divide n.
    - ``resize``: None, a positive int (square images) or a pair (width, height), as in Gluon's
      ``transforms.Resize``; bilinear.
    - ``shuffle``: whether each pass, or epoch, has an order of its own. It depends on ``seed`` and
      the number of the epoch only: loaders with equal seeds give equal orders.
    - ``seed``: int from 0 to 2**32 - 1.
    - ``convert``: makes the array to hand out from a NumPy array; by default that array itself. It
      may keep the memory: no batch shares any with another.

    Iterating gives pairs (X, y), as ``convert`` makes them of X, float32 in [0, 1] of shape
    (b, 1, height, width), and y, int32 of shape (b,). ``len(loader)`` is the number of batches. An
    argument out of bounds raises ``ValueError``.
    """

    # Kept as uint8 and scaled batch by batch: 5 million images/s on one core (60,000 images, batch
    # 256, NumPy 2.4), against 3.7 million from a float32 array, which is four times the size.

    def __init__(
        self,
        images: Images,
        labels: npt.NDArray[np.integer[Any]],
        batch_size: int,
        *,
        resize: int | tuple[int, int] | None = None,
        shuffle: bool = False,
        seed: int = 0,
        convert: Callable[[npt.NDArray[Any]], Any] | None = None,
    ):
        self.images = np.asarray(images)
        self.labels = np.asarray(labels)
        if self.images.ndim != 3 or self.images.dtype != np.uint8:
            raise ValueError(
                "images must be a uint8 array of shape (n, height, width), not "
                f"{self.images.dtype} of shape {self.images.shape}"
            )
        if self.labels.shape != self.images.shape[:1]:
            raise ValueError(
                f"labels must have shape ({len(self.images)},), one for each image, "
                f"not {self.labels.shape}"
            )
        if self.labels.dtype.kind not in "iu":
            raise ValueError(f"labels must be integers, not {self.labels.dtype}")
        self.labels = self.labels.astype(np.int32)
        self.batch_size = positive_integer("batch_size", batch_size)
        self.resize = _size(resize)
        self.shuffle = shuffle
        self.seed = _seed(seed)
        self.convert = convert or np.asarray
        self.epoch = 0

    def __len__(self) -> int:
        return -(-len(self.images) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        # Ordered here and not in the generator, so that the epochs count in the order in which
        # iterators are made, whenever their first batch is asked for.
        order = np.arange(len(self.images))
        if self.shuffle:
            # RandomState and not default_rng: NumPy promises that its stream never changes.
            order = np.random.RandomState([self.seed, self.epoch]).permutation(order)
        self.epoch += 1
        return self._batches(order)

    def _batches(self, order: npt.NDArray[np.intp]) -> Iterator[tuple[Any, Any]]:
        for start in range(0, len(order), self.batch_size):
            chosen = order[start : start + self.batch_size]
            X: npt.NDArray[Any] = self.images.take(chosen, axis=0)
            if self.resize:
                X = bilinear(X, *self.resize)
            X = np.divide(X[:, np.newaxis], 255, dtype=np.float32)
            yield self.convert(X), self.convert(self.labels.take(chosen))


def load_data_fashion_mnist(
    batch_size: int,
    resize: int | tuple[int, int] | None = None,
    *,
    train_size: int | None = None,
    test_size: int | None = None,
    seed: int = 0,
    convert: Callable[[npt.NDArray[Any]], Any] | None = None,
) -> tuple[ArrayDataLoader, ArrayDataLoader]:
    """Return iterators over the training and the test images of Fashion-MNIST, by default a sample.

    Prints a line that says which data set is in use, unless it said so last; see `d2l_local.data`
    for the choice.

    - ``batch_size``, ``resize``, ``seed``, ``convert``: as in `ArrayDataLoader`.
    - ``train_size``, ``test_size``: None for all images in use, or how many of the first ones: at
      most 12,000 and 2,000 of the sample, 60,000 and 10,000 of Fashion-MNIST.

    Returns (train_iter, test_iter), two `ArrayDataLoader`; only the first one shuffles.

    Raises ``ValueError`` if an argument is out of bounds or a file in ``D2L_DATA`` is malformed,
    ``FileNotFoundError`` if that is no folder or lacks a file, ``PermissionError`` if it may not be
    read, and ``RuntimeError`` if ``D2L_DATA=full`` asks for images that cannot be had.
    """
    positive_integer("batch_size", batch_size)  # Before a download, not after it
    _size(resize)
    _seed(seed)
    for name, size in (("train_size", train_size), ("test_size", test_size)):
        if size is not None:
            positive_integer(name, size)

    data = load_dataset()
    num_train = _how_many("train_size", train_size, len(data.train_images), data)
    num_test = _how_many("test_size", test_size, len(data.test_images), data)
    introduce(data, num_train, num_test)
    loader = functools.partial(
        ArrayDataLoader, batch_size=batch_size, resize=resize, convert=convert
    )
    return (
        loader(
            data.train_images[:num_train], data.train_labels[:num_train], shuffle=True, seed=seed
        ),
        loader(data.test_images[:num_test], data.test_labels[:num_test]),
    )


def introduce(data: Dataset, num_train: int, num_test: int) -> None:
    """Print which data set is in use, and how many images of it, unless that was said last."""
    announce(
        "Data: {origin}; {training:,} training and {test:,} test images",
        origin=data.origin,
        training=num_train,
        test=num_test,
    )


# Arguments


def _seed(value: object) -> int:
    number = integer(value)
    if number is None or not 0 <= number < 2**32:
        raise ValueError(f"seed must be an integer from 0 to 2**32 - 1, not {value!r}")
    return number


def _size(resize: object) -> tuple[int, int] | None:
    """Return the (height, width) that the argument ``resize`` asks for, or None."""
    if resize is None:
        return None
    pair = resize if isinstance(resize, (tuple, list)) else (resize, resize)
    try:
        width, height = (positive_integer("resize", side) for side in pair)
    except ValueError:
        raise ValueError(
            "resize must be None, a positive integer or a pair (width, height) of them, "
            f"not {resize!r}"
        ) from None
    return height, width


def _how_many(name: str, asked: int | None, available: int, data: Dataset) -> int:
    if asked is None:
        return available
    if asked <= available:
        return operator.index(asked)
    more = "" if os.environ.get("D2L_DATA") else "; D2L_DATA=full asks for all 70,000"
    raise ValueError(
        f"{name} must be None or from 1 to {available:,}, the number of images in use "
        f"({data.origin}), not {asked:,}{more}"
    )
