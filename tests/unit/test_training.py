"""What training code calls, with classic and with NumPy's arrays, on one device and on several."""

from __future__ import annotations

import importlib

from helpers import needs

needs("mxnet")

from d2l_local import mxnet as d2l

import numpy as np
import pytest

mx = d2l.mx
nd, npx, gluon, autograd = mx.nd, mx.npx, mx.gluon, mx.autograd
original = importlib.import_module("d2l.mxnet")  # After ours, which prepares the process
CPUS = [mx.cpu(1), mx.cpu(2)]

pytestmark = [pytest.mark.timeout(200), pytest.mark.filterwarnings("ignore:.*CPU devices on")]


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    """Draw figures, but show them nowhere."""
    monkeypatch.setattr(original.display, "display", lambda *args: None)
    monkeypatch.setattr(original.display, "clear_output", lambda **kwargs: None)
    yield
    original.plt.close("all")


def one_hot_batches(array, *sizes, classes=3, wrong=0):
    """Minibatches whose X, taken as scores, predict y, but for the first ``wrong`` of each."""
    for size in sizes:
        y = np.arange(size) % classes
        X = np.eye(classes, dtype="float32")[y]
        y[:wrong] = (y[:wrong] + 1) % classes
        yield array(X), array(y.astype("int32"), dtype="int32")


def identity(X):
    return X * 1


def network(devices, units=3):
    net = gluon.nn.Dense(units, in_units=3, use_bias=False)
    net.initialize(ctx=devices)
    net.weight.set_data(net.weight.data(devices[0]) * 0 + as_kind(np.eye(units, 3)))
    return net


def as_kind(values):
    module = mx.np if npx.is_np_array() else nd
    return module.array(values.astype("float32"))


# --- Accuracy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int32", "float32", "int64"])
def test_accuracy_counts_correct_predictions(array, dtype):
    scores = array(np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]], dtype="float32"))
    y = array(np.array([1, 1, 1]), dtype=dtype)
    assert d2l.accuracy(scores, y) == 2.0
    assert isinstance(d2l.accuracy(scores, y), float)
    assert d2l.accuracy(array(np.array([1.0, 0.0, 0.0], dtype="float32")), y) == 1.0


def test_accuracy_with_labels_in_a_column(array):
    scores = np.eye(3, dtype="float32")[[0, 1, 2, 0]]
    column = array(np.array([[0], [1], [2], [1]]), dtype="int32")
    assert d2l.accuracy(array(scores), column) == 3.0
    predicted = array(np.array([[0], [1], [1], [1]], dtype="float32"))
    assert d2l.accuracy(predicted, column) == 3.0
    assert d2l.accuracy(predicted, column.reshape((-1,))) == 3.0
    with pytest.raises(ValueError, match=r"of shape \(4, 3\), but labels of shape \(3, 1\)"):
        d2l.accuracy(array(scores), column[:3])
    cube = column.reshape((4, 1, 1))
    for wrong in (
        (array(scores), cube),
        (cube, column),
        (array(scores).reshape((4, 3, 1)), column),
    ):
        with pytest.raises(
            ValueError, match=r"accuracy: predictions of shape .*4, .*\(n, classes\)"
        ):
            d2l.accuracy(*wrong)
    with pytest.raises(ValueError, match=r"labels of shape \(2, 2\)"):
        d2l.accuracy(array(scores), column.reshape((2, 2)))


def test_both_orders_of_arguments(array):
    batches = [*one_hot_batches(array, 4, 5, wrong=1)]
    assert d2l.evaluate_accuracy(identity, batches) == 7 / 9
    assert d2l.evaluate_accuracy(batches, identity) == 7 / 9
    net = network([mx.cpu()])
    assert d2l.evaluate_accuracy(net, batches) == d2l.evaluate_accuracy(batches, net) == 7 / 9


@pytest.mark.parametrize("device", [mx.cpu(1), [mx.cpu(1)], CPUS])
def test_accuracy_is_computed_where_it_shall_be(array, device):
    seen = set()

    def net(X):
        seen.add(X.context)
        return X * 1

    # Odd, and at last with fewer rows than there are devices
    batches = [*one_hot_batches(array, 5, 4, 1, wrong=1)]
    assert d2l.evaluate_accuracy(batches, net, device) == 7 / 10
    assert seen == ({device} if isinstance(device, mx.Context) else set(device))


