"""A multilayer perceptron: its training step in one function, and layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn


def mlp_step(*widths: int, lr: float = 0.005, device: mx.Context | None = None) -> Callable:
    """Return ``step(X)``, which trains a new network on one minibatch and returns the mean loss.

    Dense layers of ``widths`` units with ReLU between them; the rows of ``X`` are to give ones, by
    the squared loss (halved, as Gluon's) and stochastic gradient descent with the learning rate
    ``lr``, on ``device`` (default: the current one). ``mlp_step(2048, 512, 1)`` is the workload of
    d2l's memory experiment of 2019 and 2020. The loss is an array that need not be computed yet.
    """
    net = mlp_predict(*widths, device=device)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": lr}, kvstore=None)
    squared = gluon.loss.L2Loss()

    def step(X):
        with autograd.record():
            loss = squared(net(X), nd.ones((len(X), widths[-1]), ctx=X.context)).mean()
        loss.backward()
        trainer.step(1)
        return loss

    return step


def mlp_predict(*widths: int, device: mx.Context | None = None) -> nn.Sequential:
    """Return the new network that `mlp_step` trains: ``net(X)`` is its outputs for a minibatch.

    They have ``widths[-1]`` columns, and need not be computed yet.
    """
    net = nn.Sequential()
    net.add(*(nn.Dense(units, activation="relu") for units in widths[:-1]), nn.Dense(widths[-1]))
    net.initialize(ctx=device)
    return net


def layer_tasks(layers: int, width: int, rows: int) -> list[Callable[[], None]]:
    """Return the ``2 * layers`` tasks of a training step, to be called in this order, repeatedly.

    Each computes one dense layer with tanh, without a bias, on ``rows`` rows, on ``cpu(0)``, and
    returns when it has: forward from the first layer to the last, then backward, the gradients of
    the layer's weights and inputs.
    """
    cpu = mx.cpu(0)
    weights = [nd.random.normal(scale=width**-0.5, shape=(width, width), ctx=cpu)
               for _ in range(layers)]  # fmt: skip
    outputs = [nd.random.normal(shape=(rows, width), ctx=cpu)]
    ones = head = nd.ones((rows, width), ctx=cpu)

    def forward(W: nd.NDArray) -> None:
        outputs.append(nd.tanh(nd.dot(outputs[-1], W)))
        outputs[-1].wait_to_read()

    def backward(W: nd.NDArray) -> None:
        nonlocal head
        if len(outputs) > layers:  # A step begins: smaller with each, it would become subnormal
            head = ones
        head = head * (1 - outputs.pop() ** 2)
        _gradient = nd.dot(outputs[-1], head, transpose_a=True)
        head = nd.dot(head, W, transpose_b=True)
        nd.waitall()

    forwards = [partial(forward, W) for W in weights]
    return [*forwards, *[partial(backward, W) for W in reversed(weights)]]
