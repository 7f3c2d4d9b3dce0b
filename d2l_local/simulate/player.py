"""What `d2l_local.simulate.hosts.Hosts.seconds` runs on each host: it sends and receives as told.

    python player.py NUMBER ADDRESS...

A line of the input is a plan: a list of steps, each a list of (source, target, bytes). It answers
with a line of when it began and when it was done.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time

PORT = 7000
BLOCK = memoryview(bytearray(1 << 16))


def connect(me: int, addresses: list[str]) -> dict[int, socket.socket]:
    """A connection with every other host; of two hosts the later one calls."""
    listener = socket.create_server((addresses[me], PORT))
    peers = {}
    for i in range(me):
        while i not in peers:
            try:
                peers[i] = socket.create_connection((addresses[i], PORT))
            except ConnectionRefusedError:  # It is not there yet
                time.sleep(0.01)
        peers[i].sendall(bytes([me]))
    while len(peers) < len(addresses) - 1:
        peer, _ = listener.accept()
        peers[peer.recv(1)[0]] = peer
    for peer in peers.values():
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.setblocking(False)
    return peers


def transfer(peers: dict[int, socket.socket], out: dict[int, int], into: dict[int, int]) -> None:
    """Send and receive so many bytes to and from each peer, all at the same time."""
    selector = selectors.DefaultSelector()

    def wait_for(i: int) -> None:
        events = bool(into.get(i)) * selectors.EVENT_READ | bool(out.get(i)) * selectors.EVENT_WRITE
        if peers[i] in selector.get_map():
            selector.unregister(peers[i])
        if events:
            selector.register(peers[i], events, i)

    for i in peers:
        wait_for(i)
    while selector.get_map():
        for key, events in selector.select():
            i = key.data
            if events & selectors.EVENT_READ:
                got = peers[i].recv_into(BLOCK[: into[i]])
                if not got:
                    raise ConnectionError(f"host {i} is gone")
                into[i] -= got
            if events & selectors.EVENT_WRITE:
                out[i] -= peers[i].send(BLOCK[: out[i]])
            if not (into.get(i) if events & selectors.EVENT_READ else out.get(i)):
                wait_for(i)


def play(me: int, peers: dict[int, socket.socket], plan: list[list[tuple[int, int, int]]]) -> None:
    """Carry out this host's part of every step."""
    for step in plan:
        out: dict[int, int] = {}
        into: dict[int, int] = {}
        for source, target, size in step:
            if source == me:
                out[target] = out.get(target, 0) + size
            if target == me:
                into[source] = into.get(source, 0) + size
        transfer(peers, out, into)


def main() -> None:
    """Play each plan that is read."""
    me, addresses = int(sys.argv[1]), sys.argv[2:]
    peers = connect(me, addresses)
    for line in sys.stdin:
        plan = json.loads(line)
        begin = time.monotonic()
        play(me, peers, plan)
        print(json.dumps([begin, time.monotonic()]), flush=True)


if __name__ == "__main__":
    main()
