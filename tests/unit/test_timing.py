"""Measurements and the Benchmark: what is called how often, when they wait, what they print."""

from __future__ import annotations

import itertools
import random
import re
import time
from types import SimpleNamespace

from d2l_local.measure import timing
from d2l_local.measure.timeline import Timeline
from d2l_local.measure.timing import Benchmark, Measurement, compare, measure, seconds, together

import pytest

pytestmark = pytest.mark.timeout(60)


class Clock:
    """Stands in for time.perf_counter; queued work passes only when someone synchronizes."""

    def __init__(self):
        self.now, self.queued, self.log = 100.0, 0.0, []

    def perf_counter(self):
        self.log.append("clock")
        return self.now

    def work(self, seconds):
        self.log.append("work")
        self.queued += seconds

    def synchronize(self):
        self.log.append("wait")
        self.now += self.queued
        self.queued = 0.0


@pytest.fixture
def clock(monkeypatch):
    """Return the made-up clock that d2l_local.measure.timing looks at."""
    clock = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", clock.perf_counter)
    return clock


@pytest.fixture
def benchmark(clock):
    """Return a Benchmark class for the made-up clock."""

    class MadeUpBenchmark(Benchmark):
        synchronize = staticmethod(clock.synchronize)

    return MadeUpBenchmark


def test_five_repeats_unless_told_otherwise():
    assert len(measure(lambda: None, synchronize=lambda: None).samples) == 5


def test_queued_work_counts_and_the_untimed_call_does_not(clock):
    seconds = iter([50.0, 3.0, 1.0, 2.0])
    result = measure(lambda: clock.work(next(seconds)), 3, synchronize=clock.synchronize)
    assert result.samples == pytest.approx((3, 1, 2))
    assert (result.median, result.minimum, result.maximum) == pytest.approx((2, 1, 3))


def test_a_sample_is_the_mean_of_calls_in_a_row(clock):
    seconds = iter([50.0, 1.0, 2.0, 3.0, 6.0])
    result = measure(lambda: clock.work(next(seconds)), 2, 2, synchronize=clock.synchronize)
    assert result.samples == pytest.approx((1.5, 4.5))
    once = ["wait", "clock", "work", "work", "clock", "wait", "clock"]
    assert clock.log == ["work", *once, *once]


def test_what_is_queued_is_no_part_of_issuing_it(clock):
    result = measure(lambda: clock.work(7), 2, synchronize=clock.synchronize)
    assert result.samples == (7, 7) and result.issued == (0, 0)
    once = ["wait", "clock", "work", "clock", "wait", "clock"]
    assert clock.log == ["work", *once, *once]


