"""What d2l's chapters draw, with the NumPy and the Matplotlib at hand."""

from __future__ import annotations

from helpers import needs

needs("mxnet")

from d2l_local import mxnet as d2l

import numpy as np
import pytest
from matplotlib import pyplot

mx = d2l.mx


@pytest.fixture(autouse=True)
def no_figures():
    """Leave no figure behind."""
    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.fixture
def numpy_mode():
    """NumPy's arrays, for one test."""
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def test_the_way_of_an_optimizer_with_a_noisy_gradient(numpy_mode):
    """The first point of `train_2d` is a pair of numbers, all others hold arrays of shape (1,)."""

    def step(x1, x2, s1, s2, f_grad):
        g1, g2 = f_grad(x1, x2)
        return x1 - 0.1 * (g1 + mx.np.ones(1)), x2 - 0.1 * (g2 + mx.np.ones(1)), 0, 0

    results = d2l.train_2d(step, steps=2, f_grad=lambda x1, x2: (2 * x1, 4 * x2))
    d2l.show_trace_2d(lambda x1, x2: x1**2 + 2 * x2**2, results)
    [line] = pyplot.gca().lines
    np.testing.assert_allclose(line.get_xdata(), [-5, -4.1, -3.38], rtol=1e-5)
    np.testing.assert_allclose(line.get_ydata(), [-2, -1.3, -0.88], rtol=1e-5)


def test_stem_as_the_chapters_call_it():
    stems = d2l.plt.stem([0, 1], [0.7, 0.3], use_line_collection=True)
    np.testing.assert_allclose(stems.markerline.get_ydata(), [0.7, 0.3])


def test_matplotlib_is_as_it_was():
    assert d2l.plt.rcParams is pyplot.rcParams
    assert d2l.plt.gca() is pyplot.gca()
    assert {"stem", "plot"} <= set(dir(d2l.plt))
    assert pyplot.stem.__module__ == "matplotlib.pyplot"
