"""A multilayer perceptron and its training step, in one function."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import nn


def mlp_step(
    inputs: int, *widths: int, lr: float = 0.005, device: torch.device | None = None
) -> Callable:
    """Return ``step(X)``, which trains a new network on one minibatch and returns the mean loss.

    Linear layers from ``inputs`` to ``widths`` units with ReLU between them; the rows of ``X`` are
    to give ones, by the squared loss (halved, as Gluon's) and stochastic gradient descent with the
    learning rate ``lr``, on ``device``. ``mlp_step(512, 2048, 512, 1)`` is the workload of d2l's
    memory experiment of 2019 and 2020. The loss is a tensor without a graph.
    """
    layers = [nn.Sequential(nn.Linear(*pair), nn.ReLU()) for pair in pairwise((inputs, *widths))]
    net = nn.Sequential(*layers[:-1], layers[-1][0]).to(device)
    trainer = torch.optim.SGD(net.parameters(), lr=lr)

    def step(X):
        trainer.zero_grad()
        loss = ((net(X) - 1) ** 2).mean() / 2
        loss.backward()
        trainer.step()
        return loss.detach()

    return step
