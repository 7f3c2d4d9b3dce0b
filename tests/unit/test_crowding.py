"""What other programs take of the cores, and what may be left out because of it."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

from d2l_local.machine import crowding
from d2l_local.machine.cores import own_core, work_of_two
from d2l_local.machine.crowding import Crowding

import pytest

Core = namedtuple("Core", ("user", "idle"))


@pytest.fixture
def clocks(monkeypatch):
    """Let a block of 10 seconds on four cores see others compute for so many seconds."""

    def set_to(others, cores=4):
        monkeypatch.setattr(crowding, "_since", lambda before: (10.0, others))
        monkeypatch.setattr(crowding, "cores_of_process", lambda: set(range(cores)))
        monkeypatch.setattr(crowding, "work_of_two", lambda: 2.0)
        with Crowding() as crowded:
            pass
        return crowded

    return set_to


def test_the_share_is_that_of_all_our_cores(clocks):
    assert clocks(8).share == 0.2
    assert clocks(80).share == 1


def test_a_few_ticks_of_the_clock_are_nobody(clocks):
    assert clocks(0.04, cores=1).share == 0
    assert clocks(-0.1).share == 0


def test_a_core_of_one_s_own_hides_neither_the_other_cores_nor_who_took_them(monkeypatch):
    if not hasattr(os, "sched_getaffinity") or len(mine := os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores and a system that places threads")
    clock = itertools.count(0, 10)

    def cpu_times(percpu):
        seconds = next(clock)  # Which all but the own core compute
        return [Core(0 if n == min(mine) else seconds, 9) for n in range(max(mine) + 1)]

    monkeypatch.setattr(crowding.psutil, "cpu_times", cpu_times)
    monkeypatch.setattr(crowding, "_own", dict)
    monkeypatch.setattr(crowding, "work_of_two", lambda: 2.0)
    with own_core():
        with Crowding() as crowded:
            assert not crowded.excuses("this is no single core")
        assert crowded.share == 1


def test_a_block_entered_again_has_a_share_of_its_own(monkeypatch, clocks):
    crowded = clocks(8)
    monkeypatch.setattr(crowding, "_since", lambda before: (10.0, 0.0))
    with crowded:
        pass
    assert crowded.share == 0


def test_a_claim_is_left_out_when_others_took_cores(clocks, capsys):
    assert clocks(8).excuses("two are faster than one")
    assert capsys.readouterr().out == (
        "Not judged, other programs took 20% of the cores meanwhile: two are faster than one.\n"
    )


def test_a_claim_is_left_out_on_one_core(clocks, capsys):
    assert clocks(0, cores=1).excuses("two are faster than one")
    assert capsys.readouterr().out == "Not judged on a single core: two are faster than one.\n"


def test_a_claim_is_judged_when_others_took_little(clocks, capsys):
    assert not clocks(1.9).excuses("two are faster than one")
    assert capsys.readouterr().out == ""


def test_a_claim_is_left_out_where_two_cores_are_hardly_two(clocks, capsys, monkeypatch):
    """As two threads of one core, or with a neighbor of whom the system does not tell."""
    crowded = clocks(0)
    monkeypatch.setattr(crowding, "work_of_two", lambda: 1.25)
    assert crowded.excuses("two are faster than one")
    assert capsys.readouterr().out == (
        "Not judged, two cores now do only 1.2 times the work of one: two are faster than one.\n"
    )
    assert not Crowding().excuses("nothing was timed"), "no block was entered"


def test_what_was_timed_last_may_be_excused(clocks, capsys, monkeypatch):
    monkeypatch.setattr(crowding, "latest", clocks(8))
    assert crowding.excuses("two are faster than one")
    assert "took 20% of the cores" in capsys.readouterr().out
    monkeypatch.setattr(crowding, "latest", clocks(1))
    assert not crowding.excuses("two are faster than one")


def test_where_nothing_was_timed_only_a_single_core_excuses(monkeypatch, capsys):
    monkeypatch.setattr(crowding, "latest", Crowding())
    monkeypatch.setattr(crowding, "work_of_two", lambda: pytest.fail("it was asked"))
    monkeypatch.setattr(crowding, "cpu_quota", lambda: 2)
    for cores, excused in ((2, False), (1, True)):
        monkeypatch.setattr(crowding, "cores_of_process", lambda cores=cores: set(range(cores)))
        assert crowding.excuses("two are faster than one") is excused


def test_two_threads_that_share_a_core_do_the_work_of_one():
    """On two cores they do more, though others may want these, too, or both be threads of one."""
    if not hasattr(crowding.os, "sched_setaffinity"):
        pytest.skip("this system does not place threads")
    mine = crowding.os.sched_getaffinity(0)
    crowding.os.sched_setaffinity(0, {min(mine)})
    try:
        assert any(work_of_two() < 1.1 for _ in range(20))
    finally:
        crowding.os.sched_setaffinity(0, mine)
    assert len(mine) < 2 or any(work_of_two() > 1.15 for _ in range(20))


def hash_for_a_while():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 300_000)  # Without Python's lock


CHILD = "import hashlib; hashlib.pbkdf2_hmac('sha256', b'', b'', 300_000)"


def test_own_threads_and_children_are_no_others():
    """What we had of the cores' time, others had not. All cores work, so that it is to be seen."""
    cores = len(crowding.cores_of_process())

    def threads():
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(lambda _: hash_for_a_while(), range(cores)))

    def children():
        processes = [subprocess.Popen([sys.executable, "-c", CHILD]) for _ in range(cores)]
        assert [process.wait() for process in processes] == [0] * cores

    for work in (threads, children):
        before = crowding._clocks()
        work()
        worked = crowding._grown(before.own, crowding._own())
        wall, others = crowding._since(before)
        assert worked > 0.05, "nothing was computed"
        assert -0.1 < others < 1.1 * cores * wall - worked + 0.1


