"""The wheel: what it holds, what `python -m d2l_local get` copies of it, and a try of it all.

The try takes an empty Python and the network: `make test-wheel`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from email import message_from_bytes
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.doors import get
from d2l_local.install import commands, installed

import nbformat
import pytest
import yaml
from settings import NOTHING_SET

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search('^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]
EDITIONS = sorted(path.parent for path in (ROOT / "chapters").glob("*/*/index.ipynb"))


# ---- What is in the wheel ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that `make wheel` built, or one of what git knows of, as in a release."""
    if built := os.environ.get("WHEEL"):
        return ROOT / built
    folder = tmp_path_factory.mktemp("wheel")
    for file in git_files():
        (folder / "tree" / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, folder / "tree" / file)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", folder]
    subprocess.run(build, cwd=folder / "tree", check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def git_files() -> list[str]:
    """What git knows of, and what it would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [file for file in listed.split("\0") if (ROOT / file).is_file()]


def test_the_wheel_holds_what_a_notebook_imports_and_the_notebooks_and_nothing_else(wheel):
    expected = {file for file in git_files() if file.startswith("d2l_local/")}
    for edition in EDITIONS:
        for notebook in edition.glob("*.ipynb"):
            linked = re.findall(r"\.\./(img/[\w.-]+)", notebook.read_text("utf-8"))
            expected |= {f"d2l_local/book/{file}" for file in linked}
            expected.add(f"d2l_local/book/{notebook.relative_to(ROOT).as_posix()}")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == expected
    # An index's limit is 100 MB, and Colab builds it at the start of every notebook. Data and
    # weights are 12 MB of it, the notebooks with their figures 5.
    assert wheel.stat().st_size < 20e6


def test_the_metadata_name_version_license_and_what_pip_can_install(wheel):
    archive = zipfile.ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
    metadata = message_from_bytes(archive.read(name))
    assert (metadata["Name"], metadata["Version"]) == ("d2l-local", VERSION)
    assert metadata["License-Expression"] == "MIT AND OFL-1.1"
    licenses = name.replace("METADATA", "licenses/")
    texts = "LICENSE", "d2l_local/fonts/OFL.txt", "d2l_local/data/fashion-mnist-sample.LICENSE"
    assert {licenses + text for text in texts} <= {*archive.namelist()}
    # d2l's NumPy has no wheel for Python 3.12, and MXNet's none for 3.13.
    asked = metadata.get_all("Requires-Dist")
    assert "d2l==1.0.3; python_version < '3.12'" in asked
    assert "mxnet==1.9.1; (python_version < '3.13') and extra == 'mxnet'" in asked
    # The page on an index has no repository to link into.
    assert not re.search(r"\]\((?!http)", metadata.get_payload())


def test_the_citation_is_valid_and_of_this_version():
    pytest.importorskip("check_jsonschema")
    schema = "--builtin-schema=vendor.citation-file-format"
    command = [sys.executable, "-m", "check_jsonschema", schema, ROOT / "CITATION.cff"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], citation["license"]) == (VERSION, "MIT")


# ---- get -----------------------------------------------------------------------------------------


def test_a_copy_is_whole_and_its_links_lead_somewhere(tmp_path):
    """To figures, neighbors, and the editions of the other languages and frameworks."""
    get.copy(tmp_path / "new" / "book")
    book = tmp_path / "new" / "book"
    notebooks = {path.relative_to(ROOT) for path in (ROOT / "chapters").glob("*/*/*.ipynb")}
    assert {path.relative_to(book) for path in book.rglob("*.ipynb")} == notebooks
    for path in book.rglob("*.ipynb"):
        notebook = nbformat.read(path, 4)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        for link in re.findall(r"\]\((?!http)([\w./-]+\.(?:ipynb|svg))", text):
            assert (path.parent / link).exists(), link
        assert "../zh/" in text or "../en/" in text
    assert [path.name for path in tmp_path.iterdir()] == ["new"]  # Nothing else is left
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["book"]


def test_what_is_there_stays_as_it_is(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mine = Path("book/chapters/mxnet/en/mine.ipynb")
    mine.parent.mkdir(parents=True)
    mine.write_text("my work")
    assert get.main(["book", "--framework", "mxnet"]) == 0
    assert [path for path in Path().rglob("*") if path.is_file()] == [mine]
    said = capsys.readouterr().out
    assert "book is there already and stays as it is; nothing was copied" in said
    assert said.endswith("-m d2l_local lab --framework mxnet --book book\n")


def test_nothing_is_left_of_a_copy_that_failed(tmp_path, monkeypatch, capsys):
    def fails_at_last(source, target, copy=shutil.copyfile):
        if source.suffix == ".svg":
            raise OSError(28, "No space left on device", str(target))
        return copy(source, target)

    monkeypatch.setattr(get.shutil, "copyfile", fails_at_last)
    assert get.main([str(tmp_path / "book"), "--framework", "mxnet"]) == 1
    assert "No space left on device" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_a_copy_of_what_may_not_be_written_may(tmp_path, monkeypatch):
    """As of a class's clone."""
    kept = tmp_path / "kept" / "chapters" / "mxnet" / "en" / "index.ipynb"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    for path in (kept, *list(kept.parents)[:4]):  # Python 3.9 takes no slice of them
        path.chmod(0o555)
    monkeypatch.setattr(get, "BOOK", tmp_path / "kept")
    get.copy(tmp_path / "book")
    for path in (tmp_path / "book").rglob("*"):
        assert path.stat().st_mode & 0o200


def test_a_folder_that_looks_like_an_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert get.main(["--framework", "mxnet", "--language", "zh", "--", "-x"]) == 0
    command = capsys.readouterr().out.splitlines()[-1]
    assert command.endswith(" -m d2l_local lab --framework mxnet --language zh --book ./-x")


def test_after_a_copy_the_preflight_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "checkout", lambda: False)
    monkeypatch.chdir(tmp_path)
    assert commands.read("mxnet").endswith("-m d2l_local get")
    get.copy(Path(installed.FOLDER))
    assert commands.read("mxnet").endswith("-m d2l_local lab")