def test_compared_functions_take_turns_in_an_order_drawn_anew(clock):
    order = []

    def work(name):
        order.append(name)
        clock.work({"a": 1, "b": 5}[name] + len(order) // 2)  # Slower from round to round

    names = {name: lambda name=name: work(name) for name in ("a", "b")}
    found = compare(names, 20, synchronize=clock.synchronize)
    rounds = [tuple(order[i : i + 2]) for i in range(0, 42, 2)]
    assert rounds[0] == ("a", "b") and set(rounds) == {("a", "b"), ("b", "a")}  # Warm-up first
    assert sorted(found["a"].samples) == list(found["a"].samples)
    assert all(b - a in (3, 4, 5) for a, b in zip(found["a"].samples, found["b"].samples))


def test_a_disturbance_hits_compared_functions_alike(clock):
    rounds = iter([1, 1, 1, 1, 9, 9, 1, 1, 9, 9, 9, 9])  # How slow the machine is at each call
    both = {name: lambda: clock.work(next(rounds)) for name in ("a", "b")}
    found = compare(both, 5, synchronize=clock.synchronize)
    assert found["a"] == found["b"]


def timed(clock, jobs):
    return seconds(jobs, synchronize=clock.synchronize, prepare=lambda job: job)


def test_a_call_takes_the_shortest_of_the_rounds_until_the_device_is_idle(clock):
    durations = itertools.chain([1.0], itertools.cycle([3.0, 2.0, 4.0]))
    jobs = {"it": lambda: clock.work(next(durations))}
    assert timed(clock, jobs) == {"it": pytest.approx(2)}
    assert clock.log.count("work") == 1 + 7, "the first call does not count"


def test_short_jobs_are_repeated_and_long_ones_are_not(clock):
    calls = {"short": 0, 2: 0}

    def call(name, duration):
        calls[name] += 1
        clock.work(duration)

    jobs = {"short": lambda: call("short", 1e-5), 2: lambda: call(2, 0.03)}
    found = timed(clock, jobs)
    assert found == {"short": pytest.approx(1e-5), 2: pytest.approx(0.03)}
    rounds = calls[2] - 1
    lasted = 127e-5 + rounds * (0.03 + 128e-5)
    assert 0.5 <= lasted < 0.5 + 0.04, "rounds go on for half a second"
    assert calls["short"] == 1 + sum(2**n for n in range(7)) + 128 * rounds


def test_a_short_job_that_was_disturbed_at_first_is_repeated_none_the_less(clock):
    def wait():
        clock.synchronize()
        clock.now += 5e-5

    durations = itertools.chain([0.0, 0.03], itertools.repeat(1e-5))
    jobs = {"short": lambda: clock.work(next(durations))}
    found = seconds(jobs, synchronize=wait, prepare=lambda job: job)
    assert found["short"] == pytest.approx(1e-5, rel=0.1), "not what waiting takes"


def test_every_round_calls_every_job_in_an_order_drawn_anew(clock):
    order = []

    def work(name):
        order.append(name)
        clock.work(0.05)

    jobs = {name: lambda name=name: work(name) for name in "abc"}
    assert list(timed(clock, jobs)) == ["a", "b", "c"]
    rounds = [order[start : start + 3] for start in range(3, len(order), 3)]
    assert all(sorted(names) == ["a", "b", "c"] for names in rounds)
    assert len(rounds) == 7 and len({*map(tuple, rounds)}) > 2


def test_a_disturbance_of_most_rounds_is_not_seen(clock):
    durations = itertools.cycle([0.1, 0.1, 0.1, 0.1, 0.05, 0.1])
    assert timed(clock, {"it": lambda: clock.work(next(durations))})["it"] == pytest.approx(0.05)


def test_the_reader_s_draws_stay_as_they_are(clock):
    random.seed(7)
    expected = random.Random(7).random()
    timed(clock, {"a": lambda: clock.work(1), "b": lambda: clock.work(1)})
    assert random.random() == expected


def test_what_is_prepared_is_called_in_the_place_of_a_job(clock):
    prepared = {"slow": lambda: clock.work(2)}
    jobs = {"slow": lambda: pytest.fail("the job itself was called")}
    found = seconds(jobs, synchronize=clock.synchronize, prepare=lambda job: prepared["slow"])
    assert found == {"slow": pytest.approx(2)}


def test_what_cannot_be_timed_is_refused(clock):
    calls = []
    with pytest.raises(ValueError, match="no job is given"):
        timed(clock, {})
    with pytest.raises(TypeError, match="'sum' must be a function to call, .*, not a float"):
        timed(clock, {"first": lambda: calls.append(1), "sum": 1.0 + 1.0})
    with pytest.raises(ZeroDivisionError):
        timed(clock, {"wrong": lambda: 1 / 0})
    Timeline._recording = Timeline()
    try:
        with pytest.raises(RuntimeError, match="a Timeline is recording"):
            timed(clock, {"first": lambda: calls.append(1)})
    finally:
        Timeline._recording = None
    assert calls == []


def test_speedup_compares_within_a_round():
    """The second round was disturbed: it took both thrice as long."""
    slow, fast = Measurement((2.0, 6.0, 2.2)), Measurement((1.0, 3.0, 1.0))
    assert fast.speedup(slow) == 2 and slow.speedup(fast) == 0.5
    with pytest.raises(ValueError, match="1 samples, but 3 of the baseline"):
        Measurement((1.0,)).speedup(slow)


def test_prints_as_one_line():
    result = Measurement((0.4, 0.1, 0.20004))
    assert str(result) == repr(result) == "0.2000 sec (median of 3, 0.1000 to 0.4000)"


def test_real_seconds():
    result = measure(lambda: time.sleep(0.01), 2, synchronize=lambda: None)
    assert result.minimum >= 0.01


@pytest.mark.parametrize("repeats", [0, -1, 2.0, "3", True, None])
def test_bad_repeats(repeats):
    calls = []
    with pytest.raises(ValueError, match=re.escape(f"not {repeats!r}")):
        measure(lambda: calls.append(1), repeats, synchronize=lambda: None)
    with pytest.raises(
        ValueError, match=re.escape(f"number must be a positive integer, not {repeats!r}")
    ):
        measure(lambda: calls.append(1), 1, repeats, synchronize=lambda: None)
    assert calls == []


def test_errors_of_the_function_and_of_waiting_go_through():
    with pytest.raises(ZeroDivisionError):
        measure(lambda: 1 / 0, synchronize=lambda: None)
    with pytest.raises(ZeroDivisionError):
        measure(lambda: None, synchronize=lambda: 1 / 0)


def test_benchmark_prints_in_the_format_of_d2l(benchmark, clock, capsys):
    with benchmark():
        clock.work(0.25)
    with benchmark("two devices"):
        clock.work(12.34567)
    assert capsys.readouterr().out == "Done: 0.2500 sec\ntwo devices: 12.3457 sec\n"


def test_benchmark_waits_for_queued_work(benchmark, clock):
    clock.work(7)  # Queued before the block: not the block's
    with benchmark() as timer:
        clock.work(2)
        assert clock.queued == 2
    assert clock.queued == 0
    assert timer.seconds == pytest.approx(2)
    assert clock.log == ["work", "wait", "clock", "work", "wait", "clock"]


def test_together_takes_each_alone_and_all_without_a_wait_in_between(clock):
    jobs = {"a": lambda: clock.work(1), "b": lambda: clock.work(2)}
    parts, whole = together(jobs, 2, synchronize=clock.synchronize)
    assert parts == {"a": pytest.approx(1), "b": pytest.approx(2)} and whole == pytest.approx(3)
    both = ",".join(["clock", "work", "work", "clock", "wait", "clock"])
    assert ",".join(clock.log).count(both) == 2  # Once a round


def test_an_exception_in_the_block_goes_on_and_nothing_is_printed(benchmark, capsys):
    with pytest.raises(KeyError, match="mine"), benchmark("never") as timer:
        raise KeyError("mine")
    assert capsys.readouterr().out == ""
    assert not hasattr(timer, "seconds")


def test_an_error_that_surfaces_while_waiting_goes_on(capsys):
    class Failing(Benchmark):
        waits = 0

        def synchronize(self):
            self.waits += 1
            if self.waits > 1:
                raise RuntimeError("asynchronous")

    with pytest.raises(RuntimeError, match="asynchronous"), Failing():
        pass
    assert capsys.readouterr().out == ""


def test_device_times_count_what_the_process_works():

    def work():
        sum(range(200_000))

    jobs = {"idle": lambda: time.sleep(0.02), "work": work}
    cpu = timing.device_times(jobs, 2, synchronize=lambda: None, on_gpu=False)
    gpu = timing.device_times(jobs, 2, synchronize=lambda: None, on_gpu=True)
    if time.get_clock_info("process_time").resolution < 1e-5:
        assert cpu["idle"] < 0.01 < 0.02 <= gpu["idle"]
    assert list(cpu) == list(jobs) and cpu["work"] > 0


def test_device_times_let_a_thread_stop_whose_work_is_not_counted_before(monkeypatch):
    reads, uncounted, counted = itertools.count(), [0.0], [0.0]

    def sleep(seconds):
        counted[0] += uncounted[0]
        uncounted[0] = 0.0

    def process_time():
        return counted[0] + 1e-9 * next(reads)

    def work():
        uncounted[0] += 7

    clocks = SimpleNamespace(sleep=sleep, process_time=process_time, perf_counter=time.perf_counter)
    monkeypatch.setattr(timing, "time", clocks)
    found = timing.device_times({"work": work}, 3, synchronize=lambda: None, on_gpu=False)
    assert found["work"] == pytest.approx(7)


@pytest.mark.parametrize(("step", "coarse"), [(1 / 64, True), (1e-6, False)])
def test_a_clock_that_counts_coarsely_is_recognized(step, coarse):
    """Whatever the system says of it: Windows counts 1/64 s and says 0.1 µs."""
    asked = itertools.count()
    assert timing._is_coarse(lambda: next(asked) // 5 * step) == coarse


@pytest.mark.parametrize("jump", range(4))
def test_a_thread_that_just_stops_makes_no_fine_clock_coarse(jump):
    """Linux adds the milliseconds for which it has run when it stops."""
    asked = itertools.count()

    def clock():
        reads = next(asked)
        return 1e-6 * reads + (5e-3 if reads > jump else 0)

    assert not timing._is_coarse(clock)
