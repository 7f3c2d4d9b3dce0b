"""The frameworks of the book, as `frameworks.ini` lists them.

Nothing is imported but the standard library, and the file compiles on old Pythons, since the
Makefile asks it before anything is installed:

    python -m d2l_local.base.frameworks pytorch tests
"""

from __future__ import annotations

import configparser
import functools
import json
import sys
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("frameworks.ini")


@dataclass(frozen=True)
class Framework:
    """A row of the table; what the fields mean stands at its top."""

    name: str
    title: str
    module: str
    distributions: tuple[str, ...]
    extra: str
    pythons: tuple[str, ...]
    lock: tuple[str, ...]
    tests: str
    bench: str
    color: str
    memory: str = ""
    unlocked: str = ""
    systems: tuple[str, ...] = ()
    disk: str = ""

    @property
    def venv(self) -> str:
        """The folder of its virtual environment, which `make setup` makes."""
        return ".venv" if self.name == default() else f".venv-{self.name}"

    @property
    def requires_python(self) -> str:
        """Its Pythons as pip and uv write them: ``>=3.9,<3.14``."""
        oldest, newest = self.pythons
        major, minor = newest.split(".")
        return f">={oldest},<{major}.{int(minor) + 1}"

    @property
    def each_python(self) -> list[str]:
        """All Pythons that it runs on."""
        (major, first), (_, last) = (python.split(".") for python in self.pythons)
        return [f"{major}.{minor}" for minor in range(int(first), int(last) + 1)]

    @property
    def runs_here(self) -> bool:
        """Whether it has a build for this operating system."""
        return not self.systems or sys.platform in self.systems


_LISTS = ("distributions", "pythons", "lock", "systems")


@functools.lru_cache
def load(table: Path = TABLE) -> dict[str, Framework]:
    """Return the frameworks by name, in the order of the table.

    Raises ValueError, naming file, framework and field, where the table lacks or misspells one.
    """
    parser = configparser.ConfigParser(interpolation=None)
    with open(table, encoding="utf-8") as file:
        parser.read_file(file)
    known = {f.name: f.default is MISSING for f in fields(Framework) if f.name != "name"}
    found = {}
    for name in parser.sections():
        row = dict(parser[name])
        unknown = sorted(set(row) - set(known))
        missing = [name for name, needed in known.items() if needed and name not in row]
        if unknown or missing or len(row.get("pythons", "").split()) != 2:
            raise ValueError(
                f"{table}, [{name}]: unknown fields: {', '.join(unknown) or 'none'}; missing: "
                f"{', '.join(missing) or 'none'}; pythons are two, oldest and newest"
            )
        values: dict[str, Any] = {**row, **{key: tuple(row.get(key, "").split()) for key in _LISTS}}
        found[name] = Framework(name, **values)
    return found


def default() -> str:
    """The framework that is meant where none is named: the table's first."""
    return next(iter(load()))


def fitting() -> str:
    """The first of the table that has a build for this operating system."""
    return next(name for name, row in load().items() if row.runs_here)


def main(arguments: list[str]) -> int:
    """Print the names of all frameworks, or one field of one of them, for the Makefile.

    Or ``matrix``, for GitHub Actions: what there is to test, as JSON.
    """
    table = load()
    if not arguments:
        print(*table)
        return 0
    if arguments == ["matrix"]:
        tests = [{"framework": f.name, "python": p} for f in table.values() for p in f.each_python]
        print(f"frameworks={json.dumps([*table])}", f"tests={json.dumps(tests)}", sep="\n")
        return 0
    name, field = arguments
    if name not in table:
        print(f"there is no framework {name}; there is {', '.join(table)}", file=sys.stderr)
        return 1
    value = getattr(table[name], field)
    print(" ".join(value) if isinstance(value, tuple) else value)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
