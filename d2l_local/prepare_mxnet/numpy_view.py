"""Let MXNet 1.9.1, the last release, import and work on Python 3.9 to 3.13 and NumPy 1.22 to 2.x.

Call ``apply`` before ``import mxnet``. Other libraries must not notice, so nothing is added to
``numpy``, to ``builtins`` or to ``sys.modules``. Instead, this is what changes:

**One finder on** ``sys.meta_path``, for as long as the process lives, because MXNet imports some of
its modules late. It answers for ``mxnet`` and its submodules only and finds them where Python would
have found them; each then runs with an ``import`` statement of its own. That statement differs in
four cases:

* ``import numpy`` gives MXNet a view: a module that has everything that ``numpy`` has, and adds
  what MXNet asks for and the installed NumPy lacks (``LEGACY_NAMES``, and one more below).
  MXNet looks up most of these names once, at import, but some at each call, hence a view that
  stays instead of names that come and go.
* ``from distutils.version import ...`` gives a stand-in: Python 3.12 has no ``distutils`` any more,
  and 3.10 and 3.11 warn of it, which ends a process under ``python -W error``.
* ``import scipy.stats`` and ``scipy.sparse`` give stand-ins, which import them when something of
  them is asked for. They took a third of the time of importing MXNet, which needs them to quantize,
  to test itself, and for SciPy's sparse matrices only.
* What ``GIVEN`` names: for two modules ``import pickle`` gives one that signs, in a job.

``d2l.mxnet`` is run in the same way, for one such module more, pandas, another tenth. Under
``python -OO`` their docstrings stay: MXNet makes those of its operators from them, and fails
without.

**Inside MXNet's own modules**, at the end of ``import mxnet``, where a NumPy name is not the matter
(``PATCHES``; each runs only if the installed NumPy calls for it):

* operator attributes: they travel to the engine as strings, and NumPy 2 prints ``np.int64(2)``
  where NumPy 1 printed ``2``, so that ``mx.np.ones((np.int64(2), 3))`` fails;
* ``NDArray.__array__``: MXNet has none, so NumPy reads an array one element at a time, or fails;
* ``mx.recordio.pack`` and ``pack_img`` call ``ndarray.tostring``, which NumPy 2.3 removed;
* the samplers of ``mx.np.random`` ask ``size == ()``, which newer NumPy calls ambiguous for an
  ``np.int64``;
* functions of ``numpy.linalg`` that return more than one array: NumPy 1.25 made their results named
  tuples, which MXNet cannot convert, so that ``mx.np.linalg.qr`` fails;
* ``np.int64(2) / x``: MXNet knows the function as ``true_divide``, and NumPy 1.23 renamed it.

The one more: ``mx.np.array([300], dtype="uint8")`` wrapped to 44 up to NumPy 1, and NumPy 2 raises,
so the view's ``array`` wraps. All other values are NumPy's own: what NumPy 2 does differently
(promotion, lists where there were tuples) is not hidden.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

from d2l_local.base.language import translated

import numpy as np

# --- What MXNet's modules see when they import NumPy ----------------------------------------------


def _financial(name: str) -> Callable:
    """A stand-in for a financial function, which MXNet re-exports and never calls."""

    def removed(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"numpy.{name} was removed in NumPy 1.20 (NEP 32), so mxnet.numpy.{name} has nothing "
            f"to call. Install numpy-financial and use numpy_financial.{name} instead."
        )

    removed.__name__ = removed.__qualname__ = name
    return removed


def _in1d(ar1, ar2, assume_unique=False, invert=False):
    """Whether each element of ``ar1``, flattened, is in ``ar2``."""
    # Not the method ravel: mx.np.ndarray, which these functions get too, has none.
    return np.ravel(np.isin(ar1, ar2, assume_unique=assume_unique, invert=invert))


def _msort(a):
    """A copy of ``a``, sorted along its first axis."""
    return np.sort(a, axis=0)


def _core() -> SimpleNamespace:
    """The one function that MXNet takes from ``numpy.core``, from where NumPy 2 keeps it."""
    from numpy.lib import array_utils

    return SimpleNamespace(
        numeric=SimpleNamespace(normalize_axis_tuple=array_utils.normalize_axis_tuple)
    )


# All the names that MXNet 1.9.1 takes from NumPy and that some supported NumPy lacks, each with a
# function that makes its equivalent. A name that the installed NumPy defines is left to it.
LEGACY_NAMES: dict[str, Callable[[], Any]] = {
    # Aliases of Python types; np.bool came back in NumPy 2.0 as a name of np.bool_.
    "bool": lambda: bool,
    "int": lambda: int,
    # Constants.
    "Inf": lambda: np.inf,
    "PINF": lambda: np.inf,
    "NINF": lambda: -np.inf,
    "NaN": lambda: np.nan,
    "NAN": lambda: np.nan,
    "PZERO": lambda: 0.0,
    "NZERO": lambda: -0.0,
    # Functions that live on under another name.
    "alltrue": lambda: np.all,
    "sometrue": lambda: np.any,
    "product": lambda: np.prod,
    "round_": lambda: np.round,
    "trapz": lambda: np.trapezoid,
    "in1d": lambda: _in1d,
    "msort": lambda: _msort,
    # Functions that left NumPy.
    "mirr": lambda: _financial("mirr"),
    "npv": lambda: _financial("npv"),
    "pmt": lambda: _financial("pmt"),
    "ppmt": lambda: _financial("ppmt"),
    "pv": lambda: _financial("pv"),
    "rate": lambda: _financial("rate"),
    # Submodules: mx.np.pad wants numpy.compat.basestring, mx.nd.moveaxis wants numpy.core.
    "compat": lambda: SimpleNamespace(basestring=str),
    "core": _core,
}


def _wrapping_array(object, dtype=None, *args, **kwargs):
    """``np.array``, which wraps Python integers that are too large for ``dtype`` as NumPy 1 did."""
    try:
        return np.array(object, dtype, *args, **kwargs)
    except OverflowError:
        return np.array(object, None, *args, **kwargs).astype(dtype)


class _NumPyView(ModuleType):
    """``numpy`` as MXNet's modules see it: NumPy's names and the additions."""

    def __init__(self, additions: dict[str, Any]) -> None:
        super().__init__("numpy", np.__doc__)
        # NumPy's names are copied because a __getattr__ for each look-up makes nd.array a third
        # slower; the method below finds what NumPy loads later.
        public = {name: value for name, value in vars(np).items() if not name.startswith("__")}
        vars(self).update(public, **additions)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(np)})


@functools.cache
def missing_names() -> tuple[str, ...]:
    """The names in ``LEGACY_NAMES`` that the installed NumPy does not define.

    NumPy's namespace is asked directly: ``hasattr`` would set off the warnings of NumPy's module
    ``__getattr__``, which up to NumPy 1.23 answers for deprecated names. The answer is kept: in
    NumPy 2, ``numpy.core`` is in the namespace only once somebody has imported it.
    """
    return tuple(name for name in LEGACY_NAMES if name not in vars(np))


def _integers_overflow() -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 1.24 to 1.26 wrap, and warn
        try:
            np.array([300], dtype=np.uint8)
        except OverflowError:
            return True
    return False


@functools.cache
def numpy_view() -> ModuleType:
    """The one view that all of MXNet's modules share."""
    additions = {name: LEGACY_NAMES[name]() for name in missing_names()}
    if _integers_overflow():
        additions["array"] = _wrapping_array
    return _NumPyView(additions)


