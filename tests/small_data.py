"""A small data set in the files that D2L_DATA may name."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write(folder: Path, num_train: int, num_test: int) -> Path:
    """Write random images, label i % 10 for the i-th, as Fashion-MNIST's files; return the folder.

    Row 2 * label of an image is white, so that a network can learn to tell the label.
    """
    rng = np.random.RandomState(0)
    for part, n in (("train", num_train), ("t10k", num_test)):
        labels = (np.arange(n) % 10).astype(np.uint8)
        images = rng.randint(0, 100, (n, 28, 28)).astype(np.uint8)
        images[np.arange(n), 2 * labels] = 255
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
            header = bytes([0, 0, 8, array.ndim]) + sizes
            (folder / f"{part}-{kind}-ubyte").write_bytes(header + array.tobytes())
    return folder
