"""A plugin for pytest where an emulated processor takes many times as long (`tests/arm64.py`).

Limits of time are far away, and no clock is a judge: measured claims of notebooks that fail are
skipped, and said. What is no measurement is judged as everywhere.
"""

from __future__ import annotations

from book.nbval import claim_failed
from d2l_local.base import processes

import pytest

SLOWER = 20

_run = processes.run
processes.run = lambda command, seconds, *args, **kwargs: _run(
    command, SLOWER * seconds, *args, **kwargs
)


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.timeout(0), append=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except Exception:
        if not claim_failed(item):
            raise
    pytest.skip("what it claims of measurements does not hold under emulation")
