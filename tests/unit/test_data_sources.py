"""Where the images come from: the sample, folders in any state, a full disk; and the notice."""

from __future__ import annotations

import errno
import gzip
import os
import sys
import tempfile
import tracemalloc
from pathlib import Path

from d2l_local import data
from d2l_local.data import download, idx, sample, sources

import made_up
import numpy as np
import pytest
from helpers import python
from made_up import (
    CONTENTS,
    NAMES,
    NUM_TRAIN,
    PACKED,
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    assert_loaded,
    files_in,
    fill,
    pack,
)

pytestmark = [pytest.mark.usefixtures("cache"), pytest.mark.timeout(60)]
SAMPLE = "Data: a sample of Fashion-MNIST; 12,000 training and 2,000 test images\n"


@pytest.fixture
def served(monkeypatch):
    """Put a mirror in the place of a download; return the names of the files fetched."""
    fetched = []

    def fetch(name, mirrors, largest, check, deadline):
        fetched.append(name)
        return check(PACKED[name])

    monkeypatch.setattr(download, "fetch", fetch)
    return fetched


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
    for damaged in (content[:-1000], content[:100], b"", b"version https://git-lfs.github.com"):
        short.write_bytes(damaged)
        monkeypatch.setattr(sample, "FILE", short)
        with pytest.raises(ValueError, match=r"sample\.tar\.xz is damaged .*install d2l_local"):
            sample.load.__wrapped__()


def test_a_program_that_takes_all_gets_the_sample_where_nothing_else_can_be_had(
    cache, monkeypatch, capsys
):
    monkeypatch.delenv("D2L_DATA")
    assert len(sources.largest_dataset().train_images) == 12_000
    assert "Note: a sample in place of the 60,000 images, because no mirror " in (
        capsys.readouterr().out
    )
    fill(cache)
    assert len(sources.largest_dataset().train_images) == NUM_TRAIN
    monkeypatch.setenv("D2L_DATA", "full")
    assert len(sources.largest_dataset().train_images) == NUM_TRAIN


def test_the_full_set_that_cannot_be_had():
    with pytest.raises(
        RuntimeError, match=r"no mirror .*dataset-fashion-mnist.*unset it to use the sample"
    ):
        data.load_data_fashion_mnist(256)


# Folders of this machine


def in_two_members(content):
    return gzip.compress(content[:99]) + gzip.compress(content[99:])


# What the authors, MXNet, Debian, Keras and torchvision give differs in this alone.
COPIES = {
    "packed": PACKED,
    "unpacked": CONTENTS,
    "both": {**PACKED, **CONTENTS},
    "packed otherwise": {f"{n}.gz": gzip.compress(c, 1, mtime=7) for n, c in CONTENTS.items()},
    "not compressed": {f"{n}.gz": gzip.compress(c, 0) for n, c in CONTENTS.items()},
    "in members": {f"{n}.gz": in_two_members(c) for n, c in CONTENTS.items()},
}
FOLDERS = {
    "D2L_DATA": "own",
    "Debian": "debian",
    "Gluon": "mxnet/datasets/fashion-mnist",
    "Keras": "home/.keras/datasets/fashion-mnist",
}


@pytest.mark.parametrize("copy", COPIES)
def test_any_copy_of_the_content_is_fashion_mnist(tmp_path, monkeypatch, capsys, copy):
    own = fill(tmp_path / "own", COPIES[copy])
    monkeypatch.setenv("D2L_DATA", str(own))
    assert load(capsys) == (
        f"Data: Fashion-MNIST from {own} (D2L_DATA); 50 training and 20 test images\n"
    )