# --- What they see when they import distutils.version --------------------------------------------


@functools.total_ordering
class _Version:
    """Compares release numbers; MXNet asks whether NumPy is at least 1.6, 1.15 and 1.17."""

    def __init__(self, text: str) -> None:
        match = re.match(r"\d+(\.\d+)*", text)
        if match is None:
            raise ValueError(f"invalid version number {text!r}: it has to start with a digit")
        # 1.17 and 1.17.0 are the same release.
        self.release = [int(part) for part in re.sub(r"(\.0+)+$", "", match[0]).split(".")]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Version) and self.release == other.release

    def __lt__(self, other: _Version) -> bool:
        return self.release < other.release


# Not setuptools' own distutils: it need not be installed, and everybody would see its import.
_DISTUTILS_VERSION = SimpleNamespace(LooseVersion=_Version, StrictVersion=_Version)


# --- What they see when they import what takes long and is hardly used ----------------------------


class _Later(ModuleType):
    """A module that is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))


_SCIPY = SimpleNamespace(sparse=_Later("scipy.sparse"), stats=_Later("scipy.stats"))
# For each module what is imported from it, and what takes its place.
_LATER: dict[str, tuple[tuple[str, ...], Any]] = {
    "scipy": (("stats",), _SCIPY),
    "scipy.sparse": ((), _SCIPY),  # import scipy.sparse as
    "scipy.stats": ((), _SCIPY),
    "pandas": ((), _Later("pandas")),
}


# --- How they come to see it ----------------------------------------------------------------------

# What single modules get where they import another: by the names of the two.
GIVEN: dict[tuple[str, str], Any] = {}


def _import(name, globals=None, locals=None, fromlist=(), level=0):
    """The ``import`` statement of MXNet's modules and of ``d2l.mxnet``."""
    if given := GIVEN.get(((globals or {}).get("__name__", ""), name)):
        return given
    if name == "distutils.version":
        return _DISTUTILS_VERSION
    if name in _LATER and tuple(fromlist or ()) == _LATER[name][0]:
        return _LATER[name][1]
    module = builtins.__import__(name, globals, locals, fromlist, level)
    return numpy_view() if module is np else module


