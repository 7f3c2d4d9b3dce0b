"""Whether MXNet multiplies in bfloat16 here, which depends on the processor."""

from __future__ import annotations

import functools

from d2l_local.base.language import say
from d2l_local.machine.host import cpu_flags

import mxnet as mx
import numpy as np

# What `mxnet.contrib.amp` calls bfloat16.
bfloat16 = np.dtype([("bfloat16", np.uint16)])

NEEDED = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}  # What oneDNN calls avx512_core
SKIPPED = "skipped: this cell needs a CPU with AVX-512, without which MXNet has no bfloat16 product"


def has_bfloat16() -> bool:
    """Whether there are products in bfloat16; if not, prints why a cell does nothing.

    MXNet's CPU build leaves them to oneDNN, which has them for processors with AVX-512.
    """
    here = _has_product()
    if not here:
        say(SKIPPED)
    return here


@functools.cache
def _has_product() -> bool:
    if not cpu_flags() >= NEEDED:  # To try would write to stderr
        return False
    ones = mx.nd.amp_cast(mx.nd.ones((16, 16)), dtype=bfloat16)
    try:
        product = mx.nd.FullyConnected(ones, ones, no_bias=True, num_hidden=16)
        found = mx.nd.amp_cast(product, dtype="float32").asnumpy()
    except mx.base.MXNetError:
        return False
    return bool((found == 16).all())
