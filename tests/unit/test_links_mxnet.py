"""How MXNet's links wait: in the queue of an array's own device."""

from __future__ import annotations

import time

from helpers import needs

needs("mxnet")

from d2l_local import mxnet as d2l
from d2l_local.mxnet import links as of_mxnet

import numpy as np
import pytest
from mxnet import nd
from mxnet.base import MXNetError


def test_a_stage_waits_in_the_queue_of_its_own_device():
    two = d2l.Links(2)
    large, small = two.place(np.ones((2000, 2000)), 0), two.place(np.ones((2, 2)), 1)
    two.count()
    begin = time.perf_counter()
    busy = nd.dot(nd.dot(large, large), large)  # Queued on device 0
    of_mxnet._wait_in_own_queue(small + 1)
    waited = time.perf_counter() - begin
    busy.wait_to_read()
    assert waited < (time.perf_counter() - begin) / 2
    assert not of_mxnet._computed


def test_a_wait_for_what_fails_ends():
    two = d2l.Links(2)
    failed = nd.random.normal(0, -1, shape=(2, 2), ctx=two.devices[1])  # A negative spread
    of_mxnet._wait_in_own_queue(failed, 0.05)
    with pytest.raises(MXNetError):
        failed.wait_to_read()
