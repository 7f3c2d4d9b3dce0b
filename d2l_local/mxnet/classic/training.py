"""What training code calls, with d2l's names and results, for both kinds of array.

d2l 1.0.3 takes ``mx.np`` arrays alone: an ``mx.nd`` array has no ``as_in_ctx`` and no ``float()``,
and ``np`` functions refuse it. Its ``devices`` by default are those of the time when d2l was
imported, which is an empty list without GPUs; it refuses a minibatch whose rows the devices do not
divide, and divides by zero where there are fewer than five minibatches. The classic edition's
``evaluate_accuracy`` took its arguments the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from d2l_local.base.arguments import positive_integer
from d2l_local.base.language import say
from d2l_local.measure.fonts import label
from d2l_local.mxnet import device as _devices

import d2l.mxnet as _d2l
import mxnet as mx
from mxnet import autograd, gluon, init

__all__ = [
    "Accumulator",
    "Animator",
    "accuracy",
    "evaluate_accuracy",
    "evaluate_accuracy_gpu",
    "evaluate_accuracy_gpus",
    "linreg",
    "split_batch",
    "train_batch_ch13",
    "train_ch6",
    "train_ch13",
    "train_recsys_rating",
]


def _number(value):
    """An array with one element as a Python number, anything else as it is."""
    return value.asnumpy().item() if isinstance(value, mx.nd.NDArray) else value


class Accumulator(_d2l.Accumulator):
    """Sums of ``n`` quantities, which may be numbers or arrays with one element."""

    def add(self, *args):
        """Add a value to each sum, which waits for the arrays among them."""
        super().add(*map(_number, args))


class Animator(_d2l.Animator):
    """d2l's plot that grows while a network is trained; points may be arrays with one element."""

    def add(self, x, y):
        """Add a point (x, y[i]) to each line; None leaves a line as it is."""
        super().add(_numbers(x), _numbers(y))


def _numbers(values):
    return [*map(_number, values)] if isinstance(values, (tuple, list)) else _number(values)


def linreg(X, w, b):
    """The linear model ``Xw + b``; ``X`` of shape (n, d), ``w`` (d, 1), ``b`` (1,)."""
    module = mx.np if isinstance(X, mx.np.ndarray) else mx.nd
    return module.dot(X, w) + b


def accuracy(y_hat: mx.nd.NDArray, y: mx.nd.NDArray) -> float:
    """Number of correct predictions.

    ``y_hat``: scores of shape (n, classes), or predicted classes of shape (n,) or (n, 1); ``y``:
    (n,) or (n, 1). ValueError: they have other shapes, or there are not as many predictions as
    labels.
    """
    scores = y_hat.shape
    if len(scores) == 2 and scores[1] > 1:
        y_hat = y_hat.argmax(axis=1)
    columns = (y.shape[:1], (*y.shape[:1], 1))
    if y_hat.shape not in columns or y.shape not in columns:
        raise ValueError(
            f"accuracy: predictions of shape {scores}, but labels of shape {y.shape}; for n labels "
            "of shape (n,) or (n, 1), predictions are (n, classes), (n,) or (n, 1)"
        )
    # A row each: (n,) == (n, 1) would hold every prediction against every label.
    y_hat, y = y_hat.reshape((-1,)), y.reshape((-1,))
    return float(_number((y_hat.astype(y.dtype) == y).astype("float32").sum()))


def split_batch(
    X: mx.nd.NDArray, y: mx.nd.NDArray, devices: Sequence[mx.Context]
) -> tuple[list[mx.nd.NDArray], list[mx.nd.NDArray]]:
    """Split a minibatch over devices into parts that differ by one row at most.

    Returns two lists of arrays, ``devices[i]`` holding the i-th of each. d2l's refuses a number of
    rows that the number of devices does not divide. ValueError: ``X`` and ``y`` differ in length,
    or there are fewer rows than devices.
    """
    if len(X) != len(y):
        raise ValueError(f"split_batch: {len(X)} rows in X, but {len(y)} in y")
    if not 0 < len(devices) <= len(X):
        raise ValueError(
            f"split_batch: {len(X)} rows leave nothing for some of {len(devices)} devices; take "
            "another batch_size, so that no minibatch is as small as that, or fewer devices"
        )
    X_shards, y_shards = (
        gluon.utils.split_and_load(array, list(devices), even_split=False) for array in (X, y)
    )
    return X_shards, y_shards


def evaluate_accuracy(
    net: Any, data_iter: Any, device: mx.Context | list[mx.Context] | None = None
) -> float:
    """Share of correct predictions of ``net`` on a data set.

    ``net`` is a Gluon network or a function, ``data_iter`` gives minibatches (X, y). ``device``:
    the device, or list of devices, that computes; by default the one that the data are on. The
    first two may come in the order of the classic edition, ``evaluate_accuracy(data_iter, net)``;
    TypeError: they are not one of each.
    """
    if callable(net) == callable(data_iter):
        raise TypeError(
            "evaluate_accuracy takes a network (or function) and an iterator over minibatches, "
            f"not {type(net).__name__} and {type(data_iter).__name__}"
        )
    if callable(data_iter):
        net, data_iter = data_iter, net
    if device is None:
        return _accuracy(net, data_iter, None, lambda X, y, _: ([X], [y]))
    return _accuracy(net, data_iter, device if isinstance(device, (list, tuple)) else [device])


