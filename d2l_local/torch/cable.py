"""A slow cable between processes, to see what hiding an exchange is worth: a hook for DDP."""

from __future__ import annotations

import time

from d2l_local.base.arguments import positive_number
from d2l_local.torch.thread_stream import ThreadStream

import torch
from torch import distributed as dist


class Cable:
    """Averages gradients as if every process had a computer of its own, with a cable between them.

    ``net.register_comm_hook(d2l.Cable(125e6), d2l.Cable.send)`` for Gigabit Ethernet, where ``net``
    is a DistributedDataParallel on the CPU, with ``process_group=cable.group``. Each bucket of n
    bytes keeps the cable busy for as long as a ring of k processes needs, 2 (k - 1) / k * n /
    bytes_per_second seconds or, if that is more, what Gloo takes; one bucket after the other, and
    mostly without using a core. A `Timeline` shows the cable as the lane ``"cable"``. All processes
    of the group make one at the same time. ValueError unless ``bytes_per_second`` is positive.
    """

    def __init__(self, bytes_per_second: float):
        self.bytes_per_second = positive_number("bytes_per_second", bytes_per_second)
        self.group = dist.new_group(backend="gloo")
        self._queue = ThreadStream("cable")

    def send(self, bucket):
        """Queue the exchange of a `GradBucket`; return the `Future` of its mean."""
        arrived: torch.futures.Future = torch.futures.Future()

        def copy(gradients: torch.Tensor) -> None:
            begin, k = time.perf_counter(), dist.get_world_size(self.group)
            seconds = 2 * (k - 1) / k * gradients.nbytes / self.bytes_per_second
            try:
                dist.all_reduce(gradients, group=self.group)
            except Exception as error:  # Else DistributedDataParallel would wait for ever
                arrived.set_exception(error)
                raise
            time.sleep(max(0, begin + seconds - time.perf_counter()))
            arrived.set_result(gradients.div_(k))

        self._queue.launch(copy, bucket.buffer())
        return arrived