def test_neither_order():
    with pytest.raises(TypeError, match="not list and list"):
        d2l.evaluate_accuracy([], [])
    with pytest.raises(TypeError, match="not Dense and function"):
        d2l.evaluate_accuracy(gluon.nn.Dense(1), identity)


def test_accuracy_on_the_devices_of_the_network(array):
    net = network(CPUS)
    batches = [*one_hot_batches(array, 6, 5, 1, wrong=1)]
    assert d2l.evaluate_accuracy_gpu(net, batches) == 9 / 12
    assert d2l.evaluate_accuracy_gpu(net, batches, mx.cpu(2)) == 9 / 12
    assert d2l.evaluate_accuracy_gpu(identity, batches, mx.cpu(2)) == 9 / 12
    assert d2l.evaluate_accuracy_gpus(net, batches) == 9 / 12

    asked = []

    def split(X, y, devices):
        asked.append(list(devices))
        return d2l.split_batch(X, y, devices)

    assert d2l.evaluate_accuracy_gpus(net, batches, split) == 9 / 12
    assert asked == [CPUS, CPUS, CPUS[:1]]


# --- Parts of training ----------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "parts"), [(4, [2, 2]), (5, [3, 2]), (2, [1, 1])])
def test_split_batch(array, rows, parts):
    X, y = array(np.arange(3 * rows).reshape(rows, 3)), array(np.arange(rows))
    X_shards, y_shards = d2l.split_batch(X, y, CPUS)
    for shards, whole in ((X_shards, X), (y_shards, y)):
        assert [len(shard) for shard in shards] == parts
        assert [shard.context for shard in shards] == CPUS
        joined = np.concatenate([shard.asnumpy() for shard in shards])
        np.testing.assert_array_equal(joined, whole.asnumpy())


def test_split_batch_refuses_what_cannot_be_split(array):
    X, y = array(np.zeros((3, 2))), array(np.zeros(3))
    with pytest.raises(ValueError, match="3 rows leave nothing for some of 4 devices"):
        d2l.split_batch(X, y, [mx.cpu(i) for i in range(4)])
    with pytest.raises(ValueError, match="3 rows in X, but 2 in y"):
        d2l.split_batch(X, y[:2], CPUS)
    with pytest.raises(ValueError, match="of 0 devices"):
        d2l.split_batch(X, y, [])


def test_linreg_squared_loss_and_sgd(array):
    X, y = array(np.array([[1.0, 2.0], [3.0, 4.0]])), array(np.array([1.0, 2.0]))
    w, b = array(np.array([[1.0], [-1.0]])), array(np.array([0.5]))
    for param in (w, b):
        param.attach_grad()
    with autograd.record():
        y_hat = d2l.linreg(X, w, b)
        loss = d2l.squared_loss(y_hat, y).sum()
    loss.backward()
    assert y_hat.asnumpy().tolist() == [[-0.5], [-0.5]]
    assert loss.asnumpy().item() == (1.5**2 + 2.5**2) / 2
    d2l.sgd([w, b], 0.2, 2)  # Gradients -(1.5 + 3 * 2.5), -(2 * 1.5 + 4 * 2.5) and -4, over 2
    np.testing.assert_allclose(w.asnumpy(), [[1.9], [0.3]], rtol=1e-6)
    np.testing.assert_allclose(b.asnumpy(), [0.9], rtol=1e-6)


def test_accumulator_and_animator_take_arrays(array):
    metric = d2l.Accumulator(2)
    metric.add(array(np.array([1.5])), 2)
    metric.add(1, array(np.array([2.5])).sum())
    assert [metric[0], metric[1]] == [2.5, 4.5]

    animator = d2l.Animator("epoch", "accuracy", xlim=[1, 3], legend=["a", "b"])
    animator.add(1, (array(np.array([0.25])), None))
    animator.add(array(np.array([2.0])), [0.5, array(np.array([0.75])).sum()])
    assert animator.X == [[1, 2.0], [2.0]]
    assert animator.Y == [[0.25, 0.5], [0.75]]
    plain = d2l.Animator()
    plain.add(1, array(np.array([0.5])).sum())
    assert plain.Y == [[0.5]]


