"""A cable between MXNet's devices: it sums as other stores do, and its bytes take their time."""

from __future__ import annotations

from helpers import needs

needs("mxnet")

from d2l_local import mxnet as d2l

import pytest
from mxnet import autograd, gluon, init, nd

mx = d2l.mx
CPUS = [mx.cpu(i) for i in range(3)]


def trained(store, devices):
    """Train two layers on a row per device, and return all copies of the weights, and the net."""
    mx.random.seed(0)
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(300, in_units=200), gluon.nn.Dense(1, in_units=300))
    net.initialize(init.Xavier(), ctx=devices)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=store)
    for _ in range(2):
        with autograd.record():
            losses = [net(nd.ones((1, 200), ctx=d) * (d.device_id + 1)) for d in devices]
        autograd.backward(losses)
        trainer.step(len(devices))
    return [[copy.asnumpy() for copy in p.list_data()] for p in net.collect_params().values()]


@pytest.mark.parametrize("k", (1, 2, 3))
def test_it_trains_as_other_stores_do(k):
    over_cable, in_memory = (trained(store, CPUS[:k]) for store in (d2l.Cable(1e9), "device"))
    for copies, [right, *_] in zip(over_cable, in_memory):
        assert all((copy == copies[0]).all() for copy in copies)
        assert abs(copies[0] - right).max() < 1e-6


def test_bytes_keep_it_busy_one_array_after_the_other():
    arrays = [[nd.ones(size, ctx=device) for device in CPUS] for size in (100_000, 1000, 50_000)]
    cable = d2l.Cable(50e6)
    with d2l.Timeline() as timeline:
        for key, copies in enumerate(arrays):
            cable.pushpull(key, copies)
    spans = timeline.lanes["cable"]
    assert len(spans) == len(arrays) and all(span.is_copy for span in spans)
    assert all(one.end <= other.start for one, other in zip(spans, spans[1:]))
    # A ring of three sends two thirds of the bytes in each of two rounds
    assert timeline.busy("cable") >= 2 * 2 / 3 * 4 * 151_000 / 50e6
    assert (arrays[1][2].asnumpy() == 3).all()


def test_an_exchange_waits_for_its_own_gradients_alone():
    ready, x = [nd.ones(250_000, ctx=device) for device in CPUS[:2]], nd.ones((1500, 1500))
    cable = d2l.Cable(100e6)
    cable.pushpull(0, ready)  # Its first call loads
    with d2l.Timeline() as timeline:
        products = [nd.dot(x, x) for _ in range(12)]  # Long enough for a busy machine
        cable.pushpull(0, ready)
    assert len(products) == 12
    assert timeline.lanes["cable"][0].end < timeline.lanes["cpu/0"][-1].end


def test_one_of_two_computers_sends_what_it_has_and_keeps_it():
    gradients, cable = [nd.ones(100_000)], d2l.Cable(50e6, computers=2)
    with d2l.Timeline() as timeline:
        cable.pushpull(0, gradients)
    assert timeline.busy("cable") >= 4 * 100_000 / 50e6
    assert (gradients[0].asnumpy() == 1).all()
    cable.pushpull(0, gradients, out=[copy := nd.zeros(100_000)])
    assert (copy.asnumpy() == 1).all()
    for wrong in (0, -1, 1.5, True, "two"):
        with pytest.raises(ValueError, match="computers must be a positive integer"):
            d2l.Cable(50e6, computers=wrong)


@pytest.mark.parametrize("speed", (0, -1, float("inf"), float("nan"), "fast", True))
def test_a_cable_needs_a_speed(speed):
    with pytest.raises(ValueError, match="bytes_per_second must be a positive number"):
        d2l.Cable(speed)


def test_a_step_of_resnet_waits_around_the_exchange_where_it_is_told():
    step, seen = d2l.resnet_step(CPUS[:2], 1, d2l.Cable(1e9)), []

    def wait():
        nd.waitall()
        seen.append(len(seen))

    with d2l.Timeline() as timeline:
        step(wait)
    assert seen == [0, 1]
    backward = [s.end for s in timeline.lanes["cpu/0"] if "_backward_Conv" in s.name]
    assert max(backward) <= timeline.lanes["cable"][0].start
    sent = timeline.busy("cable")
    assert sent >= 4 * 11_175_818 / 1e9
    d2l.resnet_step(CPUS[:1], 1)()  # One device, and nothing to exchange
    nd.waitall()
