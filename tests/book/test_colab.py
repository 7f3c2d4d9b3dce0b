"""The first cell of the notebooks: what it decides, and whole tries in Pythons like those of hosts.

Those are Google Colab and Kaggle.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from book.builder import render
from book.builder.notebook import code_cells
from book.builder.text import Chapter
from d2l_local import colab
from d2l_local.install import uv
from d2l_local.install.builds import CUDA_FOLDER, CUDA_LIBRARIES
from d2l_local.machine.nvidia import GPU

import pytest
from nbclient import NotebookClient
from packaging.requirements import Requirement
from settings import NOTHING_SET
from this_chapter import CHAPTER, ROOT

T4 = GPU(0, "Tesla T4", (7, 5))
SECOND_T4 = GPU(1, "Tesla T4", (7, 5))
A100 = GPU(0, "NVIDIA A100-SXM4-40GB", (8, 0))
L4 = GPU(0, "NVIDIA L4", (8, 9))
H100 = GPU(0, "NVIDIA H100 80GB HBM3", (9, 0))
K80 = GPU(0, "Tesla K80", (3, 7))


def notebooks(framework):
    return {
        section.name: render.notebook(section, framework, "en")
        for section in CHAPTER.sections()
        if framework in section.frameworks
    }


# ---- The cell ------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", sorted({f for s in CHAPTER.sections() for f in s.frameworks}))
def test_the_set_up_cell_comes_first_and_knows_framework_and_address(framework):
    for notebook in notebooks(framework).values():
        cell = next(iter(code_cells(notebook)), None)
        links = notebook.cells[0].source
        if cell is None:  # The bibliography: nothing to install, nothing to open
            assert "Colab" not in links and "Kaggle" not in links
            continue
        assert "](https://colab.research.google.com/github/" in links
        assert f"](https://kaggle.com/kernels/welcome?src={CHAPTER.repository}/blob/main/" in links
        assert cell.id == "setup"
        assert cell.source.endswith(f'colab.set_up("{framework}")')
        # A release, which stays what it was when it was tried.
        version = re.search('^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]
        assert f'"git+{CHAPTER.repository}@v{version}")\n' in cell.source


def test_no_links_to_hosts_from_where_they_cannot_open_notebooks():
    elsewhere = Chapter(ROOT)
    elsewhere.repository = "https://codeberg.org/someone/somewhere"
    notebook = render.notebook(elsewhere.sections(["index"])[0], "mxnet", "en")
    assert "Colab" not in notebook.cells[0].source and "Kaggle" not in notebook.cells[0].source
    assert "git+https://codeberg.org/someone/somewhere@v" in notebook.cells[1].source


FIRST_CELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
shell.system = lambda command: print(shell.var_expand(command))  # What `!` calls
{before}
shell.run_cell({source!r}).raise_error()
print(sorted(m for m in set(sys.modules) - before if "d2l" in m or "pip" in m))
"""


