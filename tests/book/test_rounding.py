"""Outputs that are compared with the committed ones print no digits that processors disagree on."""

from __future__ import annotations

import re
from pathlib import Path

from book.builder.notebook import code_cells, measures

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
# NumPy's and MXNet's float32 with all its digits: sums in another order differ in the last.
ALL_DIGITS = re.compile(r"[\[ ]-?\d\.\d{7,}\b(?! sec)")


def printed(cell) -> str:
    return "".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "chapters").glob("*/*/*.ipynb")), ids=lambda p: "/".join(p.parts[-3:])
)
def test_what_is_compared_is_rounded(path):
    cells = [cell for cell in code_cells(nbformat.read(path, 4)) if not measures(cell)]
    found = {cell.id: ALL_DIGITS.findall(printed(cell)) for cell in cells}
    assert {name: digits for name, digits in found.items() if digits} == {}, "print it rounded"


def test_all_digits_are_known():
    assert ALL_DIGITS.search("[-0.6834599   0.0966 ]") and not ALL_DIGITS.search("[-0.6835 0.0966]")
    assert not ALL_DIGITS.search("took 0.12345678 sec")
