"""MXNet's devices and the links between them."""

from __future__ import annotations

import ctypes
import itertools
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

from d2l_local.mxnet.device import devices
from d2l_local.simulate import links

import numpy as np
from mxnet import autograd, nd
from mxnet.base import _LIB, check_call


class Links(links.Links):
    __doc__ = links.Links.__doc__

    def _find(self, k):
        with warnings.catch_warnings():  # More devices than cores count as well, if not as fast
            warnings.filterwarnings("ignore", message=r"\d+ CPU devices on")
            return devices(k)

    def _placed(self, x, i):
        return nd.array(x, ctx=self.devices[i], dtype="float32")

    def _device(self, x):
        return x.ctx

    def _cut(self, x, start, stop, axis):
        return nd.slice_axis(x, axis, start, stop)

    def _numpy(self, x):
        return x.asnumpy()

    def _carry(self, x, i, j):
        return _Carry(self, i, j)(x)

    def _copied(self, x, j):
        self.sent.append(x.size * np.dtype(x.dtype).itemsize)
        return x.copyto(self.devices[j])

    def _synchronize(self):
        nd.waitall()

    def _finish(self, i, x):
        if self.devices[i].device_type == "cpu":
            _wait_in_own_queue(x)
        x.wait_to_read()

    def _at_once(self, calls):
        with ThreadPoolExecutor(len(calls)) as threads:
            for future in [threads.submit(call) for call in calls]:
                future.result()


class _Context(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int), ("device_id", ctypes.c_int)]


_computed: dict[int, threading.Event] = {}
_numbers = itertools.count(1)  # 0 would come back as None


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
def _set(_context, number):
    if computed := _computed.pop(number, None):  # Else nobody waits for it any more
        computed.set()


def _wait_in_own_queue(x, seconds=5.0):
    """Wait until the queue of its device has come to an array; at most so long.

    ``wait_to_read`` waits in the queue of ``cpu(0)``, whatever the array's device: behind the
    operation that ``cpu(0)`` has just begun. What fails never calls, hence the limit.
    """
    push = getattr(_LIB, "MXEnginePushSyncND", None)  # Not in the oldest versions
    if push is None:
        return
    number = next(_numbers)
    _computed[number] = computed = threading.Event()
    context = _Context(x.context.device_typeid, x.context.device_id)
    read, nothing = (ctypes.c_void_p * 1)(x.handle), (ctypes.c_void_p * 0)()
    arguments = _set, ctypes.c_void_p(number), None, ctypes.byref(context)
    # A priority other than 0: never put off in order to be executed with others in bulk
    check_call(push(*arguments, read, 1, nothing, 0, None, 1, b"WaitForVar"))
    computed.wait(seconds)
    _computed.pop(number, None)


class _Carry(autograd.Function):
    def __init__(self, links, i, j):
        super().__init__()
        self.links, self.i, self.j = links, i, j

    def forward(self, x):
        return self.links._copied(x, self.j)

    def backward(self, head):
        return self.links._copied(head, self.i)


def gradients(loss, arrays):
    """Return the gradients of ``loss()`` with respect to arrays, in lists nested as these are.

    Of several losses, such as one a device, it returns a list, and their sum is meant.
    """
    for array in links.flat(arrays):
        array.attach_grad()
    with autograd.record():
        losses = links.flat(loss())
    autograd.backward(losses)
    return links.nested(lambda array: array.grad, arrays)
