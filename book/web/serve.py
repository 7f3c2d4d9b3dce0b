"""Serve the site on this machine, compressed as web servers do.

python -m book.web.serve [FOLDER] [--port 8000]
"""

from __future__ import annotations

import argparse
import functools
import gzip
import io
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMPRESSED = {".css", ".html", ".ipynb", ".js", ".json", ".svg"}


@functools.lru_cache(maxsize=256)
def compressed(path: Path, changed: int) -> bytes:
    """Return the compressed content of a file; when it was ``changed`` tells it from older ones."""
    return gzip.compress(path.read_bytes(), 6)


class Handler(SimpleHTTPRequestHandler):
    """Serves files, text compressed for those who accept it; says nothing but errors."""

    def send_head(self):
        path = Path(self.translate_path(self.path))
        if self.path.split("?")[0].endswith("/"):
            path /= "index.html"
        accepted = "gzip" in self.headers.get("Accept-Encoding", "")
        if not accepted or path.suffix not in COMPRESSED or not path.is_file():
            return super().send_head()
        body = compressed(path, path.stat().st_mtime_ns)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return io.BytesIO(body)

    def log_request(self, code="-", size="-"):
        pass


class Server(ThreadingHTTPServer):
    """Serves until told to stop; that a browser breaks off a transfer is no error."""

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the folder on a port of this machine; 0 takes any that is free."""
    handler = functools.partial(Handler, directory=str(folder))
    return Server(("127.0.0.1", port), handler)


def main() -> int:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=root / "build/html")
    parser.add_argument("--port", type=int, default=8000)
    args = parser.parse_args()
    if not (args.folder / "index.html").is_file():
        print(f"{args.folder} has no site; `make html` builds it", file=sys.stderr)
        return 1
    try:
        site = server(args.folder, args.port)
    except OSError as error:
        print(f"port {args.port}: {error.strerror}; choose another: make serve PORT=8001")
        return 1
    print(f"The book is at http://127.0.0.1:{site.server_port}/ until you press Ctrl+C")
    try:
        site.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        site.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
