"""Cells that assert a lesson fail where the lesson is false.

``tests/negations`` has a table for each section, whose rows plant false measurements.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from d2l_local.base import frameworks

import pytest
from negation import Negation, notices

TABLES = Path(__file__).resolve().parents[1] / "negations"


def rows() -> Iterator:
    """Each row of each table, for each of its frameworks: framework, section, row."""
    for path in sorted(TABLES.glob("*.py")):
        table: tuple[Negation, ...] = importlib.import_module(f"negations.{path.stem}").NEGATIONS
        for negation in table:
            for framework in negation.framework.split():
                yield described(framework, path.stem.replace("_", "-"), negation)


def described(framework: str, section: str, negation: Negation):
    missing = importlib.util.find_spec(frameworks.load()[framework].module) is None
    marks = [pytest.mark.skip(reason=f"needs {framework}")] if missing else []
    name = f"{framework}/{section}/{negation.cell}: {negation.why}"
    return pytest.param(framework, section, negation, id=name, marks=marks)


@pytest.mark.parametrize(("framework", "section", "negation"), list(rows()))
def test_a_cell_notices_that_its_lesson_is_false(framework, section, negation):
    assert notices(framework, section, negation), f"{negation.cell} holds although {negation.why}"
