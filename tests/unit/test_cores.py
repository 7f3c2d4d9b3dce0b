"""A core of its own for a thread: where others may run then, and that all is restored."""

from __future__ import annotations

import os
import threading

from d2l_local.machine import cores
from d2l_local.machine.cores import own_core
from d2l_local.machine.host import num_cores

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
    before, cores = os.sched_getaffinity(0), num_cores()
    with own_core():
        assert num_cores() == cores  # Of the process, which may still use them all
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
