"""Fixtures of several test modules."""

from __future__ import annotations

import signal

import pytest

# What a shell starts in the background ignores Ctrl-C, and so would every process under test.
signal.signal(signal.SIGINT, signal.default_int_handler)


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