def test_what_has_ended_counts_once():
    me, child, grandchild = (1, 0.0), (2, 5.0), (3, 6.0)
    before = {me: (10.0, 0.0), child: (4.0, 0.0)}
    assert crowding._grown(before, {me: (11.0, 0.0), child: (6.0, 0.0)}) == 3
    assert crowding._grown(before, {me: (11.0, 5.5)}) == 2.5, "1.5 of the child are new"
    assert crowding._grown(before, before | {grandchild: (2.0, 0.0)}) == 2


def test_a_worker_for_which_nobody_waited_makes_nobody_an_other():
    """As those of torch.compile, which end when the process that has started them has ended."""
    before = {(1, 0.0): (10.0, 0.0), (2, 5.0): (1.0, 0.0), (3, 6.0): (90.0, 0.0)}
    assert crowding._grown(before, {(1, 0.0): (12.0, 1.5)}) == 2


def test_a_program_that_we_have_not_started_is():
    """A process whose parent is gone is nobody's child, like one of another terminal."""
    busy = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    start = (
        f"import subprocess; print(subprocess.Popen([{sys.executable!r}, '-c', {busy!r}], "
        "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True).pid)"
    )
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=True)
    stray = crowding.psutil.Process(int(done.stdout))
    try:
        took, before = -sum(stray.cpu_times()[:2]), crowding._clocks()
        while took + sum(stray.cpu_times()[:2]) < 0.2:
            time.sleep(0.05)
        assert crowding._since(before)[1] > 0.1
    finally:
        stray.kill()


def test_where_nobody_tells_there_is_no_excuse(monkeypatch):
    def refuse(percpu):
        raise OSError

    monkeypatch.setattr(crowding, "work_of_two", lambda: 2.0)
    monkeypatch.setattr(crowding.psutil, "cpu_times", refuse)
    monkeypatch.setattr(crowding, "cores_of_process", lambda: {0, 1})
    with Crowding() as crowded:
        hash_for_a_while()
    assert crowded.share == 0 and not crowded.excuses("two are faster than one")


def test_where_the_system_tells_only_at_the_end_nobody_is_an_other(monkeypatch):
    real, calls = crowding.psutil.cpu_times, []

    def refuse_once(percpu):
        calls.append(percpu)
        if len(calls) == 1:
            raise OSError
        return real(percpu=percpu)

    monkeypatch.setattr(crowding.psutil, "cpu_times", refuse_once)
    with Crowding() as crowded:
        pass
    assert len(calls) == 2 and crowded.share == 0
