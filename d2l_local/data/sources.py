"""Where the images come from: the package's sample, folders of this machine, or mirrors."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from d2l_local.base.language import translated
from d2l_local.data import download, idx, sample
from d2l_local.data.notice import say, tilde

PACKAGE = "dataset-fashion-mnist"  # Of Debian and Ubuntu
DEBIAN = Path("/usr/share/datasets/fashion-mnist")  # What it installs
FULL = "full"  # The value of D2L_DATA that asks for all images

_in_memory: dict[str, idx.File] = {}  # What was fetched and could not be written


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
    try:
        return fashion_mnist()
    except download.UnavailableError as reason:
        say("Note: a sample in place of the 60,000 images, because {reason}", reason=reason)
        return of_the_package()


def of_the_package() -> Dataset:
    """Return the sample that comes with the package: 12,000 and 2,000 images of 10 classes."""
    return Dataset(*sample.load(), translated("a sample of Fashion-MNIST"))


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
    files, missing = [], []
    for name in idx.FILES:
        try:
            files.append(idx.load(folder, name))
        except FileNotFoundError:
            missing.append(name)
        except PermissionError as error:
            raise PermissionError(
                f"{named}, but you may not read {error.filename}; change its permissions, or {cure}"
            ) from error
    if missing:
        raise FileNotFoundError(
            f"{named}, which lacks {', '.join(missing)} (with or without .gz); "
            f"put them there, or {cure}"
        )
    data = *idx.pair(*files[:2]), *idx.pair(*files[2:])
    last_label = max(data[1].max(), data[3].max())
    kind = "Fashion-MNIST"
    if not all(file.genuine for file in files):
        kind = translated("images (not Fashion-MNIST: checksum differs)")
    if last_label > 9:  # MXNet's loss would quietly take such a label for the last class
        kind += translated(
            " with labels up to {last}, for which 10 classes are too few,", last=last_label
        )
    origin = translated("{kind} from {folder} (D2L_DATA)", kind=kind, folder=tilde(folder))
    return Dataset(*data, origin)


def fashion_mnist() -> Dataset:
    """Return Fashion-MNIST as a `Dataset`, from a folder of this machine or else from a mirror.

    A bad file in the cache is named and fetched again. Where Gluon's folder cannot be written to,
    the memory of this process takes its place. Raises `download.UnavailableError` if it cannot be
    had.
    """
    deadline, mirrors = time.monotonic() + download.SECONDS, download.mirrors()
    files = []
    for name in idx.FILES:
        file, faults = _stored(name)
        if file is None:
            try:
                file = _fetched(name, mirrors, deadline)
            except download.UnavailableError as reason:
                why = "; ".join([*faults, str(reason)])
                raise download.UnavailableError(
                    f"{why}. Connect to a network, install {PACKAGE} on Debian or Ubuntu, name a "
                    "folder with the four files in D2L_DATA, or unset it to use the sample"
                ) from reason
            for fault in faults:
                say("{fault}; fetched it again", fault=fault)
        files.append(file)
    folders = translated(" and ").join(_folders(files))
    origin = translated("Fashion-MNIST from {folders}", folders=folders)
    return Dataset(*idx.pair(*files[:2]), *idx.pair(*files[2:]), origin)


def stored_in() -> list[str]:
    """Return the folders that Fashion-MNIST is in already, or none if a file must be fetched."""
    files = [_stored(name)[0] for name in idx.FILES]
    return [] if None in files else _folders(filter(None, files))


def _folders(files: Iterable[idx.File]) -> list[str]:
    return list(dict.fromkeys(tilde(file.path.parent) for file in files))


# Folders of this machine


def _cache() -> Path | None:
    """Return Gluon's folder for the files; None for a user without a home, as in containers."""
    home = os.environ.get("MXNET_HOME")
    if not home and sys.platform == "win32":
        home = os.path.join(os.environ.get("APPDATA", "~"), "mxnet")
    try:
        return Path(home or "~/.mxnet").expanduser() / "datasets" / "fashion-mnist"
    except RuntimeError:
        return None


def _stored(name: str) -> tuple[idx.File | None, list[str]]:
    """Return a file of Fashion-MNIST that is here, or None; and what is wrong with bad ones.

    A bad file stays where it is until a good one takes its place: a good one is thus never removed,
    not even one that another process puts there at this moment.
    """
    if name in _in_memory:
        return _in_memory[name], []
    faults = []
    keras = Path(os.path.expanduser("~/.keras/datasets/fashion-mnist"))
    for folder in filter(None, (DEBIAN, _cache(), keras)):
        try:
            file = idx.load(folder, name, idx.FILES[name].size)
        except FileNotFoundError:
            continue
        except ValueError:
            faults.append(f"{name} in {tilde(folder)} is truncated or corrupt")
        except OSError as error:
            faults.append(f"{name} in {tilde(folder)} cannot be read ({error.strerror})")
        else:
            if file.genuine:
                return file, []
            faults.append(f"{name} in {tilde(folder)} has a wrong checksum")
    return None, faults


# Mirrors


def _fetched(name: str, mirrors: list[str], deadline: float) -> idx.File:
    """Fetch a file into the cache, or only into memory where that cannot hold it."""
    packed, size = Path(f"{name}.gz"), idx.FILES[name].size

    def check(content: bytes) -> tuple[bytes, idx.File]:
        file = idx.parse(packed, io.BytesIO(content), size)
        if not file.genuine:
            raise ValueError(f"{name} has a wrong checksum")
        return content, file

    content, file = download.fetch(packed.name, mirrors, idx.packed(size), check, deadline)
    cache = _cache()
    try:
        if cache is None:
            raise FileNotFoundError("this user has no home")
        _write(cache / packed, content)
    except OSError as error:
        if not _in_memory:  # Else it has been said
            say(
                "Cannot write to {folder} ({reason}), so each process fetches Fashion-MNIST anew. "
                "Name another folder in MXNET_HOME.",
                folder=tilde(cache) if cache else "~/.mxnet",
                reason=error.strerror or error,
            )
        _in_memory[name] = file._replace(path=Path(translated("memory")) / packed)
        return _in_memory[name]
    return file._replace(path=cache / packed)


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, with the permissions that the umask allows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        with open(part, "xb") as file:
            file.write(content)
        os.replace(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
