"""Hosts on one machine: who reaches whom, how fast, and that nothing stays behind."""

from __future__ import annotations

import subprocess
import sys

from d2l_local.simulate import hosts
from d2l_local.simulate.hosts import Hosts

import psutil
import pytest
from helpers import runs, until

pytestmark = pytest.mark.timeout(120)
needs_hosts = pytest.mark.skipif(bool(hosts.refusal()), reason=f"no hosts: {hosts.refusal()}")

W = 12.5e6  # 100 Mbit/s
THERE_AND_BACK = [[(0, 1, 1)], [(1, 0, 1)]]
ASK = "import socket; print(socket.create_connection(('{}', 7001), 5).recv(9).decode())"
ANSWER = """
import socket
listener = socket.create_server(("", 7001))
print("listens", flush=True)
listener.accept()[0].sendall(b"host {}")
"""


def descendants() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_wrong_numbers_are_refused():
    for wrong in (0, 2.5, True):
        with pytest.raises(ValueError, match="k must be a positive integer"):
            Hosts(wrong, W)
    for bandwidth, latency in ((0, 0), (-1, 0), (float("nan"), 0), ("1", 0), (W, -1e-3)):
        with pytest.raises(ValueError, match="must be a positive number, not "):
            Hosts(2, bandwidth, latency)
    with pytest.raises(ValueError, match="k must be at most 254, .* not 300"):
        Hosts(300, W)


def test_there_are_no_hosts_outside_of_the_block():
    net = Hosts(2, W)
    with pytest.raises(RuntimeError, match=r"within `with Hosts\(2, …\) as hosts:`"):
        net.start(0, ["true"])
    with pytest.raises(RuntimeError, match="outside of their block"):
        net.seconds(THERE_AND_BACK, 8)
    for wrong in (9, -1, 0.0, None):
        with pytest.raises(
            ValueError, match=f"host must be one of the integers 0 to 1, not {wrong}"
        ):
            net.start(wrong, ["true"])


@pytest.mark.parametrize(
    ("transfer", "message"),
    [
        ((0, 1, -1.0), "share must be a positive number, not -1.0"),
        ((0, 1, float("nan")), "not nan"),
        ((0, 9, 1.0), "target must be one of the integers 0 to 1, not 9"),
        ((-1, 0, 1.0), "source must be one of the integers 0 to 1, not -1"),
        ((0, 0, 1.0), "a host sends nothing to itself"),
        ((0, 1), "not enough values"),
        (0, "cannot unpack"),
    ],
)
def test_a_wrong_transfer_is_refused_before_anything_is_sent(transfer, message):
    with pytest.raises(ValueError) as refused:
        Hosts(2, W).seconds([[(0, 1, 1.0)], [transfer]], 100)
    assert str(refused.value).startswith(f"{transfer!r} is no transfer (source, target, share)")
    assert message in str(refused.value)


def test_wrong_sizes_and_repeats_of_an_exchange_are_refused():
    for n, repeats in ((0, 3), (float("inf"), 3), (-8, 3), (8, 0), (8, 1.5)):
        with pytest.raises(ValueError, match="must be a positive"):
            Hosts(2, W).seconds(THERE_AND_BACK, n, repeats)


def test_what_is_missing_is_named(monkeypatch, capsys):
    hosts.refusal.cache_clear()
    monkeypatch.setattr(hosts.shutil, "which", lambda name: None if name == "tc" else name)
    monkeypatch.setattr(hosts.sys, "platform", "linux")
    try:
        assert hosts.refusal() == "tc not found" and not hosts.has_hosts()
        assert capsys.readouterr().out.startswith("skipped: this cell needs hosts")
    finally:
        hosts.refusal.cache_clear()


@needs_hosts
def test_each_host_has_ports_of_its_own_and_reaches_the_others():
    with Hosts(3, W) as net:
        options = {"stdout": subprocess.PIPE, "text": True}
        for i in (0, 1):  # The same port on both
            answers = net.start(i, [sys.executable, "-c", ANSWER.format(i)], **options)
            assert answers.stdout.readline() == "listens\n"
        for i in (0, 1):
            asks = net.start(2, [sys.executable, "-c", ASK.format(net.addresses[i])], **options)
            assert asks.communicate(timeout=30)[0] == f"host {i}\n"


@needs_hosts
def test_links_are_as_slow_as_asked_for_in_each_direction_at_once():
    n = 1e6
    with Hosts(2, W) as net:
        turns = net.seconds(THERE_AND_BACK, n)
        at_once = net.seconds([[(0, 1, 1), (1, 0, 1)]], n)
    assert turns > 2 * 0.9 * n / W  # A burst may pass at once
    assert at_once < 0.75 * turns


@needs_hosts
def test_transfers_to_one_host_share_its_link():
    n = 1e6
    with Hosts(4, W) as net:
        apart = net.seconds([[(0, 1, 1), (2, 3, 1)]], n)
        shared = net.seconds([[(0, 1, 1), (2, 1, 1)]], n)
    assert shared > 1.6 * apart


@pytest.mark.skipif(bool(hosts.refusal(1e-3)), reason=f"no latency: {hosts.refusal(1e-3)}")
def test_packets_are_late_by_the_latency():
    with Hosts(2, W, latency=0.05) as net:
        assert net.seconds(THERE_AND_BACK, 8) > 0.1


@needs_hosts
def test_nothing_is_left_behind():
    before = descendants()  # Other tests of this process may have left theirs, like a fork server
    with Hosts(2, W) as net:
        net.seconds(THERE_AND_BACK, 8)
        pids = descendants() - before
        assert len(pids) >= 5  # Three namespaces, two players
    assert until(lambda: not any(map(runs, pids)))
    with pytest.raises(RuntimeError, match="outside of their block"):
        net.seconds(THERE_AND_BACK, 8)


@needs_hosts
def test_a_player_that_is_gone_is_named():
    with Hosts(2, W) as net:
        net.seconds(THERE_AND_BACK, 8)
        net._players[1].kill()
        with pytest.raises(OSError, match="host"):
            net.seconds(THERE_AND_BACK, 1e6)


@needs_hosts
def test_hosts_of_a_killed_program_are_gone():
    program = (
        "import time; from d2l_local.simulate.hosts import Hosts\n"
        "with Hosts(2, 1e6) as net: print(net._namespaces[1].pid, flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    held = int(process.stdout.readline())
    assert runs(held)
    process.kill()
    process.wait()
    assert until(lambda: not runs(held))
