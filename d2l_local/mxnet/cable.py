"""A slow cable between devices, to see what hiding an exchange is worth: a store for `Trainer`."""

from __future__ import annotations

import itertools
import threading
import time
import weakref

from d2l_local.base.arguments import positive_integer, positive_number
from d2l_local.measure.timeline import on_record

import mxnet as mx
import numpy as np
from mxnet.kvstore import KVStoreBase

LANE = "cable"
_numbers = itertools.count()
_cables: weakref.WeakValueDictionary[int, Cable] = weakref.WeakValueDictionary()


class Cable(KVStoreBase):
    """Sums gradients as if every device were in a computer of its own, with a cable between them.

    ``gluon.Trainer(…, kvstore=d2l.Cable(125e6))`` for Gigabit Ethernet. Each array of n bytes keeps
    the cable busy for as long as a ring of k devices needs, 2 (k - 1) / k * n / bytes_per_second
    seconds, one array after the other, and uses no core meanwhile. As in other stores, an exchange
    begins when the gradients are there, and only what reads the sum waits for it. A `Timeline`
    shows the cable as the lane ``"cable"``.

    With ``computers``, this computer is one of so many, which all do the same at the same time, and
    its devices, say a single one, are connected without a cable. What the others would add is left
    out: their bytes take time, and add nothing. So one core is enough to see what two would do.

    ValueError unless ``bytes_per_second`` is positive and ``computers`` a positive integer.
    """

    type = "cable"

    def __init__(self, bytes_per_second: float, computers: int | None = None):
        self.bytes_per_second = positive_number("bytes_per_second", bytes_per_second)
        self.computers = None if computers is None else positive_integer("computers", computers)
        self._one_at_a_time = threading.Lock()
        self._number = next(_numbers)
        _cables[self._number] = self

    def broadcast(self, key, value, out, priority=0):
        """Copy a parameter to all devices, in no time: that happens once, before training."""
        for array in out if isinstance(out, list) else [out]:
            if array is not value:
                value.copyto(array)

    def pushpull(self, key, value, out=None, priority=0):
        """Queue an exchange: each array of ``out`` gets the sum of ``value``, one a device."""
        value, out = ([x.as_nd_ndarray() for x in arrays] for arrays in (value, out or value))
        mx.nd.Custom(*value, out=out, op_type=LANE, number=self._number, k=len(value))
        if len(value) == 1:  # It is the sum already
            out[0][:] = value[0]

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether it does more than to sum: it does not, so that `Trainer` updates."""
        return False

    def _carry(self, num_bytes: int, devices: int) -> None:
        k = self.computers or devices
        with self._one_at_a_time, on_record(LANE, "copy"):
            time.sleep(2 * (k - 1) / k * num_bytes / self.bytes_per_second)


class _Exchange(mx.operator.CustomOp):
    # MXNet calls it on a thread of its own: neither a device's worker nor Python waits.

    def __init__(self, cable: Cable):
        super().__init__()
        self._cable = cable

    def forward(self, is_train, req, in_data, out_data, aux):
        first, *others = in_data
        num_bytes = first.size * np.dtype(first.dtype).itemsize
        if not others:  # `pushpull` copies it, if need be
            self._cable._carry(num_bytes, 1)
            return
        total = first.asnumpy()
        for array in others:
            total += array.asnumpy()
        self._cable._carry(num_bytes, len(in_data))
        for array in out_data:
            array._sync_copyfrom(total)


@mx.operator.register(LANE)
class _ExchangeProp(mx.operator.CustomOpProp):
    def __init__(self, number: str, k: str):
        super().__init__(need_top_grad=False)
        self._cable, self._names = _cables[int(number)], [str(i) for i in range(int(k))]

    def list_arguments(self):
        return self._names

    def list_outputs(self):
        return self._names

    def infer_shape(self, in_shape):
        return in_shape, in_shape, []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Exchange(self._cable)
