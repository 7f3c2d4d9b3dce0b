"""Arrays that devices hold, counted."""

from __future__ import annotations

from d2l_local.measure.held import Held

import numpy as np
import pytest


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
