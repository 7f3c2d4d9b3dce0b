"""MXNet 2 for a chapter that was written for MXNet 1.9.1 and its classic arrays, ``mx.nd``.

MXNet 2 exists as a test release only, 2.0.0b1. It still has ``mx.nd``, but importing it switches
NumPy semantics on, and its Gluon takes ``mx.np`` arrays alone. `patch` changes, in the process:

* NumPy semantics are off after the import: ``npx.set_np()`` is the reader's choice, as in 1.9.1.
* While they are off, Gluon's blocks, parameters and trainers take and return classic arrays. Their
  outermost call converts: the two kinds of array share memory and the record for gradients.
* Names that moved are also where 1.9.1 has them: ``gluon.contrib.nn``, ``mx.metric``, and what its
  ``ParameterDict`` can do.
* An optimizer's ``update``, where a reader defines one, gets one parameter at a time.
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
    gluon, classic = mxnet.gluon, functools.partial(_taking_classic_arrays, mxnet)
    # MXNet's decorator use_np has given each class copies of the methods that it inherits.
    for block in _subclasses(gluon.Block):
        _wrap(block, ["__call__", "load_parameters"], classic)
        _wrap(block, ["collect_params"], _with_old_methods)
    _wrap(gluon.Parameter, ["cast", "data", "grad", "initialize", "list_data"], classic)
    _wrap(gluon.Parameter, ["list_grad", "reset_device", "set_data", "_reduce"], classic)
    _wrap(gluon.Trainer, ["__init__", "allreduce_grads", "step", "update"], classic)
    _wrap(gluon.Trainer, ["load_states", "save_states"], classic)
    _wrap(mxnet.optimizer.Optimizer, ["update_multi_precision"], _updating_one_by_one)
    vars(mxnet)["metric"] = gluon.metric
    gluon.contrib.nn = sys.modules["mxnet.gluon.contrib.nn"] = gluon.nn
    _refuse_what_is_gone(mxnet)


def _subclasses(cls: type[object]) -> Iterator[type[object]]:
    yield cls
    for subclass in cls.__subclasses__():
        yield from _subclasses(subclass)


def _wrap(cls: type, names: list[str], wrapper: Callable[[Callable], Callable]) -> None:
    """Put ``wrapper`` around those methods of a class that it does not inherit."""
    for name in names:
        if name in vars(cls):
            setattr(cls, name, wrapper(vars(cls)[name]))


def _taking_classic_arrays(mxnet: ModuleType, method: Callable) -> Callable:
    """``method``, which takes and returns classic arrays while NumPy semantics are off."""

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if mxnet.util.is_np_array():
            return method(self, *args, **kwargs)
        converted = [_each(mxnet.nd.NDArray, "as_np_ndarray", arg) for arg in args]
        with mxnet.util.np_shape(True), mxnet.util.np_array(True):
            result = method(self, *converted, **kwargs)
        return _each(mxnet.np.ndarray, "as_nd_ndarray", result)

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
            if parameter.grad_req != "null":
                for grad in parameter.list_grad():  # Parameter.zero_grad fails in 2.0.0b1
                    grad[:] = 0


def _with_old_methods(collect_params: Callable) -> Callable:
    @functools.wraps(collect_params)
    def wrapper(self: Any, select: str | None = None) -> _Parameters:
        return _Parameters(collect_params(self, select))

    return wrapper


def _updating_one_by_one(update_multi_precision: Callable) -> Callable:
    """For optimizers that a reader writes: ``update`` gets an array in 1.9.1, a list in 2."""

    @functools.wraps(update_multi_precision)
    def wrapper(self: Any, indices: list, weights: list, grads: list, states: list) -> None:
        if type(self).update.__module__.startswith("mxnet."):
            return update_multi_precision(self, indices, weights, grads, states)
        for one in zip(indices, weights, grads, states):
            self.update(*one)

    return wrapper


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

    def name_scope(self: Any) -> None:
        raise gone(f"{type(self).__name__}.name_scope")

    mxnet.gluon.Block.__new__ = new
    mxnet.gluon.Block.name_scope = name_scope


def _takes_f(function: Any = None, *_: Any) -> bool:
    return callable(function) and next(iter(inspect.signature(function).parameters), "") == "F"