# --- Training -------------------------------------------------------------------------------------


def problem(array, *sizes):
    """Minibatches that a linear network can classify: three noisy corners."""
    rng = np.random.RandomState(0)
    batches = []
    for size in sizes:
        y = rng.randint(0, 3, size)
        X = np.eye(3)[y] + rng.normal(0, 0.1, (size, 3))
        batches.append((array(X.astype("float32")), array(y.astype("int32"), dtype="int32")))
    return batches


def untrained(devices):
    net = gluon.nn.Dense(3)
    net.initialize(mx.init.Zero(), ctx=devices)
    return net, gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 2.0})


LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def test_train_batch_splits_and_steps_once_for_all(array):
    (X, y), *_ = problem(array, 7)
    results, weights = [], []
    for devices in ([mx.cpu()], CPUS):
        net, trainer = untrained(devices)
        results.append(d2l.train_batch_ch13(net, X, y, LOSS, trainer, devices))
        weights += [net.weight.data(device).asnumpy() for device in devices]
    assert results[0] == pytest.approx(results[1], rel=1e-6)
    assert results[0][0] == pytest.approx(7 * np.log(3), rel=1e-5)  # All weights were zero
    for weight in weights[1:]:
        np.testing.assert_allclose(weight, weights[0], rtol=1e-5)
    assert abs(weights[0]).max() > 0.1


@pytest.mark.parametrize("sizes", [(8,), (8, 5), (8,) * 12])  # d2l's needs five minibatches
def test_train_ch13_learns_on_the_devices_that_there_are(array, sizes, capsys):
    batches = problem(array, *sizes)
    with d2l.stand_in_for_gpus():
        net, trainer = untrained(d2l.try_all_gpus())
        d2l.train_ch13(net, batches, problem(array, 9), LOSS, trainer, 6)
    summary, speed = capsys.readouterr().out.splitlines()[-2:]
    assert summary.endswith("test acc 1.000")
    assert speed.endswith("examples/sec on [cpu(1), cpu(2)]")  # Not those of d2l's import: none


@pytest.mark.parametrize(
    ("train", "test", "num_epochs", "what"),
    [
        ((8,), (9,), 0, "num_epochs must be a positive integer, not 0"),
        ((8,), (9,), 1.5, "num_epochs must be a positive integer, not 1.5"),
        ((), (9,), 1, "train_iter has no minibatch to train on in epoch 1"),
        ((8,), (), 1, "not a single example to compute the accuracy on"),
    ],
)
def test_training_without_epochs_or_examples_says_so(array, train, test, num_epochs, what):
    batches = problem(array, *train), problem(array, *test)
    net, trainer = untrained([mx.cpu()])
    with pytest.raises(ValueError, match=what):
        d2l.train_ch13(net, *batches, LOSS, trainer, num_epochs, [mx.cpu()])
    with pytest.raises(ValueError, match=what):
        d2l.train_ch6(gluon.nn.Dense(3), *batches, num_epochs, 0.1, mx.cpu())


def test_train_ch6(array, capsys):
    net = gluon.nn.Dense(3)
    d2l.train_ch6(net, problem(array, 8, 8, 3), problem(array, 9), 8, 2.0, mx.cpu(1))
    assert "test acc 1.000" in capsys.readouterr().out
    assert net.weight.list_ctx() == [mx.cpu(1)]


def test_train_recsys_rating_uses_devices_that_there_are(array, capsys):
    class Bias(gluon.nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.bias = self.params.get("bias", shape=(1,), init="zeros")

        def hybrid_forward(self, F, users, items, bias):
            return users * 0 + bias

    net = Bias()
    net.initialize(ctx=d2l.try_all_gpus())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    values = [[array(np.full((4,), value, dtype="float32")) for value in (1, 1, 3)]] * 5
    asked = []

    def evaluator(net, test_iter, devices):
        asked.append(devices)
        return 0.0

    loss = gluon.loss.L2Loss()
    d2l.train_recsys_rating(net, values, None, loss, trainer, 2, evaluator=evaluator)
    assert asked == [d2l.try_all_gpus()] * 2
    bias = [net.bias.data(device).asnumpy().item() for device in asked[0]]
    assert bias[0] == bias[1] == pytest.approx(3 * (1 - 0.5**10))
