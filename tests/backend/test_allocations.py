"""The bytes of arrays that a function holds: their peak, and what is not counted."""

from __future__ import annotations

from d2l_local.measure import allocations
from d2l_local.measure.allocations import plot_allocations

import pytest

MB = 10**6


class Allocations(allocations.Allocations):
    """Three megabytes, then five, then one; reported out of order."""

    @staticmethod
    def _record(fn):
        return fn(), [(10.5, 5 * MB), (10.0, 3 * MB), (11.0, -7 * MB)]


def test_the_peak_is_of_sums_of_changes_in_the_order_of_time():
    recording = Allocations.of(lambda: "done")
    assert recording.samples == [(0.0, 3 * MB), (0.5, 8 * MB), (1.0, MB)]
    assert (recording.peak, recording.result) == (8 * MB, "done")


def test_nothing_allocated_is_nothing_held():
    assert allocations.Allocations().peak == 0


def test_the_plot_has_a_line_for_each_recording():
    nothing = allocations.Allocations()
    ax = plot_allocations({"a": Allocations.of(int), "b": Allocations.of(int), "none": nothing})
    assert [line.get_label() for line in ax.lines] == ["a", "b", "none"]
    assert max(ax.lines[0].get_ydata()) == 8


def test_pytorch_counts_the_arrays_that_a_function_makes():
    torch = pytest.importorskip("torch")
    from d2l_local import torch as d2l

    there_before = torch.ones((1000, 1000))

    def work():
        first = torch.ones((1000, 1000))  # 4 MB
        second = first + there_before
        d2l.synchronize()
        del first
        return second

    with pytest.raises(ZeroDivisionError):
        d2l.Allocations.of(lambda: 1 / 0)
    for _ in range(2):  # A recording leaves nothing to the next one
        recording = d2l.Allocations.of(work)
        assert 8 * MB <= recording.peak < 8.1 * MB
        del recording
