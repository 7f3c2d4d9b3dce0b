"""The package with MXNet 2's test release, which ``make test-matrix`` installs instead of 1.9.1."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

from book.builder.execute import execute
from book.builder.notebook import code_cells

import nbformat
import numpy as np
import pytest
from helpers import python

try:
    INSTALLED = importlib.metadata.version("mxnet")
except importlib.metadata.PackageNotFoundError:
    INSTALLED = "none"
if not INSTALLED.startswith("2."):
    pytest.skip(f"needs MXNet 2, and here is {INSTALLED}", allow_module_level=True)

from d2l_local import mxnet as d2l

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

ROOT = Path(__file__).resolve().parents[2]


NOTEBOOKS = sorted(
    path
    for path in (ROOT / "chapters/mxnet/en").glob("*.ipynb")
    if path.stem != "references"  # It has no code
)
NOTEBOOK_SECONDS = 1800
DEVICES = [mx.cpu(0), mx.cpu(1)]


@pytest.fixture
def numpy_mode():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def run(code: str) -> tuple[str, str]:
    """What a new process prints, and what it says on standard error."""
    done = python(code)
    return done.stdout, done.stderr


def build(devices=DEVICES, hybridize=False):
    mx.random.seed(1)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, kernel_size=3), nn.BatchNorm(), nn.Activation("relu"), nn.Dense(2))
    net.initialize(mx.init.Xavier(), ctx=devices)
    if hybridize:
        net.hybridize(static_alloc=True, static_shape=True)
    return net


def data(space):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(32, 1, 6, 6)).astype("float32")
    return space.array(X), space.array((X.mean(axis=(1, 2, 3)) > 0).astype("float32"))


def train(net, X, y, devices=DEVICES, steps=12):
    """Losses and the first weight on every device."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.3, "momentum": 0.5})
    losses = []
    for _ in range(steps):
        shards = zip(*(gluon.utils.split_and_load(array, devices) for array in (X, y)))
        with autograd.record():
            ls = [loss(net(X_shard), y_shard) for X_shard, y_shard in shards]
        autograd.backward(ls)
        trainer.step(len(X))
        losses.append(sum(shard.sum().asnumpy().item() for shard in ls) / len(X))
    return losses, [net[0].weight.data(device) for device in devices]


# --- Importing ------------------------------------------------------------------------------------


def test_the_import_names_the_section_that_needs_1x():
    out, err = run("""
        from d2l_local import mxnet as d2l
        import mxnet as mx
        print(mx.util.is_np_array(), mx.util.is_np_shape(), type(mx.gluon.nn.Dense(1)).__name__)
    """)
    assert out.split() == ["False", "False", "Dense"]
    assert err.count("“Compilers and Interpreters” needs 1.9.1") == 1
    assert "pip install mxnet==1.9.1" in err


def test_mxnet_may_be_there_already():
    out, _ = run("""
        import os
        os.environ["OMP_NUM_THREADS"] = "1"
        from d2l_local.prepare import compat
        compat.apply()
        import mxnet as mx
        from d2l_local import mxnet as d2l
        net = mx.gluon.nn.Dense(1, in_units=2)
        net.initialize(mx.init.One())
        print(net(mx.nd.ones((1, 2))).asnumpy().item(), d2l.engine_report()["MXNet"])
    """)
    assert out.split() == ["2.0", mx.__version__.strip()]


def test_report():
    assert d2l.engine_report()["MXNet"] == mx.__version__
    assert "classic arrays" in str(d2l.engine_report())


def test_numpy_reads_an_array_at_once(monkeypatch):
    x = nd.arange(6).reshape((2, 3))
    monkeypatch.setattr(nd.NDArray, "__getitem__", None)  # Element by element takes for ever
    assert np.array(x).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.asarray(x, dtype="int64").dtype == np.int64


# --- Classic arrays in Gluon ----------------------------------------------------------------------


@pytest.mark.parametrize("hybridize", [False, True])
def test_training_on_two_devices(hybridize):
    losses, weights = train(build(hybridize=hybridize), *data(nd))
    assert losses[-1] < 0.5 * losses[0]
    assert {type(weight) for weight in weights} == {nd.NDArray}
    np.testing.assert_array_equal(*(weight.asnumpy() for weight in weights))


