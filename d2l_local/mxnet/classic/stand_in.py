"""CPU devices in the place of GPUs: code that names ``mx.gpu(0)`` runs on a machine without one.

    from d2l_local import mxnet as d2l
    d2l.stand_in_for_gpus()     # GPUs: cpu(1), cpu(2) in place of gpu(0), gpu(1) (…)

From then on ``mx.gpu(1)`` is ``mx.cpu(2)``: a device of its own, with a worker thread of its own,
and another one than ``mx.cpu()``, as a GPU would be. So code meant for two GPUs, or for a GPU and
the CPU, does all that it would do there: it copies from device to device and works on them at the
same time. Only the name that is printed differs.
"""

from __future__ import annotations

import functools
import operator
import sys

from d2l_local.base.arguments import number_of_devices
from d2l_local.base.language import say, translated
from d2l_local.mxnet import device
from d2l_local.prepare_mxnet import engine

import mxnet as mx


class StandIn:
    """Devices that take the place of GPUs until `restore` is called or the ``with`` block ends.

    ``devices[i]`` is what ``mx.gpu(i)`` means. The list is empty where nothing stands in. After a
    ``with`` block inside another one, the outer one's devices stand in again.
    """

    def __init__(self, contexts: list[mx.Context], before: StandIn | None = None):
        self.devices = contexts
        self._before = before
        self._over = False

    def restore(self) -> None:
        """Let ``mx.gpu`` and ``num_gpus`` mean GPUs again.

        Without effect where they do, or where a later `stand_in_for_gpus` has taken over.
        """
        self._over = True
        if _in_force is self:
            _install(None)

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *exception: object) -> None:
        self._over = True
        if _in_force is self:
            before = self._before
            while before is not None and before._over:
                before = before._before
            _install(before)

    def __repr__(self) -> str:
        return f"StandIn({self.devices})"


def stand_in_for_gpus(n: int = 2) -> StandIn:
    """Let ``mx.gpu(0)`` to ``mx.gpu(n - 1)`` mean CPU devices where there are no GPUs for them.

    ``mx.gpu``, ``npx.gpu`` and ``d2l.gpu`` give distinct CPU devices, beginning with ``mx.cpu(1)``,
    which leaves ``mx.cpu()`` to be the CPU. ``num_gpus`` of these modules gives ``n``, and
    `d2l.devices`, `d2l.try_gpu` and `d2l.try_all_gpus` name the same devices. GPUs that MXNet can
    use keep their place, and where there are ``n`` of them nothing changes. A printed line says
    what was done.

    Returns a `StandIn`: call its ``restore()``, or use it in a ``with`` statement, to undo this. A
    further call takes the place of the one before.

    ValueError, RuntimeError and warning: as `d2l.devices`. Afterwards ``mx.gpu(n)`` raises
    MXNetError, as using a third GPU does on a machine with two.
    """
    n = number_of_devices(n)
    gpus = [_mxnet_gpu(gpu.index) for gpu in device.usable_gpus()]
    cpus = [mx.cpu(1 + i) for i in range(n - len(gpus))]
    if not cpus:
        say(
            "GPUs: {gpus}; there are enough here, and nothing stands in for them",
            gpus=_listed(gpus),
        )
        return _installed(StandIn([], _in_force))
    engine.require_parallel_cpus()  # One of them and cpu(0) are two already
    device.prepare_cpus(cpus)
    missing = [f"gpu({i})" for i in range(len(gpus), n)]
    here = translated("besides {gpus} here", gpus=_listed(gpus))
    say(
        "GPUs: {cpus} in place of {missing} ({why})",
        cpus=_listed(cpus),
        missing=_listed(missing),
        why=here if gpus else device.why_no_gpu(),
    )
    return _installed(StandIn(gpus + cpus, _in_force))


def _listed(contexts: list) -> str:
    return ", ".join(map(str, contexts))


_mxnet_gpu, _mxnet_num_gpus = mx.gpu, mx.npx.num_gpus


@functools.wraps(_mxnet_gpu)
def _gpu(device_id=0):
    if not device.stand_ins:  # Somebody kept this function beyond restore()
        return _mxnet_gpu(device_id)
    if not 0 <= operator.index(device_id) < len(device.stand_ins):
        raise mx.MXNetError(
            f"there is no gpu({device_id}): {_listed(device.stand_ins)} are in place of GPUs. "
            f"Call d2l.stand_in_for_gpus({max(1, device_id + 1)}) for as many as you need."
        )
    return device.stand_ins[device_id]


@functools.wraps(_mxnet_num_gpus)
def _num_gpus():
    return len(device.stand_ins) or _mxnet_num_gpus()


_in_force: StandIn | None = None


def _installed(stand_in: StandIn) -> StandIn:
    _install(stand_in)
    return stand_in


def _install(stand_in: StandIn | None) -> None:
    """Put its devices in the place of GPUs; where there are none, MXNet's own functions back."""
    global _in_force
    _in_force = stand_in
    device.stand_ins = contexts = stand_in.devices if stand_in else []
    for mxnets, ours in ((_mxnet_gpu, _gpu), (_mxnet_num_gpus, _num_gpus)):
        name, (old, new) = mxnets.__name__, (mxnets, ours) if contexts else (ours, mxnets)
        for module in list(sys.modules.values()):  # The reader's too: from mxnet import gpu
            if getattr(module, "__dict__", {}).get(name) is old:
                setattr(module, name, new)
