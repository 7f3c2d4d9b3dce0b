"""A core of its own for a thread: where others may run then, and that all is restored."""

from __future__ import annotations

import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor

from d2l_local.machine import cores
from d2l_local.machine.cores import Crowding, own_core

import pytest

needs_two_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="needs two cores and a system that says which thread may run where",
)


@pytest.fixture
def another():
    """Return the number of another thread, which sleeps as long as the test runs."""
    started, done, number = threading.Event(), threading.Event(), []

    def sleep():
        number.append(threading.get_native_id())
        started.set()
        done.wait(60)

    thread = threading.Thread(target=sleep)
    thread.start()
    started.wait(60)
    yield number[0]
    done.set()
    thread.join()


@needs_two_cores
def test_no_other_thread_runs_on_that_core(another):
    before = os.sched_getaffinity(0)
    with own_core():
        mine, others = os.sched_getaffinity(0), os.sched_getaffinity(another)
        assert len(mine) == 1 and not mine & others and mine | others == before
    assert os.sched_getaffinity(0) == os.sched_getaffinity(another) == before


@needs_two_cores
def test_each_thread_gets_its_own_cores_back_also_after_an_error(another):
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(another, {max(before)})
    with pytest.raises(KeyError), own_core():
        raise KeyError
    assert os.sched_getaffinity(0) == before and os.sched_getaffinity(another) == {max(before)}


@needs_two_cores
def test_a_thread_that_is_started_inside_is_free_afterwards():
    before, done = os.sched_getaffinity(0), threading.Event()
    with own_core():
        thread = threading.Thread(target=done.wait, args=(60,))
        thread.start()
    free = os.sched_getaffinity(thread.native_id)
    done.set()
    thread.join()
    assert free == before


@needs_two_cores
def test_a_thread_that_is_bound_to_a_core_has_it_to_itself(another):
    before = os.sched_getaffinity(0)
    bound = {max(before)}
    os.sched_setaffinity(0, bound)
    try:
        with own_core():
            assert os.sched_getaffinity(0) == bound
            assert os.sched_getaffinity(another) == before - bound
        assert os.sched_getaffinity(0) == bound and os.sched_getaffinity(another) == before
    finally:
        os.sched_setaffinity(0, before)


@needs_two_cores
def test_nested_blocks_change_nothing(another):
    with own_core():
        outer = os.sched_getaffinity(0), os.sched_getaffinity(another)
        with own_core():
            assert (os.sched_getaffinity(0), os.sched_getaffinity(another)) == outer
        assert (os.sched_getaffinity(0), os.sched_getaffinity(another)) == outer


def test_where_the_system_offers_no_choice_the_block_runs(monkeypatch):
    monkeypatch.setattr(cores.sys, "platform", "darwin")
    ran = []
    with own_core():
        ran.append(True)
    assert ran


def test_the_share_of_time_without_a_core(monkeypatch):
    """Of all threads, those that start inside of the block among them."""
    times = iter(({1: (100, 50), 2: (7, 7)}, {1: (400, 50), 3: (100, 100)}))
    monkeypatch.setattr(cores, "_run_and_waited", lambda: next(times))
    with Crowding() as crowding:
        pass
    assert crowding.share == 100 / (300 + 100 + 100)


@needs_two_cores
def test_threads_that_share_a_core_wait_for_it():
    def work():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        hashlib.pbkdf2_hmac("sha256", b"", b"", 400_000)  # Without Python's lock

    with ThreadPoolExecutor(2) as pool, Crowding() as crowding:
        for future in [pool.submit(work) for _ in range(2)]:
            future.result()
    if cores._run_and_waited():
        assert crowding.share > 0.3


def test_nobody_says_how_long_threads_waited(monkeypatch):
    monkeypatch.setattr(os, "listdir", lambda folder: (_ for _ in ()).throw(FileNotFoundError))
    with Crowding() as crowding:
        pass
    assert crowding.share == 0
