"""ResNet-18 as d2l defines it, for both kinds of array.

d2l 1.0.3's `Residual` calls ``npx.relu``, which takes ``mx.np`` arrays alone, and is a plain
``Block``: it cannot be hybridized or exported. The blocks here have the same signatures, layers
and number of parameters, take ``mx.nd`` arrays, or ``mx.np`` arrays after ``npx.set_np()``, and
are hybrid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mxnet as mx
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import nn


class Residual(nn.HybridBlock):
    """Two 3x3 convolutions with batch normalization, and a shortcut around them.

    Maps (n, channels, height, width) to (n, num_channels, height / strides, width / strides),
    rounded up. The shortcut is the input itself, so its shape must be that of the output, or,
    with ``use_1x1conv``, a 1x1 convolution of the input.
    """

    def __init__(self, num_channels, use_1x1conv=False, strides=1, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = nn.Conv2D(num_channels, kernel_size=3, padding=1, strides=strides)
        self.conv2 = nn.Conv2D(num_channels, kernel_size=3, padding=1)
        self.conv3 = None
        if use_1x1conv:
            self.conv3 = nn.Conv2D(num_channels, kernel_size=1, strides=strides)
        self.bn1 = nn.BatchNorm()
        self.bn2 = nn.BatchNorm()
        # A layer and not a function: Gluon's layers know which kind of array they have.
        self.relu = nn.Activation("relu")

    def hybrid_forward(self, F, X):
        Y = self.relu(self.bn1(self.conv1(X)))
        Y = self.bn2(self.conv2(Y))
        return self.relu(Y + (self.conv3(X) if self.conv3 else X))


def resnet18(num_classes):
    """ResNet-18 for small images, as in d2l: 3x3 kernel and stride 1 at the start, no pooling.

    Maps (n, channels, height, width) to (n, num_classes). For one channel and 10 classes it trains
    11,175,818 parameters.
    """
    net = nn.HybridSequential()
    net.add(nn.Conv2D(64, kernel_size=3, padding=1), nn.BatchNorm(), nn.Activation("relu"))
    for num_channels in (64, 128, 256, 512):
        block = nn.HybridSequential()
        for i in range(2):
            shrink = i == 0 and num_channels > 64
            block.add(Residual(num_channels, use_1x1conv=shrink, strides=2 if shrink else 1))
        net.add(block)
    net.add(nn.GlobalAvgPool2D(), nn.Dense(num_classes))
    return net


def resnet_step(devices: Sequence[mx.Context], b: int, store: object = "device") -> Callable:
    """Return ``step()``, which trains a new ResNet-18 on ``b`` random images for each device.

    It queues forward propagation and backpropagation, the exchange of the gradients by a `Trainer`
    with ``kvstore=store`` (None: no exchange), and the update. ``step(wait)`` calls ``wait()``
    before the exchange and after it: with ``nd.waitall`` the three take turns. Each gradient may
    leave when it is there; in Gluon's own setting 15 operators are one to the engine, and their
    gradients leave together.
    """
    net = resnet18(10)
    net.initialize(init.Xavier(), ctx=list(devices))
    net.hybridize(static_alloc=True, static_shape=True, backward_bulk_size=1)
    options = {"kvstore": store, "update_on_kvstore": False}
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}, **options)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    X = nd.random.uniform(shape=(b * len(devices), 1, 28, 28), ctx=devices[0])
    y = nd.zeros(len(X), ctx=devices[0])
    data = list(zip(*[gluon.utils.split_and_load(array, devices) for array in (X, y)]))

    def step(wait: Callable[[], object] = lambda: None) -> None:
        with autograd.record():
            losses = [loss(net(X_shard), y_shard) for X_shard, y_shard in data]
        autograd.backward(losses)
        wait()
        trainer.allreduce_grads()
        wait()
        trainer.update(len(X))

    return step
