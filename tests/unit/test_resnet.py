"""Our `Residual` and `resnet18`: d2l's layers for both kinds of array, hybrid and exportable."""

from __future__ import annotations

import importlib
import inspect
import math

from helpers import needs

needs("mxnet")

from d2l_local import mxnet as d2l

import numpy as np
import pytest

mx = d2l.mx
nd, npx = mx.nd, mx.npx
original = importlib.import_module("d2l.mxnet")  # After ours, which prepares the process


def images(array, n=2, channels=1, size=28):
    shape = (n, channels, size, size)
    return array(np.random.RandomState(0).rand(*shape).astype("float32"))


def initialized(net, devices=None):
    net.initialize(mx.init.Xavier(), ctx=devices)
    return net


@pytest.mark.parametrize("use_1x1conv, strides, size", [(False, 1, 7), (True, 1, 7), (True, 2, 4)])
def test_residual_has_the_shape_that_strides_say(array, use_1x1conv, strides, size):
    block = initialized(d2l.Residual(3, use_1x1conv=use_1x1conv, strides=strides))
    Y = block(images(array, channels=3, size=7))
    assert Y.shape == (2, 3, size, size)
    assert (Y.asnumpy() >= 0).all()


def test_residual_without_weights_is_relu_of_its_input(array):
    block = d2l.Residual(3)
    block.initialize(mx.init.Zero())
    block.bn2.initialize(mx.init.Zero(), force_reinit=True)  # Keeps the branch at 0
    X = images(array, channels=3, size=5) - 0.5
    np.testing.assert_allclose(block(X).asnumpy(), np.maximum(X.asnumpy(), 0), atol=1e-6)


def test_resnet18_trains_11_175_818_parameters(array):
    net = initialized(d2l.resnet18(10))
    assert net(images(array)).shape == (2, 10)
    parameters = net.collect_params().values()
    assert sum(math.prod(p.shape) for p in parameters if p.grad_req != "null") == 11_175_818


def test_signatures_and_parameters_are_those_of_d2l(monkeypatch):
    for name in ("Residual", "resnet18"):
        ours, theirs = getattr(d2l, name), getattr(original, name)
        assert ours is not theirs
        assert inspect.signature(ours) == inspect.signature(theirs)
    npx.set_np()  # d2l's takes nothing else
    try:
        ours = shapes(d2l.resnet18(10))
        monkeypatch.setattr(d2l, "Residual", original.Residual)
        assert shapes(original.resnet18(10)) == ours
    finally:
        npx.reset_np()


def shapes(net):
    initialized(net)(mx.np.ones((1, 1, 28, 28)))
    return sorted(p.shape for p in net.collect_params().values())


def test_hybridized_gives_the_same_output(array):
    net, X = initialized(d2l.resnet18(10)), images(array)
    before = net(X).asnumpy()
    net.hybridize(static_alloc=True, static_shape=True)
    np.testing.assert_allclose(net(X).asnumpy(), before, rtol=1e-4, atol=1e-5)


def test_export_and_import(array, tmp_path):
    net, X = initialized(d2l.resnet18(10)), images(array)
    net.hybridize()
    expected = net(X).asnumpy()
    net.export(str(tmp_path / "resnet"))
    loaded = mx.gluon.SymbolBlock.imports(
        str(tmp_path / "resnet-symbol.json"), ["data"], str(tmp_path / "resnet-0000.params")
    )
    np.testing.assert_allclose(loaded(X).asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_two_devices_hold_equal_copies_and_learn():
    devices = d2l.devices(2)
    net = initialized(d2l.resnet18(10), devices)
    net.hybridize(static_alloc=True, static_shape=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    shards = mx.gluon.utils.split_and_load(images(nd.array, n=5), devices, even_split=False)
    with mx.autograd.record():
        losses = [loss(net(X), nd.zeros(len(X), ctx=X.context)) for X in shards]
    mx.autograd.backward(losses)
    before = net[0].weight.data(devices[0]).asnumpy()
    trainer.step(5)
    after = [net[0].weight.data(device).asnumpy() for device in devices]
    assert (after[0] == after[1]).all() and (after[0] != before).any()
