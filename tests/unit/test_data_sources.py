"""Where the images come from: the sample, or a folder in any state; and the notice."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
from itertools import islice
from pathlib import Path

from d2l_local import data
from d2l_local.data import idx, sample, sources

import numpy as np
import pytest
from helpers import python
from made_up import (
    CONTENTS,
    NAMES,
    NUM_TRAIN,
    PACKED,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    assert_loaded,
    fill,
    pack,
)

pytestmark = [pytest.mark.usefixtures("cache"), pytest.mark.timeout(60)]
SAMPLE = "Data: a sample of Fashion-MNIST; 12,000 training and 2,000 test images\n"


def load(capsys):
    """Load the data and return what is printed, in which Fashion-MNIST is the made-up images."""
    iterators = data.load_data_fashion_mnist(16)
    out, err = capsys.readouterr()
    assert err == ""
    if "Data: Fashion-MNIST" in out:
        assert_loaded(iterators)
    return out


# The sample


@pytest.fixture
def unset(cache, monkeypatch):
    """Ask for nothing, where reading any folder and asking any mirror would fail the test."""
    monkeypatch.delenv("D2L_DATA")
    for name in ("fashion_mnist", "from_folder"):
        monkeypatch.setattr(sources, name, None)


@pytest.mark.usefixtures("unset")
def test_the_sample_is_there_at_once(capsys):
    train_iter, test_iter = data.load_data_fashion_mnist(256)
    assert capsys.readouterr() == (SAMPLE, "")
    for iterator, n in ((train_iter, 12_000), (test_iter, 2_000)):
        assert iterator.images.shape == (n, 28, 28)
        assert (iterator.images.min(), iterator.images.max()) == (0, 255)
        assert np.bincount(iterator.labels).tolist() == 10 * [n // 10]
        assert np.bincount(iterator.labels[:1000]).min() > 70  # The first ones are mixed, too


def digest(loader):
    """Return a hash of the first three minibatches of an epoch."""
    found = hashlib.sha256()
    for arrays in islice(iter(loader), 3):
        for array in arrays:
            found.update(array.tobytes())
    return found.hexdigest()[:16]


@pytest.mark.usefixtures("unset")
@pytest.mark.parametrize(
    ("options", "hashes"),
    [
        ({}, ["124a07d7a47f12c4", "47dd54d2eb5b6034", "3f952dfd5fc7b5aa"]),
        ({"resize": 96}, ["6c7b5453e93e5c08", "3f69c5800f56003b", "1a6a440af13e2607"]),
        (
            {"resize": (20, 30), "seed": 7},
            ["bc09dce7ae1a61b9", "daab5f153f156c68", "c7d8089a86d2730c"],
        ),
    ],
)
def test_the_minibatches_on_which_committed_outputs_depend(options, hashes):
    train_iter, test_iter = data.load_data_fashion_mnist(64, **options)
    assert [digest(loader) for loader in (train_iter, train_iter, test_iter)] == hashes


@pytest.mark.usefixtures("unset")
def test_nobody_can_change_the_sample_for_others():
    train_iter, _ = data.load_data_fashion_mnist(256)
    with pytest.raises(ValueError, match="read-only"):
        train_iter.images[0] = 0
    X, _ = next(iter(train_iter))
    X[:] = 0  # What a loader hands out is the reader's own


@pytest.mark.usefixtures("unset")
def test_more_images_than_the_sample_has():
    with pytest.raises(
        ValueError,
        match=r"train_size must be .* 1 to 12,000, .*a sample.*, not 60,000; D2L_DATA=full asks",
    ):
        data.load_data_fashion_mnist(256, train_size=60_000)


def test_a_damaged_sample_is_named(tmp_path, monkeypatch):
    short = tmp_path / sample.FILE.name
    content = sample.FILE.read_bytes()
    flipped = content[:5000] + bytes(255 - byte for byte in content[5000:5100]) + content[5100:]
    for damaged in (
        flipped,
        content[:-1000],
        content[:100],
        b"",
        b"version https://git-lfs.github.com",
    ):
        short.write_bytes(damaged)
        monkeypatch.setattr(sample, "FILE", short)
        with pytest.raises(ValueError, match=r"sample\.tar\.xz is damaged .*install d2l_local"):
            sample.load.__wrapped__()


def test_a_program_that_takes_all_gets_the_sample_where_nothing_else_can_be_had(
    cache, monkeypatch, capsys
):
    monkeypatch.delenv("D2L_DATA")
    for _ in range(2):  # What cannot be had is said, and waited for, once
        assert len(sources.largest_dataset().train_images) == 12_000
    assert capsys.readouterr().out.count("Note: a sample in place of the 60,000 images") == 1
    fill(cache)
    monkeypatch.setenv("D2L_DATA", "full")
    assert len(sources.largest_dataset().train_images) == NUM_TRAIN
    monkeypatch.delenv("D2L_DATA")
    sources._can_be_had.cache_clear()  # As in a new process
    assert len(sources.largest_dataset().train_images) == NUM_TRAIN


@pytest.mark.parametrize("rank", ["0", "1"])
def test_of_several_processes_the_first_speaks(cache, capsys, monkeypatch, rank):
    fill(cache)
    monkeypatch.setenv("RANK", rank)
    assert load(capsys).startswith("Data: Fashion-MNIST") == (rank == "0")


def test_import_is_light():
    heavy = ["mxnet", "torch", "sklearn", "requests", "PIL", "scipy"]
    code = f"import sys, d2l_local.data; print([m for m in {heavy} if m in sys.modules])"
    assert python(code).stdout == "[]\n"


# D2L_DATA


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a folder with the four files that D2L_DATA names."""
    monkeypatch.setenv("D2L_DATA", str(tmp_path / "own"))
    return fill(tmp_path / "own")


