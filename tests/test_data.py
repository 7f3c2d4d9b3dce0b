"""The data sets: downloads from a server of our own, local folders, stand-ins and the loader."""

import contextlib
import gzip
import hashlib
import os
import re
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from d2l_local import data

import numpy as np
import pytest

NAMES = list(data.FILES)
TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = NAMES
NUM_TRAIN, NUM_TEST = 50, 20

pytestmark = pytest.mark.timeout(60)


def idx(array):
    """Return a uint8 array in the IDX format."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def made_up_files():
    """Return the four files' names and packed contents: images of noise, labels 0...9."""
    rng = np.random.RandomState(0)
    contents = {}
    for part, n in (("train", NUM_TRAIN), ("t10k", NUM_TEST)):
        images = rng.randint(0, 256, (n, 28, 28)).astype(np.uint8)
        labels = (np.arange(n) % 10).astype(np.uint8)
        contents[f"{part}-images-idx3-ubyte.gz"] = gzip.compress(idx(images), mtime=0)
        contents[f"{part}-labels-idx1-ubyte.gz"] = gzip.compress(idx(labels), mtime=0)
    return contents


GOOD = made_up_files()
SUMS = {name: hashlib.sha1(GOOD[name]).hexdigest() for name in NAMES}


class Mirror:
    """A server on this machine; ``answer(name)`` gives (status, promised length, body)."""

    def __init__(self, answer):
        self.gets = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_HEAD(self):
                self.send_response(200)
                self.end_headers()

            def do_GET(self):
                name = self.path.rsplit("/", 1)[-1]
                mirror.gets.append(name)
                status, length, body = answer(name)
                self.send_response(status)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/data/"
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def good(name):
    return 200, len(GOOD[name]), GOOD[name]


def truncated(name):
    return 200, len(GOOD[name]) // 2, GOOD[name][: len(GOOD[name]) // 2]


def interrupted(name):
    return 200, len(GOOD[name]), GOOD[name][: len(GOOD[name]) // 2]


def html(name):
    page = b"<html>Please log in</html>"
    return 200, len(page), page


def absent(name):
    return 404, 0, b""


@pytest.fixture
def mirror():
    """Return a function that starts mirrors with the given answers and makes them the list."""
    started = []

    def start(*answers):
        started.extend(Mirror(answer) for answer in answers)
        data.MIRRORS = tuple(mirror.url for mirror in started)
        return started

    yield start
    for each in started:
        each.close()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Return the cache folder (not yet made) in a machine of its own: no network, small files."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in ("D2L_DATA", "MXNET_GLUON_REPO"):
            monkeypatch.delenv(name)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "mxnet"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(data, "FILES", SUMS)
    monkeypatch.setattr(data, "MIRRORS", (closed_port(),))
    return tmp_path / "mxnet" / "datasets" / "fashion-mnist"


def closed_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}/"


