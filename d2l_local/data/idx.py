"""The IDX format of MNIST and its successors: http://yann.lecun.com/exdb/mnist/."""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int32]

# Images and labels to train with, then those to test with: the SHA-256 sums of what is in the
# files, because MXNet, Debian and others have packed the authors' files anew.
FILES = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}


class File(NamedTuple):
    """A file that was read: where it is, its uint8 array, and whether it is Fashion-MNIST's."""

    path: Path
    array: npt.NDArray[np.uint8]
    genuine: bool


def load(folder: Path, name: str) -> File:
    """Read a file of `FILES`, packed (.gz) or not, from a folder.

    Raises ``FileNotFoundError`` if it is not there, ``OSError`` if it cannot be read, and
    ``ValueError`` if it is malformed.
    """
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return parse(path, path.read_bytes())
    raise FileNotFoundError(f"{folder} lacks {name} (with or without .gz)")


def parse(path: Path, content: bytes) -> File:
    """Return what ``content`` holds, the bytes of a file of that name; errors as of `load`.

    The format: two zeros, 8 for unsigned bytes, the number of dimensions; sizes as big-endian
    integers of 32 bits; the array.
    """
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"{path} is truncated or no gzip file ({error}); replace it"
            ) from error
    if content[:3] != b"\0\0\x08" or content[3:4] not in (b"\1", b"\3"):
        raise ValueError(
            f"{path} is not an IDX file of labels or images: it begins with {content[:4]!r} "
            "instead of b'\\x00\\x00\\x08' and the number of dimensions, 1 or 3; replace the file"
        )
    start = 4 + 4 * content[3]
    shape = tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, start, 4))
    if len(content) != start + math.prod(shape):
        raise ValueError(
            f"{path} should have {start + math.prod(shape):,} bytes (unpacked) for its array of "
            f"shape {shape}, but has {len(content):,}; replace the file"
        )
    array = np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
    genuine = hashlib.sha256(content).hexdigest() == FILES[path.name.partition(".")[0]]
    return File(path, array, genuine)


def pair(images: File, labels: File) -> tuple[Images, Labels]:
    """Return uint8 images of shape (n, 28, 28) and int32 labels of shape (n,).

    Raises ``ValueError`` if the files have other shapes.
    """
    if images.array.shape[1:] != (28, 28) or not len(images.array):
        raise ValueError(
            f"{images.path} should hold images of 28x28 pixels, but holds an array of shape "
            f"{images.array.shape}; replace the file"
        )
    if labels.array.shape != images.array.shape[:1]:
        raise ValueError(
            f"{images.path} holds {len(images.array):,} images, but {labels.path} has labels of "
            f"shape {labels.array.shape}; replace the file that does not belong here"
        )
    return images.array, labels.array.astype(np.int32)
