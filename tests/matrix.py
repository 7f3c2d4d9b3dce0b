"""Test the package on every Python that MXNet runs on, with the oldest and the newest NumPy there.

``make test-matrix`` tests on those Pythons that this machine has and prints a Markdown table.
Choose with ``make test-matrix OPTIONS="--python 3.12 -k numpy_view"``: what is no option of this
program goes to pytest. The environments stay in ``build/matrix``, beside the report of the last
run in each.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from d2l_local.base import processes
from d2l_local.install import uv as machine_uv

from settings import NOTHING_SET

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
BUILD = ROOT / "build" / "matrix"
PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")
MXNET = "1.9.1"
MXNET_TESTS = TESTS / "unit", TESTS / "backend", TESTS / "process"
SECONDS = 7200  # The most that one row's tests may take

# d2l pins versions of 2023 and MXNet asks for NumPy 1.x. Neither needs it, so their requirements go
# without bounds here. (Overrides, as in pyproject.toml, would hide the bounds of others, too.)
UV_SETTINGS = """
[[dependency-metadata]]
name = "d2l"
requires-dist = [
    "jupyter", "matplotlib", "matplotlib-inline", "numpy", "pandas", "requests", "scipy"
]

[[dependency-metadata]]
name = "mxnet"
requires-dist = ["graphviz", "numpy", "requests"]
"""

HEAD = ("Python", "NumPy", "MXNet", "passed", "failed", "skipped", "seconds")


@dataclass
class Outcome:
    """What came of the tests in one environment; ``failures`` holds a line for each that failed."""

    passed: int
    skipped: int
    seconds: float
    failures: list[str]


def uv(*arguments: object, text: str = "") -> str:
    """What uv prints; with pyenv's Pythons before its shims, which answer for the chosen one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    path = [*map(str, pyenv.glob("versions/3*/bin")), os.environ["PATH"]]
    settings = BUILD / "uv.toml"
    BUILD.mkdir(parents=True, exist_ok=True)
    settings.write_text(UV_SETTINGS)
    done = subprocess.run(
        [machine_uv.found() or "uv", "--config-file", str(settings), *map(str, arguments)],
        env={**os.environ, **machine_uv.settings(), "PATH": os.pathsep.join(path)},
        input=text,
        text=True,
        capture_output=True,
    )
    if done.returncode:
        raise RuntimeError(f"uv {' '.join(map(str, arguments[:2]))} failed:\n{done.stderr.strip()}")
    return done.stdout.strip()


def find_python(version: str) -> str | None:
    """The interpreter of a version that this machine has, or None."""
    try:
        return uv("python", "find", "--no-project", "--system", "--no-python-downloads", version)
    except RuntimeError as error:
        if "No interpreter found" not in str(error):
            raise
        return None


def python_version(python: str) -> str:
    """An interpreter's version, such as 3.12.1."""
    return subprocess.check_output([python, "-V"], text=True).split()[1]


def find_numpy(python: str, resolution: str) -> str:
    """The ``lowest`` or ``highest`` NumPy, from 1.22, that has a wheel for an interpreter."""
    options = ("--no-header", "--no-annotate", "--only-binary", "numpy", "--python", python)
    found = uv("pip", "compile", *options, "--resolution", resolution, "-", text="numpy>=1.22")
    return found.split("==")[1]


def make_environment(folder: Path, python: str, numpy: str, mxnet: str, wheel: Path) -> Path:
    """Bring an environment up to date; return its interpreter."""
    if not (folder / "bin/python").exists():
        uv("venv", "--clear", "--python", python, folder)
    pins = folder / "pins.txt"
    pins.write_text(f"numpy=={numpy}\n")
    installed = ("--python", folder, "--constraint", pins, "--reinstall-package", "d2l-local")
    packages = (f"{wheel}[dev]", "d2l==1.0.3", f"mxnet=={mxnet}")
    uv("pip", "install", "--only-binary", ":all:", *installed, *packages)
    return folder / "bin/python"


def run_tests(python: Path, report: Path, options: list[str]) -> Outcome:
    """Run pytest with an interpreter; its report tells more than its exit code."""
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}", *options]
    start, problem = time.monotonic(), ""
    try:
        processes.run([*map(str, command)], SECONDS, "pytest", **NOTHING_SET)
    except (RuntimeError, TimeoutError) as error:
        problem = str(error)
    seconds = time.monotonic() - start
    if not report.exists():
        return Outcome(0, 0, seconds, [problem or "pytest wrote no report"])
    cases = list(ElementTree.parse(report).iter("testcase"))
    skipped = sum(case.find("skipped") is not None for case in cases)
    failures = [line for case in cases for line in describe_failure(case)]
    if problem and not failures and "exit code 5" not in problem:  # 5: no test was selected
        failures = [problem]
    return Outcome(len(cases) - skipped - len(failures), skipped, seconds, failures)


def describe_failure(case: ElementTree.Element) -> list[str]:
    """The test and the first line of its error, if the test failed."""
    for kind in ("failure", "error"):
        if (bad := case.find(kind)) is not None:
            reason = (bad.get("message") or "").partition("\n")[0]
            return [f"{case.get('classname')}::{case.get('name')}: {reason[:200]}"]
    return []


def environments(versions: list[str]) -> Iterator[tuple[str, str, str, list[str]]]:
    """Interpreter, NumPy, MXNet and the tests for each row; says which Pythons are not here."""
    tests = [*map(str, MXNET_TESTS)]
    for version in versions:
        if (python := find_python(version)) is None:
            print(f"Python {version} is not on this machine", file=sys.stderr)
            continue
        oldest, newest = (find_numpy(python, which) for which in ("lowest", "highest"))
        yield python, oldest, MXNET, tests
        yield python, newest, MXNET, tests


def row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(f"{cell!s:<7}" for cell in cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", choices=PYTHONS, nargs="*", default=PYTHONS)
    choice, options = parser.parse_known_args()
    shutil.rmtree(BUILD / "wheel", ignore_errors=True)
    uv("build", "--wheel", "--out-dir", BUILD / "wheel", ROOT)
    [wheel] = (BUILD / "wheel").glob("*.whl")
    # In the root `python -m pytest` would find the checkout's d2l_local, not the wheel's.
    os.chdir(TESTS)
    print(row(HEAD), row(["---"] * len(HEAD)), sep="\n", flush=True)
    failures = []
    for python, numpy, mxnet, tests in environments(choice.python):
        version = python_version(python)
        name = f"{version}-numpy{numpy}-mxnet{mxnet}"
        interpreter = make_environment(BUILD / name, python, numpy, mxnet, wheel)
        outcome = run_tests(interpreter, BUILD / f"{name}.xml", [*tests, *options])
        counts = outcome.passed, len(outcome.failures), outcome.skipped, round(outcome.seconds)
        print(row((version, numpy, mxnet, *counts)), flush=True)
        failures += [
            f"Python {version}, NumPy {numpy}, MXNet {mxnet}: {f}" for f in outcome.failures
        ]
    if failures:
        sys.exit("\n".join(["", *failures, f"The reports are in {BUILD}."]))


if __name__ == "__main__":
    main()
