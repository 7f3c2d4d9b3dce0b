"""MXNet's profiler, of which a process has one: d2l_local's for a recording, or the reader's.

It does not tell whether it is on, so the functions of ``mx.profiler`` are watched from here on.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
from typing import Any

from d2l_local.measure import trace
from d2l_local.mxnet import device

import mxnet as mx

_set_config, _set_state, _dump = mx.profiler.set_config, mx.profiler.set_state, mx.profiler.dump


class _Reader:
    """What others than d2l_local have done with the profiler."""

    is_on = os.environ.get("MXNET_PROFILER_AUTOSTART") == "1"
    has_recorded = is_on  # And not dumped it yet
    has_ended_it = False
    has_configured_it = True  # Or needs not: nothing of ours has changed the settings


class Profiler:
    """The profiler while it records for a Timeline, from `__init__` to `stop`.

    RuntimeError: the reader records with it, has not dumped what is recorded, or has ended it; or a
    CPU device has a number beyond its room. Until `stop`, the reader's calls raise it, too.
    """

    _records = False

    def __init__(self) -> None:
        _refuse_to_spoil()
        device.require_profilable()
        mx.nd.waitall()
        self._files = contextlib.ExitStack()
        self.path = self._files.enter_context(trace.trace_file())
        _set_config(
            profile_imperative=True,
            profile_symbolic=True,
            profile_api=False,
            # Two devices' first allocations at once may fail in it ("Invalid device index: 1").
            profile_memory=False,
            filename=self.path,
        )
        _set_state("run")
        Profiler._records = True
        _Reader.has_configured_it = False

    def stop(self) -> list[dict]:
        """End the recording; return the events of its trace."""
        Profiler._records = False
        _set_state("stop")
        # `finished=True` would close the file properly and forbid any later recording.
        _dump(finished=False)
        try:
            return _parse_open(trace.read(self.path))
        finally:
            # Else it writes the file anew when the process ends. It deletes the file that it is
            # told, which root may do even to /dev/null; of what would lie inside, there is none.
            _set_config(filename=os.path.join(os.devnull, "none"))
            self._files.close()


def _refuse_while_we_record() -> None:
    if Profiler._records:
        raise RuntimeError(
            "a Timeline is recording already, and there is one profiler a process: end it before "
            "the next one begins"
        )


def _refuse_to_spoil() -> None:
    """Raise RuntimeError if we cannot record, or the reader would lose a recording."""
    one = "and there is one profiler a process: call"
    if _Reader.has_ended_it:
        raise RuntimeError(
            "mx.profiler.dump() has ended MXNet's profiler for as long as this process lives. "
            "Restart the kernel, and before a Timeline call mx.profiler.dump(finished=False)"
        )
    if _Reader.is_on:
        raise RuntimeError(
            f"MXNet's profiler is on already, {one} mx.profiler.set_state('stop') and "
            "mx.profiler.dump(finished=False) before a Timeline"
        )
    if _Reader.has_recorded:
        raise RuntimeError(
            f"MXNet's profiler holds what you have recorded, {one} "
            "mx.profiler.dump(finished=False), which writes it, before a Timeline"
        )


@functools.wraps(_set_config)
def _watched_set_config(**settings: Any) -> None:
    _refuse_while_we_record()
    _set_config(**settings)
    _Reader.has_configured_it = True


@functools.wraps(_set_state)
def _watched_set_state(state: str = "stop", profile_process: str = "worker") -> None:
    if profile_process == "worker":
        _refuse_while_we_record()
        if state == "run" and not _Reader.has_configured_it:
            raise RuntimeError(
                "a Timeline has changed the settings of MXNet's profiler: call "
                "mx.profiler.set_config(filename=…, …) again first (it deletes that file)"
            )
    _set_state(state, profile_process)
    if profile_process == "worker":
        _Reader.is_on = state == "run"
        _Reader.has_recorded |= _Reader.is_on


@functools.wraps(_dump)
def _watched_dump(finished: bool = True, profile_process: str = "worker") -> None:
    _refuse_while_we_record()
    _dump(finished, profile_process)
    if profile_process == "worker":
        _Reader.has_recorded = _Reader.is_on
        _Reader.has_ended_it = finished is True


mx.profiler.set_config = _watched_set_config
mx.profiler.set_state = _watched_set_state
mx.profiler.dump = _watched_dump


def _parse_open(text: str) -> list[dict]:
    """Events of a trace that MXNet has not closed: ``{"traceEvents": [ …`` or ``, …`` later on."""
    body = re.sub(r'^\s*\{\s*"traceEvents":\s*\[|^\s*,', "", text)
    return json.loads(f"[{body}]")
