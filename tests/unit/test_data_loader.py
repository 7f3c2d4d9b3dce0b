"""Minibatches from memory, and the arguments of the function that makes them."""

from __future__ import annotations

import re

from d2l_local import data
from d2l_local.data.resize import bilinear

import numpy as np
import pytest
from made_up import NUM_TEST, fill


def numbered(n=10):
    """Return n images that show their own number, and the numbers as labels."""
    numbers = np.arange(n, dtype=np.uint8)
    return np.broadcast_to(numbers[:, None, None], (n, 28, 28)).copy(), numbers


def labels_by_epoch(loader, num_epochs=3):
    return [np.concatenate([y for _, y in loader]).tolist() for _ in range(num_epochs)]


def test_batches():
    images, labels = numbered()
    loader = data.ArrayDataLoader(images, labels, 4)
    batches = list(loader)
    assert len(loader) == len(batches) == 3
    assert [X.shape for X, _ in batches] == [(4, 1, 28, 28), (4, 1, 28, 28), (2, 1, 28, 28)]
    for X, y in batches:
        assert (X.dtype, y.dtype) == (np.float32, np.int32)
        assert X.flags.c_contiguous
        assert np.array_equal(X[:, 0, 5, 5], y.astype(np.float32) / np.float32(255))
    assert labels_by_epoch(loader) == [list(range(10))] * 3


def test_batches_own_their_memory():
    images, labels = numbered()
    loader = data.ArrayDataLoader(images, labels, 10)
    for X, y in loader:
        X[:], y[:] = 0.5, 7
    assert labels_by_epoch(loader, 1) == [list(range(10))]


def test_epochs_are_shuffled_and_reproducible():
    images, labels = numbered(100)

    def loader(seed):
        return data.ArrayDataLoader(images, labels, 32, shuffle=True, seed=seed)

    epochs = labels_by_epoch(loader(1))
    assert labels_by_epoch(loader(1)) == epochs != labels_by_epoch(loader(2))
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert all(sorted(epoch) == list(range(100)) for epoch in epochs)
    # An iterator that nobody finishes counts as an epoch, and disturbs none.
    other = loader(1)
    next(iter(other))
    assert labels_by_epoch(other, 2) == epochs[1:]


def test_shuffled_images_keep_their_labels():
    loader = data.ArrayDataLoader(*numbered(100), 32, shuffle=True)
    for X, y in loader:
        assert np.array_equal(np.rint(X[:, 0, 0, 0] * 255), y)


def test_convert():
    seen = []
    loader = data.ArrayDataLoader(*numbered(), 4, convert=lambda a: seen.append(a) or str(a.dtype))
    assert list(loader) == [("float32", "int32")] * 3
    assert all(isinstance(array, np.ndarray) for array in seen)


def test_loader_rejects_other_arrays():
    images, labels = numbered()
    with pytest.raises(ValueError, match=r"uint8 .* not float64 of shape \(10, 28, 28\)"):
        data.ArrayDataLoader(images / 255, labels, 4)
    with pytest.raises(ValueError, match=r"labels must have shape \(10,\).* not \(9,\)"):
        data.ArrayDataLoader(images, labels[1:], 4)
    with pytest.raises(ValueError, match="labels must be integers, not float64"):
        data.ArrayDataLoader(images, labels / 2, 4)


@pytest.mark.parametrize(
    "resize, shape", [(96, (96, 96)), ((40, 20), (20, 40)), ([14, 9], (9, 14))]
)
def test_resize(resize, shape):
    images, labels = numbered()
    images[0] = 255
    loader = data.ArrayDataLoader(images, labels, 10, resize=resize)
    ((X, _),) = loader
    assert X.shape == (10, 1, *shape)
    assert X.dtype == np.float32
    assert np.array_equal(X, np.broadcast_to(X[:, :, :1, :1], X.shape))  # One color stays one
    assert X.max() == 1


def test_bilinear_against_values_by_hand():
    line = np.array([[[0, 100]]], dtype=np.uint8)
    assert bilinear(line, 1, 4).tolist() == [[[0, 25, 75, 100]]]
    assert bilinear(line, 2, 1).tolist() == [[[50], [50]]]


# Arguments


@pytest.fixture
def own(cache, monkeypatch):
    """Let D2L_DATA name a folder with the four files."""
    monkeypatch.setenv("D2L_DATA", str(fill(cache)))


@pytest.fixture
def no_data(monkeypatch):
    """Fail the test where data are loaded: a reader shall not wait for them and then be told."""

    def load_dataset():
        raise AssertionError("data were loaded")

    monkeypatch.setattr("d2l_local.data.loader.load_dataset", load_dataset)


def test_sizes(own):
    train_iter, test_iter = data.load_data_fashion_mnist(16, train_size=30, test_size=NUM_TEST)
    assert (len(train_iter.images), len(test_iter.images)) == (30, NUM_TEST)
    with pytest.raises(ValueError, match=r"train_size must be .* 1 to 50.*not 51"):
        data.load_data_fashion_mnist(16, train_size=51)


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", True])
@pytest.mark.parametrize("name", ["batch_size", "train_size", "test_size", "resize"])
def test_bad_arguments(no_data, name, value):
    arguments = {"batch_size": 16, name: value}
    with pytest.raises(ValueError, match=f"{name} must be .*not {re.escape(repr(value))}"):
        data.load_data_fashion_mnist(**arguments)


@pytest.mark.parametrize(
    "name, value", [("seed", -1), ("seed", 2**32), ("seed", None), ("resize", (3, 4, 5))]
)
def test_more_bad_arguments(no_data, name, value):
    with pytest.raises(ValueError, match=f"{name} must be .*not {re.escape(repr(value))}"):
        data.load_data_fashion_mnist(16, **{name: value})


def test_load_resized(own):
    train_iter, test_iter = data.load_data_fashion_mnist(16, resize=32)
    for iterator in (train_iter, test_iter):
        assert next(iter(iterator))[0].shape == (16, 1, 32, 32)
