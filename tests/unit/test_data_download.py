"""Mirrors that serve, fail or attack: servers on this machine, which write to bare sockets."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pty
import re
import signal
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from d2l_local import data
from d2l_local.data import download

import made_up
import pytest
from helpers import until
from made_up import PACKED, TRAIN_IMAGES, assert_loaded, files_in

pytestmark = [pytest.mark.usefixtures("cache"), pytest.mark.timeout(60)]
ROOT = Path(__file__).parents[2]
NAME = f"{TRAIN_IMAGES}.gz"
MIRRORS, SCHEME = download.MIRRORS, download.SCHEME  # The real ones


def head(status="200 OK", **headers):
    lines = [f"{key.replace('_', '-')}: {value}" for key, value in headers.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


class Answer(NamedTuple):
    """What a mirror sends for a file: a beginning, then for ever pieces, with pauses in seconds."""

    beginning: bytes
    piece: bytes = b""
    pause: float = 0.05


class Mirror(socketserver.ThreadingTCPServer):
    """A server that gives ``answer(name)``, an `Answer` or bytes, to each request for a name.

    ``paths`` are those asked for; it is ``busy`` while it sends pieces.
    """

    daemon_threads = True

    def __init__(self, answer):
        self.answer, self.paths = answer, []
        self.busy, self.closed = False, threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"{made_up.SCHEME}{self.server_address[1]}/"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def names(self):
        return [path.rpartition("/")[2] for path in self.paths]

    def close(self):
        self.closed.set()
        self.shutdown()
        self.server_close()


class Handler(socketserver.StreamRequestHandler):
    """Reads a request and gives the mirror's answer."""

    def handle(self):
        with contextlib.suppress(OSError):  # The reader may have left
            path = (self.rfile.readline().split() or [b"", b""])[1].decode()
            while self.rfile.readline().strip():
                pass
            self.server.paths.append(path)
            answer = self.server.answer(path.rpartition("/")[2])
            if isinstance(answer, bytes):
                self.wfile.write(answer)
                return
            self.wfile.write(answer.beginning)
            self.server.busy = True
            while not self.server.closed.wait(answer.pause):
                self.wfile.write(answer.piece)
        self.server.busy = False


# Good mirrors


def good(name):
    return head(Content_Length=len(PACKED[name])) + PACKED[name]


def good_of_unknown_length(name):
    return head() + PACKED[name]


def good_in_chunks(name):
    body, half = PACKED[name], len(PACKED[name]) // 2
    chunks = [b"%x\r\n%s\r\n" % (len(c), c) for c in (body[:half], body[half:], b"")]
    return head(Transfer_Encoding="chunked") + b"".join(chunks)


def good_said_to_be_packed(name):
    return head(Content_Encoding="gzip") + PACKED[name]


def good_packed_otherwise(name):
    return head() + gzip.compress(gzip.decompress(PACKED[name]), 1, mtime=5)


GOOD = [
    good,
    good_of_unknown_length,
    good_in_chunks,
    good_said_to_be_packed,
    good_packed_otherwise,
]

# Bad ones, and what a reader is told about each

