"""The sample of Fashion-MNIST: drawn by the script, from what its labels say."""

from __future__ import annotations

import gzip

from book import fashion_mnist_sample as script
from book.builder import program
from d2l_local.data import idx, sample

import numpy as np
import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder in which small files are Fashion-MNIST: 20 images of each class."""
    random = np.random.RandomState(1)
    for part in script.PER_CLASS:
        labels = random.permutation(np.arange(200, dtype=np.uint8) % 10)
        images = random.randint(0, 256, (200, 28, 28)).astype(np.uint8)
        images[:, 0, 0] = labels
        names = [name for name in idx.FILES if name.startswith(part)]
        for name, array in zip(names, (images, labels)):
            (tmp_path / f"{name}.gz").write_bytes(gzip.compress(script.packed(array)))
    monkeypatch.setattr(script, "PER_CLASS", {"train": 12, "t10k": 4})
    return tmp_path


def test_it_is_drawn_of_every_class_alike_and_each_time_the_same(folder, monkeypatch):
    monkeypatch.setattr(
        script.idx, "load", lambda *a, load=idx.load: load(*a)._replace(genuine=True)
    )
    files = script.draw(folder)
    assert script.archive(files) == script.archive(script.draw(folder))
    monkeypatch.setattr(sample, "FILE", folder / "sample.tar.xz")
    sample.FILE.write_bytes(script.archive(files))
    arrays = sample.load.__wrapped__()
    for images, labels, n in ((*arrays[:2], 12), (*arrays[2:], 4)):
        assert np.bincount(labels).tolist() == 10 * [n]
        assert np.array_equal(images[:, 0, 0], labels)
        original = [name for name in idx.FILES if name.startswith("train" if n == 12 else "t10k")][
            0
        ]
        places = [
            idx.load(folder, original).array.tolist().index(image.tolist()) for image in images
        ]
        assert places == sorted(places)  # In the order of the original


def test_another_data_set_is_refused(folder):
    with pytest.raises(ValueError, match="train-images.* is not Fashion-MNIST's"):
        script.draw(folder)


def test_the_sample_of_the_package_is_the_one_that_was_drawn():
    # Drawn from the files whose checksums are in `idx.FILES`; who has them can draw it again.
    with script.tarfile.open(sample.FILE) as tar:
        assert tar.getnames() == list(idx.FILES)
        assert {(member.mtime, member.uid, member.uname) for member in tar} == {(0, 0, "")}
    assert program.data_hash(sample.FILE.name) == "08763cc0dbe8"
