"""Small files in the place of Fashion-MNIST's: images of noise, labels 0...9."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

from d2l_local.data import idx

import numpy as np

NAMES = TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = tuple(idx.FILES)
NUM_TRAIN, NUM_TEST = 50, 20


def pack(array: np.ndarray) -> bytes:
    """Return a uint8 array in the IDX format."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def _contents() -> dict[str, bytes]:
    rng = np.random.RandomState(0)
    numbers = (NUM_TRAIN, NUM_TEST)
    images = [pack(rng.randint(0, 256, (n, 28, 28)).astype(np.uint8)) for n in numbers]
    labels = [pack((np.arange(n) % 10).astype(np.uint8)) for n in numbers]
    return dict(zip(NAMES, (images[0], labels[0], images[1], labels[1])))


CONTENTS = _contents()
KNOWN = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENTS.items()}
PACKED = {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in CONTENTS.items()}


def fill(folder: Path, files: dict[str, bytes] = PACKED) -> Path:
    """Put files into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the names and the contents of what a folder holds, if there is one."""
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def assert_loaded(iterators: tuple) -> None:
    """Assert that these are the made-up images."""
    for iterator, images in zip(iterators, (TRAIN_IMAGES, TEST_IMAGES)):
        assert iterator.images.tobytes() == CONTENTS[images][16:]
        assert iterator.labels.tolist() == [i % 10 for i in range(len(iterator.images))]