@pytest.fixture
def pip(monkeypatch):
    """Return a function that says what is there, and what pip and uv are then asked to install."""
    monkeypatch.setattr(installed, "checkout", lambda: False)
    monkeypatch.setattr(get.uv, "settings", lambda python: {})
    monkeypatch.setattr(get.uv, "elsewhere", lambda settings: False)

    def there(*names, modules=("pip", "uv")):
        asked = []
        monkeypatch.setattr(get.importlib.util, "find_spec", lambda name: name in modules or None)
        monkeypatch.setattr(installed, "version", lambda name: "1" if name in names else None)
        of_mxnet = [name for name in names if name.startswith("mxnet")]
        monkeypatch.setattr(installed, "installed_builds", lambda: of_mxnet)
        monkeypatch.setattr(get.processes, "run", lambda words, *_, **__: asked.append(words[1:]))
        return asked

    return there


PIP = ["-m", "pip", "install", "--no-deps"]


@pytest.mark.parametrize(
    ("there", "asked"),
    [
        ("d2l mxnet graphviz", []),
        ("d2l mxnet-cu112 graphviz", []),
        ("mxnet graphviz", [[*PIP, "d2l==1.0.3"]]),
        ("", [[*PIP, "d2l==1.0.3", "mxnet==1.9.1", "graphviz"]]),
    ],
)
def test_get_installs_what_pip_could_not(there, asked, pip):
    called = pip(*there.split())
    get.complete("mxnet")
    assert called == asked


def test_get_installs_in_an_environment_that_uv_has_made(pip):
    asked = pip("mxnet", "graphviz", modules=())
    get.complete("mxnet")
    assert asked == [["pip", "install", "--python", sys.executable, "--no-deps", "d2l==1.0.3"]]


@pytest.mark.parametrize("has_uv", [True, False])
def test_get_has_uv_choose_the_build_of_pytorch(has_uv, pip):
    asked = pip("d2l", modules=("pip", "uv") if has_uv else ("pip",))
    get.complete("pytorch")
    to = ["--python", sys.executable, "--torch-backend=auto"]  # Which pip has not
    first = [] if has_uv else [["-m", "pip", "install", "uv"]]
    assert asked == [*first, ["-m", "uv", "pip", "install", *to, installed.TORCH]]
    asked = pip("d2l", "torch")
    get.complete("pytorch")
    assert asked == []


@pytest.mark.parametrize("error", [RuntimeError("no network"), TimeoutError("no network")])
def test_where_pip_fails_the_notebooks_are_there(error, pip, monkeypatch, tmp_path, capsys):
    def fails(*_, **__):
        raise error

    pip()
    monkeypatch.setattr(get.processes, "run", fails)
    assert get.main([str(tmp_path / "book"), "--framework", "mxnet"]) == 1
    assert (tmp_path / "book/chapters/pytorch/en/index.ipynb").exists()
    assert "no network\nThe same command goes on from here" in capsys.readouterr().out


# ---- The whole try -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_from_nothing_to_the_first_executed_notebook(wheel, tmp_path):
    """As a reader would, in an empty Python of this version, for this Python's framework."""
    framework = installed.framework()
    extra = frameworks.load()[framework].extra
    python = tmp_path / "python" / ("Scripts" if os.name == "nt" else "bin") / "python"
    unset = {*NOTHING_SET, "PYTHONPATH", "VIRTUAL_ENV", "D2L_LANGUAGE"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    steps = {
        "empty Python": [sys.executable, "-m", "venv", tmp_path / "python"],
        "newer pip": [python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"],
        "pip install": [python, "-m", "pip", "install", "--quiet", f"{wheel}[{extra}]"],
        "get": [python, "-m", "d2l_local", "get", "book", "--framework", framework],
        "first notebook": [
            *(python, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute"),
            *("--output-dir", tmp_path, tmp_path / "book/chapters" / framework / "en/index.ipynb"),
        ],
        "preflight": [python, "-m", "d2l_local", "--json"],
    }
    for step, command in steps.items():
        started = time.monotonic()
        done = subprocess.run(
            list(map(str, command)), cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        print(f"{step}: {time.monotonic() - started:.0f} s", flush=True)
        assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(done.stdout)
    assert facts["ready"] and facts["framework"]["name"] == framework
    executed = nbformat.read(tmp_path / "index.ipynb", 4)
    assert all(cell.execution_count for cell in executed.cells if cell.cell_type == "code")
    files = (path for path in (tmp_path / "python").rglob("*") if not path.is_symlink())
    megabytes = sum(path.stat().st_size for path in files if path.is_file()) / 1e6
    print(f"{framework}, Python {sys.version.split()[0]}: {megabytes:.0f} MB installed")
