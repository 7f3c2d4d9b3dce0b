"""A ring all-reduce over the GPUs of one process, queued by a single call."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from d2l_local.torch.device import synchronize
from d2l_local.torch.graph import capture

import torch

PARTS = 2  # Of each vector: while one is added, the other travels


class Ring:
    """The sum of equally long vectors, one per GPU, put in the place of each of them.

        ring = Ring(vectors)
        ring()

    Each GPU sends to the next on a stream of its own, by its copy engine. Every vector has two
    parts that go around by themselves, so that one travels while the other is added. All of this is
    recorded once, as a CUDA graph, which each call queues on the first GPU's current stream; so
    the time that Python takes to queue a ring does not count. What the vectors hold when it is made
    is kept. They stay where they are: write to them, and call again.

    Raises ValueError unless the vectors lie on two GPUs or more, as long and of one type.
    """

    def __init__(self, vectors: Sequence[torch.Tensor]):
        devices = {vector.device for vector in vectors}
        alike = {(vector.shape, vector.dtype) for vector in vectors}
        if len(devices) < max(2, len(vectors)) or {d.type for d in devices} != {"cuda"}:
            raise ValueError(f"a ring needs a vector on each of several GPUs, not on {devices}")
        if len(alike) > 1 or vectors[0].dim() != 1:
            raise ValueError(f"the vectors differ in shape or type, or are none: {alike}")
        self._vectors = list(vectors)
        self._spares = [torch.empty_like(vector) for vector in vectors]  # What has arrived
        self._main, self._side = (
            [[torch.cuda.Stream(vector.device) for vector in vectors] for _ in range(PARTS)]
            for _ in range(2)
        )
        kept = [vector.clone() for vector in vectors]
        self._replay = capture(self._queue, vectors[0].device)
        for vector, before in zip(vectors, kept):
            vector.copy_(before)
        synchronize()

    def __call__(self) -> None:
        """Queue the sum; it is there when the first GPU's current stream has come so far."""
        self._replay()

    def _queue(self) -> None:
        """Queue the rings of all parts, after what the first GPU has and before what it gets."""
        first = torch.cuda.current_stream(self._vectors[0].device)
        parts = zip(*(vector.tensor_split(PARTS) for vector in self._vectors))
        spares = zip(*(spare.tensor_split(PARTS) for spare in self._spares))
        for stream in sum(self._main, []):
            stream.wait_stream(first)
        for part, spare, main, side in zip(parts, spares, self._main, self._side):
            with _current(main):
                _ring(part, spare, main, side)
        for stream in sum(self._main, []):
            first.wait_stream(stream)


def _ring(
    vectors: Sequence[torch.Tensor],
    spares: Sequence[torch.Tensor],
    main: list[torch.cuda.Stream],
    side: list[torch.cuda.Stream],
) -> None:
    """Queue a ring; ``main`` are the GPUs' current streams, on ``side`` they send."""
    k = len(vectors)
    chunks, arrived = ([vector.tensor_split(k) for vector in all] for all in (vectors, spares))
    for step in range(2 * (k - 1)):
        reduces = step < k - 1
        # Before any copy is queued, because a copy makes its target's stream wait for it
        for i in range(k):
            side[i].wait_stream(main[i])
            side[i].wait_stream(main[(i + 1) % k])
        for i in range(k):
            j, target = (i - step) % k, (arrived if reduces else chunks)[(i + 1) % k]
            with torch.cuda.stream(side[i]):
                target[j].copy_(chunks[i][j], non_blocking=True)
        for i in range(k):
            j, receiver = (i - step) % k, (i + 1) % k
            main[receiver].wait_stream(side[i])
            if reduces:
                chunks[receiver][j].add_(arrived[receiver][j])


@contextlib.contextmanager
def _current(streams: list[torch.cuda.Stream]) -> Iterator[None]:
    """Make each stream the current one of its GPU inside the block."""
    with contextlib.ExitStack() as stack:
        for stream in streams:
            stack.enter_context(torch.cuda.stream(stream))
        yield