def run_the_first_cell(before="", **environment):
    """Run it where pip is only printed, and d2l_local is found if ``before`` makes it be."""
    source = code_cells(notebooks("mxnet")["index"])[0].source
    places = ("KAGGLE_KERNEL_RUN_TYPE", "D2L_SOURCE", "PYTHONPATH")
    outer = {key: value for key, value in os.environ.items() if key not in places}
    return subprocess.run(
        [sys.executable, "-c", FIRST_CELL.format(source=source, before=before)],
        env={**outer, **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_at_home_the_cell_does_nothing():
    """Not even import d2l_local: in a Python that could install nothing it still works."""
    assert run_the_first_cell().stdout == "[]\n"


COLAB_IS_HERE = "sys.modules['google.colab'] = sys"
INSTALLED = "import types; d = sys.modules['d2l_local'] = types.ModuleType('d2l_local')\n"
INSTALLED += "d.colab = types.SimpleNamespace(set_up=lambda framework: print('for', framework))"


@pytest.mark.parametrize(
    ("before", "environment", "installs"),
    [
        (COLAB_IS_HERE, {}, f"git+{CHAPTER.source}"),
        ("", {"KAGGLE_KERNEL_RUN_TYPE": "Interactive"}, f"git+{CHAPTER.source}"),
        ("", {"KAGGLE_KERNEL_RUN_TYPE": "Batch"}, f"git+{CHAPTER.source}"),
        ("", {"D2L_SOURCE": "git+https://gitee.com/a/b"}, "git+https://gitee.com/a/b"),
        (COLAB_IS_HERE, {"D2L_SOURCE": "./a.whl"}, "./a.whl"),
    ],
)
def test_where_the_cell_installs_and_from_where(before, environment, installs):
    done = run_the_first_cell(f"{before}\n{INSTALLED}", **environment)
    lines = done.stdout.splitlines()
    assert lines[0] == f"{sys.executable} -m pip install -q --no-deps {installs}", done.stderr
    assert lines[1] == "for mxnet"


def test_without_the_network_the_cell_s_error_says_where_kaggle_switches_it_on():
    done = run_the_first_cell(
        "sys.modules['d2l_local'] = None", KAGGLE_KERNEL_RUN_TYPE="Interactive"
    )
    assert done.returncode
    shown = done.stdout + done.stderr
    assert "ModuleNotFoundError" in shown
    assert "is Internet on in the settings?" in shown


def test_set_up_needs_nothing_that_it_installs():
    names = {r.name.replace("-", "_") for r in colab.requirements("d2l-local", "mxnet")}
    absent = names - {"packaging", "psutil", "ipython"}  # Which every kernel has
    script = f"import sys\nsys.modules.update(dict.fromkeys({absent}))\nimport d2l_local.colab"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, timeout=60, check=True)


def test_the_address_of_the_repository_stands_in_few_places():
    """pyproject.toml, and from there in what is generated; and where a reader clones it."""
    found = subprocess.run(
        ["git", "grep", "--files-with-matches", "--fixed-strings", CHAPTER.repository],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    readmes = {path.name for path in ROOT.glob("README*.md")}
    named = {file for file in found if not file.endswith(".ipynb")}
    assert named == {"pyproject.toml", *readmes}
    for readme in readmes:
        assert f"git clone {CHAPTER.repository}\n" in (ROOT / readme).read_text("utf-8")


# ---- What it decides -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("framework", "gpus", "extra", "why"),
    [
        ("mxnet", [], "mxnet", "there is no NVIDIA GPU"),
        ("mxnet", [T4], "cu112", "for gpu(0) Tesla T4, compute capability 7.5"),
        (  # Kaggle's
            "mxnet",
            [T4, SECOND_T4],
            "cu112",
            "for gpu(0) Tesla T4, compute capability 7.5 and gpu(1) Tesla T4, compute",
        ),
        ("mxnet", [A100], "cu112", "for gpu(0) NVIDIA A100"),
        ("mxnet", [L4], "cu112", "for gpu(0) NVIDIA L4"),
        ("mxnet", [H100], "mxnet", "MXNet has no code for gpu(0) NVIDIA H100"),
        ("mxnet", [K80], "mxnet", "MXNet has no code for gpu(0) Tesla K80"),
        ("mxnet", [H100, T4], "cu112", "Tesla T4"),
        ("pytorch", [], "pytorch", "itself"),
        ("pytorch", [T4, SECOND_T4], "pytorch", "itself"),
    ],
)
def test_choice_of_the_build(framework, gpus, extra, why):
    chosen, reason = colab.choose(framework, gpus)
    assert chosen == extra
    assert why in reason


def test_unknown_framework():
    with pytest.raises(ValueError, match="one of mxnet, pytorch, not 'tensorflow'"):
        colab.set_up("tensorflow")


class Pip:
    """Stands for pip and the installed packages: remembers what it was asked to install."""

    def __init__(self, monkeypatch, installed, gpus=()):
        self.installed, self.calls = set(installed), []
        monkeypatch.setattr(colab, "_pip", self)
        monkeypatch.setattr(colab, "installed_gpus", lambda: tuple(gpus))
        monkeypatch.setattr(colab, "_installed", self.installed.__contains__)
        monkeypatch.setattr(colab, "requirements", self.requirements)

    DECLARED = {
        "d2l": ["numpy==1.23.5", "pandas==2.0.3", "jupyter==1.0.0", "requests==2.31.0"],
        "mxnet": ["numpy<2.0.0,>1.16.0", "graphviz<0.9.0,>=0.8.1"],
        "mxnet-cu112": ["numpy<2.0.0,>1.16.0", "graphviz<0.9.0,>=0.8.1"],
    }

    def requirements(self, distribution, extra=""):
        if distribution == "d2l-local":
            return REQUIREMENTS(distribution, extra)
        return [Requirement(text) for text in self.DECLARED[distribution]]

    def __call__(self, *arguments):
        packages = [a for a in arguments if not a.startswith("--")]
        self.calls.append(([a for a in arguments if a.startswith("--")], packages))
        if not any(a.startswith("--target") for a in arguments):
            self.installed |= {Requirement(package).name for package in packages}


REQUIREMENTS = colab.requirements
COLABS = {"numpy", "pandas", "matplotlib", "matplotlib-inline", "ipython", "packaging", "psutil"}
COLABS |= {"scikit-learn", "scipy", "requests", "torch"}


def test_without_a_gpu(monkeypatch, capsys):
    pip = Pip(monkeypatch, COLABS)
    colab.set_up("mxnet")
    (alone, wheels), (options, others) = pip.calls
    assert alone == ["--no-deps"] and sorted(wheels) == ["d2l==1.0.3", "mxnet==1.9.1"]
    assert any(option.startswith("--constraint=") for option in options)
    # What d2l_local, d2l and mxnet ask for and is not there; d2l's and mxnet's old pins don't count
    assert sorted(others) == ["graphviz"]
    assert "no NVIDIA GPU" in capsys.readouterr().out
    colab.set_up("mxnet")
    assert len(pip.calls) == 2  # Nothing left to do


def test_with_a_gpu_that_mxnet_knows(monkeypatch):
    pip = Pip(monkeypatch, COLABS, [T4])
    colab.set_up("mxnet")
    (folder, libraries), (alone, wheels), _ = pip.calls
    assert f"--target={CUDA_FOLDER}" in folder and "--no-deps" in folder
    assert sorted(Requirement(library).name for library in libraries) == sorted(
        {package.split("<")[0] for _, package in CUDA_LIBRARIES}
    )
    assert alone == ["--no-deps"] and sorted(wheels) == ["d2l==1.0.3", "mxnet-cu112==1.9.1"]


def test_for_pytorch_no_mxnet(monkeypatch):
    pip = Pip(monkeypatch, COLABS - {"psutil"}, [T4])
    colab.set_up("pytorch")
    (alone, wheels), (_, others) = pip.calls
    assert (alone, wheels) == (["--no-deps"], ["d2l==1.0.3"])
    assert "psutil>=5.9" in others
    assert not {"mxnet", "graphviz", "torch", "jupyter", "uv"} & set(others)


def test_what_d2l_local_asks_for_is_free_of_markers():
    """Pip would take `sympy; extra == "pytorch"` for nothing to do."""
    names = {r.name for r in colab.requirements("d2l-local", "pytorch")}
    assert {"sympy", "d2l", "numpy"} <= names and not {"mxnet", "pytest"} & names
    assert all(";" not in str(r) for r in colab.requirements("d2l-local", "pytorch"))


@pytest.fixture
def python(monkeypatch, tmp_path):
    """Return a function that puts a shell script in the place of Python."""

    def write(script):
        file = tmp_path / "python"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setattr(colab, "sys", SimpleNamespace(executable=str(file)))

    return write


def test_a_failure_of_pip_says_what_to_do(python):
    python('echo "ERROR: cannot install $*" >&2; exit 1')
    with pytest.raises(RuntimeError) as error:
        colab._pip("--no-deps", "mxnet==1.9.1")
    message = str(error.value)
    assert "mxnet==1.9.1" in message and "ERROR: cannot install" in message
    assert "Run this cell again" in message and "on Kaggle, switch Internet on" in message


# ---- The whole try -------------------------------------------------------------------------------

# What Colab starts instead of ipykernel_launcher, so that google.colab is there from the beginning.
COLABS_LAUNCHER = """\
import google.colab
from ipykernel import kernelapp
kernelapp.launch_new_instance()
"""


@dataclass
class Place:
    """How a notebook's kernel can tell where it is, and the Python that it has there."""

    name: str
    python: str
    launcher: str = "ipykernel_launcher"
    environment: dict[str, str] = field(default_factory=dict)


PLACES = (
    Place("colab", "3.12", launcher="colab_kernel_launcher"),
    Place("kaggle", "3.11", environment={"KAGGLE_KERNEL_RUN_TYPE": "Interactive"}),
)


class Machine:
    """A virtual environment with Colab's kind of packages, and a checkout to install from."""

    def __init__(self, place: Place, folder: Path, *packages: str):
        self.place, self.folder, self.python = place, folder, folder / "venv/bin/python"
        make = [uv.found() or "uv", "venv", "--seed", "--no-project", "--no-python-downloads"]
        # pyenv's Pythons before its shims, which answer for the chosen one alone.
        pythons = [*map(str, Path.home().glob(".pyenv/versions/3*/bin")), os.environ["PATH"]]
        path = {**os.environ, "PATH": os.pathsep.join(pythons)}
        if subprocess.run([*make, "--python", place.python, folder / "venv"], env=path).returncode:
            pytest.skip(f"there is no Python {place.python} here")
        self.pip("install", "--quiet", "--upgrade", "pip")
        self.pip("install", "--quiet", *packages)
        self.site = next((folder / "venv/lib").glob("python*/site-packages"))
        if place.launcher == "colab_kernel_launcher":
            (self.site / "google/colab").mkdir(parents=True)
            (self.site / "google/colab/__init__.py").touch()
            (self.site / f"{place.launcher}.py").write_text(COLABS_LAUNCHER)
        checkout = folder / "checkout"
        for directory in ("d2l_local", "chapters", "img", "docs"):
            shutil.copytree(ROOT / directory, checkout / directory)
        for file in ("pyproject.toml", "LICENSE"):
            shutil.copy(ROOT / file, checkout)
        git = ["git", "-C", checkout, "-c", "user.name=d2l", "-c", "user.email=d2l@localhost"]
        release = ["tag", CHAPTER.source.rpartition("@")[2]]  # Which the first cell installs
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "All"], release):
            subprocess.run([*git, *command], check=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in NOTHING_SET},
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.file://{checkout}.insteadOf",
            "GIT_CONFIG_VALUE_0": CHAPTER.repository,
            "IPYTHONDIR": str(folder / "ipython"),
            "VIRTUAL_ENV": str(folder / "venv"),
            **place.environment,
        }

    def pip(self, *arguments) -> list[str]:
        done = subprocess.run(
            [self.python, "-m", "pip", *arguments], stdout=subprocess.PIPE, text=True
        )
        assert done.returncode == 0 or "check" in arguments
        return done.stdout.splitlines()

    def files(self) -> dict[Path, tuple[int, int]]:
        """Size and date of every file of the packages, byte code left out."""
        files = (path for path in self.site.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}

    def execute(self, notebook) -> float:
        """Execute a notebook in one kernel; return the seconds that its first cell took."""
        client = NotebookClient(notebook, timeout=600, shutdown_kernel="immediate")
        kernel = client.create_kernel_manager()
        launcher = ["-m", self.place.launcher, "-f", "{connection_file}"]
        kernel.kernel_spec.argv = [str(self.python), *launcher]
        with client.setup_kernel(env=self.environment, cwd=str(self.folder)):
            started, seconds = time.monotonic(), None
            for number, cell in enumerate(notebook.cells):
                client.execute_cell(cell, number)
                if cell.id == "setup":
                    seconds = time.monotonic() - started
        return seconds


