"""MXNet 1.9.1 on the Python and the NumPy at hand, and what other libraries see of the shim."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import textwrap
import types
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

from d2l_local.prepare_mxnet import libraries, numpy_view

import numpy as np
import pytest
from helpers import python

numpy_view.apply()
libraries.load_system_libraries()
mx = pytest.importorskip("mxnet")
nd = mx.nd

NUMPY = tuple(int(part) for part in np.__version__.split(".")[:2])
TWO, THREE = np.int64(2), np.int64(3)


def run(code: str) -> str:
    """What ``code`` prints in a fresh interpreter that has what libmxnet.so needs of the system."""
    first = "from d2l_local.prepare_mxnet import libraries\nlibraries.load_system_libraries()\n"
    return python(first + textwrap.dedent(code), OMP_NUM_THREADS="1").stdout


@pytest.fixture
def np_mode():
    """NumPy shapes and arrays in Gluon, for one test."""
    shape, array = mx.util.is_np_shape(), mx.util.is_np_array()
    mx.npx.set_np()
    yield
    mx.npx.reset_np()
    if shape:
        mx.npx.set_np(shape=shape, array=array)


# --- Importing ------------------------------------------------------------------------------------


def test_import_is_quiet():
    """No warning that a reader would have to be told about, even with all of them on."""
    out = run(
        """
        import warnings
        from d2l_local.prepare_mxnet import numpy_view
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numpy_view.apply()
            import mxnet
        print(sorted({str(w.message) for w in caught if "umpy" in str(w.message).lower()}))
        """
    )
    assert out.strip() == "[]"


def test_apply_says_what_was_done():
    done = numpy_view.apply()
    assert done == numpy_view.apply()
    assert len(done) == len(set(done))
    assert any(np.__version__ in phrase and "pv" in phrase for phrase in done)
    assert "NDArray: __array__ added" in done
    assert all(len(phrase) < 250 and "\n" not in phrase for phrase in done)


def test_apply_twice_changes_nothing_more():
    finders = list(sys.meta_path)
    sampler = mx.ndarray.numpy.random.choice
    numpy_view.apply()
    numpy_view.patch(mx)
    assert sys.meta_path == finders
    assert finders.count(numpy_view._Finder) == 1
    assert mx.ndarray.numpy.random.choice is sampler


def test_another_mxnet_is_refused():
    with pytest.raises(ImportError, match=r"MXNet 2\.0\.0b1 is installed.*mxnet==1\.9\.1"):
        numpy_view.patch(types.SimpleNamespace(__version__="2.0.0b1"))


def test_apply_before_the_import_changes_only_the_finders():
    out = run("""
        import sys
        import numpy
        from d2l_local.prepare_mxnet import numpy_view
        modules, names = set(sys.modules), dict(vars(numpy))
        done = numpy_view.apply()
        print(len(done) > 0, vars(numpy) == names, "mxnet" in sys.modules)
        print(sorted(m for m in set(sys.modules) - modules if not m.startswith("numpy")))
    """)
    assert out.splitlines() == ["True True False", "[]"]


def test_apply_after_a_foreign_shim():
    """MXNet came in with names put on NumPy for a moment; the rest is made up for."""
    out = run("""
        import sys, types
        import numpy as np
        from d2l_local.prepare_mxnet import numpy_view

        view = numpy_view.numpy_view()
        names = {name: getattr(view, name) for name in numpy_view.missing_names()}
        vars(np).update(names)
        if sys.version_info >= (3, 12):  # Before, NumPy needs Python's own
            fake = types.ModuleType("distutils.version")
            fake.LooseVersion = fake.StrictVersion = numpy_view._Version
            sys.modules["distutils.version"] = fake
            sys.modules.setdefault("distutils", types.ModuleType("distutils"))
        import mxnet as mx
        for name in names:
            delattr(np, name)
        sys.modules.pop("distutils.version", None)

        done = numpy_view.apply()
        assert "NDArray: __array__ added" in done, done
        assert mx.np.ones((np.int64(2), 3)).shape == (2, 3)
        assert mx.np.array([300], dtype="uint8").asnumpy() == 44
        assert mx.np.pad(mx.np.ones((2, 2)), ((1, 1), (1, 1)), mode="edge").shape == (4, 4)
        mx.npx.set_np()
        assert mx.np.ones(3)[mx.np.arange(3) > 0].shape == (2,)
        import mxnet.gluon.contrib.estimator
        print("ok")
    """)
    assert out.strip() == "ok"


def test_modules_that_come_later_see_the_view():
    import mxnet.gluon.contrib.estimator.event_handler as event_handler
    import mxnet.test_utils as test_utils

    assert event_handler.np is test_utils.np is numpy_view.numpy_view()
    test_utils.assert_almost_equal(nd.ones(3), np.ones(3))


def test_sources_and_resources_of_mxnet_are_found():
    import importlib.util
    import inspect

    assert "def array" in inspect.getsource(mx.nd.array)
    assert importlib.util.find_spec("mxnet").origin == mx.__file__
    assert importlib.util.find_spec("mxnet.no_such_module") is None


def test_a_module_that_mxnet_lacks_is_reported_as_usual():
    with pytest.raises(ModuleNotFoundError, match="mxnet.no_such_module"):
        __import__("mxnet.no_such_module")


def test_every_module_of_mxnet_imports():
    """Also those that ``import mxnet`` leaves out."""
    run(
        """
        import importlib, pkgutil
        from d2l_local.prepare_mxnet import numpy_view
        numpy_view.apply()
        import mxnet
        for module in pkgutil.walk_packages(mxnet.__path__, "mxnet."):
            if not any(part in module.name for part in (".tools", "onnx", "libmxnet")):
                importlib.import_module(module.name)
        """
    )


# --- What others see ------------------------------------------------------------------------------


def test_nothing_leaks():
    """NumPy, builtins and sys.modules hold nothing of ours after the import."""
    run("""
        import builtins, sys, warnings
        import numpy
        warnings.simplefilter("ignore")
        legacy = "bool int float object str complex Inf Infinity infty NaN NAN PINF NINF PZERO " \\
            "NZERO alltrue sometrue product cumproduct round_ in1d trapz msort fv ipmt irr mirr " \\
            "nper npv pmt ppmt pv rate compat".split()
        names, in_builtins, in_array = dict(vars(numpy)), dict(vars(builtins)), dir(numpy.ndarray)
        has = {name: hasattr(numpy, name) for name in legacy}
        distutils = {name for name in sys.modules if name.startswith("distutils")}

        from d2l_local.prepare_mxnet import numpy_view
        numpy_view.apply()
        import mxnet as mx
        mx.np.ones((numpy.int64(2), 3)).sum().asnumpy()
        mx.nd.moveaxis(mx.nd.ones((2, 3)), 0, 1)
        import mxnet.test_utils

        assert sys.modules["numpy"] is numpy
        assert all(names[name] is vars(numpy)[name] for name in names)
        added = {name: vars(numpy)[name] for name in set(vars(numpy)) - set(names)}
        for name, value in added.items():  # NumPy's submodules, once imported, are its attributes
            assert value is sys.modules["numpy." + name], name
        assert has == {name: hasattr(numpy, name) for name in legacy}
        assert dir(numpy.ndarray) == in_array
        # An interactive hook may add to builtins; nothing of what was there is exchanged.
        assert all(in_builtins[name] is vars(builtins)[name] for name in in_builtins)
        assert builtins.__import__ is not numpy_view._import
        assert {name for name in sys.modules if name.startswith("distutils")} == distutils
    """)


def test_what_takes_long_to_import_waits_until_it_is_asked_for():
    run("""
        import sys
        from d2l_local import mxnet
        assert not {"scipy", "pandas", "d2l", "matplotlib", "IPython"} & set(sys.modules)
        assert mxnet.pd.DataFrame([1, 2]).sum()[0] == 3 and "read_csv" in dir(mxnet.pd)
        assert mxnet.pd.__name__ in sys.modules

        assert "scipy" not in sys.modules
        assert mxnet.mx.nd.sparse.zeros("csr", (2, 3)).asscipy().shape == (2, 3)
        assert "scipy.sparse" in sys.modules and "scipy.stats" not in sys.modules

        from mxnet.contrib import quantization
        from mxnet.test_utils import chi_square_check
        assert quantization.stats.entropy([0.5, 0.5], [0.5, 0.5]) == 0
        assert "scipy.stats" in sys.modules
        half = [(0, 1), (1, 2)]
        found, *_ = chi_square_check(lambda n: [0.5, 1.5] * (n // 2), half, [0.5, 0.5], 100)
        assert found == 1
    """)


def test_another_module_gets_numpy_itself(tmp_path, monkeypatch):
    (tmp_path / "bystander.py").write_text("import numpy as np\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import bystander

    assert bystander.np is np
    assert mx.numpy.utils.onp is not np


# --- The view -------------------------------------------------------------------------------------

A = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
EQUIVALENTS = [
    ("alltrue", (A,), lambda: np.all(A)),
    ("sometrue", (A,), lambda: np.any(A)),
    ("product", (A,), lambda: np.prod(A)),
    ("product", (A, 1), lambda: np.prod(A, 1)),
    ("round_", (A / 3, 1), lambda: np.round(A / 3, 1)),
    ("msort", (A,), lambda: np.sort(A, axis=0)),
    ("in1d", (A, [1.0, 5.0]), lambda: np.isin(A, [1.0, 5.0]).ravel()),
    ("in1d", (A, [1.0, 5.0], False, True), lambda: ~np.isin(A, [1.0, 5.0]).ravel()),
    ("trapz", (A,), lambda: ((A[:, 1:] + A[:, :-1]) / 2).sum(axis=1)),
    ("trapz", (A, None, 0.5), lambda: ((A[:, 1:] + A[:, :-1]) / 4).sum(axis=1)),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("name", "args", "modern"), EQUIVALENTS)
def test_functions_do_the_work_of_their_equivalents(name, args, modern):
    ours = getattr(numpy_view.numpy_view(), name)(*args)
    assert np.asarray(ours).dtype == np.asarray(modern()).dtype
    np.testing.assert_array_equal(ours, modern())


def test_constants():
    view = numpy_view.numpy_view()
    assert view.Inf == view.PINF == np.inf
    assert np.isneginf(view.NINF)
    assert np.isnan(view.NaN) and np.isnan(view.NAN)
    assert view.PZERO == view.NZERO == 0
    assert np.signbit(view.NZERO) and not np.signbit(view.PZERO)


def test_types():
    view = numpy_view.numpy_view()
    assert view.bool is (bool if NUMPY < (2, 0) else np.bool_)
    assert view.int is int
    assert issubclass(str, view.compat.basestring)


def test_the_view_passes_everything_else_through():
    view = numpy_view.numpy_view()
    assert view.float32 is np.float32
    assert view.ndarray is np.ndarray
    assert view.random is np.random
    assert view.linalg is np.linalg
    assert view.__version__ == np.__version__
    assert view.__name__ == "numpy"
    assert view.__file__ == np.__file__
    assert set(dir(np)) <= set(dir(view))
    with pytest.raises(AttributeError, match="no_such_name"):
        view.no_such_name  # noqa: B018


def test_the_view_finds_what_numpy_gets_later(monkeypatch):
    monkeypatch.setattr(np, "a_late_submodule", "here", raising=False)
    assert numpy_view.numpy_view().a_late_submodule == "here"


def test_only_what_is_missing_is_added():
    additions = {
        name
        for name, value in vars(numpy_view.numpy_view()).items()
        if not name.startswith("__") and vars(np).get(name) is not value
    }
    assert additions - {"array"} == set(numpy_view.missing_names())
    assert ("array" in additions) == (NUMPY >= (2, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in additions - {"array"}:
            # NumPy 1.22 and 1.23 know some of them as deprecated aliases of the same thing.
            removed = not hasattr(np, name)
            financial = name in {"mirr", "npv", "pmt", "ppmt", "pv", "rate"}
            same = getattr(np, name, None) is getattr(numpy_view.numpy_view(), name)
            assert removed or financial or same or name == "core", name


@pytest.mark.parametrize("name", ["mirr", "npv", "pmt", "ppmt", "pv", "rate"])
def test_financial_functions_raise(name):
    for args in [(), (0.1, [1, 2, 3])]:
        with pytest.raises(RuntimeError) as caught:
            getattr(mx.numpy.fallback, name)(*args)
        message = str(caught.value)
        for part in (f"numpy.{name} ", "NumPy 1.20", "numpy-financial", f"numpy_financial.{name}"):
            assert part in message
    assert getattr(mx.numpy.fallback, name).__name__ == name


def test_version_equality():
    assert numpy_view._Version("1.17") == numpy_view._Version("1.17.0")
    assert numpy_view._Version("1.17") >= numpy_view._Version("1.17.0")
    assert numpy_view._Version("10") > numpy_view._Version("1")
    assert numpy_view._Version("1.10") != numpy_view._Version("1.1")
    assert numpy_view._Version("2.5.0.dev0+git1") >= numpy_view._Version("1.17")
    with pytest.raises(ValueError, match="'main'"):
        numpy_view._Version("main")


# --- NumPy scalars as attributes ------------------------------------------------------------------


def test_scalars_in_shapes(np_mode):
    assert mx.np.ones((TWO, 3)).shape == (2, 3)
    assert mx.np.zeros((TWO, THREE), dtype="int32").shape == (2, 3)
    assert mx.np.full((TWO, 3), np.float32(1.5)).asnumpy().sum() == 9
    assert mx.np.arange(np.int64(6)).reshape((TWO, -1)).shape == (2, 3)
    assert mx.np.ones(6).reshape(TWO, THREE).shape == (2, 3)
    assert mx.np.broadcast_to(mx.np.ones((1, 3)), (TWO, THREE)).shape == (2, 3)
    assert mx.np.transpose(mx.np.ones((2, 3)), (np.int64(1), np.int64(0))).shape == (3, 2)
    assert mx.np.expand_dims(mx.np.ones(3), np.int64(0)).shape == (1, 3)


def test_scalars_in_classic_operators():
    x = nd.arange(6)
    assert nd.reshape(x, shape=(TWO, -1)).shape == (2, 3)
    assert x.reshape((TWO, THREE)).shape == (2, 3)
    assert nd.ones((TWO, THREE)).shape == (2, 3)
    assert nd.broadcast_to(nd.ones((1, 3)), shape=(TWO, THREE)).shape == (2, 3)
    assert nd.sum(nd.ones((2, 3)), axis=(np.int64(0), np.int64(1))).asscalar() == 6
    assert nd.slice_axis(x, axis=np.int64(0), begin=np.int64(1), end=np.int64(3)).shape == (2,)
    assert nd.random.uniform(shape=(TWO, THREE)).shape == (2, 3)
    assert (x * np.float32(0.5)).asnumpy()[5] == 2.5
    assert nd.clip(x, np.float32(0.5), np.float64(2.5)).asnumpy().tolist()[:2] == [0.5, 1.0]
    sizes = (np.float32(0.5), np.float64(0.25))
    assert nd.contrib.MultiBoxPrior(nd.zeros((1, 1, 2, 2)), sizes=sizes).shape == (1, 8, 4)


def test_scalars_in_reductions(np_mode):
    x = mx.np.arange(6).reshape(2, 3)
    assert x.sum(axis=np.int64(0)).asnumpy().tolist() == [3, 5, 7]
    assert x.mean(axis=(np.int64(0), np.int64(1))).item() == 2.5
    assert mx.np.max(x, axis=np.int64(1)).asnumpy().tolist() == [2, 5]
    assert mx.np.concatenate([x, x], axis=np.int64(0)).shape == (4, 3)


def test_scalars_in_indices(np_mode):
    x = mx.np.arange(6).reshape(2, 3)
    assert x[np.int64(1)].asnumpy().tolist() == [3, 4, 5]
    assert x[np.int64(1), np.int64(2)].item() == 5
    assert x[:, np.int64(1) : np.int64(3)].asnumpy().tolist() == [[1, 2], [4, 5]]
    assert x[[TWO - 2, TWO - 1], [0, 1]].asnumpy().tolist() == [0, 4]
    x[np.int64(0), np.int64(0)] = np.float64(9)
    assert x[0, 0].item() == 9
    y = nd.arange(6)
    assert y[np.int64(2)].asscalar() == 2
    assert y[np.int64(1) : np.int64(3)].shape == (2,)
    y[np.int64(1)] = np.float32(7)
    assert y[1].asscalar() == 7


def test_scalars_in_symbols():
    shape = mx.sym.var("x", shape=(TWO, 3))
    assert shape.attr("__shape__") == "(2, 3)"
    assert mx.sym.FullyConnected(shape, num_hidden=np.int64(5)).infer_shape()[1] == [(2, 5)]
    reshaped = mx.sym.reshape(mx.sym.var("x"), shape=(THREE, -1))
    assert reshaped.infer_shape(x=(2, 3))[1] == [(3, 2)]


def test_scalars_in_layers():
    net = mx.gluon.nn.HybridSequential()
    net.add(
        mx.gluon.nn.Conv2D(np.int64(4), kernel_size=(THREE, THREE), in_channels=np.int64(1)),
        mx.gluon.nn.Dense(np.int64(5)),
    )
    net.initialize()
    x = nd.ones((2, 1, 8, 8))
    eager = net(x).asnumpy()
    net.hybridize()
    assert eager.shape == (2, 5)
    np.testing.assert_allclose(net(x).asnumpy(), eager, rtol=1e-5, atol=1e-6)


def test_scalars_in_iterators(tmp_path):
    np.savetxt(tmp_path / "data.csv", np.arange(6).reshape(2, 3), delimiter=",")
    rows = mx.io.CSVIter(
        data_csv=str(tmp_path / "data.csv"), data_shape=(THREE,), batch_size=np.int64(2)
    )
    assert next(iter(rows)).data[0].asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("size", [THREE, 3, (THREE,), (3,), np.int32(3)])
def test_sample_sizes(np_mode, size):
    random = mx.np.random
    assert random.choice(5, size=size).shape == (3,)
    assert random.choice(mx.np.arange(5), size=size, replace=False).shape == (3,)
    assert random.uniform(0, 1, size=size).shape == (3,)
    assert random.normal(0, 1, size=size).shape == (3,)
    assert random.randint(0, 9, size=size).shape == (3,)
    assert random.gamma(1.0, size=size).shape == (3,)
    assert random.exponential(size=size).shape == (3,)


def test_sample_sizes_that_are_empty_or_none(np_mode):
    assert mx.np.random.uniform(size=()).shape == ()
    assert mx.np.random.uniform().shape == ()
    assert mx.np.random.choice(np.int64(5), np.int64(2)).shape == (2,)


# --- Arrays in and out ----------------------------------------------------------------------------

DTYPES = ["float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"]
BFLOAT16 = np.dtype([("bfloat16", np.uint16)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("module", ["nd", "np"])
def test_round_trip(module, dtype, np_mode):
    array = (np.arange(6).reshape(2, 3) % 2).astype(dtype)
    back = getattr(mx, module).array(array, dtype=dtype).asnumpy()
    assert back.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(back, array)


def test_the_types_are_all_that_mxnet_has():
    known = {np.dtype(t) for t in mx.ndarray.ndarray._DTYPE_NP_TO_MX if t is not None}
    assert known == {BFLOAT16, *map(np.dtype, DTYPES)}


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 1, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip_of_shapes(shape, dtype, np_mode):
    array = np.ones(shape, dtype=dtype)
    for back in (mx.np.array(array, dtype=dtype).asnumpy(), mx.np.ones(shape, dtype).asnumpy()):
        assert (back.shape, back.dtype) == (shape, array.dtype)
        np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", [*DTYPES, float, int, bool])
def test_astype(source, target, np_mode):
    ours = mx.np.array([0, 1, 3], dtype=source).astype(target)
    theirs = np.array([0, 1, 3], dtype=source).astype(target)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours.asnumpy(), theirs)


def test_bfloat16():
    short = nd.array([1.5, -2]).astype(BFLOAT16)
    assert short.asnumpy().dtype == BFLOAT16
    assert short.astype("float32").asnumpy().tolist() == [1.5, -2]


@pytest.mark.parametrize("module", ["nd", "np"])
def test_asarray(module):
    x = getattr(mx, module).array([[1, 2], [3, 4]])
    assert np.asarray(x).dtype == np.float32
    assert np.asarray(x).tolist() == [[1, 2], [3, 4]]
    assert np.asarray(x, dtype="int64").dtype == np.int64
    assert np.array(x, dtype=np.float64).tolist() == [[1, 2], [3, 4]]
    assert np.stack([np.asarray(row) for row in x]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("module", ["nd", "np"])
def test_asarray_copies(module):
    x = getattr(mx, module).zeros((3,))
    view = np.asarray(x)
    view[:] = 1
    assert x.asnumpy().tolist() == [0, 0, 0]
    assert x.__array__(copy=True).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="asnumpy"):
        x.__array__(copy=False)
    if NUMPY >= (2, 0):
        with pytest.raises(ValueError, match="copy=False"):
            np.asarray(x, copy=False)
        assert np.array(x, copy=True).tolist() == [0, 0, 0]


def test_numpy_functions_take_classic_arrays():
    x = nd.array([[1, 2], [3, 0]])
    assert not np.all(x)
    assert np.any(x)
    assert np.allclose(x, [[1, 2], [3, 0]])
    assert np.array_equal(np.isfinite(x), np.ones((2, 2)))
    np.testing.assert_array_equal(x, [[1, 2], [3, 0]])
    assert np.concatenate([x, x]).shape == (4, 2)


def test_arithmetic_stays_in_mxnet():
    x = nd.ones((2,))
    for y in (x + 1, 2 * x, np.float32(2) * x, x - np.int64(1)):
        assert type(y) is nd.NDArray, type(y)


def test_array_function_records_gradients(np_mode):
    x = mx.np.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = np.sum(np.square(x))
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 4, 6]


def test_boolean_masks(np_mode):
    x = mx.np.arange(6).reshape(2, 3)
    mask = x > 2
    assert mask.dtype == np.bool_
    assert x[mask].asnumpy().tolist() == [3, 4, 5]
    assert x[mask.asnumpy()].asnumpy().tolist() == [3, 4, 5]
    x[mask] = 0
    assert x.sum().item() == 3
    assert mx.np.where(mask, x, -1).asnumpy().tolist() == [[-1, -1, -1], [0, 0, 0]]
    assert mx.np.array([True, False], dtype=bool).asnumpy().dtype == np.bool_
    chosen = nd.contrib.boolean_mask(nd.arange(3), nd.array([1, 0, 1]))
    assert chosen.asnumpy().tolist() == [0, 2]


@pytest.mark.parametrize("rows", [[True, False], [False, False]])
@pytest.mark.parametrize("kind", ["mx.np", "numpy", "list"])
def test_masks_of_any_kind(np_mode, rows, kind):
    x = np.arange(6.0).reshape(2, 3)
    mask = {"mx.np": mx.np.array(rows, dtype=bool), "numpy": np.array(rows), "list": rows}[kind]
    np.testing.assert_array_equal(mx.np.array(x)[mask].asnumpy(), x[np.array(rows)])


def test_masks_in_operators(np_mode):
    x = mx.np.arange(4)
    low, odd = x < 2, mx.np.array([False, True, False, True], dtype=bool)
    assert (low & odd).asnumpy().tolist() == [False, True, False, False]
    assert (low | odd).asnumpy().tolist() == [True, True, False, True]
    assert (low ^ odd).asnumpy().tolist() == [True, False, False, True]
    assert (~low).asnumpy().tolist() == [False, False, True, True]
    assert np.logical_and(low, odd).asnumpy().tolist() == [False, True, False, False]
    assert low.sum().item() == 2 and bool(low.any()) and not bool(low.all())
    assert [i.asnumpy().tolist() for i in mx.np.nonzero(odd)] == [[1, 3]]
    assert (nd.arange(4) < 2).asnumpy().tolist() == [1, 1, 0, 0]  # Classic masks are numbers


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "maximum", "minimum"])
def test_pad(np_mode, mode):
    x = np.arange(1.0, 7.0).reshape(2, 3)
    ours = mx.np.pad(mx.np.array(x), ((1, 1), (1, 1)), mode=mode).asnumpy()
    np.testing.assert_array_equal(ours, np.pad(x, ((1, 1), (1, 1)), mode=mode))
    with pytest.raises(ValueError, match="not in allowed keywords"):
        mx.np.pad(mx.np.array(x), ((1, 1), (1, 1)), mode=mode, no_such_option=1)


def test_moveaxis():
    assert nd.moveaxis(nd.zeros((3, 4, 5)), [0, 1], [-1, -2]).shape == (5, 4, 3)
    with pytest.raises(Exception, match="Source should verify"):
        nd.moveaxis(nd.zeros((3, 4)), 7, 0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("module", ["nd", "np"])
@pytest.mark.parametrize(
    ("dtype", "value", "wrapped"), [("uint8", 300, 44), ("uint8", -1, 255), ("int8", 200, -56)]
)
def test_integers_wrap(module, dtype, value, wrapped):
    array = getattr(mx, module).array([value, 1], dtype=dtype).asnumpy()
    assert array.tolist() == [wrapped, 1]
    assert array.dtype == dtype


def test_what_is_no_array_is_still_refused():
    with pytest.raises(TypeError):
        mx.np.array(object())
    with pytest.raises(TypeError):
        mx.np.array([2**70], dtype="uint8")
    with pytest.raises(TypeError):
        nd.array("no array")


def test_promotion_is_numpys_own():
    """What the installed NumPy says about types is what comes through the view."""
    promoted = numpy_view.numpy_view().result_type(np.float32, np.int8)
    assert promoted == np.result_type(np.float32, np.int8)
    assert mx.np.result_type is np.result_type


# --- Files, pickles, loaders ----------------------------------------------------------------------


@pytest.mark.parametrize("label", [4.0, [1.0, 2.0, 3.0], np.array([1.0, 2.0, 3.0])])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_recordio(tmp_path, label):
    path = str(tmp_path / "x.rec")
    writer = mx.recordio.MXRecordIO(path, "w")
    writer.write(mx.recordio.pack(mx.recordio.IRHeader(0, label, 7, 0), b"content"))
    writer.close()
    reader = mx.recordio.MXRecordIO(path, "r")
    header, content = mx.recordio.unpack(reader.read())
    reader.close()
    np.testing.assert_array_equal(header.label, label)
    assert (header.id, content) == (7, b"content")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_recordio_image(monkeypatch):
    coder = types.SimpleNamespace(
        IMWRITE_JPEG_QUALITY=1, imencode=lambda kind, image, options: (True, image.ravel())
    )
    monkeypatch.setattr(mx.recordio, "cv2", coder)
    image = np.arange(4, dtype="uint8").reshape(2, 2)
    packed = mx.recordio.pack_img(mx.recordio.IRHeader(0, 1.0, 2, 0), image)
    assert mx.recordio.unpack(packed)[1] == image.tobytes()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("module", ["nd", "np"])
def test_pickle(module, dtype, protocol):
    x = getattr(mx, module).array([[0, 1], [1, 0]], dtype=dtype)
    for y in (pickle.loads(pickle.dumps(x, protocol)), copy.deepcopy(x)):
        assert type(y) is type(x)
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y.asnumpy(), x.asnumpy())


def test_pickle_what_belongs_to_training():
    """What Gluon sends to workers and parameter servers, and what a reader may keep."""
    parameter = mx.gluon.Parameter("weight", shape=(2, 3))
    parameter.initialize(mx.init.One())
    assert pickle.loads(pickle.dumps(parameter)).data().asnumpy().sum() == 6
    optimizer = pickle.loads(pickle.dumps(mx.optimizer.Adam(learning_rate=np.float32(0.5))))
    assert optimizer.learning_rate == 0.5
    assert pickle.loads(pickle.dumps(mx.cpu(1))) == mx.cpu(1)
    dataset = mx.gluon.data.ArrayDataset(nd.ones((4, 2)), np.arange(4))
    features, label = pickle.loads(pickle.dumps(dataset))[3]
    assert features.asnumpy().tolist() == [1, 1] and label == 3
    rows = nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2))
    assert pickle.loads(pickle.dumps(rows)).asnumpy().tolist() == [[0, 0], [1, 2], [0, 0]]


@pytest.mark.parametrize("module", ["nd", "np"])
def test_save_and_load(tmp_path, module, np_mode):
    path = str(tmp_path / "x")
    save, load = (nd.save, nd.load) if module == "nd" else (mx.npx.save, mx.npx.load)
    x = getattr(mx, module).array([[1, 2], [3, 4]])
    save(path, {"x": x, "y": x + 1})
    loaded = load(path)
    assert sorted(loaded) == ["x", "y"]
    np.testing.assert_array_equal(loaded["y"].asnumpy(), [[2, 3], [4, 5]])


@pytest.mark.parametrize("value", [2.5, np.zeros((0, 3)), np.ones((2, 1)), np.bool_(True)])
def test_save_and_load_of_any_shape(tmp_path, np_mode, value):
    path = str(tmp_path / "x")
    x = mx.np.array(value, dtype=np.asarray(value).dtype)
    mx.npx.save(path, [x, x])
    for y in mx.npx.load(path):
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        np.testing.assert_array_equal(y.asnumpy(), x.asnumpy())


def test_states_and_exports_are_loaded(tmp_path):
    def steps(trainer, net, n):
        for _ in range(n):
            with mx.autograd.record():
                loss = (net(nd.ones((2, 3))) ** 2).sum()
            loss.backward()
            trainer.step(2)
        return net.weight.data().asnumpy()

    def build(path=None):
        net = mx.gluon.nn.Dense(4, in_units=3)
        net.initialize(mx.init.One())
        trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        if path:
            net.load_parameters(f"{path}.params")
            trainer.load_states(f"{path}.states")
        return trainer, net

    path = str(tmp_path / "net")
    trainer, net = build()
    steps(trainer, net, 3)
    net.save_parameters(f"{path}.params")
    trainer.save_states(f"{path}.states")
    net.hybridize()
    expected = net(nd.ones((2, 3))).asnumpy()
    net.export(path)
    loaded = mx.gluon.SymbolBlock.imports(f"{path}-symbol.json", ["data"], f"{path}-0000.params")
    np.testing.assert_array_equal(loaded(nd.ones((2, 3))).asnumpy(), expected)
    np.testing.assert_array_equal(steps(*build(path), 2), steps(trainer, net, 2))


def test_data_loader_with_workers():
    """Workers are forked from a process whose engine has threads, and must not hang."""
    out = run("""
        import numpy as np
        from d2l_local.prepare_mxnet import engine
        engine.load()
        import mxnet as mx
        from mxnet.gluon.data import ArrayDataset, DataLoader

        def check(dataset, array_type, **options):
            batches = list(DataLoader(dataset, batch_size=4, shuffle=True, **options))
            assert [len(y) for _, y in batches] == [4, 4, 2]
            for x, y in batches:
                assert type(x) is array_type, type(x)
                assert (x.asnumpy()[:, 0] == 4 * y.asnumpy()).all()
            assert sorted(int(i) for _, y in batches for i in y.asnumpy()) == list(range(10))

        features = np.arange(20, dtype="float32").reshape(10, 2)
        for space, array_type in ((mx.nd, mx.nd.NDArray), (mx.np, mx.np.ndarray)):
            if space is mx.np:
                mx.npx.set_np()
            for i in (0, 1):  # The engine is at work before the workers start
                x = space.ones((200, 200), ctx=mx.cpu(i))
                space.dot(x, x).wait_to_read()
            for kept in (features, space.array(features)):
                dataset = ArrayDataset(kept, np.arange(10)).transform_first(lambda x: 2 * x)
                check(dataset, array_type)
                check(dataset, array_type, num_workers=2)
                check(dataset, array_type, num_workers=2, thread_pool=True)
        print("all batches")
    """)
    assert out.strip() == "all batches"


def test_a_worker_that_fails_says_so():
    out = run("""
        from d2l_local.prepare_mxnet import engine
        engine.load()
        import mxnet as mx

        class Broken(mx.gluon.data.Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, i):
                raise ValueError(f"no example {i}")

        try:
            list(mx.gluon.data.DataLoader(Broken(), batch_size=2, num_workers=2))
        except ValueError as error:
            print(error)
    """)
    assert out.strip() == "no example 0"


def test_metric():
    accuracy = mx.metric.Accuracy()
    accuracy.update([nd.array([0, 1])], [nd.array([[0.9, 0.1], [0.8, 0.2]])])
    assert accuracy.get() == ("accuracy", 0.5)


# --- Training -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("optimizer", "lr"), [("sgd", 0.2), ("adam", 0.05)])
@pytest.mark.parametrize("module", ["nd", "np"])
def test_training(module, optimizer, lr, request):
    if module == "np":
        request.getfixturevalue("np_mode")
    space = getattr(mx, module)
    mx.random.seed(0)
    rng = np.random.RandomState(0)
    X = rng.normal(size=(64, 1, 6, 6)).astype("float32")
    y = (X.mean(axis=(1, 2, 3)) > 0).astype("float32")
    X, y = space.array(X), space.array(y)

    net = mx.gluon.nn.HybridSequential()
    net.add(
        mx.gluon.nn.Conv2D(4, kernel_size=3),
        mx.gluon.nn.BatchNorm(),
        mx.gluon.nn.Activation("relu"),
        mx.gluon.nn.Dense(2),
    )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": lr})
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(30):
        with mx.autograd.record():
            loss = loss_of(net(X), y)
        loss.backward()
        trainer.step(64)
        losses.append(loss.mean().asnumpy().item())
    assert losses[-1] < 0.5 * losses[0]
