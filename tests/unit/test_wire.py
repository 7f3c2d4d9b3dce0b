"""A wire that only takes its time: one message after the other, on record, for whoever waits."""

from __future__ import annotations

import time

from d2l_local.measure.timeline import Timeline, on_record
from d2l_local.measure.wire import Wire

import pytest


class MadeUp(Timeline):
    """Records what programs add of themselves, without a profiler."""

    def _start(self):
        pass

    def _wait(self):
        pass

    def _stop(self):
        return []


def test_messages_take_turns_and_python_goes_on():
    wire = Wire(latency=0.01, bytes_per_second=1e6)
    with MadeUp() as timeline:
        start = time.perf_counter()
        for _ in range(3):
            wire.send(5_000)
        queued = time.perf_counter() - start
        wire.wait()
    spans = timeline.lanes["wire"]
    assert queued < 0.01 and len(spans) == 3 and all(span.is_copy for span in spans)
    assert all(span.end - span.start >= 0.0149 for span in spans)
    assert all(before.end <= after.start for before, after in zip(spans, spans[1:]))
    wire.wait()  # With nothing on its way, at once


@pytest.mark.parametrize("arguments", [(0,), ("fast",), (1e6, -1e-3)])
def test_it_refuses_what_is_not_positive(arguments):
    with pytest.raises(ValueError, match="positive"):
        Wire(*arguments)


def test_nothing_is_recorded_where_no_timeline_is():
    @on_record("Python", "work")
    def work():
        return 7

    assert work() == 7
    with MadeUp() as timeline:
        assert work() == 7
    assert [span.name for span in timeline.lanes["Python"]] == ["work"]
