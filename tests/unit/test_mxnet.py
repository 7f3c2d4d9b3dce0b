"""The drop-in for d2l.mxnet: its names, ours in their place, and what importing it leaves alone.

Run in processes of their own: what is imported first matters, and ``npx.set_np`` is for good.
"""

from __future__ import annotations

import platform
import re

from d2l_local.base.processes import in_new_process

import pytest
import small_data
from helpers import needs, python
from settings import NOTHING_SET

needs("mxnet")

pytestmark = pytest.mark.timeout(200)

NUM_TRAIN, NUM_TEST = 70, 20


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Return a folder with a small data set in the format of Fashion-MNIST."""
    return small_data.write(tmp_path_factory.mktemp("images"), NUM_TRAIN, NUM_TEST)


def drop_in():
    from d2l_local import mxnet as ours
    from d2l_local.mxnet import device

    import d2l.mxnet as theirs
    import numpy
    from mxnet import npx

    names = [name for name in vars(theirs) if not name.startswith("_")]
    result = {
        "np": [npx.is_np_array(), npx.is_np_shape()],
        "names": len(names),
        "missing": [name for name in names if not hasattr(ours, name)],
        "helpers are ours": theirs.d2l is ours,
        "summary": ours.engine_report().summary(),
    }

    # A class of d2l's that asks for the number of GPUs
    device.usable_gpus = lambda: [device.GPU(i, "made up", (8, 0)) for i in range(3)]
    result["GPUs of d2l's Trainer"] = [str(gpu) for gpu in ours.Trainer(1, num_gpus=8).gpus]
    device.usable_gpus = list

    def batches(**arguments):
        described = []
        for iterator in ours.load_data_fashion_mnist(32, **arguments):
            for X, y in iterator:
                pixels, labels = X.asnumpy(), y.asnumpy()
                described.append(
                    {
                        "types": [f"{type(a).__module__}.{type(a).__name__}" for a in (X, y)],
                        "shapes": [X.shape, y.shape],
                        "dtypes": [numpy.dtype(a.dtype).name for a in (X, y)],
                        "bounds": [float(pixels.min()), float(pixels.max())],
                        "labels": labels.tolist(),
                    }
                )
        return described

    result["nd"] = batches(train_size=64)
    result["resized"] = batches(resize=(20, 10), test_size=5)
    result["seeds"] = [
        [batch["labels"] for batch in batches(train_size=64, seed=seed)] for seed in (0, 0, 1)
    ]
    npx.set_np()
    result["np arrays"] = batches(train_size=64)
    return result


@pytest.fixture(scope="module")
def result(images):
    """Return what a process found that imported the drop-in."""
    return in_new_process(drop_in, seconds=120, **{**NOTHING_SET, "D2L_DATA": images})


def test_every_public_name_of_d2l_is_there(result):
    assert result["missing"] == []
    assert result["names"] > 150


def test_importing_does_not_switch_to_numpy_semantics(result):
    assert result["np"] == [False, False]


def test_functions_of_d2l_use_our_helpers(result):
    assert result["helpers are ours"]
    assert result["GPUs of d2l's Trainer"] == ["gpu(0)", "gpu(1)", "gpu(2)"]


def test_engine_is_prepared(result):
    assert "threads per CPU device: 1" in result["summary"]


@pytest.mark.parametrize(
    ("which", "kind"),
    [("nd", "mxnet.ndarray.ndarray.NDArray"), ("np arrays", "mxnet.numpy.ndarray")],
)
def test_fashion_mnist_comes_in_the_arrays_in_use(result, which, kind):
    batches = result[which]
    assert [batch["types"] for batch in batches] == [[kind, kind]] * 3
    assert [batch["dtypes"] for batch in batches] == [["float32", "int32"]] * 3
    assert [batch["shapes"] for batch in batches] == [
        [[32, 1, 28, 28], [32]],
        [[32, 1, 28, 28], [32]],
        [[20, 1, 28, 28], [20]],
    ]
    assert all(batch["bounds"] == [0.0, 1.0] for batch in batches)
    assert sorted(batches[0]["labels"] + batches[1]["labels"]) == sorted(i % 10 for i in range(64))
    assert batches[2]["labels"] == [i % 10 for i in range(20)]


def test_arguments_of_the_loader_arrive(result):
    shapes = [batch["shapes"][0] for batch in result["resized"]]
    assert shapes == [[32, 1, 10, 20], [32, 1, 10, 20], [6, 1, 10, 20], [5, 1, 10, 20]]
    same, again, other = result["seeds"]
    assert same == again != other


def waiting():
    """Time an operator that takes a while, in Python and in a thread of MXNet's."""
    import contextlib
    import io
    import time

    from d2l_local import mxnet as d2l

    import mxnet as mx

    ran = []

    class Slow(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            time.sleep(0.2)
            ran.append(1)
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("slow")
    class SlowProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Slow()

    x = mx.nd.ones((2, 2))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), d2l.Benchmark("slow") as benchmark:
        y = mx.nd.Custom(x, op_type="slow")
    result = {"ran": len(ran), "seconds": benchmark.seconds, "printed": printed.getvalue()}

    measurement = d2l.measure(lambda: mx.nd.Custom(x, op_type="slow"), repeats=2)
    result["samples"] = measurement.samples
    result["ran for measure"] = len(ran) - result["ran"]
    result["y"] = y.asnumpy().tolist()

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), d2l.benchmark("took %.4f s"):
        mx.nd.Custom(x, op_type="slow")
    with contextlib.redirect_stdout(printed), d2l.benchmark("%.4f s"):  # With d2l loaded
        pass
    result["printed in a format"] = printed.getvalue()

    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), d2l.Benchmark("failing"):
            mx.nd.random.normal(0, -1, shape=(3, 3))  # A negative scale: fails while running
    except mx.base.MXNetError as error:
        result["error"] = str(error)
    result["printed of failing"] = printed.getvalue()
    return result


