"""Draw the sample of Fashion-MNIST that the package holds from a folder with all of it.

    python -m book.fashion_mnist_sample FOLDER

The folder holds the four files of the data set (as torchvision's ``FashionMNIST/raw``), whose
content is checked. The same images are drawn each time: of every class as many, at random by a
fixed seed, in the order of the original, in which the classes are mixed.
"""

from __future__ import annotations

import io
import lzma
import sys
import tarfile
from pathlib import Path

from d2l_local.data import idx, sample

import numpy as np

SEED = 0
CLASSES = 10
PER_CLASS = {"train": 1200, "t10k": 200}


def drawn(labels: np.ndarray, per_class: int, random: np.random.RandomState) -> np.ndarray:
    """Return the indices, in ascending order, of so many images of each class."""
    classes = [np.flatnonzero(labels == label) for label in range(CLASSES)]
    return np.sort(np.concatenate([random.permutation(these)[:per_class] for these in classes]))


def packed(array: np.ndarray) -> bytes:
    """Return an array of bytes in the IDX format."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def draw(folder: Path) -> dict[str, bytes]:
    """Return the files of the sample by name. Raises ValueError for another data set."""
    random = np.random.RandomState(SEED)  # NumPy promises that its stream never changes
    files: dict[str, bytes] = {}
    for part, per_class in PER_CLASS.items():
        names = [name for name in idx.FILES if name.startswith(part)]
        images, labels = (idx.load(folder, name) for name in names)
        for file in (images, labels):
            if not file.genuine:
                raise ValueError(f"{file.path} is not Fashion-MNIST's: its checksum differs")
        chosen = drawn(labels.array, per_class, random)
        files |= {name: packed(f.array[chosen]) for name, f in zip(names, (images, labels))}
    return files


def archive(files: dict[str, bytes]) -> bytes:
    """Return files as a packed archive that says nothing of when, where and by whom."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            tar.addfile(about, io.BytesIO(content))
    return lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME)


if __name__ == "__main__":
    sample.FILE.write_bytes(archive(draw(Path(sys.argv[1]))))