def test_training_is_the_same_in_both_modes(request):
    classic, [weight, _] = train(build(), *data(nd))
    request.getfixturevalue("numpy_mode")
    modern, [modern_weight, _] = train(build(), *data(mx.np))
    assert type(modern_weight) is mx.np.ndarray
    np.testing.assert_allclose(classic, modern, rtol=1e-5)
    np.testing.assert_allclose(weight.asnumpy(), modern_weight.asnumpy(), rtol=1e-4, atol=1e-6)


def test_gradients_flow_through_a_loss_to_classic_arrays():
    W = nd.ones((2, 3))
    W.attach_grad()
    with autograd.record():
        loss = gluon.loss.L2Loss()(nd.dot(nd.ones((4, 2)), W), nd.zeros((4, 3)))
    loss.backward()
    assert type(loss) is nd.NDArray
    np.testing.assert_allclose(W.grad.asnumpy(), np.full((2, 3), 4 * 2 / 3), rtol=1e-6)


def test_parameters_are_classic_and_share_memory():
    net = nn.Dense(2, in_units=3)
    net.initialize(mx.init.One(), ctx=DEVICES)
    for array in (net.weight.data(DEVICES[1]), net.weight.grad(DEVICES[1])):
        assert type(array) is nd.NDArray and array.context == DEVICES[1]
    assert {type(a) for a in net.weight.list_data() + net.weight.list_grad()} == {nd.NDArray}
    net.weight.data(DEVICES[0])[:] = 5
    assert net.weight.data(DEVICES[0]).asnumpy().tolist() == [[5] * 3] * 2
    net.weight.set_data(nd.zeros((2, 3)))
    assert net(nd.ones((1, 3), ctx=DEVICES[0])).asnumpy().tolist() == [[0, 0]]


def test_collected_parameters_do_what_they_did():
    net = build(DEVICES)
    X, y = data(nd)
    train(net, X, y, steps=1)
    assert net[3].weight.grad(DEVICES[0]).abs().sum().asscalar() > 0
    net.collect_params().zero_grad()
    assert net[3].weight.grad(DEVICES[0]).abs().sum().asscalar() == 0
    net.collect_params().reset_ctx(DEVICES[:1])
    assert net[3].weight.list_ctx() == DEVICES[:1]
    assert set(net.collect_params("3.*")) == {"3.weight", "3.bias"}


def test_names_that_moved():
    layer = gluon.contrib.nn.SyncBatchNorm(in_channels=1, num_devices=1)
    layer.initialize()
    assert layer(nd.ones((2, 1, 3, 3))).shape == (2, 1, 3, 3)
    accuracy = mx.metric.Accuracy()
    accuracy.update([nd.array([0, 1])], [nd.array([[0.9, 0.1], [0.8, 0.2]])])
    assert accuracy.get()[1] == 0.5


