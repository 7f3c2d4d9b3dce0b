"""CUDA graphs: many kernels with a single launch."""

from __future__ import annotations

from collections.abc import Callable

from d2l_local.torch.device import synchronize

import torch


def capture(fn: Callable[[], object], device: torch.device) -> Callable[[], object]:
    """Return a function that does with one launch what ``fn()`` does on a GPU.

    What is recorded are addresses: tensors that ``fn`` reads or writes must stay where they are,
    with the same shapes, and nothing in it may wait for the GPU. It runs four times here. On the
    CPU, where nothing is launched, ``fn`` itself is returned.
    """
    if device.type != "cuda":
        return fn
    synchronize()
    # Without a stream `torch.cuda.graph` records on one that it makes once, on the first GPU.
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        for _ in range(3):
            fn()  # Libraries choose kernels and allocate memory in their first runs
    synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        fn()
    return graph.replay
