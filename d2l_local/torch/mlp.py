"""A multilayer perceptron: its training step in one function, and layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
    net = _mlp(inputs, *widths).to(device)
    trainer = torch.optim.SGD(net.parameters(), lr=lr)

    def step(X):
        trainer.zero_grad()
        loss = ((net(X) - 1) ** 2).mean() / 2
        loss.backward()
        trainer.step()
        return loss.detach()

    return step


def mlp_predict(inputs: int, *widths: int, device: torch.device | None = None) -> Callable:
    """Return ``predict(X)``, the outputs of a new network such as `mlp_step` trains.

    They have ``widths[-1]`` columns, and no graph holds what they were computed from.
    """
    return torch.no_grad()(_mlp(inputs, *widths).to(device).forward)


def _mlp(*widths: int) -> nn.Sequential:
    layers = [nn.Sequential(nn.Linear(*pair), nn.ReLU()) for pair in pairwise(widths)]
    return nn.Sequential(*layers[:-1], layers[-1][0])


def layer_tasks(layers: int, width: int, rows: int) -> list[Callable[[], None]]:
    """Return the ``2 * layers`` tasks of a training step, to be called in this order, repeatedly.

    Each computes one dense layer with tanh, without a bias, on ``rows`` rows, with one thread on
    the CPU, and returns when it has: forward from the first layer to the last, then backward, the
    gradients of the layer's weights and inputs.
    """
    weights = [torch.randn(width, width) / width**0.5 for _ in range(layers)]
    outputs = [torch.randn(rows, width)]
    ones = head = torch.ones(rows, width)

    def forward(W: torch.Tensor) -> None:
        torch.set_num_threads(1)
        outputs.append(torch.tanh(outputs[-1] @ W))

    def backward(W: torch.Tensor) -> None:
        nonlocal head
        if len(outputs) > layers:  # A step begins: smaller with each, it would become subnormal
            head = ones
        head = head * (1 - outputs.pop() ** 2)
        _gradient = outputs[-1].T @ head
        head = head @ W.T

    forwards = [partial(forward, W) for W in weights]
    return [*forwards, *[partial(backward, W) for W in reversed(weights)]]
