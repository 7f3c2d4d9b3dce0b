"""What pyproject.toml pins is what conda's files, the lock files and the error messages name."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.install import builds, installed

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
# Each of conda's files and the extra with MXNet's build for it.
FILES = {"environment.yml": "cu112", "environment-cpu.yml": "mxnet"}
# Each lock file and the extras that it is compiled from.
LOCKS = {f"{name}.txt": row.lock for name, row in frameworks.load().items()}


def requirements(*extras: str) -> dict[str, Requirement]:
    """What pyproject.toml asks for, with extras, by name."""
    lines = sum((EXTRAS[extra] for extra in extras), PYPROJECT["project"]["dependencies"])
    return by_name(lines)


def by_name(lines: list[str]) -> dict[str, Requirement]:
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def environment(file: str) -> dict:
    return yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))


def pip_part(file: str) -> list[str]:
    [part] = [part["pip"] for part in environment(file)["dependencies"] if isinstance(part, dict)]
    return part


# --- conda ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES)
def test_conda_takes_its_pins_from_pyproject(file):
    *named, editable = pip_part(file)
    listed, asked = by_name(named), requirements(FILES[file], "dev")
    [python] = [part for part in environment(file)["dependencies"] if "python=" in part]
    its = {"python_version": python.partition("=")[2]}
    assert its["python_version"] in SpecifierSet(PYPROJECT["project"]["requires-python"])
    for name, requirement in listed.items():
        marker = asked[name].marker
        assert requirement.specifier == asked[name].specifier, name
        assert marker is None or marker.evaluate(its), name
    assert {"d2l", "jupyter", "matplotlib", "nbval"} <= set(listed)
    # All of MXNet's build, so none is left to a guess, and nothing of the other one.
    assert set(by_name(EXTRAS[FILES[file]])) <= set(listed)
    others = {extra for extra in FILES.values() if extra != FILES[file]}
    assert not set(listed) & {name for extra in others for name in by_name(EXTRAS[extra])}
    assert editable == "--editable .[dev]"  # MXNet's build is listed


@pytest.mark.parametrize("file", FILES)
def test_the_commands_for_conda_name_files_and_environments_that_exist(file):
    text, name = (ROOT / file).read_text(encoding="utf-8"), environment(file)["name"]
    assert f"#   conda env create --file {file}\n#   conda activate {name}\n" in text


# --- The GPU build --------------------------------------------------------------------------------


@pytest.mark.parametrize("build", builds.BUILDS)
def test_the_commands_of_the_package_install_what_pyproject_pins(build):
    named, pinned = by_name(builds.BUILDS[build]), by_name(EXTRAS[build])
    assert set(named) == set(pinned)
    for name, requirement in named.items():
        [pin] = pinned[name].specifier
        assert pin.version in requirement.specifier
    assert [r for r in named.values() if r.name in builds.WHEELS and len(r.specifier) == 1]


def test_the_package_names_d2l_as_pyproject_does():
    [pin] = requirements()["d2l"].specifier
    assert f"d2l{pin}" == builds.D2L


def test_the_two_builds_exclude_each_other():
    """They hold the same files, so nobody may come to both by installing the package."""
    assert not set(builds.WHEELS) & set(requirements("dev"))
    assert "mxnet-cu112" not in requirements("mxnet", "dev")
    assert "mxnet" not in requirements("cu112", "dev")


# --- Lock files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_file_holds_what_pyproject_asks_for(lock):
    asked = requirements(*LOCKS[lock])
    overrides = by_name(PYPROJECT["tool"]["uv"]["override-dependencies"])
    lines = (ROOT / "requirements" / lock).read_text().splitlines()
    # One line a version, which differs between versions of Python.
    locked = [Requirement(line.rstrip(" \\")) for line in lines if re.match("[a-z0-9]", line)]
    for name, requirement in asked.items():
        specifier = overrides.get(name, requirement).specifier
        pins = [pin for r in locked if r.name == name for pin in r.specifier]
        assert pins, f"{lock} lacks {requirement}: make lock"
        for pin in pins:
            assert pin.operator == "==" and pin.version in specifier, (requirement, pin)


def test_only_the_builds_of_frameworks_are_installed_without_hashes():
    for row in frameworks.load().values():
        lines = (ROOT / row.unlocked).read_text().splitlines() if row.unlocked else []
        pins = by_name([line for line in lines if not line.startswith("#")])
        assert set(pins) <= set(row.distributions)
        assert all(pin.operator == "==" for r in pins.values() for [pin] in [r.specifier])


def test_get_adds_the_build_of_pytorch_that_set_up_installs():
    """It is not left to pip, because for Linux it takes gigabytes of CUDA."""
    lines = (ROOT / frameworks.load()["pytorch"].unlocked).read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [installed.TORCH]
    assert "torch" not in requirements("pytorch", "dev") and "uv" in requirements("pytorch")
