"""Builds the chapter's site and a sample's, serves both, and opens them in Chromium."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

# `make test` has another environment, without the web book's packages; `make test-web` has them.
if importlib.util.find_spec("sphinx") is None or importlib.util.find_spec("playwright") is None:
    collect_ignore_glob = ["test_*.py"]

PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 900}


def run_build(root: Path, out: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "book.web", "--root", root, "--out", out]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250)


class Site:
    """A built site and the address at which it is served."""

    def __init__(self, folder: Path, address: str):
        self.folder = folder
        self.address = address

    def pages(self) -> list[str]:
        """Return the paths of all pages, en/index.html for one."""
        return sorted(p.relative_to(self.folder).as_posix() for p in self.folder.glob("*/*.html"))


@contextmanager
def served(folder: Path):
    from book.web.serve import server

    site = server(folder)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    try:
        yield Site(folder, f"http://127.0.0.1:{site.server_port}/")
    finally:
        site.shutdown()
        site.server_close()


@contextmanager
def built(root: Path):
    """Build the site of a book afresh, and serve it."""
    done = run_build(root, root / "build/html")
    assert done.returncode == 0, done.stdout + done.stderr
    with served(root / "build/html") as site:
        yield site


@pytest.fixture(scope="session")
def chapter_root(tmp_path_factory):
    """Return a copy of what the chapter's site is built from; in the original, others may work."""
    from sample import DATA

    root = tmp_path_factory.mktemp("chapter")
    for folder in ("chapters", "img"):
        shutil.copytree(ROOT / folder, root / folder)
    for file in DATA:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, root / file)
    return root


@pytest.fixture(scope="session")
def chapter(chapter_root):
    """Return the site of the chapter, built afresh."""
    with built(chapter_root) as site:
        yield site


@pytest.fixture(scope="session")
def sample_root(tmp_path_factory):
    from sample import write_book

    root = tmp_path_factory.mktemp("sample")
    write_book(root)
    return root


@pytest.fixture(scope="session")
def sample(sample_root):
    """Return the site of the sample book, which has two frameworks and a timeline."""
    with built(sample_root) as site:
        yield site


@pytest.fixture(scope="session")
def wide(tmp_path_factory):
    """Return the site of the sample with a third framework and a partly translated language."""
    from sample import write_book

    root = tmp_path_factory.mktemp("wide")
    write_book(root, third=True)
    with built(root) as site:
        yield site


@pytest.fixture(scope="session")
def chromium():
    from browser import find
    from playwright.sync_api import sync_playwright

    path = find()
    if path is None:
        pytest.fail("there is no Chromium; `make test-web` installs one")
    with sync_playwright() as playwright:
        # Root cannot use Chromium's sandbox, and nothing foreign is opened
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A browser page, and what went wrong in it: errors of scripts, failed or foreign requests."""

    def __init__(self, context, address: str):
        self.page = context.new_page()
        self.address = address
        self.problems: list[str] = []
        page, note = self.page, self.problems.append
        page.on("console", lambda m: note(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: note(str(error)))
        page.on("requestfailed", self._check_failure)
        page.on("response", lambda r: note(f"{r.status}: {r.url}") if r.status >= 400 else None)
        page.on("request", lambda r: self._check(r.url))

    def _check_failure(self, request) -> None:
        if request.failure != "net::ERR_ABORTED":  # As when the next page is opened meanwhile
            self.problems.append(f"{request.failure}: {request.url}")

    def _check(self, url: str) -> None:
        if not url.startswith((self.address, "data:", "blob:")):
            self.problems.append(f"foreign: {url}")

    def open(self, path: str):
        self.page.goto(self.address + path)
        return self.page


@pytest.fixture
def visit(chromium):
    """Return a function that opens a page of a site in a context of its own."""
    contexts = []

    def start(site: Site, path: str, *, viewport=DESKTOP, **options):
        context = chromium.new_context(viewport=viewport, **options)
        context.set_default_timeout(20_000)
        contexts.append(context)
        watched = Watched(context, site.address)
        watched.open(path)
        return watched

    yield start
    for context in contexts:
        context.close()
