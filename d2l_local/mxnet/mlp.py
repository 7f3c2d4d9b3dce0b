"""A multilayer perceptron: its training step, and its predictions."""

from __future__ import annotations

from collections.abc import Callable

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