CHUNKED = head(Transfer_Encoding="chunked")
ENDLESS = "still not complete after 2 s"
SILENT = "silence for 1 s"
ZEROS = bytes(2**16)
BAD = {
    "truncated": (head() + PACKED[NAME][:-100], "not the file"),
    "interrupted": (good(NAME)[:-100], "not the file|ProtocolError|IncompleteRead"),
    "html": (head() + b"<html>Please log in</html>", "not the file, .* or a proxy's HTML page"),
    "absent": (head("404 Not Found"), "HTTP status 404"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", "ConnectionError"),
    "circle": (head("302 Found", Location=f"/{NAME}", Content_Length=0), "TooManyRedirects"),
    "other scheme": (head("302 Found", Location="http://localhost/"), "no http://127.0.0.1: addr"),
    "silent": (Answer(b""), SILENT),
    "stalled": (Answer(good(NAME)[:20_000]), "ReadTimeout|still not"),
    "trickle": (Answer(head(Content_Length=9_999), b"x"), ENDLESS),
    "dripping header": (Answer(b"HTTP/1.1 200 OK\r\nX: ", b"x"), SILENT),
    "dripping chunk": (Answer(CHUNKED, b"0"), ENDLESS),
    "dripping trailers": (Answer(CHUNKED + b"0\r\n", b"X: y\r\n"), ENDLESS),
    "flood of continuations": (Answer(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0), SILENT),
    "flood": (Answer(head(), ZEROS, 0), r"more than \d+,\d+ bytes"),
    "flood, packed": (
        Answer(head(Content_Encoding="gzip"), gzip.compress(bytes(2**24)), 0),
        r"more than \d+,\d+ bytes",
    ),
    "flood of a header": (Answer(b"HTTP/1.1 200 OK\r\nX: ", ZEROS, 0), "ConnectionError|Invalid"),
    "flood of a chunk's length": (Answer(CHUNKED, b"0" * 2**16, 0), "ProtocolError|ValueError|Inv"),
    "flood of trailers": (Answer(CHUNKED + b"0\r\n", b"X: y\r\n" * 2**12, 0), ENDLESS),
    "flood of redirects": (
        Answer(head("301 Moved", Location=f"/{NAME}", Content_Encoding="gzip"), ZEROS, 0),
        "TooManyRedirects",
    ),
}


@pytest.fixture
def mirrors(monkeypatch):
    """Return a function that makes mirrors with the given answers the list."""
    started = []

    def start(*answers):
        new = [Mirror(answer) for answer in answers]
        started.extend(new)
        monkeypatch.setattr(download, "MIRRORS", tuple(mirror.url for mirror in new))
        return new

    yield start
    for mirror in started:
        mirror.close()


@pytest.fixture
def quick(monkeypatch):
    """Make limits of time small."""
    for name, seconds in {"SECONDS": 2, "SILENCE": 1, "PAUSE": 1.5}.items():
        monkeypatch.setattr(download, name, seconds)


def fetch(seconds=30.0):
    def check(content):
        if content != PACKED[NAME]:
            raise ValueError

    download.fetch(NAME, download.mirrors(), 50_000, check, time.monotonic() + seconds)


@pytest.mark.parametrize("answer", GOOD)
def test_good_mirror(mirrors, cache, capsys, answer):
    (mirror,) = mirrors(answer)
    assert_loaded(data.load_data_fashion_mnist(16))
    assert {name: gzip.decompress(content) for name, content in files_in(cache).items()} == {
        f"{name}.gz": content for name, content in made_up.CONTENTS.items()
    }
    line = f"Data: Fashion-MNIST from {cache}; 50 training and 20 test images\n"
    assert capsys.readouterr() == (line, "")
    assert set(mirror.names) == set(PACKED)


def test_good_mirror_after_an_endless_redirect(mirrors):
    def moved(name):
        if mirror.paths[-1].startswith("/moved/"):
            return good(name)
        return Answer(head("302 Found", Location=f"/moved/{name}"), ZEROS, 0)

    (mirror,) = mirrors(moved)
    fetch(30)
    assert mirror.paths == [f"/{NAME}", f"/moved/{NAME}"]


@pytest.mark.parametrize("case", BAD)
def test_bad_mirror_gives_its_reason_in_time(mirrors, quick, case):
    answer, reason = BAD[case]
    (mirror,) = mirrors(lambda name: answer)
    # What only the end of all patience ends; else as long as a busy machine may need to begin
    endless = "still not" in reason
    with pytest.raises(download.UnavailableError, match=f"{NAME}: ({reason})"):
        fetch(2 if endless else 60)
    assert set(mirror.names) <= {NAME} and (mirror.names or endless)


@pytest.mark.parametrize("case", ["truncated", "absent", "flood", "dripping header"])
def test_next_mirror_serves(mirrors, cache, capsys, monkeypatch, case):
    monkeypatch.setattr(download, "SILENCE", 3)
    closed = Mirror(good)
    closed.close()
    bad, last = mirrors(lambda name: BAD[case][0], good)
    monkeypatch.setattr(download, "MIRRORS", (closed.url, bad.url, last.url))
    assert_loaded(data.load_data_fashion_mnist(16))
    assert files_in(cache) == PACKED
    assert capsys.readouterr().out.startswith("Data: Fashion-MNIST")
    assert bad.names == [NAME]  # It is not asked for the other files
    assert last.names == list(PACKED)


def test_no_mirror_leaves_nothing_and_stops_at_the_first_file(mirrors, cache, capsys):
    first, second = mirrors(lambda name: BAD["absent"][0], lambda name: BAD["html"][0])
    with pytest.raises(
        RuntimeError,
        match=r"^no mirror gave train.*: 127\S+: HTTP status 404, 127\S+: not the file, as",
    ):
        data.load_data_fashion_mnist(16)
    assert files_in(cache) == {}
    assert first.names == second.names == [NAME]


def test_floods_fill_no_memory(mirrors):
    """The largest process of any attack stays as small as a download."""
    task = {"scheme": made_up.SCHEME, "largest": 50_000, "silence": 1, "pause": 1}
    command = [sys.executable, str(Path(download.__file__).with_name("ask_mirror.py"))]
    code = (
        "import contextlib, resource, subprocess, sys\n"
        "with contextlib.suppress(subprocess.TimeoutExpired):\n"
        "    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, timeout=2)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    kilobytes = {}
    floods = {case: answer for case, (answer, _) in BAD.items() if "flood" in case}
    for case, answer in {"good": good(NAME), **floods}.items():
        (mirror,) = mirrors(lambda name, answer=answer: answer)
        done = subprocess.run(
            [sys.executable, "-c", code, *command],
            input=json.dumps({**task, "url": mirror.url + NAME}).encode(),
            capture_output=True,
            timeout=30,
        )
        kilobytes[case] = int(done.stdout)
    assert max(kilobytes.values()) < 1.5 * kilobytes["good"], kilobytes


def test_silent_mirrors_are_asked_again_later_and_not_each_time(mirrors, monkeypatch, quick):
    (mirror,) = mirrors(lambda name: BAD["silent"][0])
    for _ in range(2):
        with pytest.raises(download.UnavailableError, match="silence for 1 s"):
            fetch()
    assert mirror.names == [NAME]
    mirror.answer = good
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + download.AGAIN)
    fetch()


def test_plain_http_is_refused(mirrors, monkeypatch):
    (mirror,) = mirrors(good)
    monkeypatch.setattr(download, "SCHEME", SCHEME)
    with pytest.raises(download.UnavailableError, match="no https:// address"):
        fetch()
    assert mirror.names == []
    assert all(url.startswith(SCHEME) for url in MIRRORS)


@pytest.mark.parametrize(
    "address, shown",
    [("mirror.example", "mirror.ex"), ("ftp://u:secret@host/x", "host"), ("http://[::1", "::1")],
)
def test_reader_s_own_mirror_goes_first(mirrors, monkeypatch, address, shown):
    mirrors(lambda name: BAD["absent"][0])
    monkeypatch.setenv("MXNET_GLUON_REPO", address)
    assert download.mirrors()[0] == f"{address}/gluon/dataset/fashion-mnist/"
    with pytest.raises(download.UnavailableError, match=f"{shown}.*: no http.*HTTP s") as error:
        fetch()
    assert "secret" not in str(error.value)


def test_no_network(monkeypatch):
    monkeypatch.setattr(download, "MIRRORS", ("https://mirror.invalid/",))
    monkeypatch.setattr(download, "SCHEME", SCHEME)
    with pytest.raises(download.UnavailableError, match="ConnectionError|silence"):
        fetch(20)


def test_without_requests(mirrors, monkeypatch, tmp_path):
    mirrors(good)
    (tmp_path / "requests.py").write_text("raise ModuleNotFoundError('No module named requests')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(download.UnavailableError, match="No module named requests"):
        fetch()


# In processes of their own


@pytest.fixture
def start(cache, tmp_path, monkeypatch):
    """Return a function that starts a process that loads the data; none is left behind."""
    started = []
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))

    def start(stdout=subprocess.PIPE):
        code = made_up.program(download.MIRRORS, tmp_path / "debian")
        process = subprocess.Popen(
            [sys.executable, "-c", code],
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


def test_two_processes_at_once(mirrors, cache, start):
    meet = threading.Barrier(2)

    def together(name):
        with contextlib.suppress(threading.BrokenBarrierError):
            meet.wait(timeout=10)  # Both have found the file missing
        return good(name)

    mirrors(together)
    for process in [start(), start()]:
        assert process.communicate(timeout=50) == (
            f"Data: Fashion-MNIST from {cache}; 50 training and 20 test images\n",
            "",
        )
    assert files_in(cache) == PACKED


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_ended_download_leaves_no_file_and_no_process(mirrors, cache, start, end):
    (mirror,) = mirrors(lambda name: Answer(good(name)[:20_000], b"x"))
    process = start()
    assert until(lambda: mirror.busy)
    process.send_signal(end)
    process.wait(30)
    assert until(lambda: not mirror.busy, 30)  # The process that it started has left, too
    assert files_in(cache) == {}


def test_terminal_shows_what_is_fetched_and_wipes_it(mirrors, cache, start):
    mirrors(good)
    here, there = pty.openpty()
    process = start(there)
    os.close(there)
    shown = b""
    with contextlib.suppress(OSError):  # At its end
        while piece := os.read(here, 2**16):
            shown += piece
    os.close(here)
    assert process.wait(30) == 0
    assert b"\rFetching train-images-idx3-ubyte.gz from 127.0.0.1:" in shown
    *_, wiped, line = re.split(rb"\r(?!\n)", shown)
    assert wiped.strip() == b""
    assert line.startswith(b"Data: Fashion-MNIST from ")
