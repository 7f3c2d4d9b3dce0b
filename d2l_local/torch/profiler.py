"""PyTorch's profiler, of which a process has one: d2l_local's for a recording, or the reader's.

A second one, begun on whatever thread, takes the first one's place, and what that one then exports
is empty or ends the process. So whoever comes second is refused.
"""

from __future__ import annotations

import functools
import json
import weakref
from typing import Any

from d2l_local.measure import trace

import torch
from torch.autograd import profiler as _theirs

_prepare = _theirs.profile._prepare_trace  # Every profiler begins with it


class Profiler:
    """The profiler while it records for d2l_local, from `__init__` to `stop`.

    ``holder`` is who records; the rest goes to ``torch.profiler.profile``. RuntimeError: a profiler
    of the reader's is on, or warms up. Until `stop`, to begin one raises it, too.
    """

    _holder = ""  # Of all recordings, the one that is on
    _last: weakref.ref | None = None  # Of all profilers, the one that was begun last

    def __init__(self, holder: str, **options: Any):
        last = Profiler._last and Profiler._last()
        if last and last.kineto_results is None and not Profiler._holder:
            raise RuntimeError(
                "a torch.profiler.profile is on already, and there is one profiler a process: end "
                f"it before {holder} begins"
            )
        self._profiler = torch.profiler.profile(acc_events=True, **options)
        self._profiler.start()
        Profiler._holder = holder

    def stop(self) -> dict:
        """End the recording; return its trace."""
        Profiler._holder = ""
        self._profiler.stop()
        with trace.trace_file() as path:
            self._profiler.export_chrome_trace(path)
            return json.loads(trace.read(path))


@functools.wraps(_prepare)
def _watched_prepare(self: _theirs.profile) -> None:
    if Profiler._holder:
        raise RuntimeError(
            f"{Profiler._holder} is recording already, and there is one profiler a process: end it "
            "before the next one begins"
        )
    _prepare(self)
    Profiler._last = weakref.ref(self)


# No assignment: where PyTorch's types are known, mypy refuses one to a method.
setattr(_theirs.profile, "_prepare_trace", _watched_prepare)  # noqa: B010
