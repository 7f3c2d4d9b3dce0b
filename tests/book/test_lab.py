"""`python -m d2l_local lab`: what JupyterLab opens, for whom, and where nothing can be written."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from d2l_local.doors import get, lab
from d2l_local.machine import host

import pytest
from helpers import until

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "/proc/self/fdinfo"  # Where not even root can write

pytestmark = pytest.mark.timeout(200)


# ---- Which edition -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("set_to", "opened"),
    [
        ("en_US:en", "en"),
        ("zh_CN:zh:en_US", "zh"),
        ("zh", "zh"),
        ("fr_FR:fr:zh", "zh"),
        ("de", "en"),
        ("", "en"),
    ],
)
def test_gettext_s_variable_opens_a_language_of_the_book(set_to, opened, monkeypatch):
    """Ubuntu sets LANGUAGE. What nobody typed need not be a language of the book."""
    monkeypatch.setenv("LANGUAGE", set_to)
    assert lab.find(ROOT, "mxnet", None) == f"chapters/mxnet/{opened}/index.ipynb"


def test_a_language_that_comes_before_english_is_not_meant_where_none_is(tmp_path, monkeypatch):
    monkeypatch.setenv("LANGUAGE", "")
    for language in ("de", "en"):
        notebook = tmp_path / f"chapters/mxnet/{language}/index.ipynb"
        notebook.parent.mkdir(parents=True)
        notebook.touch()
    assert lab.find(tmp_path, "mxnet", None) == "chapters/mxnet/en/index.ipynb"


def test_a_language_that_somebody_typed_must_be_there(monkeypatch, capsys):
    monkeypatch.setenv("LANGUAGE", "zh")
    assert lab.find(ROOT, "pytorch", "en") == "chapters/pytorch/en/index.ipynb"
    assert lab.main(["--framework", "mxnet", "--language", "fr"]) == 1
    assert "there is no language fr; there is: en zh" in capsys.readouterr().err


@pytest.mark.parametrize("language", ["zh", "en_US:en"])
def test_make_hands_on_what_was_typed_and_nothing_else(language):
    command = ["make", "--dry-run", "lab", "OPTIONS=--port 8897", "FRAMEWORK=pytorch"]
    typed = [f"LANGUAGE={language}"] if language == "zh" else []
    within_make = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
    env = {name: value for name, value in os.environ.items() if name not in within_make}
    said = subprocess.check_output(
        [*command, *typed], cwd=ROOT, env={**env, "LANGUAGE": language}, text=True
    )
    chosen = ["--language", "zh"] if typed else []
    expected = ["-m", "d2l_local", "lab", "--framework", "pytorch", *chosen, "--port", "8897"]
    assert said.splitlines()[-1].split()[1:] == expected


def opened(monkeypatch, arguments) -> list[str]:
    """What JupyterLab would be started with."""
    asked = []
    labapp = pytest.importorskip("jupyterlab.labapp")
    monkeypatch.setattr(labapp.LabApp, "launch_instance", asked.extend)
    assert lab.main(arguments) == 0
    return asked


def test_a_folder_that_get_has_made(tmp_path, monkeypatch):
    get.copy(tmp_path / "book")
    choice = ["--framework", "pytorch", "--language", "zh", "--book", str(tmp_path / "book")]
    asked = opened(monkeypatch, choice)
    assert f"--ServerApp.root_dir={tmp_path / 'book'}" in asked
    assert "--LabApp.default_url=/lab/tree/chapters/pytorch/zh/index.ipynb" in asked


@pytest.mark.parametrize(
    "theirs", [["--port", "8897"], ["--no-browser", "--port=8897"], ["--lang", "8897", "--debug"]]
)
def test_jupyterlab_s_options_are_jupyterlab_s(theirs, monkeypatch):
    asked = opened(monkeypatch, [*theirs, "--framework", "mxnet"])
    assert asked[-len(theirs) :] == theirs


@pytest.mark.parametrize("root", [True, False])
def test_root_may_open_it_and_others_are_not_asked(root, monkeypatch):
    monkeypatch.setattr(lab.os, "geteuid", lambda: 0 if root else 1000)
    asked = opened(monkeypatch, ["--framework", "mxnet"])
    assert ("--allow-root" in asked) == root
    assert not [option for option in asked if "token" in option or "password" in option]


def test_a_folder_without_notebooks(tmp_path, capsys):
    assert lab.main(["--book", str(tmp_path)]) == 1
    assert f"there are no notebooks in {tmp_path}/chapters/" in capsys.readouterr().err


# ---- A server ------------------------------------------------------------------------------------


@contextmanager
def server(*arguments: str, **environment: str):
    """Start one, and yield where it listens, its token, and what it had said before."""
    pytest.importorskip("jupyterlab")
    kept = {name: value for name, value in os.environ.items() if "JUPYTER" not in name}
    command = [sys.executable, "-m", "d2l_local", "lab", "--framework", "mxnet", "--no-browser"]
    with subprocess.Popen(
        [*command, *arguments],
        cwd=ROOT,
        env={**kept, "LANGUAGE": "", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield address(process)
        finally:
            process.terminate()
            process.communicate(timeout=60)


def address(process) -> tuple[str, str, str]:
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.search(r"(http://127\S+?/)lab/tree/(\S+)\?token=(\w+)", line):
            assert found[2] == "chapters/mxnet/en/index.ipynb"
            return found[1], found[3], "".join(said)
    pytest.fail("".join(said))


def reached(where: str, token: str, path: str) -> bool:
    try:
        address = f"{where}api/contents/{path}?token={token}"
        with urllib.request.urlopen(address, timeout=60) as reply:
            return json.load(reply)["path"] == path
    except OSError:
        return False


def test_without_a_home_to_write_in_and_beside_another_server(tmp_path):
    """It finds a port, and all that the notebooks link to; no settings are left behind."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with server("--port", port, HOME=NOWHERE, TMPDIR=str(tmp_path)) as (where, token, said):
            assert "Your home folder cannot be written" in said and port not in where
            assert until(lambda: reached(where, token, "img/computegraph-en.svg"))
            assert reached(where, token, "chapters/pytorch/zh/hybridize.ipynb")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("d2l-lab-")]


@pytest.mark.parametrize("home", ["", "~"], ids=["empty", "a user without an account"])
def test_no_home_at_all_is_as_one_that_cannot_be_written(home, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "as before")
    monkeypatch.setattr(os.path, "expanduser", lambda path: home)
    assert not host.has_home()
    with lab.home():
        made = Path(os.environ["HOME"])
        assert made.is_dir() and host.writable(made)
    assert not made.exists()


def test_a_book_that_cannot_be_written_is_shown_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(host, "writable", lambda folder: "chapters" not in str(folder))
    opened(monkeypatch, ["--framework", "mxnet"])
    said = capsys.readouterr().out
    assert "cannot be written, so nothing is saved there" in said and "-m d2l_local get" in said
