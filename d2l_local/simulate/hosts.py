"""Hosts on one machine: network namespaces behind a switch, whose links are as slow as asked for.

A namespace has network interfaces, addresses and ports of its own, so programs in two of them talk
as on two hosts. Linux lets root make some, and its users where it is so set; what is made here is
gone with the processes that hold it, whatever happens. It needs util-linux and iproute2.
"""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from d2l_local.base import processes
from d2l_local.base.arguments import index, positive_integer, positive_number
from d2l_local.base.language import say

Steps = Sequence[Sequence[tuple[int, int, float]]]
SEGMENT, HEADERS = 1448, 66  # Bytes that a full packet carries, and of Ethernet, IP and TCP
MOST = 254  # Addresses in 10.0.0.0/24
BURST, QUEUE = "16kb", "16mb"  # What a link lets pass at once, and what waits before it


class Hosts:
    """``k`` hosts, each on a link of its own to a switch.

        with Hosts(2, bandwidth=12.5e6) as hosts:
            hosts.start(1, ["program", "its argument"])

    Host ``i`` has the address ``hosts.addresses[i]`` on its interface ``eth0``. Every link carries
    ``bandwidth`` bytes per second of what programs send (their packets' headers come on top), in
    each direction at once, and every packet takes ``latency`` seconds longer. They start with the
    block, and all that runs on them ends with it. Files and clock are those of this machine.

    Raises ValueError for what is no number of hosts (1 to 254), bandwidth or latency, OSError where
    this system refuses: `refusal` says beforehand, as it does of ``latency``, which takes netem.
    """

    def __init__(self, k: int, bandwidth: float, latency: float = 0.0):
        self.k = positive_integer("k", k)
        if self.k > MOST:
            raise ValueError(f"k must be at most {MOST}, as 10.0.0.0/24 has addresses, not {k!r}")
        self.bandwidth = positive_number("bandwidth", bandwidth)
        self.latency = positive_number("latency", latency) if latency else 0.0
        self.addresses = [f"10.0.0.{i + 1}" for i in range(self.k)]
        self._guarded = processes.Guarded()
        self._namespaces: list[subprocess.Popen[bytes]] = []  # The switch's, then each host's
        self._players: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Hosts:
        self._guarded.__enter__()
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End all that runs on the hosts, and with it the hosts. Called as the block ends."""
        self._guarded.close()
        self._namespaces, self._players = [], []

    def _build(self) -> None:
        self._hold(["unshare", "--user", "--map-root-user", "--net"])
        switch = self._namespaces[0]
        self._ip(switch, "link set lo up", "link add switch type bridge", "link set switch up")
        for i, address in enumerate(self.addresses):
            self._hold([*_inside(switch), "unshare", "--net"])
            host, port = self._namespaces[-1], f"port{i}"
            self._ip(
                switch,
                f"link add {port} type veth peer name eth0 netns {host.pid}",
                f"link set {port} master switch up",
            )
            self._ip(
                host, "link set lo up", f"address add {address}/24 dev eth0", "link set eth0 up"
            )
            self._shape(host, "eth0", self.latency)
            self._shape(switch, port, 0.0)

    def _hold(self, command: list[str]) -> None:
        """Start a process that holds a new namespace until our end of its pipe closes."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self._guarded.start([*command, "cat"], **pipes)
        assert process.stdin and process.stdout and process.stderr
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"here\n")
            process.stdin.flush()
        if not process.stdout.readline():  # It has ended without an echo
            raise OSError(f"no network namespace: {process.stderr.read().decode().strip()}")
        self._namespaces.append(process)

    def _ip(self, namespace: subprocess.Popen[bytes], *lines: str) -> None:
        _run(namespace, ["ip", "-batch", "-"], "\n".join(lines))

    def _shape(self, namespace: subprocess.Popen[bytes], interface: str, latency: float) -> None:
        """Slow down what leaves a namespace by an interface."""
        rate = f"rate {self.bandwidth * 8 * (1 + HEADERS / SEGMENT):.0f}bit"
        kind = f"tbf {rate} burst {BURST} limit {QUEUE}"
        if latency:  # netem knows rates, too, but not how much may wait in bytes
            kind = f"netem delay {1e6 * latency:.0f}us {rate} limit 100000"
        _run(namespace, ["tc", "qdisc", "add", "dev", interface, "root", *kind.split()])

    def start(self, host: int, command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a program on a host; ``options`` are those of `subprocess.Popen`.

        Raises ValueError unless ``host`` is one of 0 to k - 1, RuntimeError outside of the block.
        """
        host = index("host", host, self.k)
        if not self._namespaces:
            raise RuntimeError(
                "there are no hosts outside of their block: start programs within "
                f"`with Hosts({self.k}, …) as hosts:`"
            )
        return self._guarded.start([*_inside(self._namespaces[1 + host]), *command], **options)

    def seconds(self, steps: Steps, n: float, repeats: int = 3) -> float:
        """Carry out an exchange of a vector of ``n`` bytes, and return the time of the fastest.

        ``steps`` are lists of transfers (source, target, share of the vector) that go on at once. A
        host begins a step when it has sent and received all that is its own in the step before.

        Raises ValueError for what is no transfer between two of the hosts, number of bytes or of
        ``repeats``, RuntimeError outside of the block, OSError if a host has ended.
        """
        n, repeats = positive_number("n", n), positive_integer("repeats", repeats)
        plan = [[self._transfer(transfer, n) for transfer in step] for step in steps]
        if not self._players:
            # Unbuffered, since a buffer that nobody reads would fail again when it is closed
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
            program = [sys.executable, str(Path(__file__).with_name("player.py"))]
            self._players = [
                self.start(i, [*program, str(i), *self.addresses], **pipes) for i in range(self.k)
            ]
        return min(self._play(plan) for _ in range(repeats + 1))

    def _transfer(self, transfer: tuple[int, int, float], n: float) -> tuple[int, int, int]:
        """A transfer of a plan as (source, target, bytes)."""
        try:
            source, target, share = transfer
            source, target = index("source", source, self.k), index("target", target, self.k)
            if source == target:
                raise ValueError("a host sends nothing to itself")
            return source, target, round(positive_number("share", share) * n)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{transfer!r} is no transfer (source, target, share) of these {self.k} hosts: "
                f"{error}"
            ) from None

    def _play(self, plan: list[list[tuple[int, int, int]]]) -> float:
        """Seconds from the first host's begin to the last one's end."""
        answers = []
        with contextlib.suppress(BrokenPipeError):  # The one that is gone does not answer, either
            for player in self._players:
                assert player.stdin
                player.stdin.write(f"{json.dumps(plan)}\n".encode())
        for i, player in enumerate(self._players):
            assert player.stdout
            if not (answer := player.stdout.readline()):
                raise OSError(f"host {i} has ended in the middle of an exchange")
            answers.append(answer)
        spans: list[tuple[float, float]] = [json.loads(answer) for answer in answers]
        return max(end for _, end in spans) - min(start for start, _ in spans)


def _inside(namespace: subprocess.Popen[bytes]) -> list[str]:
    return [*("nsenter", f"--target={namespace.pid}"), "--user", "--net", "--preserve-credentials"]


def _run(namespace: subprocess.Popen[bytes], command: list[str], text: str = "") -> None:
    done = subprocess.run(
        [*_inside(namespace), *command], input=text, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")


@functools.cache
def refusal(latency: float = 0.0) -> str:
    """Why there can be no `Hosts` here, with this latency; empty if there can."""
    if sys.platform != "linux":
        return "network namespaces are Linux's"
    if missing := [name for name in ("unshare", "nsenter", "ip", "tc") if not shutil.which(name)]:
        return f"{', '.join(missing)} not found"
    try:
        with Hosts(1, 1e6, latency):
            return ""
    except OSError as error:
        return str(error)


def has_hosts() -> bool:
    """Whether there can be `Hosts` here; if not, prints why a cell that needs them does nothing."""
    if why := refusal():
        say("skipped: this cell needs hosts, as network namespaces ({why})", why=why)
    return not why