def evaluate_accuracy_gpu(
    net: gluon.Block, data_iter: Iterable, device: mx.Context | None = None
) -> float:
    """Share of correct predictions, computed on ``device``, by default the network's first one."""
    return _accuracy(net, data_iter, [device or _devices_of(net)[0]])


def evaluate_accuracy_gpus(
    net: gluon.Block, data_iter: Iterable, split_f: Callable = split_batch
) -> float:
    """Share of correct predictions, computed on all devices that the network is on."""
    return _accuracy(net, data_iter, _devices_of(net), split_f)


def _devices_of(net: gluon.Block) -> list[mx.Context]:
    return next(iter(net.collect_params().values())).list_ctx()


def _accuracy(net, data_iter, devices, split_f=split_batch):
    metric = Accumulator(2)  # Correct predictions, predictions
    for X, y in data_iter:
        X_shards, y_shards = split_f(X, y, devices and devices[: len(y)])
        y_hats = [net(X_shard) for X_shard in X_shards]  # All devices work before we wait for one
        metric.add(sum(map(accuracy, y_hats, y_shards)), y.size)
    if not metric[1]:
        raise ValueError(
            "there is not a single example to compute the accuracy on; an iterator that can be "
            "used only once may be used up"
        )
    return metric[0] / metric[1]


def train_batch_ch13(
    net: Callable,
    features: mx.nd.NDArray,
    labels: mx.nd.NDArray,
    loss: Callable,
    trainer: gluon.Trainer,
    devices: Sequence[mx.Context],
    split_f: Callable = split_batch,
) -> tuple[float, float]:
    """Train on one minibatch, split over devices; return (sum of the loss, correct predictions)."""
    X_shards, y_shards = split_f(features, labels, devices)
    with autograd.record():
        y_hats = [net(X_shard) for X_shard in X_shards]
        losses = [loss(y_hat, y_shard) for y_hat, y_shard in zip(y_hats, y_shards)]
    autograd.backward(losses)
    trainer.step(len(labels), ignore_stale_grad=True)  # Fine-tuning leaves parameters out
    return sum(_number(each.sum()) for each in losses), sum(map(accuracy, y_hats, y_shards))


def train_ch13(
    net: gluon.Block,
    train_iter: Any,
    test_iter: Iterable,
    loss: Callable,
    trainer: gluon.Trainer,
    num_epochs: int,
    devices: list[mx.Context] | None = None,
    split_f: Callable = split_batch,
) -> None:
    """Train a network that is on ``devices`` (default: `d2l.try_all_gpus()`) and plot how it goes.

    Prints the last losses and accuracies and the training examples per second. ValueError: no
    epochs, or no examples in one of the iterators.
    """
    num_epochs = positive_integer("num_epochs", num_epochs)
    devices = devices or _devices.try_all_gpus()
    timer, num_batches = _d2l.Timer(), len(train_iter)
    legend = [label("train loss"), label("train acc"), label("test acc")]
    animator = Animator(xlabel=label("epoch"), xlim=[1, num_epochs], ylim=[0, 1], legend=legend)
    for epoch in range(num_epochs):
        metric = Accumulator(4)  # Loss, correct predictions, examples, predictions
        for i, (features, labels) in enumerate(train_iter, start=1):
            timer.start()
            result = train_batch_ch13(net, features, labels, loss, trainer, devices, split_f)
            metric.add(*result, len(labels), labels.size)
            timer.stop()
            train_loss, train_acc = metric[0] / metric[2], metric[1] / metric[3]
            if i % max(1, num_batches // 5) == 0 or i == num_batches:
                animator.add(epoch + i / num_batches, (train_loss, train_acc, None))
        if not metric[2]:
            raise ValueError(f"train_iter has no minibatch to train on in epoch {epoch + 1}")
        test_acc = evaluate_accuracy_gpus(net, test_iter, split_f)
        animator.add(epoch + 1, (None, None, test_acc))
    say(
        "loss {loss:.3f}, train acc {train:.3f}, test acc {test:.3f}",
        loss=train_loss,
        train=train_acc,
        test=test_acc,
    )
    speed = metric[2] * num_epochs / timer.sum()
    say("{speed:.1f} examples/sec on {devices}", speed=speed, devices=devices)


def train_ch6(net, train_iter, test_iter, num_epochs, lr, device):
    """Initialize a classifier (Xavier) on one device and train it by minibatch SGD; see above."""
    net.initialize(force_reinit=True, ctx=device, init=init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": lr})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    train_ch13(net, train_iter, test_iter, loss, trainer, num_epochs, [device])


def train_recsys_rating(
    net, train_iter, test_iter, loss, trainer, num_epochs, devices=None, evaluator=None, **kwargs
):
    """d2l's function, with the devices that exist when it is called as the default."""
    devices = devices or _devices.try_all_gpus()
    _d2l.train_recsys_rating(
        net, train_iter, test_iter, loss, trainer, num_epochs, devices, evaluator, **kwargs
    )