def in_two_members(content):
    return gzip.compress(content[:99]) + gzip.compress(content[99:])


# What the authors, MXNet, Debian, Keras and torchvision give differs in this alone.
COPIES = {
    "packed": PACKED,
    "unpacked": CONTENTS,
    "both": {**PACKED, **CONTENTS},
    "packed otherwise": {f"{n}.gz": gzip.compress(c, 1, mtime=7) for n, c in CONTENTS.items()},
    "in members": {f"{n}.gz": in_two_members(c) for n, c in CONTENTS.items()},
}


@pytest.mark.parametrize("copy", COPIES)
def test_any_copy_of_the_content_is_fashion_mnist(tmp_path, monkeypatch, capsys, copy):
    own = fill(tmp_path / "own", COPIES[copy])
    monkeypatch.setenv("D2L_DATA", str(own))
    assert load(capsys) == (
        f"Data: Fashion-MNIST from {own} (D2L_DATA); 50 training and 20 test images\n"
    )
    assert load(capsys) == ""  # Nothing is said twice
    data.load_data_fashion_mnist(16, train_size=10)
    assert "; 10 training and" in capsys.readouterr().out


def test_own_folder_with_another_data_set(own, monkeypatch, capsys):
    monkeypatch.setattr(idx, "FILES", dict.fromkeys(NAMES, "0" * 64))
    out = load(capsys)
    assert "not Fashion-MNIST: checksum differs" in out
    assert "labels up to" not in out


def test_own_folder_with_too_many_classes(own, capsys):
    labels = np.arange(NUM_TRAIN).astype(np.uint8)
    (own / f"{TRAIN_LABELS}.gz").write_bytes(gzip.compress(pack(labels)))
    data.load_data_fashion_mnist(16)
    assert "labels up to 49" in capsys.readouterr().out


IMAGES = np.zeros((NUM_TRAIN, 28, 28), dtype=np.uint8)
MALFORMED = {
    "truncated gzip": (PACKED[f"{TRAIN_IMAGES}.gz"][:-100], "truncated"),
    "wrong checksum of gzip": (gzip.compress(pack(IMAGES))[:-8] + bytes(8), "CRC"),
    "no gzip": (b"<html>", "no gzip file"),
    "empty": (b"", "IDX|truncated"),
    "magic": (gzip.compress(b"\1\2\3\4" + bytes(100)), r"begins with b'\\x01"),
    "floats": (gzip.compress(b"\0\0\x0d\3" + bytes(100)), "not an IDX file of labels or images"),
    "100 dimensions": (gzip.compress(b"\0\0\x08\x64" + bytes(500)), r"begins with .*\\x08d'"),
    "short": (gzip.compress(pack(IMAGES)[:-1]), "should have 39,216 bytes .* has 39,215"),
    "long": (gzip.compress(pack(IMAGES) + b"x"), "should have 39,216 bytes .* has 39,217"),
    "header": (gzip.compress(pack(IMAGES)[:9]), "but has 9"),
    "count": (gzip.compress(pack(IMAGES[1:])), r"holds 49 images, but .*labels"),
    "size": (gzip.compress(pack(IMAGES[:, :, :27])), r"28x28.*\(50, 28, 27\)"),
    "labels": (gzip.compress(pack(IMAGES[:, 0, 0])), r"28x28.*\(50,\)"),
    "none": (gzip.compress(pack(IMAGES[:0])), r"28x28.*\(0, 28, 28\)"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_file_in_own_folder(own, case):
    content, message = MALFORMED[case]
    path = own / f"{TRAIN_IMAGES}.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        data.load_data_fashion_mnist(16)
    assert str(path) in str(error.value)
    assert "replace " in str(error.value)
    assert path.read_bytes() == content  # A reader's file is left alone


@pytest.mark.parametrize("folder", [False, True])
def test_missing_file(own, folder):
    (own / f"{TEST_LABELS}.gz").unlink()
    if folder:
        (own / TEST_LABELS).mkdir()
    with pytest.raises(FileNotFoundError, match=f"own'.* lacks {TEST_LABELS} .*unset D2L_DATA"):
        data.load_data_fashion_mnist(16)


@pytest.mark.parametrize(
    "name", ["own/nowhere", f"own/{TRAIN_IMAGES}.gz", "~nobody-of-that-name/x"]
)
def test_no_folder(own, monkeypatch, name):
    monkeypatch.setenv("D2L_DATA", name if name.startswith("~") else str(own.parent / name))
    with pytest.raises(FileNotFoundError, match=f"{name}', .* not a folder.*unset D2L_DATA"):
        data.load_data_fashion_mnist(16)


class _User:
    """Somebody who may read nothing that is not for everybody."""

    def __enter__(self):
        self.user = os.geteuid()
        if self.user == 0:  # Root may read everything
            os.seteuid(65534)

    def __exit__(self, *args):
        os.seteuid(self.user)


@pytest.mark.parametrize("what", [".", f"{TRAIN_LABELS}.gz"])
def test_own_folder_that_may_not_be_read(monkeypatch, what):
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        path = fill(Path(name)) / what
        monkeypatch.setenv("D2L_DATA", name)
        Path(name).chmod(0o755)
        path.chmod(0)
        with _User(), pytest.raises(PermissionError) as error:
            data.load_data_fashion_mnist(16)
        path.chmod(0o755)
    assert f"D2L_DATA names '{name}', but you may not read {name}" in str(error.value)
    assert "unset D2L_DATA" in str(error.value)
