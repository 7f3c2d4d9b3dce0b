"""Fixtures of several test modules."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

# The builder is not installed. At the end: an installed d2l_local comes before the checkout's.
sys.path.append(str(Path(__file__).resolve().parents[1]))

# What a shell starts in the background ignores Ctrl-C, and what nohup starts, that the terminal is
# gone; and so would every process under test.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(params=["nd", "np"])
def array(request):
    """Make an MXNet array of the kind that is in force: classic, or NumPy's."""
    from d2l_local import mxnet as d2l

    if request.param == "nd":
        yield d2l.mx.nd.array
        return
    d2l.mx.npx.set_np()
    yield d2l.mx.np.array
    d2l.mx.npx.reset_np()