def fill(folder):
    """Put the four good files into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (folder / name).write_bytes(GOOD[name])
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def assert_made_up(iterators):
    train_iter, test_iter = iterators
    assert (len(train_iter.images), len(test_iter.images)) == (NUM_TRAIN, NUM_TEST)
    assert train_iter.labels.tolist() == [i % 10 for i in range(NUM_TRAIN)]


# Downloads


def test_download_and_cache(mirror, cache, capsys):
    (server,) = mirror(good)
    assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD
    out, err = capsys.readouterr()
    assert f"Data: Fashion-MNIST from {cache}; 50 training and 20 test images" in out
    assert "100%" in err  # The progress bar
    assert server.gets == NAMES

    assert_made_up(data.load_data_fashion_mnist(16))
    assert server.gets == NAMES  # Nothing is fetched twice
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("bad", [truncated, interrupted, html, absent])
def test_failing_mirror_is_named_and_the_next_one_serves(mirror, cache, capsys, bad):
    first, second = mirror(bad, good)
    # The first to answer would go first, which may be either.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "_mirrors_by_answer", lambda name: [first.url, second.url])
        assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD
    out = capsys.readouterr().out
    host = first.url.split("/")[2]
    assert f"{TRAIN_IMAGES} is not to be had from {host}: " in out
    if bad in (truncated, html):
        assert "wrong checksum" in out
    # The mirror that had the first file is asked first for the others.
    assert (first.gets, second.gets) == ([TRAIN_IMAGES], NAMES)


@pytest.mark.parametrize("bad", [truncated, interrupted, html, absent])
def test_no_good_mirror_leaves_nothing_and_stops_at_the_first_file(mirror, cache, capsys, bad):
    servers = mirror(bad, bad)
    train_iter, _ = data.load_data_fashion_mnist(16)
    assert len(train_iter.images) == 1500
    assert contents(cache) == {}
    assert [server.gets for server in servers] == [[TRAIN_IMAGES]] * 2
    assert f"(no mirror gives {TRAIN_IMAGES}: " in capsys.readouterr().out


def test_stopped_download_leaves_nothing(mirror, cache, monkeypatch):
    def stop(self, url, output_file, pooch):
        Path(output_file).write_bytes(GOOD[TRAIN_IMAGES][:100])
        raise KeyboardInterrupt

    mirror(good)
    monkeypatch.setattr("pooch.HTTPDownloader.__call__", stop)
    with pytest.raises(KeyboardInterrupt):
        data.load_data_fashion_mnist(16)
    assert contents(cache) == {}


def test_full_disk_is_named(mirror, monkeypatch, capsys):
    def fail(self, url, output_file, pooch):
        raise OSError(28, "No space left on device")

    mirror(good)
    monkeypatch.setattr("pooch.HTTPDownloader.__call__", fail)
    data.load_data_fashion_mnist(16)
    assert f"(no mirror gives {TRAIN_IMAGES}: No space left on device)" in capsys.readouterr().out


def test_unreachable_first_mirror(mirror, cache):
    (server,) = mirror(good)
    data.MIRRORS = (closed_port(), server.url)
    assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD


def test_silent_mirrors_cost_seconds_not_minutes(monkeypatch, capsys):
    with socket.socket() as silent:  # Accepts connections and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        monkeypatch.setattr(data, "MIRRORS", [f"http://127.0.0.1:{port}/{i}/" for i in range(3)])
        monkeypatch.setattr(data, "PROBE_SECONDS", 0.3)
        monkeypatch.setattr(data, "TIMEOUT", (1, 1))
        data.load_data_fashion_mnist(16)
    assert "no mirror answered: silence for 0.3 s" in capsys.readouterr().out


def test_reader_s_own_mirror_goes_with_the_others(mirror, monkeypatch):
    (server,) = mirror(good)
    monkeypatch.setenv("MXNET_GLUON_REPO", server.url.replace("/data/", "/repo"))
    assert data._mirrors() == [
        server.url.replace("/data/", "/repo/gluon/dataset/fashion-mnist/"),
        server.url,
    ]


@pytest.mark.parametrize("spoil", [lambda c: c[:100], lambda c: b"", lambda c: b"x" + c[1:]])
def test_corrupt_file_in_the_cache_is_named_and_fetched_again(mirror, cache, capsys, spoil):
    (server,) = mirror(good)
    fill(cache)
    (cache / TEST_IMAGES).write_bytes(spoil(GOOD[TEST_IMAGES]))
    assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD
    assert server.gets == [TEST_IMAGES]
    assert f"{cache / TEST_IMAGES} is truncated or corrupt" in capsys.readouterr().out


def test_corrupt_file_without_a_network_does_not_stay(cache, capsys):
    fill(cache)
    (cache / TEST_IMAGES).write_bytes(GOOD[TEST_IMAGES][:-1])
    data.load_data_fashion_mnist(16)
    assert contents(cache) == {name: GOOD[name] for name in NAMES if name != TEST_IMAGES}
    assert "digits" in capsys.readouterr().out


def test_good_file_that_another_process_put_there_is_kept(cache):
    path = fill(cache) / TRAIN_LABELS  # Good by the time that it is moved aside
    assert data._discard(path) == GOOD[TRAIN_LABELS]
    assert contents(cache) == GOOD


TWO_PROCESSES = """
import sys
from d2l_local import data
data.FILES, data.MIRRORS = {sums!r}, ({url!r},)
for iterator in data.load_data_fashion_mnist(16):
    print(len(iterator.images))
