"""Fixtures of tests that build small chapters."""

from __future__ import annotations

from book.builder import build

import pytest


class QuietMachine:
    """Sees a machine that does nothing else, unlike that of the tests."""

    record = {"share": 0.0, "copy": [9.0, 9.0], "product": [90, 90]}

    def start(self):
        pass

    def after_cell(self, cell):
        pass

    stop = finish = start


@pytest.fixture(autouse=True, scope="session")
def quiet():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BenchmarkGuard", QuietMachine)
        yield
