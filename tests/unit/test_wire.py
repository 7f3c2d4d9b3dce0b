"""A wire that only takes its time: one message after the other, on record, for whoever waits."""

from __future__ import annotations

import time

from d2l_local.measure.timeline import Timeline, on_record
from d2l_local.simulate.wire import Wire

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
        arrivals = [wire.send(5_000, f"part {i}") for i in range(3)]
        assert arrivals[-1]() > 0  # So sending them took less time than they do
    spans = timeline.lanes["wire"]
    assert [span.name for span in spans] == [f"copy of part {i}" for i in range(3)]
    assert all(span.is_copy for span in spans)
    assert all(span.end - span.start == pytest.approx(wire.seconds(5_000)) for span in spans)
    assert all(before.end <= after.start for before, after in zip(spans, spans[1:]))
    assert arrivals[0]() == wire.wait() == 0  # All have arrived
    start = time.time()
    wire.send(5_000)()
    assert time.time() - start > wire.seconds(5_000) / 2  # Whoever waits does, by any clock


@pytest.mark.parametrize(
    "arguments", [(0,), (-1,), (float("nan"),), ("fast",), (10**400,), (1e6, -1e-3)]
)
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
