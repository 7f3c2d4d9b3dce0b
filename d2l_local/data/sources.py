"""Where the images come from: the package's sample, a folder, or a mirror."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from d2l_local.base.language import translated
from d2l_local.data import idx, mirrors, sample
from d2l_local.data.notice import say, tilde

FULL = "full"  # The value of D2L_DATA that asks for all images


class Dataset(NamedTuple):
    """A data set in memory, and where it is from.

    Images are uint8 arrays of shape (n, 28, 28), black 0 and white 255; labels are int32 arrays of
    shape (n,). ``origin`` describes the set in one line.
    """

    train_images: idx.Images
    train_labels: idx.Labels
    test_images: idx.Images
    test_labels: idx.Labels
    origin: str


def load_dataset() -> Dataset:
    """Return the `Dataset` that ``D2L_DATA`` asks for; errors as `load_data_fashion_mnist`."""
    asked = os.environ.get("D2L_DATA")
    if not asked:
        return of_the_package()
    return fashion_mnist() if asked == FULL else from_folder(asked)


def largest_dataset() -> Dataset:
    """Return all of Fashion-MNIST where it can be had, else the sample, and say so.

    It is for programs that name no number of images because they take all. A folder that
    ``D2L_DATA`` names is used here, too.
    """
    if os.environ.get("D2L_DATA"):
        return load_dataset()
    return fashion_mnist() if _can_be_had() else of_the_package()


@functools.cache  # A reader without a network waits once, however often a program loads the images
def _can_be_had() -> bool:
    try:
        mirrors.fetched()
    except mirrors.UnavailableError as reason:
        say("Note: a sample in place of the 60,000 images, because {reason}", reason=reason)
        return False
    return True


def of_the_package() -> Dataset:
    """Return the sample that comes with the package: 12,000 and 2,000 images of 10 classes."""
    return Dataset(*sample.load(), translated("a sample of Fashion-MNIST"))


def fashion_mnist() -> Dataset:
    """Return all of Fashion-MNIST, from a mirror or where it was kept; errors as `fetched`."""
    files = mirrors.fetched()
    return _dataset(files, translated("Fashion-MNIST from {folders}", folders=_folder(files)))


def from_folder(folder: str | os.PathLike[str]) -> Dataset:
    """Return the `Dataset` in a local folder: Fashion-MNIST or another one in the same format.

    The folder holds the four files that `idx.FILES` names, packed (.gz) or not, as torchvision's
    ``FashionMNIST/raw`` does. Another data set than Fashion-MNIST is used as it is; the line that
    describes it says that the checksums differ.

    Raises ``FileNotFoundError`` without the folder or one of the files, ``PermissionError`` if they
    cannot be read, and ``ValueError`` for a file that is truncated or not what its name says.
    """
    folder = Path(os.path.expanduser(folder))
    named = f"D2L_DATA names {str(folder)!r}"
    cure = "unset D2L_DATA to use the sample that comes with d2l_local"
    if not folder.is_dir():
        raise FileNotFoundError(f"{named}, which is not a folder; correct it, or {cure}")
    try:
        files = [idx.load(folder, name) for name in idx.FILES]
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{named}, but {error}; put the four files there, or {cure}"
        ) from error
    except PermissionError as error:
        raise PermissionError(
            f"{named}, but you may not read {error.filename}; change its permissions, or {cure}"
        ) from error
    kind = "Fashion-MNIST"
    if not all(file.genuine for file in files):
        kind = translated("images (not Fashion-MNIST: checksum differs)")
    last_label = max(files[1].array.max(initial=0), files[3].array.max(initial=0))
    if last_label > 9:  # MXNet's loss would quietly take such a label for the last class
        kind += translated(
            " with labels up to {last}, for which 10 classes are too few,", last=last_label
        )
    origin = translated("{kind} from {folder} (D2L_DATA)", kind=kind, folder=_folder(files))
    return _dataset(files, origin)


def _dataset(files: Sequence[idx.File], origin: str) -> Dataset:
    return Dataset(*idx.pair(*files[:2]), *idx.pair(*files[2:]), origin)


def _folder(files: Sequence[idx.File]) -> str:
    return tilde(files[0].path.parent)