# A module's import statements call the __import__ that its __builtins__ hold. Python puts the
# dictionary of the module `builtins` there unless it finds another one.
_BUILTINS = {**vars(builtins), "__import__": _import}


class _Loader(SourceFileLoader):
    """Runs a module with ``_BUILTINS``, and patches MXNet when all of it has run."""

    def get_code(self, fullname: str) -> CodeType | None:
        if sys.flags.optimize < 2:
            return super().get_code(fullname)
        # With docstrings, so it is compiled anew: the bytecode kept for -OO has none.
        path = self.get_filename(fullname)
        return compile(self.get_data(path), path, "exec", dont_inherit=True, optimize=1)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = _BUILTINS
        super().exec_module(module)
        if module.__name__ == "mxnet":
            patch(module)


class _Finder:
    """Finds ``mxnet``, its submodules and ``d2l.mxnet`` where they are; gives them ``_Loader``."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in ("mxnet", "d2l.mxnet") and not name.startswith("mxnet."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        # Anything but plain source (the Cython parts of a self-built MXNet) is loaded as it is.
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def _modules_of(mxnet: ModuleType) -> list[ModuleType]:
    """MXNet's modules that are loaded now."""
    prefix = mxnet.__name__ + "."
    return [m for name, m in list(sys.modules.items()) if m is mxnet or name.startswith(prefix)]


def _swap_in_view(mxnet: ModuleType) -> None:
    """Exchange ``numpy`` for the view in modules that were imported before ``apply``."""
    for module in _modules_of(mxnet):
        for name, value in list(vars(module).items()):
            if value is np:
                setattr(module, name, numpy_view())


# --- What has to change inside MXNet --------------------------------------------------------------


def _plain(value: Any) -> Any:
    """``value`` with Python numbers for the NumPy scalars in it, also in nested tuples and lists.

    A float keeps the digits that NumPy prints: 0.1 for ``np.float32(0.1)``, not 0.10000000149.
    """
    if isinstance(value, np.floating):
        return float(str(value))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


class _StrType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, str)


class _AttributeStr(str, metaclass=_StrType):
    """``str`` as NumPy 1 had it: ``(2, 3)`` for ``(np.int64(2), 3)``. It makes ordinary strings."""

    def __new__(cls, value: Any = "") -> str:  # type: ignore[misc]
        return str(_plain(value)) if isinstance(value, (tuple, list)) else str(value)


def _scalars_print_their_type() -> bool:
    return repr(np.int64(2)) != "2"


def _patch_attributes(mxnet: ModuleType) -> None:
    # The modules that turn the values of attributes into strings; `str` does little else there.
    for module in (
        mxnet._ctypes.ndarray,
        mxnet._ctypes.symbol,
        mxnet.symbol.symbol,
        mxnet.io.io,
        mxnet.kvstore.base,
    ):
        module.str = _AttributeStr


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """NumPy's ``__array__`` protocol, in its form since NumPy 2 and the older one."""
    if copy is False:
        raise ValueError(
            "the data of an MXNet array belong to MXNet's engine, so NumPy can only have a copy, "
            "and copy=False forbids one: use np.asarray(x) or x.asnumpy()"
        )
    array = self.asnumpy()  # always a copy
    return array if dtype is None else array.astype(dtype, copy=False)


def _patch_array_protocol(mxnet: ModuleType) -> None:
    mxnet.nd.NDArray.__array__ = _array  # mx.np.ndarray is a subclass


def _call_instead(function: FunctionType, old: str, new: str) -> None:
    """Let ``function`` use the attribute ``new`` wherever its source says ``old``."""
    code = function.__code__
    names = tuple(new if name == old else name for name in code.co_names)
    function.__code__ = code.replace(co_names=names)


