"""What `make serve` sends, and what it does not."""

from __future__ import annotations

import http.client
import os

from book.web.serve import Server

import pytest
from conftest import served


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return a function that asks a server for a path, and gives status and content."""
    folder = tmp_path_factory.mktemp("serve")
    site = folder / "site"
    (site / "en").mkdir(parents=True)
    (site / "index.html").write_text("the book")
    (site / "en/page.html").write_text("a page")
    (site / "en/again.html").symlink_to("page.html")
    (folder / "secret.html").write_text("secret")
    (site / "out.html").symlink_to(folder / "secret.html")
    (site / "up").symlink_to(folder)
    (site / "loop.html").symlink_to("loop.html")
    os.mkfifo(site / "pipe.html")
    os.mkfifo(site / "en/index.html")
    with served(site) as running:
        host = running.address.split("/")[2]

        def ask(path: str, encoding: str) -> tuple[int, bytes]:
            connection = http.client.HTTPConnection(host, timeout=10)
            connection.request("GET", path, headers={"Accept-Encoding": encoding})
            answer = connection.getresponse()
            return answer.status, answer.read()

        yield ask


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.parametrize("path", ["/", "/index.html", "/en/page.html?x=1", "/en/again.html"])
def test_files_of_the_site_are_sent(answers, path, encoding):
    status, content = answers(path, encoding)
    assert status == 200 and content


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.parametrize(
    "path",
    [
        *("/%00", "/en/%00.html", f"/{'x' * 5000}.html", "/loop.html", "/nowhere.html"),
        *("/out.html", "/up/secret.html", "/up/", "/../secret.html", "/%2e%2e/secret.html"),
        *("/pipe.html", "/en/"),
    ],
)
def test_all_else_is_not_found(answers, monkeypatch, path, encoding):
    errors = []
    monkeypatch.setattr(Server, "handle_error", lambda *arguments: errors.append(arguments))
    assert answers(path, encoding)[0] == 404 and not errors


def test_a_folder_without_its_slash_is_sent_on(answers):
    assert answers("/en", "gzip")[0] == 301
