"""Gluon's Fashion-MNIST and d2l's: the images that this machine has, in the arrays in use."""

from __future__ import annotations

from d2l_local.base.processes import in_new_process

import pytest
import small_data
from helpers import needs
from settings import NOTHING_SET

needs("mxnet")

pytestmark = pytest.mark.timeout(200)


def data_sets():
    import os

    from d2l_local import mxnet as d2l

    import numpy as np
    from mxnet import gluon, npx

    def described(array):
        kind = f"{type(array).__module__}.{type(array).__name__}"
        return [kind, np.dtype(array.dtype).name, list(array.shape)]

    gluons = gluon.data.vision.FashionMNIST
    result = {}
    for kind in ("nd", "np"):
        train, test = (gluons(train=train) for train in (True, False))
        result[kind] = {
            "types": [described(train._data), described(train._label)],
            "labels": [np.asarray(data._label).tolist() for data in (train, test)],
            "white": [int(np.asarray(train[i][0])[:, :, 0].mean(axis=1).argmax()) for i in (0, 3)],
        }
        npx.set_np()
    data = d2l.FashionMNIST(batch_size=16, resize=(20, 20))
    result["batch"] = [described(array) for array in next(iter(data.val_dataloader()))]

    # In a folder that the reader names Gluon finds no files, and asks its mirror.
    os.environ["MXNET_GLUON_REPO"] = "http://127.0.0.1:1/"
    try:
        gluons(root=os.path.join(os.environ["MXNET_HOME"], "own"))
    except Exception as error:
        result["own root"] = str(error)
    return result


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Return what a process saw of a small data set in D2L_DATA."""
    folder = tmp_path_factory.mktemp("images")
    small_data.write(folder, 40, 20)
    settings = {**NOTHING_SET, "D2L_DATA": folder, "MXNET_HOME": folder / "mxnet"}
    return in_new_process(data_sets, seconds=120, **settings)


@pytest.mark.parametrize(
    ("kind", "types"),
    [
        ("nd", ["mxnet.ndarray.ndarray.NDArray", "numpy.ndarray"]),  # As Gluon has them
        ("np", ["mxnet.numpy.ndarray", "mxnet.numpy.ndarray"]),
    ],
)
def test_gluon_has_the_images_that_d2l_data_names(result, kind, types):
    images, labels = result[kind]["types"]
    assert images == [types[0], "uint8", [40, 28, 28, 1]]
    assert labels == [types[1], "int32", [40]]
    assert result[kind]["labels"] == [[i % 10 for i in range(n)] for n in (40, 20)]
    assert result[kind]["white"] == [0, 6]  # The row that tells the label


def test_fashion_mnist_of_d2l_has_them_too(result):
    assert result["batch"] == [
        ["mxnet.numpy.ndarray", "float32", [16, 1, 20, 20]],
        ["mxnet.numpy.ndarray", "int32", [16]],
    ]


def test_a_folder_that_the_reader_names_is_left_to_gluon(result):
    assert "127.0.0.1" in result["own root"]