def _patch_recordio(mxnet: ModuleType) -> None:
    for function in (mxnet.recordio.pack, mxnet.recordio.pack_img):
        _call_instead(function, "tostring", "tobytes")


def _with_python_integers(function: Callable) -> Callable:
    """``function``, which gets Python integers for the NumPy integers among its arguments."""

    def python(value: Any) -> Any:
        return int(value) if isinstance(value, np.integer) else value

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*map(python, args), **{key: python(arg) for key, arg in kwargs.items()})

    return wrapper


def _empty_comparison_is_ambiguous() -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning in one NumPy, an error in a later one
        try:
            bool(np.int64(3) == ())
        except Exception:
            return True
    return False


def _patch_samplers(mxnet: ModuleType) -> None:
    for module in (
        mxnet.ndarray.numpy.random,
        mxnet.ndarray.numpy_extension.random,
        mxnet.symbol.numpy.random,
        mxnet.symbol.numpy_extension.random,
    ):
        for name, function in list(vars(module).items()):
            own = inspect.isfunction(function) and function.__module__ == module.__name__
            if own and not hasattr(function, "__wrapped__"):
                setattr(module, name, _with_python_integers(function))


def _linalg_returns_named_tuples() -> bool:
    return hasattr(np.linalg.slogdet(np.eye(1)), "_make")


def _patch_results(mxnet: ModuleType) -> None:
    module = mxnet.numpy.multiarray
    convert = module._as_mx_np_array

    @functools.wraps(convert)
    def wrapper(object, ctx=None):
        if hasattr(object, "_make"):
            return object._make(module._as_mx_np_array(item, ctx) for item in object)
        return convert(object, ctx)

    if not hasattr(convert, "__wrapped__"):
        module._as_mx_np_array = wrapper


def _division_is_renamed() -> bool:
    return np.true_divide.__name__ != "true_divide"


def _patch_division(mxnet: ModuleType) -> None:
    by_name = mxnet.numpy.multiarray._NUMPY_ARRAY_UFUNC_DICT
    by_name[np.true_divide.__name__] = by_name["true_divide"]


# What is done, whether the installed NumPy calls for it, and how.
PATCHES: tuple[tuple[str, Callable[[], bool], Callable[[ModuleType], None]], ...] = (
    (
        "operator attributes: NumPy scalars print as numbers",
        _scalars_print_their_type,
        _patch_attributes,
    ),
    ("NDArray: __array__ added", lambda: True, _patch_array_protocol),
    (
        "recordio: tobytes for tostring",
        lambda: not hasattr(np.ndarray, "tostring"),
        _patch_recordio,
    ),
    (
        "mx.np.random: NumPy integers as sizes",
        _empty_comparison_is_ambiguous,
        _patch_samplers,
    ),
    (
        "results of numpy.linalg: named tuples converted",
        _linalg_returns_named_tuples,
        _patch_results,
    ),
    ("numpy.divide of MXNet's arrays: left to MXNet", _division_is_renamed, _patch_division),
)

_done: list[str] = []


def _note(what: str) -> None:
    if what not in _done:
        _done.append(what)


def patch(mxnet: ModuleType) -> None:
    """Change what has to change inside ``mxnet``, once it is imported.

    ``import mxnet`` calls this by itself after ``apply``. Calling it again changes nothing.
    """
    if not mxnet.__version__.startswith("1."):
        from d2l_local.install import builds, commands, loading

        reason = f"MXNet {mxnet.__version__} is installed, which has another Gluon"
        raise loading.LoadError(reason, commands.pip_install(*builds.BUILDS["mxnet"]))
    for what, is_needed, cure in PATCHES:
        if is_needed():
            cure(mxnet)
            _note(what)


def apply() -> list[str]:
    """Prepare ``import mxnet``, and return what has been done so far, a short phrase each.

    Call it before MXNet is imported; if MXNet is there already, the rest is done at once. Further
    calls change nothing: one after ``import mxnet`` also names what was patched inside MXNet.
    """
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
        if missing_names():
            _note(
                translated(
                    "NumPy {version} as MXNet sees it: {names} added",
                    version=np.__version__,
                    names=", ".join(missing_names()),
                )
            )
        if _integers_overflow():
            _note("NumPy as MXNet sees it: array wraps integers that are too large")
        _note("distutils.version as MXNet sees it: a stand-in")
    mxnet = sys.modules.get("mxnet")
    if mxnet is not None and hasattr(mxnet, "nd"):
        _swap_in_view(mxnet)
        patch(mxnet)
    return list(_done)
