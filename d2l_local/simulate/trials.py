"""Ways to train one small network on several devices, held against one device."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from d2l_local.base.arguments import positive_integer
from d2l_local.measure.held import Held
from d2l_local.simulate.links import Links

import numpy as np
import numpy.typing as npt

STEPS = 3
RATE, MEAN, SQUARES, TINY = 0.01, 0.9, 0.99, 1e-8  # Of Adam


class Outcome(NamedTuple):
    """What a way to train kept, sent and computed."""

    kept: float
    """The most bytes that a device held, per parameter of the network."""

    sent: float
    """The bytes that a device sends in a step, on average, per parameter of the network."""

    difference: float
    """The largest difference from the weights of one device, over its largest weight."""


class ChainTrial:
    """Trains a chain of dense layers with tanh on the devices of ``links``, by Adam.

    ``trial(step, divided="mv")`` makes what the devices hold, a `Held` with the weights
    ``held["w", l]`` of each layer, of shape (width, width), and Adam's averages ``held["m", l]``
    and ``held["v", l]``: of what is ``divided`` each device has an equal part, of the others all.
    Then it calls ``step(held, t)`` for t = 1, 2 and 3, and returns the `Outcome`. The step is to
    leave what it found, trained on ``xs[i]`` and ``ys[i]`` of each device i, of shape (rows,
    width), by the squared loss, halved and summed, and updated by `adam`. One device does the same,
    in NumPy. ValueError unless the devices divide ``width``.
    """

    def __init__(self, links: Links, layers: int = 8, width: int = 16, rows: int = 8):
        k = len(links.devices)
        self.layers = positive_integer("layers", layers)
        if positive_integer("width", width) % k:
            raise ValueError(f"{k} devices cannot have equal parts of {width} rows")
        rng = np.random.default_rng(0)
        self._x, self._y = rng.normal(size=(2, k * positive_integer("rows", rows), width))
        self._weights: npt.NDArray[np.float64] = (
            rng.normal(size=(layers, width, width)) / width**0.5
        )
        self._links = links
        self.xs = links.split(links.place(self._x, 0))
        self.ys = links.split(links.place(self._y, 0))

    def __call__(self, step: Callable[[Held, int], object], divided: str = "") -> Outcome:
        held, sent = self._start(divided), len(self._links.sent)
        for t in range(1, STEPS + 1):
            step(held, t)
        right = self._on_one_device()
        differences = []
        for layer, weights in enumerate(right):
            found = [held["w", layer]] if "w" in divided else held["w", layer]
            differences += [self._links.difference(W, weights) for W in found]
        each = sum(self._links.sent[sent:]) / STEPS / len(self._links.devices)
        return Outcome(held.peak / right.size, each / right.size, max(differences))

    def _start(self, divided: str) -> Held:
        held = Held()
        for (layer, W), name in itertools.product(enumerate(self._weights), "wmv"):
            whole = self._links.place(W if name == "w" else 0 * W, 0)
            devices = range(len(self._links.devices))
            copies = self._links.split(whole) if name in divided else []
            held[name, layer] = copies or [self._links.place(whole, i) for i in devices]
        return held

    def _on_one_device(self) -> npt.NDArray[np.float64]:
        weights = self._weights.copy()
        m, v = np.zeros((2, *weights.shape))
        for t in range(1, STEPS + 1):
            outputs = [self._x]
            for W in weights:
                outputs.append(np.tanh(outputs[-1] @ W))
            head, gradient = outputs[-1] - self._y, np.empty_like(weights)
            for layer in reversed(range(self.layers)):
                head = head * (1 - outputs[layer + 1] ** 2)
                gradient[layer], head = outputs[layer].T @ head, head @ weights[layer].T
            weights, m, v = adam(weights, gradient, m, v, t)
        return weights


def adam(W: Any, g: Any, m: Any, v: Any, t: int) -> tuple[Any, Any, Any]:
    """Return weights, and the averages of gradients and of their squares, after step ``t``.

    Kingma and Ba, 2015, with rates of 0.01, 0.9 and 0.99. Arrays of any framework and shape, which
    need not be the whole: each number is updated by itself.
    """
    m, v = MEAN * m + (1 - MEAN) * g, SQUARES * v + (1 - SQUARES) * g**2
    return W - RATE * (m / (1 - MEAN**t)) / ((v / (1 - SQUARES**t)) ** 0.5 + TINY), m, v
