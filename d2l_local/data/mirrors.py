"""All of Fashion-MNIST, fetched from a mirror once and kept in a folder of this user."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from d2l_local.data import idx
from d2l_local.data.notice import say, tilde

if TYPE_CHECKING:
    import requests

# Where a file's name is appended: Gluon's, the authors' and Keras's.
MIRRORS = (
    "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/gluon/dataset/fashion-mnist/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
)
FOLDER = Path("d2l-local", "fashion-mnist")  # In the user's folder for caches
SECONDS = 1200  # For all files together; each mirror has its share of what is left
SILENCE = 5  # Seconds until a mirror begins to answer
PAUSE = 10  # Seconds for which it may pause
LARGEST = 2**25  # Bytes of a packed file, of which the largest has 26 million

_Result = TypeVar("_Result")


class UnavailableError(RuntimeError):
    """All of Fashion-MNIST cannot be had; the text says why, and what to do."""


def cache() -> Path:
    """Return the folder for the files. Raises `UnavailableError` for a user without a home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / FOLDER
    except RuntimeError as error:
        raise _unavailable(f"there is no folder to keep it in ({error})") from error


def cached(name: str) -> idx.File | None:
    """Return a file of Fashion-MNIST that was fetched; None if it was not, or is spoilt."""
    with contextlib.suppress(OSError, ValueError):
        file = idx.load(cache(), name)
        return file if file.genuine else None
    return None


def fetched() -> list[idx.File]:
    """Return the files of Fashion-MNIST, which are fetched if they are not here.

    Raises `UnavailableError` after `SECONDS`, or if no mirror gives them or they cannot be kept.
    """
    deadline, failures = time.monotonic() + SECONDS, []
    for number, mirror in enumerate(MIRRORS):
        left = deadline - time.monotonic()
        until = time.monotonic() + left / (len(MIRRORS) - number)
        try:
            return [cached(name) or _fetch(name, mirror, until) for name in idx.FILES]
        except (OSError, ValueError) as error:
            failures.append(f"{_host(mirror)}: {_why(error)}")
    raise _unavailable(f"no mirror gave it ({', '.join(failures)})")


def _fetch(name: str, mirror: str, until: float) -> idx.File:
    packed = cache() / f"{name}.gz"
    say("Fetching {file} from {host}", file=packed.name, host=_host(mirror))
    response = _within(SILENCE, "no answer", lambda: _answer(mirror + packed.name))
    left = max(0.0, until - time.monotonic())
    content = _within(left, "not complete", lambda: _body(response))
    file = idx.parse(packed, content)
    if not file.genuine:
        raise ValueError(f"{packed.name} has a wrong checksum")
    try:
        _write(packed, content)
    except OSError as error:
        raise _unavailable(
            f"{tilde(cache())} cannot be written to ({error.strerror}); make room, or name another "
            "folder in XDG_CACHE_HOME"
        ) from error
    return file


def _answer(url: str) -> requests.Response:
    """Return a mirror's answer, of which only the headers have been read."""
    import requests

    # The file as it is: a server may pack what it sends, or say so of what is packed already
    headers = {"Accept-Encoding": "identity"}
    response = requests.get(url, stream=True, timeout=PAUSE, headers=headers)
    response.raise_for_status()
    return response


def _body(response: requests.Response) -> bytes:
    """Return what is sent, or its beginning if that is more than any file has."""
    import urllib3

    try:
        with response:
            body: bytes = response.raw.read(LARGEST, decode_content=False)
            return body
    except urllib3.exceptions.HTTPError as error:
        raise ConnectionError(type(error).__name__) from error


def _within(seconds: float, otherwise: str, work: Callable[[], _Result]) -> _Result:
    """Return what ``work()`` does. Raises its errors, and TimeoutError after so many seconds."""
    # No time-out of any library ends a server that drips its answer, so a thread waits for it.
    result: futures.Future[_Result] = futures.Future()

    def run() -> None:
        try:
            result.set_result(work())
        except Exception as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return result.result(seconds)
    except futures.TimeoutError:
        raise TimeoutError(f"{otherwise} within {seconds:.0f} s") from None


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _why(error: Exception) -> str:
    """Say in a few words why a file cannot be had; Requests' own texts fill several lines."""
    if isinstance(error, TimeoutError):
        return str(error)
    if isinstance(error, ValueError):
        return "not the file, as if truncated or a proxy's HTML page"
    response = getattr(error, "response", None)
    return type(error).__name__ if response is None else f"HTTP status {response.status_code}"


def _host(mirror: str) -> str:
    return mirror.split("/")[2]


def _unavailable(reason: str) -> UnavailableError:
    return UnavailableError(
        f"all of Fashion-MNIST cannot be had: {reason}. Connect to a network, name a folder with "
        "the four files in D2L_DATA (Debian's and Ubuntu's package dataset-fashion-mnist installs "
        "/usr/share/datasets/fashion-mnist), or unset it to use the sample"
    )