def test_folders_in_their_order(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("D2L_DATA", str(tmp_path / "own"))
    for where in FOLDERS.values():
        fill(tmp_path / where)
    for source, where in FOLDERS.items():
        out = load(capsys)
        shown = str(tmp_path / where).replace(str(tmp_path / "home"), "~")
        assert out.startswith(f"Data: Fashion-MNIST from {shown}")
        for path in (tmp_path / where).iterdir():
            path.unlink()
        if source == "D2L_DATA":
            monkeypatch.setenv("D2L_DATA", "full")
    monkeypatch.delenv("D2L_DATA")
    assert load(capsys) == SAMPLE


@pytest.mark.skipif(not sources.DEBIAN.is_dir(), reason=f"{sources.PACKAGE} is not installed")
def test_debian_s_package():
    assert python("from d2l_local import data; data.load_data_fashion_mnist(16)").stdout == (
        "Data: Fashion-MNIST from /usr/share/datasets/fashion-mnist; "
        "60,000 training and 10,000 test images\n"
    )


def test_cache_folder_is_gluon_s(monkeypatch):
    monkeypatch.delenv("MXNET_HOME")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", "/home/reader")
    assert sources._cache() == Path("/home/reader/.mxnet/datasets/fashion-mnist")


@pytest.mark.parametrize("spoil", [lambda c: c[:100], lambda c: b"", lambda c: b"x" + c[1:]])
def test_corrupt_file_in_the_cache_is_named_and_fetched_again(cache, served, capsys, spoil):
    fill(cache)
    name = f"{TEST_IMAGES}.gz"
    (cache / name).write_bytes(spoil(PACKED[name]))
    assert f"{TEST_IMAGES} in {cache} is truncated or corrupt; fetched it again" in load(capsys)
    assert files_in(cache) == PACKED
    assert served == [name]


def test_another_data_set_in_the_cache_is_not_taken_for_fashion_mnist(cache, served, capsys):
    other = pack(np.zeros((20, 28, 28), np.uint8))
    fill(cache, {**PACKED, f"{TEST_IMAGES}.gz": gzip.compress(other)})
    assert "has a wrong checksum; fetched it again" in load(capsys)
    assert files_in(cache) == PACKED


def test_corrupt_file_that_cannot_be_replaced(cache, capsys):
    """It is not used, no good file goes with it, and the reader learns which one it is."""
    files = {**PACKED, f"{TEST_IMAGES}.gz": PACKED[f"{TEST_IMAGES}.gz"][:-1]}
    fill(cache, files)
    with pytest.raises(
        RuntimeError, match=f"{TEST_IMAGES} in {cache} is truncated or corrupt; no "
    ):
        load(capsys)
    assert files_in(cache) == files


def test_good_file_in_the_second_folder_goes_before_a_bad_one_in_the_first(cache, tmp_path, capsys):
    fill(cache)
    fill(tmp_path / FOLDERS["Keras"])
    (cache / f"{TRAIN_IMAGES}.gz").write_bytes(b"corrupt")
    out = load(capsys)
    assert out.startswith(f"Data: Fashion-MNIST from ~/.keras/datasets/fashion-mnist and {cache}; ")


def test_another_data_set_from_a_mirror_is_not_taken_for_fashion_mnist(cache, monkeypatch, capsys):
    other = gzip.compress(pack(np.zeros((NUM_TRAIN, 28, 28), np.uint8)))

    def fetch(name, mirrors, largest, check, deadline):
        with pytest.raises(ValueError, match=f"{TRAIN_IMAGES} has a wrong checksum"):
            check(other)
        raise download.UnavailableError("nothing else is there")

    monkeypatch.setattr(download, "fetch", fetch)
    with pytest.raises(RuntimeError, match=r"^nothing else is there\. "):
        load(capsys)
    assert files_in(cache) == {}


# Other users, and what is no file


def make_fifo(path):
    os.mkfifo(path)


def make_device(path):
    path.symlink_to("/dev/zero")


def make_sparse(path):
    path.touch()
    os.truncate(path, 20 * 2**30)


def make_larger(path):
    """A good file, but of more images than Fashion-MNIST has: it need not be read."""
    path.write_bytes(gzip.compress(pack(np.zeros((NUM_TRAIN + 1, 28, 28), np.uint8))))


def make_bomb(path):
    path.write_bytes(gzip.compress(CONTENTS[TRAIN_IMAGES] + bytes(2**26)))


@pytest.mark.parametrize("make", [make_fifo, make_device, make_sparse, make_larger, make_bomb])
def test_what_is_no_file_in_a_cache_is_passed_over(cache, served, capsys, make):
    cache.mkdir(parents=True)
    make(cache / f"{TRAIN_IMAGES}.gz")
    assert f"{TRAIN_IMAGES} in {cache} is truncated or corrupt" in load(capsys)
    assert served == list(PACKED)


@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_cached_files_are_for_those_that_the_umask_allows(cache, served, capsys, umask, mode):
    before = os.umask(umask)
    try:
        load(capsys)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in cache.iterdir()} == {mode}
    assert cache.stat().st_mode & 0o777 == 0o777 & ~umask


