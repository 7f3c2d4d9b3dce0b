"""`python -m d2l_local lab`: what JupyterLab opens, for whom, and where nothing can be written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from d2l_local.doors import get, lab
from d2l_local.install import installed

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
    assert lab.find("mxnet", None) == ROOT / "chapters/mxnet" / opened


def test_a_language_that_somebody_typed_must_be_there(monkeypatch, capsys):
    monkeypatch.setenv("LANGUAGE", "zh")
    assert lab.find("pytorch", "en") == ROOT / "chapters/pytorch/en"
    assert lab.main(["--framework", "mxnet", "--language", "fr"]) == 1
    assert "there is no language fr; there is: en zh" in capsys.readouterr().err


@pytest.mark.parametrize("language", ["zh", "en_US:en"])
def test_make_hands_on_what_was_typed_and_nothing_else(language):
    command = ["make", "--dry-run", "lab", "OPTIONS=--no-browser", "FRAMEWORK=pytorch"]
    typed = [f"LANGUAGE={language}"] if language == "zh" else []
    within_make = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
    env = {name: value for name, value in os.environ.items() if name not in within_make}
    done = subprocess.run(
        [*command, *typed],
        cwd=ROOT,
        env={**env, "LANGUAGE": language},
        capture_output=True,
        text=True,
        check=True,
    )
    chosen = ["--language", "zh"] if typed else []
    expected = ["-m", "d2l_local", "lab", "--framework", "pytorch", *chosen, "--no-browser"]
    assert done.stdout.splitlines()[-1].split()[1:] == expected


def test_a_folder_that_get_has_made_is_opened_from_above_its_editions(tmp_path, monkeypatch):
    asked = opened(monkeypatch, [str(get.get(tmp_path, "pytorch", "zh"))])
    assert f"--ServerApp.root_dir={tmp_path}" in asked
    assert "--LabApp.default_url=/lab/tree/pytorch/zh/index.ipynb" in asked


def opened(monkeypatch, arguments) -> list[str]:
    """What JupyterLab would be started with."""
    asked = []
    labapp = pytest.importorskip("jupyterlab.labapp")

    def start(arguments):
        asked.extend(arguments)
        raise SystemExit

    monkeypatch.setattr(labapp.LabApp, "initialize_server", start)
    with pytest.raises(SystemExit):
        lab.main(arguments)
    return asked


@pytest.mark.parametrize("root", [True, False])
def test_root_may_open_it_and_others_are_not_asked(root, monkeypatch):
    monkeypatch.setattr(lab.os, "geteuid", lambda: 0 if root else 1000)
    asked = opened(monkeypatch, ["--framework", "mxnet", "--no-browser"])
    assert ("--allow-root" in asked) == root and asked[-1] == "--no-browser"
    assert not [option for option in asked if "token" in option or "password" in option]


def test_a_folder_without_notebooks(tmp_path, capsys):
    assert lab.main([str(tmp_path)]) == 1
    assert f"{tmp_path} holds no notebooks of this book" in capsys.readouterr().err


def test_without_a_clone_and_without_get_there_is_nothing_to_open(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(installed, "checkout", lambda: False)
    monkeypatch.chdir(tmp_path)
    assert lab.main(["--framework", "mxnet"]) == 1
    assert "-m d2l_local get" in capsys.readouterr().err


def test_a_python_without_jupyterlab_names_the_command(monkeypatch, capsys):
    monkeypatch.setattr(installed, "has_jupyterlab", lambda: False)
    assert lab.main(["--framework", "mxnet"]) == 1
    error = capsys.readouterr().err
    assert "JupyterLab is not installed in this Python" in error and "Type: " in error


# ---- A server ------------------------------------------------------------------------------------


@contextmanager
def servers(number: int, **environment: str):
    """Start as many at once, and yield the lines that each has said, and will."""
    pytest.importorskip("jupyterlab")
    kept = {name: value for name, value in os.environ.items() if "JUPYTER" not in name}
    command = [sys.executable, "-m", "d2l_local", "lab", "--framework", "mxnet", "--no-browser"]
    processes = [
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**kept, "LANGUAGE": "", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(number)
    ]
    try:
        yield [address(process) for process in processes]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.communicate(timeout=60)


def address(process) -> tuple[str, str, str]:
    """Where a server listens, its token and what it had said before."""
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.search(r"(http://127\S+?/)lab/tree/(\S+)\?token=(\w+)", line):
            assert found[2] == "chapters/mxnet/en/index.ipynb"
            return found[1], found[3], "".join(said)
    pytest.fail("".join(said))


def answer(where: str, token: str, path: str) -> dict:
    with urllib.request.urlopen(f"{where}api/contents/{path}?token={token}", timeout=60) as reply:
        return json.load(reply)


def reached(where: str, token: str, path: str) -> bool:
    try:
        return answer(where, token, path)["path"] == path
    except OSError:
        return False


def test_two_at_once_without_a_home_to_write_in(tmp_path):
    """Both find a port, and all that the notebooks link to; no settings are left behind."""
    (tmp_path / "tmp").mkdir()
    with servers(2, HOME=NOWHERE, TMPDIR=str(tmp_path / "tmp")) as both:
        assert len({where for where, _, _ in both}) == 2
        for where, token, said in both:
            assert "Your home folder cannot be written" in said
            assert until(lambda: reached(where, token, "img/computegraph-en.svg"))  # noqa: B023
            assert reached(where, token, "chapters/pytorch/zh/hybridize.ipynb")
    assert not [path for path in (tmp_path / "tmp").iterdir() if path.name.startswith("d2l-lab-")]


def test_a_book_that_cannot_be_written_is_shown_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(installed, "writable", lambda folder: "chapters" not in str(folder))
    opened(monkeypatch, ["--framework", "mxnet"])
    said = capsys.readouterr().out
    assert "cannot be written, so nothing is saved there" in said and "-m d2l_local get" in said
