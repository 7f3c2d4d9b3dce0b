"""The sample of Fashion-MNIST in the package, so that all have the same images at once.

`book/fashion_mnist_sample.py` drew it: 1,200 training and 200 test images of each class.
"""

from __future__ import annotations

import functools
import lzma
import tarfile
from pathlib import Path

from d2l_local.data import idx

FILE = Path(__file__).with_name("fashion-mnist-sample.tar.xz")  # Four files, named as `idx.FILES`


@functools.cache  # It takes 0.4 s to unpack, and some notebooks load it several times
def load() -> tuple[idx.Images, idx.Labels, idx.Images, idx.Labels]:
    """Return training images and labels, then test images and labels, as read-only arrays.

    Images are uint8 of shape (n, 28, 28), labels int32 of shape (n,). Raises ``ValueError`` if the
    file is not as it was published, as where a clone or a copy was cut short.
    """
    try:
        with tarfile.open(FILE, "r:xz") as tar:
            files = [_member(tar, name) for name in idx.FILES]
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise ValueError(f"{FILE} is damaged ({error}); install d2l_local again") from error
    arrays = *idx.pair(*files[:2]), *idx.pair(*files[2:])
    for array in arrays:
        array.setflags(write=False)
    return arrays


def _member(tar: tarfile.TarFile, name: str) -> idx.File:
    content = tar.extractfile(name)
    assert content is not None, f"{name} in {FILE} is no file"
    return idx.parse(FILE / name, content.read())
