"""Every function that ``mx.np`` takes from NumPy, and every one that NumPy hands on to ``mx.np``.

A list of MXNet's own names which functions there are, so nothing that MXNet knows is left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from d2l_local.prepare_mxnet import numpy_view

import numpy as np
import pytest

numpy_view.apply()
mx = pytest.importorskip("mxnet", minversion="1.9", reason="needs MXNet 1.9")
protocol = pytest.importorskip("mxnet.numpy_dispatch_protocol")

pytestmark = [
    pytest.mark.usefixtures("numpy_mode"),
    # Old NumPys warn of what they will remove, new ones of what they have renamed.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

M = np.array([[3, 1, 2], [0, 5, 4]], dtype="float32")
GAPS = np.array([[1, np.nan, 3], [4, 5, np.nan]], dtype="float32")
S = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]], dtype="float32")  # Symmetric, positive definite
V = np.array([1, 2, 4], dtype="float32")
I = np.array([2, 0, 1])  # noqa: E741
CUBE = np.arange(8, dtype="float32").reshape(2, 2, 2)
PAIRS = 2 * np.eye(6, dtype="float32").reshape(2, 3, 2, 3)
MASK = np.array([True, False, True])

# The functions of mx.np that are NumPy's own, with arguments.
FALLBACKS = {
    "allclose": (M, M),
    "alltrue": (M,),
    "apply_along_axis": (np.sort, 0, M),
    "apply_over_axes": (np.sum, M, [0]),
    "argpartition": (V, 1),
    "argwhere": (M,),
    "array_equal": (M, M),
    "array_equiv": (M, M),
    "choose": (I, [V, V + 1, V + 2]),
    "compress": (MASK, M, 1),
    "corrcoef": (M,),
    "correlate": (V, V),
    "count_nonzero": (M,),
    "cov": (M,),
    "digitize": (M.ravel(), V),
    "divmod": (V, 2.0),
    "extract": (M > 1, M),
    "flatnonzero": (M,),
    "float_power": (V, 2),
    "frexp": (V,),
    "heaviside": (V - 2, V),
    "histogram2d": (V, V, 2),
    "histogram_bin_edges": (V, 3),
    "histogramdd": (M.T, 2),
    "i0": (V,),
    "in1d": (V, I),
    "interp": (V, V, V),
    "intersect1d": (V, V),
    "isclose": (M, M),
    "isin": (M, V),
    "ix_": (I, I),
    "lexsort": ((V, V),),
    "min_scalar_type": (10,),
    "modf": (V / 3,),
    "msort": (M,),
    "nanargmax": (GAPS,),
    "nanargmin": (GAPS,),
    "nancumprod": (GAPS,),
    "nancumsum": (GAPS,),
    "nanmax": (GAPS,),
    "nanmedian": (GAPS,),
    "nanmin": (GAPS,),
    "nanpercentile": (GAPS, 50),
    "nanprod": (GAPS,),
    "nanquantile": (GAPS, 0.5),
    "ndim": (M,),
    "packbits": (MASK,),
    "partition": (M, 1),
    "piecewise": (V, [V < 2, V >= 2], [-1, 1]),
    "poly": (V,),
    "polyadd": (V, V),
    "polydiv": (V, V[:2]),
    "polyfit": (V, V, 1),
    "polyint": (V,),
    "polymul": (V, V),
    "polysub": (V, V[:2]),
    "positive": (V,),
    "promote_types": ("f4", "i4"),
    "ptp": (M,),
    "real": (V,),
    "result_type": ("f4", "i8"),
    "rollaxis": (M, 1),
    "roots": (np.array([1, -3, 2], dtype="float32"),),
    "searchsorted": (V, 3),
    "select": ([V < 2, V > 2], [V, V + 1]),
    "setdiff1d": (V, V[:1]),
    "setxor1d": (V, V[:1]),
    "signbit": (V - 2,),
    "size": (M,),
    "spacing": (V,),
    "take_along_axis": (M, np.array([[0], [1]]), 1),
    "trapz": (M,),
    "tril_indices_from": (S,),
    "trim_zeros": (np.array([0.0, 1, 0]),),
    "triu_indices_from": (S,),
    "union1d": (V, V),
    "unpackbits": (np.array([[2, 7, 255]], dtype="uint8"),),
    "unwrap": (3 * V,),
    "vander": (V,),
}
FINANCIAL = {"mirr", "npv", "pmt", "ppmt", "pv", "rate"}  # test_numpy_view.py says what these do
LINALG_FALLBACKS = {
    "cond": (S,),
    "lstsq": (S, V, None),
    "matrix_power": (S, 2),
    "matrix_rank": (S,),
    "multi_dot": ([S, S, S],),
    "qr": (S,),
}

# The functions of NumPy that hand MXNet's arrays on to mx.np, with arguments: one matrix for most.
DISPATCHED = {
    **dict.fromkeys(protocol._NUMPY_ARRAY_FUNCTION_LIST, (M,)),
    "append": (M, M),
    "around": (M / 3, 1),
    "array_split": (V, 2),
    "bincount": (I,),
    "broadcast_arrays": (M, V),
    "broadcast_to": (V, (2, 3)),
    "clip": (M, 1, 2),
    "column_stack": ([V, V],),
    "concatenate": ([M, M],),
    "delete": (V, 1),
    "diag_indices_from": (S,),
    "dot": (S, S),
    "dsplit": (CUBE, 2),
    "dstack": ([V, V],),
    "einsum": ("ij,jk->ik", S, S),
    "expand_dims": (M, 0),
    "full_like": (M, 2),
    "hsplit": (S, 3),
    "hstack": ([V, V],),
    "inner": (V, V),
    "insert": (V, 1, 9.0),
    "linalg.cholesky": (S,),
    "linalg.eig": (S,),
    "linalg.eigh": (S,),
    "linalg.eigvals": (S,),
    "linalg.eigvalsh": (S,),
    "linalg.inv": (S,),
    "linalg.pinv": (S,),
    "linalg.solve": (S, V),
    "linalg.tensorinv": (PAIRS,),
    "linalg.tensorsolve": (PAIRS, M),
    "may_share_memory": (M, M),
    "meshgrid": (V, V),
    "outer": (V, V),
    "pad": (M, ((1, 1), (1, 1))),
    "percentile": (V, 50),
    "polyval": (V, V),
    "quantile": (V, 0.5),
    "repeat": (M, 2),
    "reshape": (M, (3, 2)),
    "resize": (V, (2, 3)),
    "roll": (M, 1),
    "shares_memory": (M, M),
    "split": (M, 2),
    "stack": ([M, M],),
    "swapaxes": (M, 0, 1),
    "take": (V, I),
    "tensordot": (S, S),
    "tile": (M, 2),
    "trace": (S,),
    "unravel_index": (I, (2, 3)),
    "vdot": (V, V),
    "vsplit": (M, 2),
    "vstack": ([V, V],),
    "where": (M > 1, M, M),
}
NO_ARRAYS = {"shape", "shares_memory", "may_share_memory"}  # What these return
EIGENVECTORS = {"linalg.eig", "linalg.eigh"}  # Of either sign, in any order

BINARY = (
    *("add", "subtract", "multiply", "true_divide", "mod", "remainder", "power"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("arctan2", "copysign", "hypot", "maximum", "minimum"),
)
UFUNCS = {
    **dict.fromkeys(protocol._NUMPY_ARRAY_UFUNC_LIST, (M / 9,)),
    **dict.fromkeys(BINARY, (M, M + 1)),
    **dict.fromkeys(("arccosh", "log", "log10", "log2", "reciprocal"), (M + 1,)),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), (I, I)),
    **dict.fromkeys(("bitwise_not", "invert"), (I,)),
    "lcm": (I + 1, I + 2),
    "matmul": (S, S),
}


@pytest.fixture
def numpy_mode():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def look_up(module, name: str):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def to_mxnet(value):
    if isinstance(value, np.ndarray):
        return mx.np.array(value, dtype=value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_mxnet, value))
    return value


def arrays(value) -> list:
    """The arrays and numbers in a result, which may be nested."""
    if isinstance(value, (list, tuple)):
        return [array for item in value for array in arrays(item)]
    return [value]


def assert_same(ours, theirs):
    ours, theirs = arrays(ours), arrays(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        if isinstance(b, (np.ndarray, np.generic, int, float)):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5)
        else:
            assert a == b


@pytest.mark.parametrize(
    ("module", "cases"), [("fallback", FALLBACKS), ("linalg", LINALG_FALLBACKS)]
)
def test_every_function_that_is_numpys_has_a_case(module, cases):
    names = {"fallback": mx.numpy.fallback, "linalg": mx.numpy.fallback_linalg}[module].__all__
    assert set(names) - FINANCIAL == set(cases)


@pytest.mark.parametrize("name", [*FALLBACKS, *(f"linalg.{name}" for name in LINALG_FALLBACKS)])
def test_functions_that_are_numpys(name):
    args = FALLBACKS.get(name) or LINALG_FALLBACKS[name.partition(".")[2]]
    theirs = look_up(numpy_view.numpy_view(), name)(*args)
    ours = look_up(mx.np, name)(*to_mxnet(args))
    assert_same(ours, theirs)
    for a, b in zip(arrays(ours), arrays(theirs)):
        assert not isinstance(b, np.ndarray) or type(a) is mx.np.ndarray


@pytest.mark.parametrize("name", DISPATCHED)
def test_functions_that_numpy_hands_on(name):
    function = look_up(numpy_view.numpy_view(), name)
    assert function in mx.numpy.multiarray._NUMPY_ARRAY_FUNCTION_DICT
    ours, theirs = function(*to_mxnet(DISPATCHED[name])), function(*DISPATCHED[name])
    if name not in NO_ARRAYS:
        assert {type(array) for array in arrays(ours)} == {mx.np.ndarray}
    if name in EIGENVECTORS:
        values, vectors = (array.asnumpy() for array in ours)
        np.testing.assert_allclose(S @ vectors, vectors * values, rtol=1e-4, atol=1e-5)
    elif name == "empty_like":
        assert ours.shape == theirs.shape
    elif name not in NO_ARRAYS or name == "shape":
        assert_same(ours, theirs)


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_that_numpy_hands_on(name):
    ufunc, args = getattr(np, name), UFUNCS[name]
    assert ufunc.__name__ in mx.numpy.multiarray._NUMPY_ARRAY_UFUNC_DICT
    ours = ufunc(*to_mxnet(args))
    assert type(ours) is mx.np.ndarray
    with np.errstate(all="ignore"):
        assert_same(ours, ufunc(*args))


@pytest.mark.parametrize("scalar", [2, 2.0, np.int64(2), np.float32(2), np.float64(2)])
def test_scalars_before_arrays(scalar):
    """NumPy's scalars come first, and hand the operation on; a gradient flows through it."""
    x = mx.np.array([1.0, 2.0])
    x.attach_grad()
    for operation, gradient in [
        (lambda s, x: s + x, [1, 1]),
        (lambda s, x: s - x, [-1, -1]),
        (lambda s, x: s * x, [2, 2]),
        (lambda s, x: s / x, [-2, -0.5]),
        (lambda s, x: s**x, [2 * np.log(2), 4 * np.log(2)]),
    ]:
        with mx.autograd.record():
            y = operation(scalar, x)
        y.backward()
        assert type(y) is mx.np.ndarray
        np.testing.assert_allclose(y.asnumpy(), operation(2, x.asnumpy()), rtol=1e-5)
        np.testing.assert_allclose(x.grad.asnumpy(), gradient, rtol=1e-5)


@pytest.mark.parametrize("name", ["qr", "slogdet", "svd", "lstsq"])
def test_results_of_several_arrays(name):
    args = (S, V, None) if name == "lstsq" else (S,)
    ours = look_up(np.linalg, name)(*to_mxnet(args))
    theirs = look_up(np.linalg, name)(*args)
    assert_same(ours, theirs)
    assert getattr(ours, "_fields", None) == getattr(theirs, "_fields", None)
