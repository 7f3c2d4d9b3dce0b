"""The data sets: downloads from servers of our own, local folders, stand-ins and the loader."""

import contextlib
import fcntl
import gzip
import hashlib
import importlib.util
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from d2l_local import data

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = list(data.FILES)
TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = NAMES
NUM_TRAIN, NUM_TEST = 50, 20

pytestmark = pytest.mark.timeout(90)


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


# What a server may answer


class Mirror:
    """A server on this machine that answers with ``answer(handler, name)``; ``gets`` are names.

    With ``waits`` an answer can wait until the server is closed.
    """

    def __init__(self, answer):
        self.gets = []
        self.waits = threading.Event()
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10
            waits = self.waits

            def do_HEAD(self):
                self.send_response(200)
                self.end_headers()

            def do_GET(self):
                name = self.path.rsplit("/", 1)[-1]
                mirror.gets.append(name)
                with contextlib.suppress(OSError):  # The reader may have left
                    answer(self, name)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.url = f"{self.address}/data/"
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def close(self):
        self.waits.set()
        self.server.shutdown()
        self.server.server_close()


def reply(handler, body, status=200, **headers):
    handler.send_response(status)
    for key, value in {"Content_Length": len(body), **headers}.items():
        if value is not None:
            handler.send_header(key.replace("_", "-"), str(value))
    handler.end_headers()
    handler.wfile.write(body)


def good(handler, name):
    reply(handler, GOOD[name])


def good_of_unknown_length(handler, name):
    reply(handler, GOOD[name], Content_Length=None)


def good_in_chunks(handler, name):
    handler.protocol_version = "HTTP/1.1"
    body, chunks = GOOD[name], b""
    for start in range(0, len(body), 1000):
        chunk = body[start : start + 1000]
        chunks += b"%x\r\n%s\r\n" % (len(chunk), chunk)
    reply(handler, chunks + b"0\r\n\r\n", Content_Length=None, Transfer_Encoding="chunked")
    handler.close_connection = True


def good_said_to_be_packed(handler, name):
    reply(handler, GOOD[name], Content_Encoding="gzip")


def good_after_a_redirect(handler, name):
    if "moved" in handler.path:
        good(handler, name)
    else:
        reply(handler, b"", 302, Location=f"/moved/{name}")