@pytest.fixture(scope="module", params=PLACES, ids=lambda place: place.name)
def machine(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param.name)
    packages = ("numpy", "pandas", "matplotlib", "ipykernel", "torch")
    machine = Machine(request.param, folder, *packages)
    machine.before = machine.files(), machine.pip("freeze"), machine.pip("check")
    return machine


# PyTorch's first: they add no MXNet.
NOTEBOOKS = [
    (framework, section.name)
    for framework in sorted(CHAPTER.frameworks, reverse=True)
    for section in CHAPTER.sections()
    if framework in section.frameworks and list(section.code())
]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("framework", "name"), NOTEBOOKS)
def test_a_notebook_runs_there(machine, framework, name):
    seconds = machine.execute(notebooks(framework)[name])
    print(f"{machine.place.name}, {framework}/{name}: set-up {seconds:.0f} s", flush=True)
    assert (machine.site / "mxnet").exists() == (framework == "mxnet")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_nothing_that_was_there_has_changed(machine):
    files, freeze, check = machine.before
    after, frozen = machine.files(), machine.pip("freeze")
    assert {path: after.get(path) for path in files} == files
    assert set(freeze) < set(frozen)
    added = {re.split(" @ |==", line)[0] for line in set(frozen) - set(freeze)}
    # What was there is content; d2l and mxnet miss the old versions that they ask for.
    complaints = set(machine.pip("check")) - set(check)
    assert {complaint.split()[0] for complaint in complaints} <= added, complaints
