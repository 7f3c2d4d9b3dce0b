"""What is installed in this Python. Nothing here installs, and no other package is needed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterator

from d2l_local.base import frameworks
from d2l_local.install import uv
from d2l_local.install.builds import BUILDS, D2L, installed_builds

ROOT = uv.ROOT
FOLDER = "computational-performance"  # Where `get` puts the book, if no other is named
# The environments that set-up makes.
VENVS = {name: ROOT / framework.venv for name, framework in frameworks.load().items()}
TORCH = "torch==2.13.0"


def version(distribution: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def title(library: str) -> str:
    """What readers call a library that Python imports by this name."""
    titles = {row.module: row.title for row in frameworks.load().values()}
    return {**titles, "numpy": "NumPy"}.get(library, library)


def framework() -> str:
    """The framework that this Python has; with none or several, the table's first of them."""
    table = frameworks.load()
    has = (name for name, row in table.items() if any(map(version, row.distributions)))
    return next(has, frameworks.fitting())


def checkout() -> bool:
    """Whether this package is imported from the repository rather than from site-packages."""
    return (ROOT / "Makefile").is_file() and (ROOT / "environment.yml").is_file()


def has_jupyterlab() -> bool:
    """Whether this Python can open notebooks."""
    return importlib.util.find_spec("jupyterlab") is not None


def lacking(framework: str) -> list[str]:
    """What pip could not install with this package, for what it asks for (see pyproject.toml)."""
    wanted = [D2L]
    if framework == "mxnet" and not installed_builds():
        wanted += [*BUILDS["mxnet"], "graphviz"]
    return [package for package in wanted if not version(package.partition("==")[0])]


def of_other_versions(framework: str) -> Iterator[tuple[str, str]]:
    """Distributions whose version is not the one that the chapter is for, and what that is."""
    pins = [D2L]
    if framework == "mxnet":
        pins += [build[0] for build in BUILDS.values()]
    for pin in pins:
        name, _, wanted = pin.partition("==")
        if (found := version(name)) and found != wanted:
            yield f"{name} {found}", pin
