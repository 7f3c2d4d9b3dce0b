"""The chapter's helpers for MXNet: ``from d2l_local import mxnet as d2l``.

A drop-in for ``from d2l import mxnet as d2l`` (d2l 1.0.3): all its public names, with those below
added or put in place of d2l's own. d2l itself is loaded when one of its names is asked for.
Importing this prepares the process (`d2l_local.prepare_mxnet`) and does not switch MXNet to NumPy
semantics: ``npx.set_np()`` remains the reader's choice, as with d2l.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator as _Iterator
from typing import Any as _Any

from d2l_local.install import loading as _loading

_loading.require("mxnet", "mxnet", "numpy")

from d2l_local.prepare_mxnet import engine  # noqa: E402

engine.load()  # Before anything else imports MXNet: it reads its settings only once

from d2l_local import backend as _backend  # noqa: E402
from d2l_local.base import later as _later  # noqa: E402
from d2l_local.lesson.assertion import explain_failures as _explain_failures  # noqa: E402
from d2l_local.measure import charts as _charts  # noqa: E402
from d2l_local.measure import fonts as _fonts  # noqa: E402
from d2l_local.mxnet import device, recorder  # noqa: E402
from d2l_local.mxnet.bfloat16 import bfloat16, has_bfloat16  # noqa: E402, F401
from d2l_local.mxnet.cable import Cable  # noqa: E402, F401
from d2l_local.mxnet.classic import images as _images  # noqa: E402
from d2l_local.mxnet.classic.stand_in import stand_in_for_gpus  # noqa: E402, F401
from d2l_local.mxnet.cluster import Cluster, ClusterError  # noqa: E402, F401
from d2l_local.mxnet.language_model import gpt, trained_gpt  # noqa: E402, F401
from d2l_local.mxnet.links import Links, gradients  # noqa: E402, F401
from d2l_local.mxnet.mlp import mlp_predict, mlp_step  # noqa: E402, F401
from d2l_local.mxnet.operators import copier as _copier  # noqa: E402
from d2l_local.mxnet.operators import operators  # noqa: E402, F401
from d2l_local.mxnet.resnet import Residual, resnet18, resnet_step  # noqa: E402, F401
from d2l_local.prepare_mxnet.engine import report as engine_report  # noqa: E402, F401
from d2l_local.shared import *  # noqa: E402, F403

import mxnet as mx  # noqa: E402
from mxnet.util import is_np_array as _is_np_array  # noqa: E402


class MXNet(_backend.Backend):
    """What all frameworks have, of MXNet."""

    Timeline = recorder.Timeline
    devices = staticmethod(device.devices)
    try_gpu = staticmethod(device.try_gpu)
    try_all_gpus = staticmethod(device.try_all_gpus)
    num_gpus = staticmethod(device.num_gpus)
    lane = staticmethod(device.lane)
    banner = staticmethod(device.banner)
    examine = staticmethod(device.examine)
    synchronize = staticmethod(mx.nd.waitall)
    _copier = staticmethod(_copier)

    def _convert(self, array):
        # Without a copy: the loader makes every minibatch anew. Three times as fast as `nd.array`.
        shared = mx.nd.from_numpy(array)
        return shared.as_np_ndarray() if _is_np_array() else shared


globals().update(_backend.names(MXNet()))


def _rest_of_d2l() -> dict[str, _Any]:
    """Return d2l's names, and in the place of some those that take both kinds of array."""
    _loading.require_d2l("mxnet")
    import d2l.mxnet as theirs

    names = vars(theirs)
    # d2l's functions look up their helpers in the global `d2l` of their module, but for this one.
    names |= {"d2l": sys.modules[__name__], "use_svg_display": _charts.use_svg_display}
    from d2l_local.mxnet.classic import drawing, training

    ours = {name: getattr(m, name) for m in (drawing, training) for name in m.__all__}
    return {**names, **ours}


__getattr__, __dir__ = _later.names(globals(), _rest_of_d2l)

# `SymbolBlock.imports` makes the block first and reads the types of its parameters afterwards.
warnings.filterwarnings("ignore", message="Cannot decide type for the following arguments")

_images.prepare()  # For the data sets that d2l and the reader take from Gluon
_explain_failures()
_fonts.prepare()  # For what a reader draws with Matplotlib itself


@contextlib.contextmanager
def benchmark(description: str = "Done in %.4f sec") -> _Iterator[_Any]:
    """`Benchmark` of the editions of 2019 and 2020: the description is the format of the line."""
    mx.nd.waitall()
    timer = sys.modules[__name__].Timer()  # d2l's, which is loaded when it is asked for
    yield timer
    mx.nd.waitall()
    print(description % timer.stop())
