"""The program that fetches one file from a mirror; `download` runs it in a process of its own.

No time-out of any library ends a server that drips a header, the length of a chunk or a trailer;
so `download` ends this program. The standard input has the arguments of `main` in JSON, the
standard output gets the file, the standard error why it cannot be had.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from urllib.parse import urljoin

import requests

REDIRECTS = 5


class Session(requests.Session):
    """A session that leaves redirects alone: Requests reads their bodies, which may be endless."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return no target."""


def opened(url: str, scheme: str, pause: float) -> requests.Response:
    """Return a mirror's answer, of which only the headers have been read."""
    session = Session()
    for _ in range(REDIRECTS + 1):
        if not url.startswith(scheme):
            raise ValueError(f"no {scheme} address")
        # Unpacked neither for a server that packs what it sends nor for one that says so.
        headers = {"Accept-Encoding": "identity"}
        response = session.get(url, stream=True, timeout=pause, headers=headers)
        if not response.is_redirect:
            response.raise_for_status()
            return response
        response.close()
        url = urljoin(url, response.headers["location"])
    raise requests.TooManyRedirects


def fail(reason: str) -> None:
    """End this process at once, whatever its threads wait for."""
    try:
        print(reason, file=sys.stderr, flush=True)
    finally:  # If nobody reads it, too
        os._exit(1)


def why(error: Exception) -> str:
    """Say in a few words why a file cannot be had; Requests' own texts fill several lines."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP status {error.response.status_code}"
    if type(error) is ValueError:
        return str(error)
    return getattr(error, "strerror", None) or type(error).__name__


def main(url: str, scheme: str, largest: int, silence: float, pause: float) -> None:
    """Copy the file to the standard output; `download` describes the limits, its constants."""
    patience = threading.Timer(silence, fail, [f"silence for {silence:g} s"])
    patience.start()
    response = opened(url, scheme, pause)
    patience.cancel()
    received = 0
    while piece := response.raw.read(2**14, decode_content=False):
        received += len(piece)
        if received > largest:
            raise ValueError(f"more than {largest:,} bytes")
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        main(**json.load(sys.stdin))
    except Exception as error:
        fail(why(error))
