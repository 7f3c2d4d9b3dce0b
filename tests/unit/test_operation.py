"""What one operation costs, and which calls wait, with a made-up device on a made-up clock."""

from __future__ import annotations

import itertools

from d2l_local.measure import operation, timing
from d2l_local.measure.operation import OperationTimes, operation_times, waits
from d2l_local.measure.timeline import Timeline

import pytest


class Device:
    """A front end and a back end: when each has done all that it had to do, in seconds."""

    def __init__(self, t_q, t_c, t_w, queue=True):
        self.t_q, self.t_c, self.t_w, self.queue = t_q, t_c, t_w, queue
        self.now, self.idle, self.spans = 0.0, 0.0, []
        self.slower = itertools.repeat(1.0)  # By how much other programs slow down the next call

    def op(self):
        self.now += self.t_q * next(self.slower)
        start = max(self.now, self.idle)
        self.idle = start + self.t_c
        if not self.queue:
            self.now = self.idle
        self.spans.append((start, self.idle))

    def synchronize(self):
        if self.idle > self.now:
            self.now = self.idle + self.t_w

    def recorder(self, lane="cpu/0", within=()):
        device = self

        class Recorder(Timeline):
            in_calls = frozenset(within)

            def _start(self):
                device.spans.clear()

            def _wait(self):
                device.synchronize()

            def _stop(self):
                return [(lane, "op", *span) for span in device.spans]

        return Recorder


@pytest.fixture
def device(monkeypatch):
    def made(*times, **options):
        device = Device(*times, **options)
        for module in (operation, timing):
            monkeypatch.setattr(module.time, "perf_counter", lambda: device.now)
        return device

    return made


def measured(device, recorder=None, **options) -> OperationTimes:
    return operation_times(
        device.op,
        **options,
        synchronize=device.synchronize,
        recorder=recorder or device.recorder(),
    )


@pytest.mark.parametrize("t_c", [1e-6, 1e-5, 1e-3])
def test_the_three_times_of_an_operation(device, t_c):
    found = measured(device(1e-5, t_c, 5e-6), n=20, rounds=3)
    assert (found.t_q, found.t_c, found.t_w) == pytest.approx((1e-5, t_c, 5e-6))


def test_what_is_computed_in_the_call_counts_as_issuing(device):
    """Where no queue is, or where the lane is one of Python's own calls."""
    plain = device(1e-5, 4e-5, 0, queue=False)
    found = measured(plain, plain.recorder("cpu/0", {"cpu/0"}), n=20, rounds=3)
    assert (found.t_q, found.t_c, found.t_w) == pytest.approx((5e-5, 0, 0))
    naive = measured(device(1e-5, 4e-5, 0, queue=False), n=20, rounds=3)
    assert naive.t_q > naive.t_c


def test_disturbances_do_not_count(device):
    disturbed = device(1e-5, 1e-6, 0)
    # Every other round takes nine times as long
    disturbed.slower = itertools.chain.from_iterable(
        itertools.repeat(1.0 + 8 * (i % 2), 21 + 21 + 20) for i in itertools.count()
    )
    assert measured(disturbed, n=20, rounds=10).t_q == pytest.approx(1e-5)


def test_an_operation_of_several_kernels_is_their_sum(device):
    two = device(1e-5, 1e-4, 0)
    base = two.recorder()

    class Halves(base):
        def _stop(self):
            for lane, name, start, end in super()._stop():
                middle = (start + end) / 2
                yield from ((lane, name, start, middle), (lane, name, middle, end))

    assert measured(two, Halves, n=10, rounds=2).t_c == pytest.approx(1e-4)


def test_what_the_operation_raises_is_raised(device):
    broken = device(1e-5, 1e-5, 0)
    broken.op = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        measured(broken, n=2, rounds=1)


def test_only_calls_that_need_the_job_wait(device):
    slow = device(1e-5, 1.0, 1e-5)

    def job():
        slow.op()
        return "y"

    asked = []
    assert waits(lambda y: slow.synchronize(), job, synchronize=slow.synchronize)
    assert not waits(asked.append, job, synchronize=slow.synchronize)
    assert asked == ["y", "y"]  # Once to warm up
    # Without a queue, every call comes back when all is done
    direct = device(1e-5, 1.0, 0, queue=False)
    assert waits(lambda y: None, direct.op, synchronize=direct.synchronize)


def test_times_print_with_their_names():
    assert "t_q=1" in repr(OperationTimes(1.0, 2.0, 3.0))
