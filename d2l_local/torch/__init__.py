"""The chapter's helpers for PyTorch: ``from d2l_local import torch as d2l``.

A drop-in for ``from d2l import torch as d2l`` (d2l 1.0.3): all its public names, with those below
added or put in place of d2l's own. They have the names and meanings of `d2l_local.mxnet`'s. d2l
itself is loaded when one of its names is asked for.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
import warnings
from collections.abc import Callable as _Callable
from typing import Any as _Any

# The profiler reports each of its steps on stderr otherwise; it looks when PyTorch loads.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")

from d2l_local.install import loading as _loading

_loading.require("pytorch", "torch", "numpy")

import torch  # noqa: E402

# Backpropagation has a thread for each GPU, and the first product of each thread says so.
warnings.filterwarnings("ignore", message="Attempting to run cuBLAS, but there was no current CUDA")
# Tensors are read where they lie in an exported program's file, and nobody writes to them.
warnings.filterwarnings("ignore", message="The given buffer is not writable")


def _import_d2l() -> types.ModuleType:
    """Import ``d2l.torch``, also where torchvision is missing or was built for another PyTorch.

    d2l imports torchvision for data sets and image files that this chapter does not use.
    """
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError, OSError) as error:
        for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        sys.modules["torchvision"] = _Missing(
            "torchvision", f"torchvision cannot be imported here ({error}); install the build of "
            f"it that belongs to PyTorch {torch.__version__}"
        )  # fmt: skip
    _loading.require_d2l("pytorch")
    try:
        return importlib.import_module("d2l.torch")
    finally:
        if isinstance(sys.modules["torchvision"], _Missing):  # Others shall see that it is missing
            del sys.modules["torchvision"]


class _Missing(types.ModuleType):
    """A module of which every attribute can be imported and none can be used."""

    def __getattr__(self, name: str) -> _Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(f"{self.__name__}.{name}", self.__doc__)

    def __call__(self, *args, **kwargs):
        raise ImportError(f"{self.__name__}: {self.__doc__}")


from d2l_local import backend as _backend  # noqa: E402
from d2l_local.base import later as _later  # noqa: E402
from d2l_local.lesson.assertion import explain_failures as _explain_failures  # noqa: E402
from d2l_local.measure import charts as _charts  # noqa: E402
from d2l_local.measure import fonts as _fonts  # noqa: E402
from d2l_local.measure.allocations import plot_allocations  # noqa: E402, F401
from d2l_local.shared import *  # noqa: E402, F403
from d2l_local.torch import device, recorder  # noqa: E402
from d2l_local.torch.allocations import Allocations  # noqa: E402, F401
from d2l_local.torch.cable import Cable  # noqa: E402, F401
from d2l_local.torch.compiler import Graphs, working_backend  # noqa: E402, F401
from d2l_local.torch.graph import capture  # noqa: E402
from d2l_local.torch.kernels import has_triton, load_triton  # noqa: E402, F401
from d2l_local.torch.language_model import GPT, Cache, gpt, trained_gpt  # noqa: E402, F401
from d2l_local.torch.launch import torchrun, torchrun_script  # noqa: E402, F401
from d2l_local.torch.links import Links, gradients  # noqa: E402, F401
from d2l_local.torch.mlp import layer_tasks, mlp_predict, mlp_step  # noqa: E402, F401
from d2l_local.torch.operators import copier as _copier  # noqa: E402
from d2l_local.torch.operators import operators  # noqa: E402, F401
from d2l_local.torch.resnet import resnet_step  # noqa: E402, F401
from d2l_local.torch.ring import Ring  # noqa: E402, F401
from d2l_local.torch.thread_stream import ThreadStream, at_once, side_stream  # noqa: E402, F401
from d2l_local.torch.transformer import step_costs, transformer_step  # noqa: E402, F401

import numpy as _np  # noqa: E402


class PyTorch(_backend.Backend):
    """What all frameworks have, of PyTorch."""

    Timeline = recorder.Timeline
    devices = staticmethod(device.devices)
    try_gpu = staticmethod(device.try_gpu)
    try_all_gpus = staticmethod(device.try_all_gpus)
    num_gpus = staticmethod(device.num_gpus)
    lane = staticmethod(device.lane)
    banner = staticmethod(device.banner)
    examine = staticmethod(device.examine)
    synchronize = staticmethod(device.synchronize)
    _copier = staticmethod(_copier)

    def _replayed(self, job: _Callable[[], object]) -> _Callable[[], object]:
        return capture(job, device.try_gpu())

    def _convert(self, array: _np.ndarray) -> torch.Tensor:
        # Without a copy: the loader makes every minibatch anew. Losses want labels of 64 bits.
        tensor = torch.from_numpy(array)
        return tensor if tensor.is_floating_point() else tensor.long()


globals().update(_backend.names(PyTorch()))


def _rest_of_d2l() -> dict[str, _Any]:
    """Return d2l's names, after its functions have been told of those in their place."""
    names = vars(_import_d2l())
    # They look up their helpers in the global `d2l` of their module, but for this one.
    names |= {"d2l": sys.modules[__name__], "use_svg_display": _charts.use_svg_display}
    return names


__getattr__, __dir__ = _later.names(globals(), _rest_of_d2l)

_explain_failures()
_fonts.prepare()  # For what a reader draws with Matplotlib itself