def test_benchmark_and_measure_wait_for_mxnet():
    result = in_new_process(waiting, seconds=120, **NOTHING_SET)
    assert result["ran"] == 1
    assert result["seconds"] >= 0.2
    assert result["printed"] == f"slow: {result['seconds']:.4f} sec\n"
    assert result["ran for measure"] == 3
    took = re.fullmatch(r"took (\d+\.\d{4}) s\n0\.\d{4} s\n", result["printed in a format"])
    assert float(took[1]) >= 0.2
    assert len(result["samples"]) == 2 and min(result["samples"]) >= 0.2
    assert result["y"] == [[1, 1], [1, 1]]
    assert "scale parameter" in result["error"]
    assert result["printed of failing"] == ""


def test_a_cpu_without_bfloat16_is_told_without_a_word_of_mxnet_s():
    """What a cell writes to stderr stops the builder; oneDNN is made to see such a CPU here."""
    done = python(
        "from d2l_local.machine import host\n"
        "host.cpu_flags = lambda: {'avx2', 'fma'}\n"
        "from d2l_local import mxnet as d2l\n"
        "print(d2l.has_bfloat16())",
        DNNL_MAX_CPU_ISA="AVX2",
    )
    assert done.stdout.splitlines()[-1] == "False" and done.stderr == ""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="oneDNN is in the builds for x86-64")
def test_a_layer_s_product_is_onednn_s_and_that_of_dot_is_not():
    """So *hybridize* says why the one is faster than the other."""
    done = python(
        "from d2l_local import mxnet as d2l\n"
        "from mxnet import nd\n"
        "x = nd.ones((64, 64))\n"
        "nd.dot(x, x).wait_to_read()\n"
        "print('layer', flush=True)\n"
        "nd.FullyConnected(x, x, no_bias=True, num_hidden=64).wait_to_read()",
        DNNL_VERBOSE="1",
    )
    dot, layer = done.stdout.split("layer\n")
    assert "exec" not in dot and "exec,cpu,inner_product" in layer


def mixed():
    from d2l_local.prepare_mxnet import engine

    engine.load()
    from mxnet import cpu, nd

    both = nd.ones(1, ctx=cpu(0)) + nd.ones(1, ctx=cpu(1))
    w = param = nd.ones(2)
    w.attach_grad()
    w -= 0.5
    w = w - 0.5
    return {"context": str(both.context), "param": param.asnumpy().tolist(), "grad": w.grad}


def test_two_cpu_devices_mix_and_in_place_writes_into_the_parameter():
    """So *auto-parallelism* and *multiple-gpus* answer what listeners asked."""
    assert in_new_process(mixed) == {"context": "cpu(0)", "param": [0.5, 0.5], "grad": None}
