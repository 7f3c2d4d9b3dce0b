"""Files from mirrors: of a known content, and within a time limit, whatever a mirror does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from d2l_local.base.processes import Guarded, how_it_ended
from d2l_local.data.notice import passing

# Where a file's name is appended: Gluon's, the authors' and Keras's.
MIRRORS = (
    "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/gluon/dataset/fashion-mnist/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
)
SCHEME = "https://"  # With which every address begins, a redirect's too
SECONDS = 1200  # For all files together; each mirror has its share of what is left
SILENCE = 5  # Seconds until a mirror begins to answer
PAUSE = 10  # Seconds for which it may pause
AGAIN = 60  # Seconds for which mirrors that took long to fail are not asked again

_Checked = TypeVar("_Checked")
_failed: dict[tuple[str, ...], tuple[float, str]] = {}  # Until when, and what was said


class UnavailableError(RuntimeError):
    """All of Fashion-MNIST cannot be had; the text says why."""


def mirrors() -> list[str]:
    """Return the addresses of mirrors, first the reader's own, which Gluon's variable names."""
    repository = os.environ.get("MXNET_GLUON_REPO")
    own = [f"{repository.rstrip('/')}/gluon/dataset/fashion-mnist/"] if repository else []
    return [*own, *MIRRORS]


def fetch(
    name: str,
    addresses: list[str],
    largest: int,
    check: Callable[[bytes], _Checked],
    deadline: float,
) -> _Checked:
    """Return what ``check`` makes of the first mirror's file that it does not refuse.

    ``check`` raises ValueError for bytes, at most ``largest``, that are not the file. The
    addresses of mirrors that fail are removed from the list. Raises `UnavailableError` if none is
    left, which is so at the ``deadline``, a time of `time.monotonic`.
    """
    # A notebook may load its data ten times, which would cost a firewalled reader minutes.
    start, asked = time.monotonic(), tuple(addresses)
    until, reason = _failed.get(asked, (start, ""))
    if start < until:
        raise UnavailableError(reason)
    failures = {}
    while addresses:
        seconds = max(0.0, deadline - time.monotonic()) / len(addresses)
        try:
            return check(_get(addresses[0] + name, largest, seconds))
        except UnavailableError as error:
            failures[addresses.pop(0)] = str(error)
        except ValueError:
            failures[addresses.pop(0)] = "not the file, as if truncated or a proxy's HTML page"
    reasons = [f"{_host(mirror)}: {why}" for mirror, why in failures.items()]
    if len(set(failures.values())) == 1:
        reasons = list(failures.values())[:1]
    reason = f"no mirror gave {name}: {', '.join(reasons) or 'all have failed'}"
    if time.monotonic() - start > SILENCE:
        _failed[asked] = time.monotonic() + AGAIN, reason
    raise UnavailableError(reason)


def _get(url: str, largest: int, seconds: float) -> bytes:
    task = {"url": url, "scheme": SCHEME, "largest": largest, "silence": SILENCE, "pause": PAUSE}
    command = [sys.executable, str(Path(__file__).with_name("ask_mirror.py"))]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    notice = passing("Fetching {file} from {host}", file=url.rpartition("/")[2], host=_host(url))
    with notice, Guarded() as guarded:
        process = guarded.start(command, **pipes)
        try:
            content: bytes
            content, said = process.communicate(json.dumps(task).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise UnavailableError(f"still not complete after {seconds:.0f} s") from None
    if process.returncode:
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        ended = f"the process that fetches it {how_it_ended(process.returncode)}"
        raise UnavailableError(last or ended)
    return content


def _host(url: str) -> str:
    """Return the host of an address, without a password, or what stands in its place."""
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2] or url
