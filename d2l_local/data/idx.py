"""The IDX format of MNIST and its successors: http://yann.lecun.com/exdb/mnist/."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import stat
import zlib
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np
import numpy.typing as npt

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int32]


class Known(NamedTuple):
    """What is known of a file of Fashion-MNIST, unpacked: its bytes, and their SHA-256 sum."""

    size: int
    sha256: str


# Images and labels to train with, then those to test with. Of the unpacked content, because MXNet,
# Debian and others have packed the authors' files anew: https://github.com/zalandoresearch/fashion-mnist.
FILES = {
    "train-images-idx3-ubyte": Known(
        47_040_016, "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"
    ),
    "train-labels-idx1-ubyte": Known(
        60_008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"
    ),
    "t10k-images-idx3-ubyte": Known(
        7_840_016, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"
    ),
    "t10k-labels-idx1-ubyte": Known(
        10_008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"
    ),
}
LARGEST = 2**30  # Bytes of any one file: as many as a million images have


class File(NamedTuple):
    """A file that was read: where it is, its uint8 array, and whether it is Fashion-MNIST's."""

    path: Path
    array: npt.NDArray[np.uint8]
    genuine: bool


def load(folder: Path, name: str, largest: int = LARGEST) -> File:
    """Read a file of `FILES`, packed (.gz) or not, from a folder.

    Raises ``FileNotFoundError`` if it is not there, ``OSError`` if it cannot be read, and
    ``ValueError`` if it is malformed, no regular file, or has more than ``largest`` bytes.
    """
    for path in (folder / f"{name}.gz", folder / name):
        try:
            with open(path, "rb", opener=_without_waiting) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise ValueError(f"{path} is no regular file; replace it")
                if status.st_size > packed(largest):
                    raise ValueError(_too_large(path, status.st_size, largest))
                return parse(path, file, largest)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            continue
    raise FileNotFoundError(f"{folder} lacks {name} (with or without .gz)")


def parse(path: Path, file: IO[bytes], largest: int = LARGEST) -> File:
    """Read an open file, of which ``path`` is the name; errors as of `load`.

    The format: two zeros, 8 for unsigned bytes, the number of dimensions; sizes as big-endian
    integers of 32 bits; the array.
    """
    unpacked = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else file
    try:
        header, array = _array(path, unpacked, largest)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is truncated or no gzip file ({error}); replace it") from error
    checksum = hashlib.sha256(header)
    checksum.update(array.data)
    name = path.name.partition(".")[0]
    return File(path, array, checksum.hexdigest() == FILES[name].sha256)


def packed(size: int) -> int:
    """Return how many bytes so many may have when packed, however badly that was done."""
    return size + size // 100 + 1000


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


def _without_waiting(path: str, flags: int) -> int:
    """Open a file, and a pipe, too, that nobody writes to."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _array(path: Path, file: IO[bytes], largest: int) -> tuple[bytes, npt.NDArray[np.uint8]]:
    # What the header announces is read and one byte more, however much there is: a few kilobytes
    # may unpack to terabytes.
    header = file.read(4)
    if header[:3] != b"\0\0\x08" or len(header) < 4:
        raise ValueError(
            f"{path} is not an IDX file of bytes: it begins with {header!r} instead of "
            "b'\\x00\\x00\\x08' and the number of dimensions; replace the file"
        )
    dimensions = header[3]
    if dimensions not in (1, 3):
        raise ValueError(
            f"{path} has an array of {dimensions} dimensions; labels have 1 and images 3; "
            "replace the file"
        )
    sizes = file.read(4 * dimensions)
    shape = tuple(int.from_bytes(sizes[i : i + 4], "big") for i in range(0, 4 * dimensions, 4))
    expected = 4 + 4 * dimensions + math.prod(shape)
    if expected > largest:
        raise ValueError(_too_large(path, expected, largest))
    content = file.read(math.prod(shape) + 1)
    size = len(header) + len(sizes) + len(content)
    if size != expected:
        raise ValueError(
            f"{path} should have {expected:,} bytes (unpacked) for its array of shape {shape}, "
            f"but has {'more' if size > expected else f'{size:,}'}; replace the file"
        )
    return header + sizes, np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _too_large(path: Path, size: int, largest: int) -> str:
    return f"{path} has {size:,} bytes (unpacked), where {largest:,} are possible; replace the file"
