"""Files on a disk, and what was read from it rather than from memory."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

from d2l_local.machine.storage import bytes_from_disk, file_on_disk

import psutil
import pytest

SIZE = 3_000_000  # Not a whole number of the pieces in which it is written


@pytest.fixture(scope="module")
def file():
    return Path(file_on_disk(SIZE))


def _fetched_by(read) -> int:
    before = bytes_from_disk()
    read()
    return bytes_from_disk() - before


def test_the_file_has_its_size_and_does_not_compress(file):
    content = file.read_bytes()
    assert len(content) == SIZE
    assert len(set(content[: 2**16])) == 256


@pytest.mark.parametrize("size", [0, -1])
def test_a_file_of_nothing_is_refused(size):
    with pytest.raises(ValueError, match=str(size)):
        file_on_disk(size)


def test_a_file_that_does_not_fit_goes_at_once(monkeypatch, tmp_path):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(OSError, match="No space left"):
        file_on_disk(10)
    assert list(tmp_path.iterdir()) == []


def test_the_file_goes_with_its_process():
    code = "from d2l_local.machine.storage import file_on_disk; print(file_on_disk(10))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not Path(run.stdout.strip()).exists()


def test_what_lies_in_the_page_cache_is_not_fetched(file):
    file.read_bytes()
    assert _fetched_by(file.read_bytes) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone counts what it fetches")
def test_what_was_dropped_from_the_page_cache_is_fetched(file):
    with open(file, "rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    fetched = _fetched_by(file.read_bytes)
    if not fetched:
        pytest.skip("the temporary folder lies in memory, or nobody tells")
    assert fetched >= SIZE


@pytest.mark.parametrize("error", [psutil.AccessDenied(), RuntimeError("empty")])
def test_nothing_where_the_system_does_not_tell(monkeypatch, error):
    def io_counters(self):
        raise error

    monkeypatch.setattr(psutil.Process, "io_counters", io_counters, raising=False)
    assert bytes_from_disk() == 0