class _User:
    """Somebody who may read nothing that is not for everybody."""

    def __enter__(self):
        self.user = os.geteuid()
        if self.user == 0:  # Root may read everything
            os.seteuid(65534)

    def __exit__(self, *args):
        os.seteuid(self.user)


def test_unreadable_file_in_a_shared_cache_is_named(monkeypatch, capsys):
    # Not in pytest's folder, which nobody else may enter
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        os.chmod(name, 0o755)
        monkeypatch.setattr(sources, "DEBIAN", fill(Path(name)))
        (Path(name) / f"{TRAIN_IMAGES}.gz").chmod(0)
        said = rf"{TRAIN_IMAGES} in {name} cannot be read \(Permission denied\);"
        with _User(), pytest.raises(RuntimeError, match=said):
            load(capsys)


# What is written, and where


def test_fetched_files_fill_the_cache_and_the_line_comes_once(cache, served, capsys):
    line = f"Data: Fashion-MNIST from {cache}; 50 training and 20 test images\n"
    assert load(capsys) == line
    assert files_in(cache) == PACKED
    assert load(capsys) == ""  # Nothing is fetched or said twice
    data.load_data_fashion_mnist(16, train_size=10)
    assert "; 10 training and" in capsys.readouterr().out
    assert load(capsys) == line
    assert served == list(PACKED)


def test_all_files_together_have_one_deadline(monkeypatch):
    deadlines = []

    def fetch(name, mirrors, largest, check, deadline):
        deadlines.append(deadline)
        return check(PACKED[name])

    monkeypatch.setattr(download, "fetch", fetch)
    data.load_data_fashion_mnist(16)
    assert len(deadlines) == len(PACKED) and len(set(deadlines)) == 1


@pytest.mark.parametrize("rank", ["0", "1"])
def test_of_several_processes_the_first_speaks(cache, capsys, monkeypatch, rank):
    fill(cache)
    monkeypatch.setenv("RANK", rank)
    assert load(capsys).startswith("Data: Fashion-MNIST") == (rank == "0")


WITHOUT_A_FOLDER = (
    "Cannot write to {} ({}), so each process fetches Fashion-MNIST anew. Name another folder in "
    "MXNET_HOME.\n"
)


def test_unwritable_home_is_said_once_and_nothing_fetched_twice(served, monkeypatch, capsys):
    monkeypatch.setenv("MXNET_HOME", "/dev/null/x")
    assert load(capsys) == (
        WITHOUT_A_FOLDER.format("/dev/null/x/datasets/fashion-mnist", "Not a directory")
        + "Data: Fashion-MNIST from memory; 50 training and 20 test images\n"
    )
    assert load(capsys) == ""
    assert served == list(PACKED)


