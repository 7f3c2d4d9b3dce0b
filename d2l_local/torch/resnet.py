"""The training step of ResNet-18 in several processes, in one function."""

from __future__ import annotations

from collections.abc import Callable

from d2l_local.torch.cable import Cable

import torch
from torch import nn
from torch.nn import functional as F


def resnet_step(
    device: torch.device, b: int, cable: Cable | None = None, bucket_cap_mb: int | None = None
) -> tuple[Callable, Callable]:
    """Return ``compute()`` and ``step()``, which train a new ResNet-18 on ``b`` random images.

    For a process of a group, on a ``device`` of its own; on a CPU it computes with one thread.
    ``step`` is DistributedDataParallel's, so that all processes have to call it, and exchanges
    gradients, over the ``cable`` if there is one, in buckets of up to ``bucket_cap_mb`` MB (by
    default 25, the first 1). ``compute`` leaves the exchange out.
    """
    from d2l_local import torch as d2l

    if device.type == "cpu":
        torch.set_num_threads(1)
    net = d2l.resnet18(10)
    net(torch.zeros(2, 1, 28, 28))  # The layers learn their shapes
    ddp = nn.parallel.DistributedDataParallel(
        net.to(device),
        process_group=cable.group if cable else None,
        bucket_cap_mb=bucket_cap_mb,
        # What these spare are copies of running statistics, and of gradients to the buckets.
        broadcast_buffers=False,
        gradient_as_bucket_view=True,
    )
    if cable:
        ddp.register_comm_hook(cable, Cable.send)
    trainer = torch.optim.SGD(net.parameters(), lr=0.01)
    X = torch.rand(b, 1, 28, 28, device=device)
    y = torch.zeros(b, dtype=torch.long, device=device)

    def train(net: nn.Module) -> None:
        trainer.zero_grad()
        F.cross_entropy(net(X), y).backward()
        trainer.step()

    return lambda: train(net), lambda: train(ddp)