def truncated(handler, name):
    reply(handler, GOOD[name][: len(GOOD[name]) // 2])


def interrupted(handler, name):
    reply(handler, GOOD[name][: len(GOOD[name]) // 2], Content_Length=len(GOOD[name]))


def stalled(handler, name):
    interrupted(handler, name)
    handler.waits.wait(30)


def silent(handler, name):
    handler.waits.wait(30)


def trickling(handler, name):
    reply(handler, b"", Content_Length=len(GOOD[name]))
    for byte in GOOD[name]:
        handler.wfile.write(bytes([byte]))
        if handler.waits.wait(0.05):
            return


def endless(handler, name):
    reply(handler, b"", Content_Length=None)
    while True:
        handler.wfile.write(bytes(2**16))


def redirecting(handler, name):
    reply(handler, b"", 302, Location=handler.path)


def html(handler, name):
    reply(handler, b"<html>Please log in</html>", Content_Type="text/html")


def absent(handler, name):
    reply(handler, b"", 404)


def no_http(handler, name):
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")


def contradictory(handler, name):
    reply(handler, GOOD[name], Content_Length="7, 8")


# Each bad answer, and what a reader is told about it
BAD = {
    truncated: "wrong checksum, as of a truncated file",
    interrupted: "ProtocolError",
    stalled: "ReadTimeout",
    silent: "ReadTimeout",
    trickling: r"only \d+ bytes in \d s",
    endless: "more than 1,000,000 bytes",
    redirecting: "TooManyRedirects",
    html: "wrong checksum, .* a proxy's HTML page",
    absent: "HTTP status 404",
    no_http: "ConnectionError",
    contradictory: "InvalidHeader",
}


# Machines


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
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(data, "FILES", SUMS)
    monkeypatch.setattr(data, "MIRRORS", (closed_port(),))
    return tmp_path / "mxnet" / "datasets" / "fashion-mnist"


@pytest.fixture
def spare(tmp_path):
    """Return the folder (not yet made) that takes the place of an unwritable cache."""
    return tmp_path / "tmp" / f"d2l-{os.getuid()}" / "fashion-mnist"


@pytest.fixture
def quick(monkeypatch):
    """Make limits of time and size small."""
    monkeypatch.setattr(data, "TIMEOUT", (0.5, 0.5))
    monkeypatch.setattr(data, "LARGEST", 1_000_000)


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


LOAD_MADE_UP = """
from d2l_local import data
data.FILES, data.MIRRORS = {sums!r}, {mirrors!r}
iterators = data.load_data_fashion_mnist(16)
"""


def load_made_up():
    return LOAD_MADE_UP.format(sums=SUMS, mirrors=data.MIRRORS)


@pytest.fixture
def start():
    """Return a function that starts Python code in a process; none is left behind."""
    started = []

    def start(code, prefix=(), stdout=subprocess.PIPE):
        process = subprocess.Popen(
            [*prefix, sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def output(process):
    """Return what a process prints until it ends, which it does well and without complaints."""
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, ""), out + err
    return out


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def unshare(*flags):
    """Return a command that gives what follows namespaces of its own; skip where that may not be.

    ``flags`` as of util-linux' unshare.
    """
    refusals = []
    for root in ([], ["--map-root-user"]):
        command = ["unshare", *root, *flags]
        try:
            subprocess.run([*command, "true"], check=True, capture_output=True, timeout=10)
        except FileNotFoundError:
            pytest.skip("the command unshare (of util-linux) is not installed")
        except subprocess.CalledProcessError as error:
            refusals.append(error.stderr.decode().strip())
            continue
        return command
    pytest.skip(f"this machine allows no namespaces: {'; '.join(refusals)}")


def with_disk(path, options):
    """Return a command that runs what follows with a file system in memory at ``path``."""
    path.mkdir(parents=True)
    mount = 'mount -t tmpfs -o "$1" tmpfs "$0" && shift && exec "$@"'
    return [*unshare("--mount"), "sh", "-c", mount, str(path), options]


# Downloads


def test_download_and_cache(mirror, cache, capsys):
    (server,) = mirror(good)
    assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD
    line = f"Data: Fashion-MNIST from {cache}; 50 training and 20 test images\n"
    assert capsys.readouterr() == (line, "")
    assert server.gets == NAMES

    assert_made_up(data.load_data_fashion_mnist(16))
    assert server.gets == NAMES  # Nothing is fetched twice
    assert capsys.readouterr() == (line, "")


@pytest.mark.parametrize(
    "answer",
    [good_of_unknown_length, good_in_chunks, good_said_to_be_packed, good_after_a_redirect],
)
def test_unusual_mirrors(mirror, cache, answer):
    mirror(answer)
    assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD


@pytest.mark.parametrize("bad", BAD)
def test_failing_mirror_is_named_and_the_next_one_serves(mirror, cache, capsys, quick, bad):
    first, second = mirror(bad, good)
    # The first to answer would go first, which may be either.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "_mirrors_by_answer", lambda name: [first.url, second.url])
        assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD
    out, err = capsys.readouterr()
    host = first.url.split("/")[2]
    assert re.search(f"{TRAIN_IMAGES} is not to be had from {host}: ({BAD[bad]})", out)
    assert err == ""
    # The mirror that had the first file is asked first for the others.
    assert set(first.gets) == {TRAIN_IMAGES}
    assert second.gets == NAMES


@pytest.mark.parametrize("bad", BAD)
def test_no_good_mirror_leaves_nothing_and_stops_at_the_first_file(
    mirror, cache, capsys, quick, bad
):
    servers = mirror(bad, bad)
    train_iter, _ = data.load_data_fashion_mnist(16)
    assert len(train_iter.images) == 1500
    assert contents(cache) == {}
    assert [set(server.gets) for server in servers] == [{TRAIN_IMAGES}] * 2
    assert re.search(rf"\(no mirror gives {TRAIN_IMAGES}: .*({BAD[bad]})", capsys.readouterr().out)


def test_slow_but_steady_mirror_serves(mirror, cache, quick):
    def slow(handler, name):
        reply(handler, b"", Content_Length=len(GOOD[name]))
        for start in range(0, len(GOOD[name]), 8000):
            handler.wfile.write(GOOD[name][start : start + 8000])
            handler.waits.wait(0.3)  # 26 KB/s; the largest file takes longer than TIMEOUT

    mirror(slow)
    assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD


def test_unreachable_first_mirror(mirror, cache):
    (server,) = mirror(good)
    data.MIRRORS = (closed_port(), server.url)
    assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD


def test_silent_mirrors_cost_seconds_not_minutes_and_not_each_time(monkeypatch, capsys):
    with socket.socket() as silent:  # Accepts connections and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        monkeypatch.setattr(data, "MIRRORS", [f"http://127.0.0.1:{port}/{i}/" for i in range(3)])
        monkeypatch.setattr(data, "PROBE_SECONDS", 0.3)
        monkeypatch.setattr(data, "TIMEOUT", (1, 1))
        data.load_data_fashion_mnist(16)
        line = capsys.readouterr().out
        assert "no mirror answered: silence for 0.3 s" in line

        monkeypatch.setattr(data, "PROBE_SECONDS", 100)  # Would run into this test's time limit
        monkeypatch.setattr(data, "TIMEOUT", (100, 100))
        data.load_data_fashion_mnist(16)
        assert capsys.readouterr().out == line


def test_silent_mirrors_are_asked_again_later(mirror, monkeypatch, capsys):
    monkeypatch.setattr(data, "SILENT_SECONDS", 0.5)
    monkeypatch.setattr(data, "PROBE_SECONDS", 0)  # Too short for anybody
    mirror(good)
    data.load_data_fashion_mnist(16)
    monkeypatch.setattr(data, "PROBE_SECONDS", 30)
    time.sleep(0.5)
    assert_made_up(data.load_data_fashion_mnist(16))
    assert "silence for 0 s" in capsys.readouterr().out


def test_reader_s_own_mirror_goes_with_the_others(mirror, monkeypatch):
    (server,) = mirror(good)
    monkeypatch.setenv("MXNET_GLUON_REPO", server.url.replace("/data/", "/repo"))
    assert data._mirrors() == [
        server.url.replace("/data/", "/repo/gluon/dataset/fashion-mnist/"),
        server.url,
    ]


@pytest.mark.parametrize(
    "address, shown",
    [
        ("mirror.example", "mirror.example/gluon/dataset/fashion-mnist/: MissingSchema"),
        ("ftp://u:secret@host/x", "host: InvalidSchema"),
        ("http://[::1", "[::1: InvalidURL"),
    ],
)
def test_reader_s_own_mirror_is_no_address(monkeypatch, capsys, address, shown):
    monkeypatch.setenv("MXNET_GLUON_REPO", address)
    data.load_data_fashion_mnist(16)
    out = capsys.readouterr().out
    assert shown in out
    assert "secret" not in out


def test_proxy_that_answers_html(mirror, monkeypatch, start, cache):
    """A captive portal: its page comes with status 200 for plain HTTP, and HTTPS is refused."""
    (portal,) = mirror(html)
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, portal.address)
    monkeypatch.setattr(data, "MIRRORS", ("https://mirror.example/", "http://mirror.example/"))
    out = output(start(load_made_up()))
    assert f"{TRAIN_IMAGES} is not to be had from mirror.example: wrong checksum" in out
    assert "a proxy's HTML page" in out
    assert "Data: handwritten digits" in out
    assert contents(cache) == {}
    assert set(portal.gets) == {TRAIN_IMAGES}


# No network


@pytest.mark.parametrize("module", ["data", "mxnet", "torch"])
def test_no_network_at_all(start, cache, module):
    """A machine without a network: not even addresses of its own. Real files, real mirrors."""
    if module != "data" and importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    code = f"from d2l_local import {module} as d2l; d2l.load_data_fashion_mnist(16)"
    out = output(start(code, unshare("--net")))
    assert re.search(
        r"^Data: handwritten digits of scikit-learn in place of Fashion-MNIST \(no mirror answered:"
        r" ConnectionError\); 1,500 training and 297 test images$",
        out,
        re.MULTILINE,
    )
    assert not cache.exists()


@pytest.mark.parametrize("rank", ["0", "1"])
def test_of_several_processes_the_first_speaks(cache, capsys, monkeypatch, rank):
    fill(cache)
    monkeypatch.setenv("RANK", rank)
    assert_made_up(data.load_data_fashion_mnist(16))
    assert ("Data: Fashion-MNIST" in capsys.readouterr().out) == (rank == "0")


def test_no_network_but_a_cache(start, cache):
    fill(cache)
    out = output(start(load_made_up(), unshare("--net")))
    assert out == f"Data: Fashion-MNIST from {cache}; 50 training and 20 test images\n"
    assert contents(cache) == GOOD


# What a reader sees of a download


@pytest.fixture
def paced(mirror):
    """Return a mirror that sends in pieces, so that there is progress to show."""

    def answer(handler, name):
        reply(handler, b"", Content_Length=len(GOOD[name]))
        for start in range(0, len(GOOD[name]), 10_000):
            handler.wfile.write(GOOD[name][start : start + 10_000])
            time.sleep(0.2)

    return mirror(answer)[0]


def test_terminal_shows_progress_and_wipes_it(paced, cache, start):
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = start(load_made_up(), stdout=there)
    os.close(there)
    shown = b""
    with contextlib.suppress(OSError):  # At its end
        while piece := os.read(here, 2**16):
            shown += piece
    os.close(here)
    assert process.wait(30) == 0
    assert process.stderr.read() == ""
    assert re.search(rb"\rFetching train-images-idx3-ubyte.gz: +\d+%", shown)
    *_, wiped, line = re.split(rb"\r(?!\n)", shown)
    assert wiped.strip() == b""
    assert line.rstrip() == b"Data: Fashion-MNIST from %s; 50 training and 20 test images" % (
        os.fsencode(cache)
    )


def test_notebook_shows_progress_and_keeps_none(paced, cache, monkeypatch):
    """The builder's notebooks are the same whether the data were cached or had to be fetched."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.syspath_prepend(str(ROOT / "chapters"))
    import build

    sent = []

    def record(self, message, *args):
        sent.append(message["content"].get("text", ""))
        return process_message(self, message, *args)

    process_message = nbclient.NotebookClient.process_message
    monkeypatch.setattr(nbclient.NotebookClient, "process_message", record)
    cells = [nbformat.v4.new_code_cell(load_made_up()) for _ in range(2)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    build.execute(notebook, cache.parents[2], ROOT)
    assert paced.gets == NAMES
    assert "\rFetching train-images-idx3-ubyte.gz:" in "".join(sent)
    first, second = (cell.outputs for cell in notebook.cells)
    text = f"Data: Fashion-MNIST from {cache}; 50 training and 20 test images\n"
    assert first == second == [{"output_type": "stream", "name": "stdout", "text": text}]


def test_log_file_gets_no_progress(paced, cache, start):
    out = output(start(load_made_up()))
    assert out == f"Data: Fashion-MNIST from {cache}; 50 training and 20 test images\n"


# Stopped, bad and shared caches


@pytest.fixture
def half_way(mirror, cache, start):
    """Return a process that has half of the first file, and its server, which keeps the rest."""
    (server,) = mirror(stalled)
    process = start(load_made_up())
    wait_until(lambda: any(path.stat().st_size > 10_000 for path in cache.glob("*/*")))
    return process, server


def test_interrupted_download_leaves_nothing(half_way, cache):
    process, _ = half_way
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert err.endswith("KeyboardInterrupt\n")
    assert contents(cache) == {}


def test_killed_download_leaves_nothing_that_is_used(half_way, mirror, cache, start, capsys):
    process, server = half_way
    process.kill()
    process.communicate()
    (scratch,) = cache.iterdir()  # Nothing by the name of a file
    assert scratch.name.startswith(data.SCRATCH)
    server.close()
    mirror(good)
    assert_made_up(data.load_data_fashion_mnist(16))
    assert {path.name for path in cache.iterdir()} == {*NAMES, scratch.name}

    # It may be another process's download for a day, and is removed at the next one after that.
    yesterday = time.time() - 25 * 3600
    os.utime(scratch, (yesterday, yesterday))
    (cache / TEST_LABELS).unlink()
    assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD


@pytest.mark.parametrize("spoil", [lambda c: c[:100], lambda c: b"", lambda c: b"x" + c[1:]])
def test_corrupt_file_in_the_cache_is_named_and_fetched_again(mirror, cache, capsys, spoil):
    (server,) = mirror(good)
    fill(cache)
    (cache / TEST_IMAGES).write_bytes(spoil(GOOD[TEST_IMAGES]))
    assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(cache) == GOOD
    assert server.gets == [TEST_IMAGES]
    assert f"{cache / TEST_IMAGES} is truncated or corrupt" in capsys.readouterr().out


@pytest.mark.parametrize("bad", [truncated, absent])
def test_corrupt_file_that_cannot_be_replaced(mirror, cache, capsys, bad):
    """It is not used, and no good file goes with it."""
    (server,) = mirror(bad)
    fill(cache)
    corrupt = GOOD[TEST_IMAGES][:-1]
    (cache / TEST_IMAGES).write_bytes(corrupt)
    train_iter, _ = data.load_data_fashion_mnist(16)
    assert len(train_iter.images) == 1500
    out = capsys.readouterr().out
    assert "Data: handwritten digits" in out
    assert f"{cache / TEST_IMAGES} is truncated or corrupt" in out
    assert contents(cache) == {**GOOD, TEST_IMAGES: corrupt}
    assert server.gets == [TEST_IMAGES]


def test_something_else_in_the_place_of_a_file(mirror, cache, spare, capsys):
    mirror(good)
    (cache / TRAIN_IMAGES / "someone's").mkdir(parents=True)
    assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(spare) == GOOD
    assert [path.name for path in (cache / TRAIN_IMAGES).iterdir()] == ["someone's"]
    assert (
        f"Cannot write to {cache}: Is a directory. Caching in {spare} i" in capsys.readouterr()[0]
    )


@pytest.mark.parametrize("present", [[], [TRAIN_LABELS, TEST_IMAGES]])
def test_two_processes_at_once(mirror, cache, start, present):
    meet = threading.Barrier(2)

    def together(handler, name):
        with contextlib.suppress(threading.BrokenBarrierError):
            meet.wait(timeout=5)  # Both have found the file missing
        good(handler, name)

    mirror(together)
    fill(cache)
    for name in NAMES:
        (cache / name).write_bytes(b"corrupt") if name in present else (cache / name).unlink()
    for process in [start(load_made_up()) for _ in range(2)]:
        assert f"Data: Fashion-MNIST from {cache}; 50 training and 20 test" in output(process)
    assert contents(cache) == GOOD


# Bad disks


def test_unwritable_home_moves_the_cache_and_says_so_once(
    mirror, tmp_path, spare, monkeypatch, capsys
):
    (server,) = mirror(good)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "file" / "x"))
    for _ in range(2):
        assert_made_up(data.load_data_fashion_mnist(16))
    assert contents(spare) == GOOD
    assert server.gets == NAMES
    out = capsys.readouterr().out
    assert out.count("Cannot write to") == 1
    assert out.count(f"Data: Fashion-MNIST from {spare}; 50") == 2


def test_read_only_home(mirror, tmp_path, monkeypatch, start):
    (server,) = mirror(good)
    monkeypatch.delenv("MXNET_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    spare = tmp_path / "tmp" / "d2l-0" / "fashion-mnist"  # With a disk of one's own one is root
    read_only = with_disk(tmp_path / "home", "ro")
    first = output(start(load_made_up(), read_only))
    assert first.startswith(
        "Cannot write to ~/.mxnet/datasets/fashion-mnist: Read-only file system. "
        f"Caching in {spare} instead.\n"
    )
    line = f"Data: Fashion-MNIST from {spare}; 50 training and 20 test images\n"
    assert first.endswith(f"\n{line}")
    assert first.count("\n") == 2
    (tmp_path / "home").rmdir()
    again = output(start(load_made_up(), with_disk(tmp_path / "home", "ro")))
    assert again == line
    assert server.gets == NAMES


def test_full_disk(mirror, tmp_path, start):
    """The largest file does not fit; what the disk holds already stays there and is used."""
    (server,) = mirror(good)
    spare = tmp_path / "tmp" / "d2l-0" / "fashion-mnist"
    home = tmp_path / "mxnet"
    code = f"""
import os
from pathlib import Path
cache = Path({str(home)!r}, "datasets", "fashion-mnist")
cache.mkdir(parents=True)
(cache / {TEST_LABELS!r}).write_bytes({GOOD[TEST_LABELS]!r})
{load_made_up()}
print(os.listdir(cache))
"""
    lines = output(start(code, with_disk(home, "size=32k"))).splitlines()
    cache = home / "datasets" / "fashion-mnist"
    assert lines == [
        f"Cannot write to {cache}: No space left on device. Caching in {spare} instead.",
        f"Data: Fashion-MNIST from {spare} and {cache}; 50 training and 20 test images",
        f"[{TEST_LABELS!r}]",
    ]
    assert contents(spare) == {name: GOOD[name] for name in NAMES if name != TEST_LABELS}
    assert server.gets == NAMES[:1] * 2 + NAMES[1:3]  # The disk's fault is not the mirror's


def test_no_room_anywhere(mirror, cache, spare, start):
    mirror(good)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
    out = output(start(limit + load_made_up()))
    assert out == (
        "Data: handwritten digits of scikit-learn in place of Fashion-MNIST (no folder to download "
        f"to: {cache}: File too large; {spare}: File too large); 1,500 training and 297 test "
        "images\n"
    )
    assert contents(cache) == contents(spare) == {}


def test_no_writable_folder_at_all(mirror, tmp_path, monkeypatch, capsys):
    mirror(good)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "file" / "x"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file" / "y"))
    data.load_data_fashion_mnist(16)
    assert "(no folder to download to: " in capsys.readouterr().out


def test_good_file_in_the_second_folder_goes_before_a_bad_one_in_the_first(cache, spare, capsys):
    fill(cache)
    fill(spare)
    (cache / TRAIN_IMAGES).write_bytes(b"corrupt")
    assert_made_up(data.load_data_fashion_mnist(16))
    assert capsys.readouterr().out.startswith(f"Data: Fashion-MNIST from {spare} and {cache}; 50")


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


def test_missing_file(own):
    (own / TEST_LABELS).unlink()
    with pytest.raises(FileNotFoundError, match=f"own'.* lacks {TEST_LABELS} .*unset D2L_DATA"):
        data.load_data_fashion_mnist(16)


@pytest.mark.parametrize("name", ["own/nowhere", f"own/{TRAIN_IMAGES}", "~nobody-of-that-name/x"])
def test_no_folder(own, monkeypatch, name):
    monkeypatch.setenv("D2L_DATA", name if name.startswith("~") else str(own.parent / name))
    with pytest.raises(FileNotFoundError, match=f"{name}', .* not a folder.*unset D2L_DATA"):
        data.load_data_fashion_mnist(16)


@pytest.mark.parametrize("files", [[], ["data_batch_1.bin", "readme.html"]])
def test_empty_and_foreign_folder(tmp_path, monkeypatch, files):
    folder = tmp_path / "foreign"
    folder.mkdir()
    for name in files:
        (folder / name).write_bytes(b"foreign")
    monkeypatch.setenv("D2L_DATA", str(folder))
    with pytest.raises(FileNotFoundError, match=f"foreign'.* lacks {', '.join(NAMES)} "):
        data.load_data_fashion_mnist(16)
    assert contents(folder) == dict.fromkeys(files, b"foreign")


@pytest.mark.parametrize("what", [".", TRAIN_LABELS])
def test_own_folder_that_may_not_be_read(monkeypatch, what):
    user = os.geteuid()
    # Not in pytest's folder, which nobody else may enter
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        path = fill(Path(name)) / what
        monkeypatch.setenv("D2L_DATA", name)
        Path(name).chmod(0o755)
        path.chmod(0)
        try:
            if user == 0:  # Root may read everything
                os.seteuid(65534)
            with pytest.raises(PermissionError) as error:
                data.load_data_fashion_mnist(16)
        finally:
            os.seteuid(user)
            path.chmod(0o755)
    assert f"D2L_DATA names '{name}', but you may not read {name}" in str(error.value)
    assert "unset D2L_DATA" in str(error.value)


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
    with pytest.raises(ValueError, match="labels must be integers, not float64"):
        data.ArrayDataLoader(images, labels / 2, 4)


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