@pytest.mark.parametrize("hybridize", [False, True])
def test_files(tmp_path, hybridize):
    net = build(DEVICES[:1], hybridize)
    X, _ = data(nd)
    expected = net(X).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    assert {type(array) for array in nd.load(str(tmp_path / "net.params")).values()} == {nd.NDArray}
    again = build(DEVICES)
    again.load_parameters(str(tmp_path / "net.params"), ctx=DEVICES)
    for device in DEVICES:
        ours = again(X.as_in_context(device)).asnumpy()
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
    again.collect_params().reset_ctx(DEVICES[:1])
    again.load_parameters(str(tmp_path / "net.params"), ctx=DEVICES[:1])
    np.testing.assert_allclose(again(X).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    if hybridize:
        net.export(str(tmp_path / "net"))
        files = (str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
        loaded = gluon.SymbolBlock.imports(*files)
        np.testing.assert_allclose(loaded(X).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_states_of_a_trainer(tmp_path):
    def start():
        net = nn.Dense(2, in_units=3)
        net.initialize(mx.init.One())
        options = {"learning_rate": 0.1, "momentum": 0.9}
        return net, gluon.Trainer(net.collect_params(), "sgd", options)

    def steps(net, trainer, n):
        for _ in range(n):
            with autograd.record():
                loss = (net(nd.ones((1, 3))) ** 2).sum()
            loss.backward()
            trainer.step(1)
        return net.weight.data().asnumpy()

    net, trainer = start()
    steps(net, trainer, 2)
    net.save_parameters(str(tmp_path / "params"))
    trainer.save_states(str(tmp_path / "states"))
    resumed, new_trainer = start()
    resumed.load_parameters(str(tmp_path / "params"))
    new_trainer.load_states(str(tmp_path / "states"))
    np.testing.assert_array_equal(steps(resumed, new_trainer, 2), steps(net, trainer, 2))


class AddTwice(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return None

    def update(self, index, weight, grad, state):
        weight += 2 * grad


@pytest.mark.parametrize(("optimizer", "stored"), [(AddTwice, 6), (mx.optimizer.SGD, 3.9)])
def test_optimizers_in_a_store(optimizer, stored):
    store, key, a = mx.kv.create("local"), 3, nd.empty((2, 3))
    store.init(key, nd.full((2, 3), 4))
    store.set_optimizer(optimizer(learning_rate=0.1))
    store.push(key, [nd.full((2, 3), 0.5, ctx=device) for device in DEVICES])
    store.pull(key, out=a)
    assert type(a) is nd.NDArray
    np.testing.assert_allclose(a.asnumpy(), np.full((2, 3), stored), rtol=1e-6)


# --- The package's helpers ------------------------------------------------------------------------


def test_resnet18():
    net = d2l.resnet18(10)
    net.initialize(mx.init.Xavier(), ctx=DEVICES)
    X = nd.random.uniform(shape=(2, 1, 28, 28))
    eager = net(X).asnumpy()
    trained = [p for p in net.collect_params().values() if p.grad_req != "null"]
    assert sum(p.data(DEVICES[0]).size for p in trained) == 11_175_818
    net.hybridize(static_alloc=True)
    np.testing.assert_allclose(net(X).asnumpy(), eager, rtol=1e-3, atol=1e-4)


def test_two_devices_do_not_hang_and_overlap():
    xs = [nd.random.uniform(shape=(700, 700), ctx=device) for device in d2l.devices(2)]
    [nd.dot(x, x) for x in xs]
    nd.waitall()
    with d2l.Timeline() as timeline:
        results = [nd.dot(x, x) for _ in range(10) for x in xs]
    assert len(results) == 20 and set(timeline.lanes) == {"cpu/0", "cpu/1"}
    assert timeline.overlap("cpu/0", "cpu/1") > 0.3


# --- What is gone ---------------------------------------------------------------------------------


class OldStyle(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        return x


def old_function(F, x):
    return x


@pytest.mark.parametrize(
    ("attempt", "what"),
    [
        (OldStyle, r"OldStyle\.hybrid_forward"),
        (lambda: nn.HybridSequential(prefix=""), r"HybridSequential\(prefix=\.\.\.\)"),
        (lambda: nn.HybridLambda(old_function), "first argument of old_function, F,"),
        (lambda: nn.Dense(2).name_scope(), r"Dense\.name_scope"),
    ],
)
def test_what_is_gone_says_what_to_install(attempt, what):
    with pytest.raises(RuntimeError, match=f"(?s){what}.*pip install mxnet==1.9.1"):
        attempt()


def test_what_is_not_gone_is_not_refused():
    assert nn.HybridLambda(lambda x: x + 1)(nd.zeros(2)).asnumpy().tolist() == [1, 1]
    assert nn.HybridLambda("relu")(nd.array([-1, 1])).asnumpy().tolist() == [0, 1]


# --- The sections ---------------------------------------------------------------------------------


def documented(section: str) -> str:
    """What the table in docs/matrix.md says of a section."""
    text = (ROOT / "docs/matrix.md").read_text(encoding="utf-8")
    return re.search(rf"^\| \[[^]]+\]\(\S+/{section}\.ipynb\) \| (.*?) *\|$", text, re.M)[1]


@pytest.mark.timeout(NOTEBOOK_SECONDS + 100)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path):
    notebook = nbformat.read(path, 4)
    for cell in code_cells(notebook):
        cell.metadata["tags"] = ["raises-exception"]
    execute(notebook, tmp_path, ROOT, NOTEBOOK_SECONDS, NOTEBOOK_SECONDS)
    errors = {
        cell.id: output.evalue
        for cell in code_cells(notebook)
        for output in cell.outputs
        if output.output_type == "error"
    }
    says = documented(path.stem)
    cells = re.findall(r"`([^`]+_\d+)`", says)
    if says.startswith("needs 1.9.1"):  # It names one cell, the first
        assert list(errors)[:1] == cells
    else:
        assert list(errors) == cells, errors
    if errors:
        assert "pip install mxnet==1.9.1" in errors[cells[0]]
