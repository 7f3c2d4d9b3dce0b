"""MXNet 2 for a chapter that was written for MXNet 1.9.1 and its classic arrays, ``mx.nd``.

MXNet 2 exists as a test release only, 2.0.0b1. It still has ``mx.nd``, but importing it switches
NumPy semantics on, and its Gluon takes ``mx.np`` arrays alone. `patch` changes, in the process:

* NumPy semantics are off after the import: ``npx.set_np()`` is the reader's choice, as in 1.9.1.
* While they are off, Gluon's blocks, parameters and trainers take and return classic arrays. Their
  outermost call converts: the two kinds of array share memory and the record for gradients.
* Names that moved are also where 1.9.1 has them: ``gluon.contrib.nn``, ``mx.metric``, and what its
  ``ParameterDict`` can do.
* What Gluon 2 has no more (``hybrid_forward``, ``F``, prefixes) raises an error that says so.

``docs/matrix.md`` says which sections of the chapter run.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any


def patch(mxnet: ModuleType) -> None:
    """Let ``mxnet``, a 2.x, run what was written for 1.9.1. To be called once, after its import."""
    warnings.warn(
        f"MXNet {mxnet.__version__.strip()} is a test release with another Gluon. The section "
        "“Compilers and Interpreters” needs 1.9.1 (pip install mxnet==1.9.1); the others run.",
        RuntimeWarning,
        stacklevel=2,
    )
    mxnet.npx.reset_np()
    gluon = mxnet.gluon
    for block in _subclasses(gluon.Block):
        # Most have a __call__ of their own, made by MXNet's decorator use_np.
        _take_classic_arrays(mxnet, block, ["__call__"])
    _take_classic_arrays(mxnet, gluon.Block, ["load_parameters"])
    _take_classic_arrays(
        mxnet,
        gluon.Parameter,
        ["cast", "data", "grad", "initialize", "list_data", "list_grad", "set_data", "_reduce"],
    )
    _take_classic_arrays(
        mxnet, gluon.Trainer, ["__init__", "allreduce_grads", "load_states", "step", "update"]
    )
    _keep_names(mxnet)
    _refuse_what_is_gone(mxnet)


def _subclasses(cls: type) -> Iterator[type]:
    yield cls
    for subclass in cls.__subclasses__():
        yield from _subclasses(subclass)


def _take_classic_arrays(mxnet: ModuleType, cls: type, names: list[str]) -> None:
    """Let methods take and return classic arrays while NumPy semantics are off."""
    for name in names:
        method = vars(cls).get(name)
        if method is not None and not hasattr(method, "takes_classic_arrays"):
            setattr(cls, name, _in_numpy_mode(mxnet, method))


def _in_numpy_mode(mxnet: ModuleType, method: Callable) -> Callable:
    @functools.wraps(method)
    def wrapper(self, *args: Any, **kwargs: Any) -> Any:
        if mxnet.util.is_np_array():
            return method(self, *args, **kwargs)
        args = [_each(mxnet.nd.NDArray, "as_np_ndarray", arg) for arg in args]
        with mxnet.util.np_shape(True), mxnet.util.np_array(True):
            result = method(self, *args, **kwargs)
        return _each(mxnet.np.ndarray, "as_nd_ndarray", result)

    wrapper.takes_classic_arrays = True
    return wrapper


def _each(cls: type, conversion: str, value: Any) -> Any:
    """``value`` with the arrays of ``cls`` in it converted, also in lists and tuples."""
    if isinstance(value, cls):
        return getattr(value, conversion)()
    if isinstance(value, (list, tuple)):
        return type(value)(_each(cls, conversion, item) for item in value)
    return value


class _Parameters(dict):
    """What ``collect_params`` returns, with the methods that it had in 1.9.1."""

    def reset_ctx(self, ctx: Any) -> None:
        for parameter in self.values():
            parameter.reset_device(ctx)

    def zero_grad(self) -> None:
        for parameter in self.values():
            parameter.zero_grad()


def _keep_names(mxnet: ModuleType) -> None:
    mxnet.metric = mxnet.gluon.metric
    mxnet.gluon.contrib.nn = sys.modules["mxnet.gluon.contrib.nn"] = mxnet.gluon.nn
    collect_params = mxnet.gluon.Block.collect_params

    @functools.wraps(collect_params)
    def wrapper(self, select: str | None = None) -> _Parameters:
        return _Parameters(collect_params(self, select))

    mxnet.gluon.Block.collect_params = wrapper


def _refuse_what_is_gone(mxnet: ModuleType) -> None:
    def gone(what: str) -> RuntimeError:
        return RuntimeError(
            f"{what} is of MXNet 1.x; Gluon in MXNet {mxnet.__version__.strip()} has none. Install "
            "the release that this needs, pip install mxnet==1.9.1, and restart the kernel."
        )

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        if hasattr(cls, "hybrid_forward"):
            raise gone(f"{cls.__name__}.hybrid_forward")
        if "prefix" in kwargs:
            raise gone(f"{cls.__name__}(prefix=...)")
        if issubclass(cls, mxnet.gluon.nn.HybridLambda) and _takes_f(*args):
            raise gone(f"the first argument of {args[0].__name__}, F,")
        return object.__new__(cls)

    def name_scope(self) -> None:
        raise gone(f"{type(self).__name__}.name_scope")

    mxnet.gluon.Block.__new__ = new
    mxnet.gluon.Block.name_scope = name_scope


def _takes_f(function: Any = None, *_: Any) -> bool:
    return callable(function) and next(iter(inspect.signature(function).parameters), "") == "F"
