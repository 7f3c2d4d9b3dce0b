"""Mirrors that serve or fail: servers on this machine; and what is kept of what they give."""

from __future__ import annotations

import errno
import gzip
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from d2l_local import data
from d2l_local.data import mirrors

import numpy as np
import pytest
from made_up import CONTENTS, NUM_TRAIN, PACKED, TRAIN_IMAGES, assert_loaded, files_in, fill, pack

pytestmark = pytest.mark.timeout(60)
NAME = f"{TRAIN_IMAGES}.gz"


class Handler(BaseHTTPRequestHandler):
    """Sends what the server has for a name: a status, headers and pieces of the body."""

    def do_GET(self):
        name = self.path.rpartition("/")[2]
        self.server.names.append(name)
        status, headers, pieces = self.server.answer(name)
        self.send_response(status)
        for header in headers.items():
            self.send_header(*header)
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def serve(cache, monkeypatch):
    """Return a function that makes mirrors with the given answers the list."""
    started = []

    def start(*answers):
        for answer in answers:
            started.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
            started[-1].answer, started[-1].names = answer, []
            threading.Thread(target=started[-1].serve_forever, args=(0.02,), daemon=True).start()
        urls = [f"http://127.0.0.1:{server.server_address[1]}/" for server in started]
        monkeypatch.setattr(mirrors, "MIRRORS", urls)
        return started

    yield start
    for server in started:
        server.shutdown()
        server.socket.close()


def good(name):
    return 200, {"Content-Length": str(len(PACKED[name]))}, [PACKED[name]]


def good_of_unknown_length(name):
    return 200, {}, [PACKED[name]]


def good_in_chunks(name):
    body, half = PACKED[name], len(PACKED[name]) // 2
    parts = (body[:half], body[half:], b"")
    return 200, {"Transfer-Encoding": "chunked"}, [b"%x\r\n%s\r\n" % (len(c), c) for c in parts]


def good_said_to_be_packed(name):
    return 200, {"Content-Encoding": "gzip"}, [PACKED[name]]


def good_packed_otherwise(name):
    return 200, {}, [gzip.compress(CONTENTS[name.partition(".")[0]], 1, mtime=5)]


@pytest.mark.parametrize(
    "answer",
    [
        good,
        good_of_unknown_length,
        good_in_chunks,
        good_said_to_be_packed,
        good_packed_otherwise,
    ],
)
def test_good_mirror(serve, cache, capsys, answer):
    """What it gives is kept, and fetched and announced once."""
    (mirror,) = serve(answer)
    assert_loaded(data.load_data_fashion_mnist(16))
    *fetching, line = capsys.readouterr().out.splitlines()
    assert [each.split()[:2] for each in fetching] == [["Fetching", name] for name in PACKED]
    assert line == f"Data: Fashion-MNIST from {cache}; 50 training and 20 test images"
    assert {name[:-3]: gzip.decompress(c) for name, c in files_in(cache).items()} == CONTENTS
    assert_loaded(data.load_data_fashion_mnist(16))
    assert capsys.readouterr().out == ""
    assert mirror.names == list(PACKED)


def slowly(name):
    yield PACKED[name][:100]
    while True:
        time.sleep(0.05)
        yield b"x"


def stalled(name):
    yield PACKED[name][:100]
    time.sleep(2)


def late(name):
    time.sleep(2)
    return good(name)


OTHER = gzip.compress(pack(np.zeros((NUM_TRAIN, 28, 28), np.uint8)))
BAD = {
    "truncated": (lambda name: (200, {}, [PACKED[name][:-100]]), "not the file"),
    "interrupted": (lambda name: (*good(name)[:2], [PACKED[name][:-1]]), "not the file"),
    "html": (lambda name: (200, {}, [b"<html>Log in</html>"]), "not the file, .*a proxy's HTML"),
    "other images": (lambda name: (200, {}, [OTHER]), "not the file"),
    "absent": (lambda name: (404, {}, []), "HTTP status 404"),
    "stalled": (lambda name: (200, {}, stalled(name)), "ConnectionError"),
    "silent": (late, "no answer within 1 s"),
    "endless": (lambda name: (200, {}, slowly(name)), "not complete within 1 s"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_mirror_gives_its_reason_and_the_next_one_serves(serve, cache, monkeypatch, case):
    answer, reason = BAD[case]
    monkeypatch.setattr(mirrors, "SILENCE", 1 if case == "silent" else 30)
    monkeypatch.setattr(mirrors, "PAUSE", 1 if case == "stalled" else 30)
    monkeypatch.setattr(mirrors, "SECONDS", 1 if case == "endless" else 60)
    (bad,) = serve(answer)
    with pytest.raises(RuntimeError, match=rf"gave it \(127\S+: {reason}.*Connect to a network"):
        data.load_data_fashion_mnist(16)
    assert (bad.names, files_in(cache)) == ([NAME], {})
    monkeypatch.setattr(mirrors, "SECONDS", 60)
    if case == "endless":
        return  # It would have half of the minute
    _, last = serve(good)
    assert_loaded(data.load_data_fashion_mnist(16))
    assert (bad.names, last.names) == ([NAME, NAME], list(PACKED))
    assert files_in(cache) == PACKED


def test_no_network(serve, monkeypatch):
    (closed,) = serve(good)
    closed.shutdown()
    closed.socket.close()
    with pytest.raises(RuntimeError, match=r"ConnectionError.*/usr/share/.*or unset it to use the"):
        data.load_data_fashion_mnist(16)


@pytest.mark.parametrize("spoil", [lambda c: c[:100], lambda c: b"", lambda c: OTHER])
def test_a_file_that_is_no_longer_whole_is_fetched_again(serve, cache, spoil):
    (mirror,) = serve(good)
    fill(cache, {**PACKED, NAME: spoil(PACKED[NAME])})
    assert_loaded(data.load_data_fashion_mnist(16))
    assert (mirror.names, files_in(cache)) == ([NAME], PACKED)


def test_full_disk(serve, cache, monkeypatch):
    def full(path, content):
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (mirror,) = serve(good)
    monkeypatch.setattr(Path, "write_bytes", full)
    said = rf"{cache} cannot be written to \(No space left on device\).*XDG_CACHE_HOME"
    with pytest.raises(RuntimeError, match=said):
        data.load_data_fashion_mnist(16)
    assert (mirror.names, files_in(cache)) == ([NAME], {})


def test_user_without_a_home(cache, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(RuntimeError, match=r"no folder to keep it in.*home.*unset it to use the"):
        data.load_data_fashion_mnist(16)
