"""What the drafts of 2017 and 2018 called ``utils``: ``from d2l_local import drafts as utils``.

All of `d2l_local.mxnet`, but with the two functions of that name which later editions changed.
"""

from __future__ import annotations

from collections.abc import Iterable as _Iterable

from d2l_local import mxnet as _later
from d2l_local.mxnet import *  # noqa: F403

from d2l.mxnet import sgd as _sgd
from mxnet.gluon import nn as _nn


def resnet18(num_classes: int) -> _nn.Block:  # type: ignore[no-redef]  # In place of that of the line above
    """`d2l_local.mxnet.resnet18` behind a batch normalization: the convolution comes second."""
    net = _nn.HybridSequential()
    net.add(_nn.BatchNorm(), *_later.resnet18(num_classes))
    return net


def SGD(params: _Iterable, lr: float) -> None:
    """Update ``params`` in place by their gradients times ``lr``; d2l has a class of this name."""
    _sgd(params, lr, 1)
