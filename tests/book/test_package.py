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
from d2l_local.install import installed, uv

import nbformat
import pytest
import yaml
from settings import NOTHING_SET

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search('^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]
EDITIONS = sorted(path.parent for path in (ROOT / "chapters").glob("*/*/index.ipynb"))
NAMES = [(path.parent.name, path.name) for path in EDITIONS]
each_edition = pytest.mark.parametrize(("framework", "language"), NAMES)


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


@each_edition
def test_a_copy_is_whole_and_its_links_lead_somewhere(framework, language, tmp_path):
    copied = get.get(tmp_path / "new" / "book", framework, language)
    assert copied == tmp_path / "new" / "book" / framework / language
    names = {path.name for path in (ROOT / "chapters" / framework / language).glob("*.ipynb")}
    assert {path.name for path in copied.glob("*.ipynb")} == names and len(names) > 10
    there = {copied.parents[1] / Path(*edition) for edition in NAMES}
    for path in copied.glob("*.ipynb"):
        notebook = nbformat.read(path, 4)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        for link in re.findall(r"\]\((?!http)([\w./-]+\.(?:ipynb|svg))", text):
            target = (path.parent / link).resolve()
            assert target.exists() or target.parent in there, link
    assert [path.name for path in tmp_path.iterdir()] == ["new"]  # Nothing else is left


def test_editions_stand_side_by_side(tmp_path):
    for framework, language in NAMES:
        get.get(tmp_path, framework, language)
    links = re.findall(r"\((\.\./[\w./-]+)\)", (tmp_path / "mxnet/en/index.ipynb").read_text())
    assert links and all((tmp_path / "mxnet/en" / link).exists() for link in links)


def test_what_is_there_stays_as_it_is(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mine = Path("book/mxnet/en/mine.ipynb")
    mine.parent.mkdir(parents=True)
    mine.write_text("my work")
    assert get.main(["book", "--framework", "mxnet"]) == 1
    assert [path for path in Path().rglob("*") if path.is_file()] == [mine]
    said = capsys.readouterr().out
    assert f"{mine.parent} is there already and stays as it is; nothing was copied" in said
    assert f"-m d2l_local lab {mine.parent}" in said and "new folder" in said
    # A link that leads nowhere is somebody's, too.
    Path("book/mxnet/zh").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        get.get("book", "mxnet", "zh")


def test_nothing_is_left_of_a_copy_that_failed(tmp_path, monkeypatch, capsys):
    def fails_at_last(self, *arguments, write=Path.write_text):
        if len(list(self.parent.glob("*.ipynb"))) > 3:
            raise OSError(28, "No space left on device", str(self))
        return write(self, *arguments)

    monkeypatch.setattr(Path, "write_text", fails_at_last)
    assert get.main([str(tmp_path / "book"), "--framework", "mxnet"]) == 1
    assert "No space left on device" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_nothing_stays_of_a_copy_that_was_killed(tmp_path):
    killed = (
        "import os, sys; from d2l_local.doors import get; write = get._copy\n"
        "get._copy = lambda *folders: (write(*folders), os.kill(os.getpid(), 9))\n"
        "get.get(sys.argv[1], 'mxnet', 'en')"
    )
    done = subprocess.run([sys.executable, "-c", killed, tmp_path / "book"], cwd=ROOT)
    assert done.returncode == -9 and [path.name for path in tmp_path.iterdir()] != []
    get.get(tmp_path / "book", "mxnet", "en")
    assert [path.name for path in tmp_path.iterdir()] == ["book"]


@pytest.mark.parametrize("language", ["xx", "en/../zh", "../../mxnet/en", ".", ""])
def test_an_edition_that_there_is_not(language, tmp_path, capsys):
    choice = ["--framework", "mxnet", "--language", language]
    assert get.main([str(tmp_path / "book"), *choice]) == 1
    said = capsys.readouterr().out
    assert f"no notebooks for mxnet in {language!r}; there are some in: en, zh" in said
    with pytest.raises(ValueError, match="no notebooks for"):
        get.get(tmp_path / "book", "../chapters/mxnet", "en")
    assert not list(tmp_path.iterdir())


def test_of_two_at_once_the_slower_one_says_what_is_there(tmp_path, monkeypatch):
    def overtaken(source, whole, copy=get._copy):
        copy(source, whole)
        (tmp_path / "book/mxnet/en").mkdir(parents=True)
        (tmp_path / "book/mxnet/en/index.ipynb").write_text("the faster one's")

    monkeypatch.setattr(get, "_copy", overtaken)
    with pytest.raises(FileExistsError, match="mxnet/en is there already and stays as it is"):
        get.get(tmp_path / "book", "mxnet", "en")
    assert (tmp_path / "book/mxnet/en/index.ipynb").read_text() == "the faster one's"
    assert [path.name for path in tmp_path.iterdir()] == ["book"]


def test_a_folder_that_looks_like_an_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert get.main(["--framework", "mxnet", "--", "-x"]) == 0
    command = capsys.readouterr().out.splitlines()[-1]
    assert command.endswith(" -m d2l_local lab ./-x/mxnet/en")


@pytest.mark.skipif(not installed.checkout(), reason="the package is installed")
@pytest.mark.parametrize("folder", [".", "mine", "chapters/mxnet/../../mine"])
def test_no_copy_goes_into_the_repository(folder, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    before = sorted(ROOT.iterdir())
    assert get.main([folder, "--framework", "mxnet", "--language", "zh"]) == 1
    said = capsys.readouterr().out
    assert "would be in the repository, which has these notebooks; nothing was copied" in said
    assert f"To open them, type: {installed.read('mxnet', 'zh')}. For a copy of your own" in said
    assert sorted(ROOT.iterdir()) == before


def test_jupyterlab_that_is_missing_is_named(tmp_path, monkeypatch, capsys):
    Pip(monkeypatch, "torch", "d2l")
    monkeypatch.setattr(installed, "has_jupyterlab", lambda: False)
    assert get.main([str(tmp_path)]) == 0
    said, command = capsys.readouterr().out.splitlines()[-2:]
    assert said == f"JupyterLab is not installed in this Python, {sys.executable}"
    first, last = command.split(" && ")
    assert " install " in first and first.endswith(" jupyterlab")
    assert last.endswith(f"-m d2l_local lab {tmp_path}/pytorch/en")


def test_after_a_copy_the_preflight_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "checkout", lambda: False)
    monkeypatch.chdir(tmp_path)
    assert installed.read("mxnet").endswith("-m d2l_local get")
    for age, (folder, language) in enumerate((("b", "en"), ("a", "zh"))):
        copied = get.get(folder, "mxnet", language)
        os.utime(copied, (age, age))
        assert installed.read("mxnet").endswith(f"-m d2l_local lab {folder}/mxnet/{language}")
    assert installed.read("pytorch").endswith("-m d2l_local get")


class Pip:
    """Stands for pip: remembers what it was asked to install, and may fail."""

    def __init__(self, monkeypatch, *there, fails=None):
        self.asked, self.fails = [], fails
        monkeypatch.setattr(installed, "version", lambda name: "1" if name in there else None)
        monkeypatch.setattr(installed, "checkout", lambda: False)
        monkeypatch.setattr(get.processes, "run", self)

    def __call__(self, command, seconds, name, **environment):
        self.asked.append([part for part in command if "==" in part or part == "graphviz"])
        self.command, self.environment = command, environment
        if self.fails:
            raise self.fails


@pytest.mark.parametrize(
    ("there", "framework", "asked"),
    [
        (("d2l", "mxnet", "graphviz"), "mxnet", []),
        (("d2l", "mxnet-cu112", "graphviz"), "mxnet", []),
        (("mxnet", "graphviz"), "mxnet", [["d2l==1.0.3"]]),
        ((), "mxnet", [["d2l==1.0.3", "mxnet==1.9.1", "graphviz"]]),
        (("torch",), "pytorch", [["d2l==1.0.3"]]),
    ],
)
def test_get_installs_what_pip_could_not(there, framework, asked, monkeypatch, capsys):
    pip = Pip(monkeypatch, *there)
    get.complete(framework)
    assert pip.asked == asked
    assert ("Installing" in capsys.readouterr().out) == bool(asked)


@pytest.mark.parametrize(
    "error",
    [RuntimeError("pip failed:\nno network"), TimeoutError("no network"), OSError(2, "no network")],
    ids=["pip fails", "it hangs", "there is none"],
)
def test_where_pip_fails_the_notebooks_are_there(error, monkeypatch, tmp_path, capsys):
    Pip(monkeypatch, "torch", fails=error)
    assert get.main([str(tmp_path)]) == 1  # For PyTorch, which this Python has
    assert (tmp_path / "pytorch/en/index.ipynb").exists()
    said = capsys.readouterr().out
    assert "no network\nThe notebooks are there. Type: " in said
    assert said.rstrip().endswith("--no-deps d2l==1.0.3")


NOTHING_NAMED = (*uv.SETTINGS, *uv.SETTINGS.values())


@pytest.mark.parametrize(
    ("driver", "said"),
    [(False, "PyTorch for CPUs: 0.2 GB to download"), (True, "PyTorch with CUDA: 2.8 GB to")],
)
def test_get_names_the_build_of_pytorch_for_the_machine_and_installs_it(
    driver, said, monkeypatch, capsys
):
    for name in NOTHING_NAMED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(uv, "has_driver", lambda: driver)
    pip = Pip(monkeypatch, "d2l")
    get.complete("pytorch")
    assert pip.asked == [[installed.TORCH]]
    assert "--torch-backend=auto" in pip.command  # Which pip has not
    assert said in capsys.readouterr().out


def test_get_fetches_uv_first_where_there_is_none(monkeypatch):
    for name in NOTHING_NAMED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(uv, "found", lambda: None)
    Pip(monkeypatch, "d2l")
    commands = []
    monkeypatch.setattr(get.processes, "run", lambda command, *_, **__: commands.append(command))
    get.complete("pytorch")
    assert [command[-1] for command in commands] == ["uv", installed.TORCH]
    assert commands[1][:4] == [sys.executable, "-m", "uv", "pip"]


def test_get_takes_pytorch_from_where_the_reader_says(monkeypatch):
    for name in NOTHING_NAMED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    pip = Pip(monkeypatch, "d2l")
    get.complete("pytorch")
    assert pip.asked == [[installed.TORCH]] and "--torch-backend=auto" not in pip.command
    assert pip.environment["UV_FIND_LINKS"] == "/wheels"


def test_get_fetches_no_cuda_for_a_machine_without_a_driver(monkeypatch, capsys, tmp_path):
    """Which is what an index in place of PyTorch's own has for Linux."""
    for name in NOTHING_NAMED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "https://pypi.example")
    monkeypatch.setattr(uv, "has_driver", lambda: False)
    pip = Pip(monkeypatch, "d2l")
    assert get.main([str(tmp_path), "--framework", "pytorch"]) == 1
    said = capsys.readouterr().out
    assert not pip.asked and "2.8 GB to download, and this machine has no NVIDIA driver" in said
    assert "PIP_FIND_LINKS" in said and said.rstrip().endswith(installed.TORCH)


@pytest.mark.parametrize(
    ("there", "framework"), [("filelock sympy uv", "pytorch"), ("uv", "mxnet")]
)
def test_who_installed_the_extra_of_a_framework_gets_its_notebooks(there, framework, monkeypatch):
    """Although PyTorch itself is not there yet, nor MXNet on Python 3.13."""
    asked = ["numpy>=1.22", "filelock; extra == 'pytorch'", 'sympy>=1.13 ; extra == "pytorch"']
    asked += ["uv>=0.8; extra == 'pytorch'", "mxnet; python_version < '3.13' and extra == 'mxnet'"]
    monkeypatch.setattr(installed.importlib.metadata, "requires", lambda name: asked)
    monkeypatch.setattr(installed, "version", lambda name: "1" if name in there.split() else None)
    assert installed.framework() == framework


def test_in_the_repository_make_installs(monkeypatch):
    pip = Pip(monkeypatch)
    monkeypatch.setattr(installed, "checkout", lambda: True)
    get.complete("mxnet")
    assert not pip.asked


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
        "pip install": [python, "-m", "pip", "install", "--quiet", f"{wheel}[{extra}]"],
        "get": [python, "-m", "d2l_local", "get", "book"],
        "first notebook": [
            *(python, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute"),
            *("--output-dir", tmp_path, tmp_path / "book" / framework / "en" / "index.ipynb"),
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