def test_user_without_a_home(served, monkeypatch, capsys):
    def no_home(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("MXNET_HOME")
    monkeypatch.setattr(Path, "expanduser", no_home)
    assert load(capsys).startswith(WITHOUT_A_FOLDER.format("~/.mxnet", "this user has no home"))
    assert served == list(PACKED)


def test_full_disk(cache, served, monkeypatch, capsys):
    """The largest file does not fit; what the disk holds already stays there and is used."""
    labels = {f"{name}.gz": PACKED[f"{name}.gz"] for name in (TRAIN_LABELS, TEST_LABELS)}
    fill(cache, labels)

    def full(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    assert load(capsys) == (
        WITHOUT_A_FOLDER.format(cache, "No space left on device")
        + f"Data: Fashion-MNIST from memory and {cache}; 50 training and 20 test images\n"
    )
    assert files_in(cache) == labels
    assert served == [f"{TRAIN_IMAGES}.gz", f"{TEST_IMAGES}.gz"]  # The disk's fault, not a mirror's


def test_something_else_in_the_place_of_a_file(cache, served, capsys):
    (cache / f"{TRAIN_IMAGES}.gz" / "someone's").mkdir(parents=True)
    assert load(capsys).startswith(WITHOUT_A_FOLDER.format(cache, "Is a directory"))
    assert os.listdir(cache / f"{TRAIN_IMAGES}.gz") == ["someone's"]
    assert sorted(os.listdir(cache)) == sorted(PACKED)


def test_nothing_stays_of_a_file_that_is_larger_than_a_process_may_write(cache):
    fetch = """
import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
import made_up
from d2l_local.data import download
download.fetch = lambda name, mirrors, largest, check, deadline: check(made_up.PACKED[name])
"""
    unmeasured = {"COVERAGE_PROCESS_CONFIG": ""}  # It would have to write a larger file
    done = python(fetch + made_up.program((), cache.parent), **unmeasured)
    assert done.stderr == ""
    assert done.stdout.startswith(WITHOUT_A_FOLDER.format(cache, "File too large"))
    assert files_in(cache) == {n: c for n, c in PACKED.items() if len(c) < 20_000}


# D2L_DATA


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a folder with the four files that D2L_DATA names."""
    monkeypatch.setenv("D2L_DATA", str(tmp_path / "own"))
    return fill(tmp_path / "own")


def test_own_folder_with_another_data_set(own, monkeypatch, capsys):
    monkeypatch.setattr(idx, "FILES", {name: idx.Known(9, "0" * 64) for name in NAMES})
    out = load(capsys)
    assert "not Fashion-MNIST: checksum differs" in out
    assert "labels up to" not in out


def test_own_folder_with_too_many_classes(own, capsys):
    labels = np.arange(NUM_TRAIN).astype(np.uint8)
    (own / f"{TRAIN_LABELS}.gz").write_bytes(gzip.compress(pack(labels)))
    data.load_data_fashion_mnist(16)
    assert "labels up to 49" in capsys.readouterr().out


IMAGES = np.zeros((NUM_TRAIN, 28, 28), dtype=np.uint8)
FOUR_BILLION = b"\0\0\x08\3" + bytes([255] * 4 + [0, 0, 0, 28] * 2)
MALFORMED = {
    "truncated gzip": (PACKED[f"{TRAIN_IMAGES}.gz"][:-100], "truncated"),
    "wrong checksum of gzip": (gzip.compress(pack(IMAGES))[:-8] + bytes(8), "CRC"),
    "no gzip": (b"<html>", "no gzip file"),
    "empty": (b"", "IDX|truncated"),
    "magic": (gzip.compress(b"\1\2\3\4" + bytes(100)), r"begins with b'\\x01"),
    "floats": (gzip.compress(b"\0\0\x0d\3" + bytes(100)), "not an IDX file of bytes"),
    "100 dimensions": (gzip.compress(b"\0\0\x08\x64" + bytes(500)), "array of 100 dimensions"),
    "short": (gzip.compress(pack(IMAGES)[:-1]), "should have 39,216 bytes .* has 39,215"),
    "long": (gzip.compress(pack(IMAGES) + b"x"), "should have 39,216 bytes .* has more"),
    "large": (gzip.compress(FOUR_BILLION), "has 3,367,254,359,296 bytes .* 1,073,741,824"),
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


@pytest.mark.parametrize(
    "make, reason",
    [(make_fifo, "no regular file"), (make_device, "no regular file"), (make_sparse, "21,474,836")],
)
def test_what_is_no_file_in_own_folder(own, make, reason):
    (own / f"{TRAIN_LABELS}.gz").unlink()
    make(own / f"{TRAIN_LABELS}.gz")
    with pytest.raises(ValueError, match=f"{TRAIN_LABELS}.gz .*{reason}.*; replace "):
        data.load_data_fashion_mnist(16)


def test_bomb_is_not_unpacked(own):
    make_bomb(own / f"{TRAIN_IMAGES}.gz")
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="has more; replace"):
            data.load_data_fashion_mnist(16)
        assert tracemalloc.get_traced_memory()[1] < 2**23  # Of 2**26 bytes
    finally:
        tracemalloc.stop()


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


def test_foreign_folder(tmp_path, monkeypatch):
    folder = fill(tmp_path / "foreign", {"data_batch_1.bin": b"foreign"})
    monkeypatch.setenv("D2L_DATA", str(folder))
    with pytest.raises(FileNotFoundError, match=f"foreign'.* lacks {', '.join(NAMES)} "):
        data.load_data_fashion_mnist(16)
    assert files_in(folder) == {"data_batch_1.bin": b"foreign"}


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


def test_import_is_light():
    heavy = ["mxnet", "torch", "sklearn", "requests", "PIL", "scipy"]
    code = f"import sys, d2l_local.data; print([m for m in {heavy} if m in sys.modules])"
    assert python(code).stdout == "[]\n"
