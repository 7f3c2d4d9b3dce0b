"""Ways to train a chain of layers, held against one device, in each framework that is here."""

from __future__ import annotations

from d2l_local.simulate.trials import ChainTrial, adam

import numpy as np
import pytest
from backends import each_backend


def a_step(links, trial, factor=1.0, divided=False):
    """Return a way to train in which device 0 does everything; its gradients by NumPy."""

    def step(held, t):
        layers = sum(name[0] == "w" for name in held)
        weights = [links.join(held["w", i][: None if divided else 1]) for i in range(layers)]
        outputs = [links.join(trial.xs)]
        for w in weights:
            outputs.append(np.tanh(outputs[-1] @ w))
        head = factor * (outputs[-1] - links.join(trial.ys))
        for layer in reversed(range(layers)):
            head = head * (1 - outputs[layer + 1] ** 2)
            gradient, head = outputs[layer].T @ head, head @ weights[layer].T
            whole = links.place(gradient, 0)
            copies = [links.send(whole, 0, i) for i in range(len(links.devices))]
            held["g", layer] = links.split(whole) if divided else copies
        for layer in range(layers):
            states = zip(
                held["w", layer], held.pop(("g", layer)), held["m", layer], held["v", layer]
            )
            new = zip(*[adam(*state, t) for state in states])
            held["w", layer], held["m", layer], held["v", layer] = new

    return step


@each_backend
def test_a_trial_knows_what_one_device_gets(d2l):
    links = d2l.Links(2)
    trial = d2l.ChainTrial(links, layers=3, width=4, rows=5)
    assert [tuple(x.shape) for x in (*trial.xs, *trial.ys)] == [(5, 4)] * 4
    parameters, each = 3 * 4 * 4, 4 * 4
    found = trial(a_step(links, trial))
    assert found.difference < 1e-5
    sent = 3 * 4 * each / parameters / 2  # One of two devices sends
    assert (found.kept, found.sent) == (16, sent)
    divided = trial(a_step(links, trial, divided=True), divided="wmv")
    assert divided.difference < 1e-5 and divided.kept == 8
    assert trial(a_step(links, trial), divided="")._replace(sent=0) == found._replace(sent=0)
    assert trial(a_step(links, trial, factor=-1)).difference > 0.01


@each_backend
def test_a_trial_of_sizes_that_do_not_fit(d2l):
    links = d2l.Links(2)
    with pytest.raises(ValueError, match="2 devices cannot have equal parts of 5 rows"):
        ChainTrial(links, width=5)
    for wrong in ({"layers": 0}, {"rows": 0}, {"width": -2}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be a positive integer"):
            ChainTrial(links, **wrong)
