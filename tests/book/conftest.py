"""Fixtures of tests that build small chapters."""

from __future__ import annotations

from book.builder import build

import pytest


class QuietWitness:
    """Sees a machine that does nothing else, unlike that of the tests."""

    record = {"share": 0.0, "copy": [9.0, 9.0], "product": [90, 90]}

    def begin(self):
        pass

    def saw(self, cell):
        pass

    end = after = begin


@pytest.fixture(autouse=True, scope="session")
def quiet():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "Witness", QuietWitness)
        yield
