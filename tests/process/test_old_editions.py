"""What the cells of older editions of this chapter call, played through in both kinds of array.

The code is this test's own; docs/running-old-editions.md tells how the cells themselves fared.
"""

from __future__ import annotations

from d2l_local.base.processes import in_new_process

import pytest
import small_data
from settings import NOTHING_SET

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Return what the processes find in their environment: no settings, and 90 and 25 images."""
    folder = small_data.write(tmp_path_factory.mktemp("images"), 90, 25)
    return {**NOTHING_SET, "D2L_DATA": folder}


def classic():
    """The gluonbook and d2lzh editions: nd arrays, mx.gpu, evaluate_accuracy(data_iter, net)."""
    from d2l_local import mxnet as d2l

    import mxnet as mx
    from mxnet import autograd, gluon, init, nd
    from mxnet.gluon import nn

    d2l.stand_in_for_gpus()
    seen = {"np": mx.npx.is_np_array(), "gpus": [str(mx.gpu(i)) for i in range(2)]}

    # Automatic parallelism: the CPU and a GPU
    a, b = nd.ones((300, 300)), nd.ones((400, 400), ctx=mx.gpu(0))
    with d2l.Timeline() as timeline:
        products = [nd.dot(x, x) for _ in range(20) for x in (a, b)]
        back = [each.copyto(mx.cpu()) for each in products]
        with d2l.Benchmark("both."):
            nd.waitall()
    seen["lanes"], seen["copied to"] = list(timeline.lanes), sorted({str(x.context) for x in back})

    # From scratch: parameters on each GPU, gradients added on the first one
    gpus = [mx.gpu(i) for i in range(2)]
    start = [nd.zeros((784, 10)), nd.zeros(10)]
    replicas = [[p.copyto(gpu) for p in start] for gpu in gpus]
    for p in sum(replicas, []):
        p.attach_grad()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def net_of(params):
        return lambda X: d2l.linreg(X.reshape((X.shape[0], -1)), *params)

    train_iter, test_iter = d2l.load_data_fashion_mnist(30)
    for _ in range(4):
        for X, y in train_iter:
            shards = zip(replicas, *[gluon.utils.split_and_load(each, gpus) for each in (X, y)])
            with autograd.record():
                losses = [loss(net_of(params)(X_), y_) for params, X_, y_ in shards]
            for each in losses:
                each.backward()
            for first, second in zip(*replicas):
                first.grad[:] += second.grad.copyto(first.context)
                first.grad.copyto(second.grad)
            for params in replicas:
                d2l.sgd(params, 0.5, X.shape[0])
    seen["replicas differ"] = float(
        (replicas[0][0].as_in_context(gpus[1]) - replicas[1][0]).abs().max().asscalar()
    )
    seen["from scratch"] = d2l.evaluate_accuracy(test_iter, net_of(replicas[0]), gpus[0])

    # With Gluon: a network of Residual blocks on both GPUs and not on the CPU
    net = nn.Sequential()
    net.add(nn.Conv2D(4, 3, strides=4), d2l.Residual(8, use_1x1conv=True, strides=2))
    net.add(d2l.Residual(8), nn.GlobalAvgPool2D(), nn.Dense(10))
    net.initialize(init.Normal(0.1), ctx=gpus)
    outputs = [net(x) for x in gluon.utils.split_and_load(nd.ones((4, 1, 28, 28)), gpus)]
    seen["outputs"] = [[str(x.context), x.shape] for x in outputs]
    weight = net[0].params.get("weight")
    try:
        weight.data()
    except RuntimeError:
        seen["on the CPU"] = False
    seen["same weights"] = bool(
        (weight.data(gpus[0]).asnumpy() == weight.data(gpus[1]).asnumpy()).all()
    )
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for X, y in train_iter:
        X_shards, y_shards = d2l.split_batch(X, y, gpus)
        with autograd.record():
            losses = [loss(net(X_), y_) for X_, y_ in zip(X_shards, y_shards)]
        for each in losses:
            each.backward()
        trainer.step(len(X))
    seen["with Gluon"] = [
        d2l.evaluate_accuracy(test_iter, net, gpus),
        d2l.evaluate_accuracy_gpus(net, test_iter),
    ]
    seen["resnet18"] = d2l.resnet18(10)[0].__class__.__name__
    return seen


def numpys():
    """The d2l editions: np arrays, d2l.try_gpu, evaluate_accuracy_gpu(net, data_iter, device)."""
    from d2l_local import mxnet as d2l

    import mxnet as mx
    from mxnet import autograd, gluon, np, npx
    from mxnet.gluon import nn

    npx.set_np()
    d2l.stand_in_for_gpus()
    seen = {"np": npx.is_np_array(), "gpus": [str(npx.gpu(i)) for i in range(2)]}

    a, b = [np.ones((300, 300), ctx=device) for device in d2l.try_all_gpus()]
    with d2l.Timeline() as timeline, d2l.benchmark("both: %.4f sec"):
        products = [x.dot(x) for _ in range(20) for x in (a, b)]
        back = [each.copyto(npx.cpu()) for each in products]
    seen["lanes"], seen["copied to"] = list(timeline.lanes), sorted({str(x.ctx) for x in back})

    gpus = [npx.gpu(0), npx.gpu(1)]
    replicas = [
        [np.zeros(shape, ctx=d2l.try_gpu(i)) for shape in ((784, 10), (10,))] for i in range(2)
    ]
    for p in sum(replicas, []):
        p.attach_grad()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def net_of(params):
        return lambda X: d2l.linreg(X.reshape(X.shape[0], -1), *params)

    timer, animator = d2l.Timer(), d2l.Animator("epoch", "test acc", xlim=[1, 4])
    train_iter, test_iter = d2l.load_data_fashion_mnist(40)  # The last minibatch has 10
    for epoch in range(4):
        timer.start()
        for X, y in train_iter:
            shards = zip(replicas, *d2l.split_batch(X, y, gpus))
            with autograd.record():
                losses = [loss(net_of(params)(X_), y_) for params, X_, y_ in shards]
            for each in losses:
                each.backward()
            for first, second in zip(*replicas):
                first.grad[:] += second.grad.copyto(first.ctx)
                first.grad.copyto(second.grad)
            for params in replicas:
                d2l.sgd(params, 0.5, X.shape[0])
            npx.waitall()
        timer.stop()
        accuracy = d2l.evaluate_accuracy_gpu(net_of(replicas[0]), test_iter, gpus[0])
        animator.add(epoch + 1, (accuracy,))
    seen["replicas differ"] = abs(replicas[0][0].asnumpy() - replicas[1][0].asnumpy()).max().item()
    seen["from scratch"] = animator.Y[0][-1]
    assert timer.avg() > 0

    net = nn.Sequential()
    net.add(nn.Conv2D(4, 3, strides=4), d2l.Residual(8, use_1x1conv=True, strides=2))
    net.add(d2l.Residual(8), nn.GlobalAvgPool2D(), nn.Dense(10))
    net.initialize(mx.init.Normal(0.1), ctx=gpus)
    outputs = [net(x) for x in gluon.utils.split_and_load(np.ones((4, 1, 28, 28)), gpus)]
    seen["outputs"] = [[str(x.ctx), x.shape] for x in outputs]
    weight = net[0].params.get("weight")
    try:
        weight.data()
    except RuntimeError:
        seen["on the CPU"] = False
    seen["same weights"] = bool(
        (weight.data(gpus[0]).asnumpy() == weight.data(gpus[1]).asnumpy()).all()
    )
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    metric = d2l.Accumulator(2)
    for X, y in train_iter:
        metric.add(*d2l.train_batch_ch13(net, X, y, loss, trainer, gpus))
    assert 0 < metric[0] < 90 * 10 and 0 <= metric[1] <= 90
    seen["with Gluon"] = [
        d2l.evaluate_accuracy(net, test_iter, gpus),
        d2l.evaluate_accuracy_gpus(net, test_iter),
    ]
    seen["resnet18"] = d2l.resnet18(10)[0].__class__.__name__
    return seen


@pytest.mark.parametrize(("edition", "lanes"), [(classic, "cpu/0 cpu/1"), (numpys, "cpu/1 cpu/2")])
def test_an_old_edition_runs_with_the_import_line_replaced(edition, lanes, environment):
    seen = in_new_process(edition, seconds=300, **environment)
    scratch, concise = seen.pop("from scratch"), seen.pop("with Gluon")
    assert seen == {
        "np": edition is numpys,
        "gpus": ["cpu(1)", "cpu(2)"],
        "lanes": lanes.split(),
        "copied to": ["cpu(0)"],
        "replicas differ": 0.0,
        "outputs": [["cpu(1)", [2, 10]], ["cpu(2)", [2, 10]]],
        "on the CPU": False,
        "same weights": True,
        "resnet18": "Conv2D",
    }
    assert scratch > 0.8  # The images tell their labels
    assert concise[0] == concise[1] and 0 <= concise[0] <= 1


def drafts():
    """The drafts of 2017 and 2018: the convolution of their resnet18 comes second."""
    from d2l_local import drafts as utils

    utils.stand_in_for_gpus()  # Before `gpu` is imported
    from mxnet import autograd, gluon, gpu, init, nd

    ctx = [gpu(0), gpu(1)]
    net = utils.resnet18(10)
    net.initialize(init=init.Xavier(), ctx=ctx)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    train_iter, test_iter = utils.load_data_fashion_mnist(30)
    X, y = next(iter(train_iter))
    with autograd.record():
        pairs = zip(*[gluon.utils.split_and_load(each, ctx) for each in (X, y)])
        losses = [loss(net(X_), y_) for X_, y_ in pairs]
    weight = net[1].params.get("weight")
    seen = {"weight": [weight.data(gpu).shape for gpu in ctx]}
    for each in losses:
        each.backward()
    trainer.step(len(X))
    seen["same weights"] = bool(
        (weight.data(ctx[0]).asnumpy() == weight.data(ctx[1]).asnumpy()).all()
    )
    seen["accuracy"] = 0 <= utils.evaluate_accuracy(test_iter, net, ctx[0]) <= 1

    w = nd.array([1.0, 2.0])
    w.attach_grad()
    with autograd.record():
        square = (w * w).sum()
    square.backward()
    utils.SGD([w], 0.25)
    seen["SGD"] = w.asnumpy().tolist()
    return seen


def test_a_draft_runs_with_the_import_line_replaced(environment):
    assert in_new_process(drafts, seconds=300, **environment) == {
        "weight": [[64, 1, 3, 3]] * 2,
        "same weights": True,
        "accuracy": True,
        "SGD": [0.5, 1.0],
    }