"""


def test_two_processes_at_once(mirror, cache):
    meet = threading.Barrier(2)

    def together(name):
        with contextlib.suppress(threading.BrokenBarrierError):
            meet.wait(timeout=5)  # Both have found the file missing
        return good(name)

    (server,) = mirror(together)
    fill(cache)
    for name in (TRAIN_LABELS, TEST_IMAGES):
        (cache / name).write_bytes(b"corrupt")
    code = TWO_PROCESSES.format(sums=SUMS, url=server.url)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=Path(data.__file__).parents[1],
        )
        for _ in range(2)
    ]
    try:
        for process in processes:
            out, _ = process.communicate(timeout=30)
            assert process.returncode == 0, out
            assert f"Fashion-MNIST from {cache}" in out
            assert out.endswith("50\n20\n")
    finally:
        for process in processes:
            process.kill()
    assert contents(cache) == GOOD


def test_unwritable_home_moves_the_cache_and_says_so_once(mirror, tmp_path, monkeypatch, capsys):
    (server,) = mirror(good)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "file" / "x"))
    for _ in range(2):
        assert_made_up(data.load_data_fashion_mnist(16))
    (folder,) = (tmp_path / "tmp").glob("d2l-*/fashion-mnist")
    assert contents(folder) == GOOD
    assert server.gets == NAMES
    out = capsys.readouterr().out
    assert out.count("Cannot write to") == 1
    assert out.count(f"Fashion-MNIST from {folder}") == 2


def test_no_writable_folder_at_all(mirror, tmp_path, monkeypatch, capsys):
    mirror(good)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "file" / "x"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file" / "y"))
    data.load_data_fashion_mnist(16)
    assert "(no folder to download to: " in capsys.readouterr().out


def test_cache_folder_is_gluon_s(monkeypatch):
    monkeypatch.delenv("MXNET_HOME")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", os.path.join(os.sep, "home", "reader"))
    assert data._cache_folders()[0] == Path("/home/reader/.mxnet/datasets/fashion-mnist")


def test_user_without_a_home(monkeypatch, tmp_path):
    def no_home(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", no_home)
    (folder,) = data._cache_folders()
    assert folder.parents[1] == tmp_path / "tmp"


# The stand-in


def test_digits_without_a_network(capsys):
    train_iter, test_iter = data.load_data_fashion_mnist(256)
    out = capsys.readouterr().out
    assert re.fullmatch(
        r"Data: handwritten digits of scikit-learn in place of Fashion-MNIST "
        r"\(no mirror answered: ConnectionError\); 1,500 training and 297 test images\n",
        out,
    )
    for iterator, n in ((train_iter, 1500), (test_iter, 297)):
        assert iterator.images.shape == (n, 28, 28)
        assert (iterator.images.min(), iterator.images.max()) == (0, 255)
        assert np.bincount(iterator.labels).min() >= n // 11
        assert np.bincount(iterator.labels[:100]).min() >= 5  # The first ones are balanced, too


def test_digits_are_the_same_for_each_seed():
    for one, other in zip(data.digits("a")[:4], data.digits("b")[:4]):
        assert np.array_equal(one, other)


def test_more_images_than_digits_gives_them_all_and_a_note(capsys):
    train_iter, test_iter = data.load_data_fashion_mnist(256, train_size=6000, test_size=100)
    assert (len(train_iter.images), len(test_iter.images)) == (1500, 100)
    assert "Note: train_size=6,000, but there are only 1,500 digits" in capsys.readouterr().out


def test_neither_network_nor_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(RuntimeError, match=r"no mirror answered.*D2L_DATA"):
        data.load_data_fashion_mnist(256)


def test_without_pooch(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pooch", None)
    data.load_data_fashion_mnist(256)
    assert "pip install pooch tqdm" in capsys.readouterr().out


def test_import_is_light():
    code = "import sys, d2l_local.data; print([m for m in {} if m in sys.modules])"
    heavy = ["mxnet", "torch", "sklearn", "pooch", "requests", "tqdm", "PIL", "scipy"]
    out = subprocess.run(
        [sys.executable, "-c", code.format(heavy)],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=Path(data.__file__).parents[1],
    ).stdout
    assert out == "[]\n"


# D2L_DATA


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a folder with the four files that D2L_DATA names."""
    monkeypatch.setenv("D2L_DATA", str(tmp_path / "own"))
    return fill(tmp_path / "own")


