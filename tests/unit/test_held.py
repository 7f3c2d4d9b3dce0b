"""Arrays that devices hold, counted, and a link of which only the time is real."""

from __future__ import annotations

import time

from d2l_local.measure.held import Held
from d2l_local.measure.timeline import Timeline
from d2l_local.measure.wire import Wire

import numpy as np
import pytest


class Recording(Timeline):
    def _start(self):
        pass

    def _wait(self):
        pass

    def _stop(self):
        return []


def test_the_peak_is_that_of_the_fullest_device():
    held = Held()
    assert (held.bytes, held.peak) == (0, 0)
    held["W"] = [np.ones((2, 3)), np.ones(5)]
    held["g"] = (np.ones(1), np.ones(4))
    assert held.bytes == held.peak == 36
    held["g"] = np.ones((2, 1))  # In place of what was there
    assert (held.bytes, held.peak) == (28, 36)
    held.pop("W")
    assert (held.bytes, held.peak) == (4, 36)
    with pytest.raises(ValueError, match="3 arrays as 'm', but 2 as 'g'"):
        held["m"] = [np.ones(1)] * 3


def test_an_array_counts_once_by_whatever_name():
    held, array = Held(), np.ones(10)
    held["W"], held["gathered"] = [array], [array]
    assert held.peak == 40
    del held["W"]
    assert held.bytes == 40


def test_messages_follow_each_other():
    wire, begin = Wire(1e6), time.time()
    first, second = wire.send(20_000), wire.send(30_000)
    assert time.time() - begin < 0.05
    assert 0 < second() <= time.time() - begin
    assert time.time() - begin >= 0.05
    assert first() == 0  # Arrived before
    begin = time.time()
    wire.send(10_000)()
    assert time.time() - begin >= 0.01


def test_a_recording_shows_messages_as_copies():
    wire = Wire(1e6)
    with Recording() as timeline:
        wire.send(2000, "gather 0")
        wire.send(3000, "gather 1")()
    first, second = timeline.lanes["wire"]
    assert first.name == "copy of gather 0" and first.is_copy
    assert first.end - first.start == pytest.approx(0.002, rel=0.01)
    assert second.start == pytest.approx(first.end, abs=1e-6)


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_a_link_has_a_speed(speed):
    with pytest.raises(ValueError):
        Wire(speed)