def test_own_folder(own, capsys):
    assert_made_up(data.load_data_fashion_mnist(16))
    assert f"Data: Fashion-MNIST from {own} (D2L_DATA); 50 tr" in capsys.readouterr().out


def test_own_folder_unpacked(own, capsys):
    for name in NAMES:
        (own / name).unlink()
        (own / name[:-3]).write_bytes(gzip.decompress(GOOD[name]))
    assert_made_up(data.load_data_fashion_mnist(16))
    assert "Data: unpacked images" in capsys.readouterr().out


def test_own_folder_with_another_data_set(own, monkeypatch, capsys):
    monkeypatch.setattr(data, "FILES", {name: "0" * 40 for name in NAMES})
    assert_made_up(data.load_data_fashion_mnist(16))
    out = capsys.readouterr().out
    assert "not Fashion-MNIST: checksum differs" in out
    assert "labels up to" not in out


def test_own_folder_with_too_many_classes(own, capsys):
    labels = np.arange(NUM_TRAIN).astype(np.uint8)
    (own / TRAIN_LABELS).write_bytes(gzip.compress(idx(labels)))
    data.load_data_fashion_mnist(16)
    assert "labels up to 49" in capsys.readouterr().out


IMAGES = np.zeros((NUM_TRAIN, 28, 28), dtype=np.uint8)
MALFORMED = {
    "truncated gzip": (GOOD[TRAIN_IMAGES][:-100], "truncated"),
    "no gzip": (b"<html>", "no gzip file"),
    "empty": (b"", "IDX|truncated"),
    "magic": (gzip.compress(b"\1\2\3\4" + bytes(100)), r"begins with b'\\x01"),
    "floats": (gzip.compress(b"\0\0\x0d\3" + bytes(100)), "not an IDX file of bytes"),
    "short": (gzip.compress(idx(IMAGES)[:-1]), "should have 39,216 bytes"),
    "long": (gzip.compress(idx(IMAGES) + b"x"), "but has 39,217"),
    "header": (gzip.compress(idx(IMAGES)[:9]), "but has 9"),
    "count": (gzip.compress(idx(IMAGES[1:])), r"holds 49 images, but .*labels"),
    "size": (gzip.compress(idx(IMAGES[:, :, :27])), r"28x28.*\(50, 28, 27\)"),
    "labels": (gzip.compress(idx(IMAGES[:, 0, 0])), r"28x28.*\(50,\)"),
    "none": (gzip.compress(idx(IMAGES[:0])), r"28x28.*\(0, 28, 28\)"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_file_in_own_folder(own, case):
    content, message = MALFORMED[case]
    (own / TRAIN_IMAGES).write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        data.load_data_fashion_mnist(16)
    assert str(own / TRAIN_IMAGES) in str(error.value)
    assert "replace the file" in str(error.value)
    assert (own / TRAIN_IMAGES).read_bytes() == content  # A reader's file is left alone


def test_missing_file_and_folder(own, monkeypatch):
    (own / TEST_LABELS).unlink()
    with pytest.raises(FileNotFoundError, match=f"own'.* lacks {TEST_LABELS} .*unset D2L_DATA"):
        data.load_data_fashion_mnist(16)
    monkeypatch.setenv("D2L_DATA", str(own / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere'.* not a folder.*unset D2L_DATA"):
        data.load_data_fashion_mnist(16)


def test_sizes(own):
    train_iter, test_iter = data.load_data_fashion_mnist(16, train_size=30, test_size=NUM_TEST)
    assert (len(train_iter.images), len(test_iter.images)) == (30, NUM_TEST)
    with pytest.raises(ValueError, match=r"train_size must be .* 1 to 50.*not 51"):
        data.load_data_fashion_mnist(16, train_size=51)


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", True])
@pytest.mark.parametrize("name", ["batch_size", "train_size", "test_size", "resize"])
def test_bad_arguments(own, name, value):
    arguments = {"batch_size": 16, name: value}
    with pytest.raises(ValueError, match=f"{name} must be .*not {re.escape(repr(value))}"):
        data.load_data_fashion_mnist(**arguments)


@pytest.mark.parametrize("name, value", [("seed", -1), ("seed", None), ("resize", (3, 4, 5))])
def test_more_bad_arguments(own, name, value):
    with pytest.raises(ValueError, match=f"{name} must be .*not {re.escape(repr(value))}"):
        data.load_data_fashion_mnist(16, **{name: value})


# The loader


def numbered(n=10):
    """Return n images that show their own number, and the numbers as labels."""
    numbers = np.arange(n, dtype=np.uint8)
    return np.broadcast_to(numbers[:, None, None], (n, 28, 28)).copy(), numbers


def labels_by_epoch(loader, num_epochs=3):
    return [np.concatenate([y for _, y in loader]).tolist() for _ in range(num_epochs)]


def test_batches():
    images, labels = numbered()
    loader = data.ArrayDataLoader(images, labels, 4)
    batches = list(loader)
    assert len(loader) == len(batches) == 3
    assert [X.shape for X, _ in batches] == [(4, 1, 28, 28), (4, 1, 28, 28), (2, 1, 28, 28)]
    for X, y in batches:
        assert (X.dtype, y.dtype) == (np.float32, np.int32)
        assert X.flags.c_contiguous
        assert np.array_equal(X[:, 0, 5, 5], y.astype(np.float32) / np.float32(255))
    assert labels_by_epoch(loader) == [list(range(10))] * 3


def test_batches_own_their_memory():
    images, labels = numbered()
    loader = data.ArrayDataLoader(images, labels, 10)
    for X, y in loader:
        X[:], y[:] = 0.5, 7
    assert labels_by_epoch(loader, 1) == [list(range(10))]


def test_epochs_are_shuffled_and_reproducible():
    images, labels = numbered(100)

    def loader(seed):
        return data.ArrayDataLoader(images, labels, 32, shuffle=True, seed=seed)

    epochs = labels_by_epoch(loader(1))
    assert labels_by_epoch(loader(1)) == epochs != labels_by_epoch(loader(2))
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert all(sorted(epoch) == list(range(100)) for epoch in epochs)
    # An iterator that nobody finishes counts as an epoch, and disturbs none.
    other = loader(1)
    next(iter(other))
    assert labels_by_epoch(other, 2) == epochs[1:]


def test_shuffled_images_keep_their_labels():
    loader = data.ArrayDataLoader(*numbered(100), 32, shuffle=True)
    for X, y in loader:
        assert np.array_equal(np.rint(X[:, 0, 0, 0] * 255), y)


def test_convert():
    seen = []
    loader = data.ArrayDataLoader(*numbered(), 4, convert=lambda a: seen.append(a) or str(a.dtype))
    assert list(loader) == [("float32", "int32")] * 3
    assert all(isinstance(array, np.ndarray) for array in seen)


def test_loader_rejects_other_arrays():
    images, labels = numbered()
    with pytest.raises(ValueError, match=r"uint8 .* not float64 of shape \(10, 28, 28\)"):
        data.ArrayDataLoader(images / 255, labels, 4)
    with pytest.raises(ValueError, match=r"labels must have shape \(10,\).* not \(9,\)"):
        data.ArrayDataLoader(images, labels[1:], 4)


@pytest.mark.parametrize(
    "resize, shape", [(96, (96, 96)), ((40, 20), (20, 40)), ([14, 9], (9, 14))]
)
def test_resize(resize, shape):
    images, labels = numbered()
    images[0] = 255
    loader = data.ArrayDataLoader(images, labels, 10, resize=resize)
    ((X, _),) = loader
    assert X.shape == (10, 1, *shape)
    assert X.dtype == np.float32
    assert np.array_equal(X, np.broadcast_to(X[:, :, :1, :1], X.shape))  # One color stays one
    assert X.max() == 1


def test_bilinear_against_values_by_hand():
    line = np.array([[[0, 100]]], dtype=np.uint8)
    assert data._bilinear(line, 1, 4).tolist() == [[[0, 25, 75, 100]]]
    assert data._bilinear(line, 2, 1).tolist() == [[[50], [50]]]


def test_load_resized(own):
    train_iter, test_iter = data.load_data_fashion_mnist(16, resize=32)
    for iterator in (train_iter, test_iter):
        assert next(iter(iterator))[0].shape == (16, 1, 32, 32)
