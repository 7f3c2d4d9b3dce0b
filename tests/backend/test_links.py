"""Devices and their links, of each framework that has them and can be imported here."""

from __future__ import annotations

from d2l_local.measure.timeline import Timeline

import numpy as np
import pytest
from backends import each_backend


@each_backend
def test_links_count_what_they_carry(d2l):
    two = d2l.Links(2)
    assert len(two.devices) == 2 and two.sent == []
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(5, 4)).astype(np.float32)
    x = two.place(whole, 0)
    assert (two.join([x]) == whole).all() and two.difference(x, whole) == 0
    for axis, sizes, shapes in ((0, None, (3, 2)), (1, None, (2, 2)), (0, [1, 4], (1, 4))):
        pieces = two.split(x, sizes, axis)
        assert tuple(piece.shape[axis] for piece in pieces) == shapes
        assert (two.join(pieces, axis) == whole).all()
    for wrong in ([5], [2, 2], [], [5, 0], [6, -1], [2.5, 2.5]):
        with pytest.raises(ValueError, match="no sizes of 2 pieces that make 5"):
            two.split(x, wrong)
    with pytest.raises(ValueError, match="length 1 leaves nothing for some of 2 devices"):
        two.split(x[:1])
    with pytest.raises(ValueError, match=r"shape \(5, 4\) has no axis 2"):
        two.split(x, axis=2)
    assert two.count() == 0 and two.send(x, 0, 0) is x and two.sent == []

    there = two.send(x, 0, 1)
    assert two.join([there]).tolist() == whole.tolist() and two.sent == [80]
    assert two.count() == 80 and two.count() == 0
    assert two.difference([x, there], [whole, 2 * whole]) == 0.5
    for axis in (0, 1):
        assert two.difference([two.split(x, axis=axis)], [whole]) == 0  # Pieces are joined
    with pytest.raises(ValueError, match=r"\(5, 4\).*\(4, 5\)"):
        two.difference(x, whole.T)
    with pytest.raises(ValueError):
        two.difference([x], [x, x])

    for wrong in (7, 2, -1, 1.0, True, None):
        refused = f"number of a device must be one of the integers 0 to 1, not {wrong}"
        for call in (
            lambda: two.send(x, 0, wrong),  # noqa: B023
            lambda: two.send(x, wrong, 0),  # noqa: B023
            lambda: two.place(x, wrong),  # noqa: B023
        ):
            with pytest.raises(ValueError, match=refused):
                call()
    if two.devices[0] != two.devices[1]:
        for i, j in ((1, 0), (1, 1)):
            with pytest.raises(ValueError, match="device 1, .* cannot send an array that is on"):
                two.send(x, i, j)
    assert two.sent == []
    halves = x.astype("float16") if hasattr(x, "astype") else x.half()
    two.send(halves, 0, 1)
    assert two.count() == 40  # 2 bytes a number

    # The gradient comes back over the link, and counts
    y = two.place(rng.normal(size=(5, 4)), 1)
    product = lambda: (two.send(x, 0, 1) * y).sum()  # noqa: E731
    (grad_x,), grad_y = d2l.gradients(product, [[x], y])
    assert two.difference(grad_x, y) == 0 and two.difference(grad_y, x) == 0
    assert two.count() == 160
    (grad_x,) = d2l.gradients(lambda: [(x * x).sum(), (x * x).sum()], [x])  # Their sum
    assert two.difference(grad_x, 4 * x) == 0


@each_backend
def test_the_stages_of_a_pipeline_keep_their_orders(d2l):
    two, log = d2l.Links(2), []
    xs = [two.place(np.full((2, 2), j), 0) for j in (1, 2)]

    def forward(s, j, x):
        log.append((s, f"F{j}"))
        assert s == 1 or x is xs[j]
        return x * 10

    def backward(s, j, head):
        log.append((s, f"B{j}"))
        assert (head is None) == (s == 1)
        return two.place(np.full((2, 2), j), s)

    orders = [["F0", "F1", "B0", "B1"], ["F0", "B0", "F1", "B1"]]
    recorded = two.pipeline(orders, forward, backward, xs)
    assert [[name for at, name in log if at == s] for s in (0, 1)] == orders
    assert list(recorded.lanes) == ["stage 0", "stage 1"]
    tasks = [[s.name for s in lane if not s.is_copy] for lane in recorded.lanes.values()]
    copies = [[s.name for s in lane if s.is_copy] for lane in recorded.lanes.values()]
    assert tasks == orders
    assert copies == [["copy of F0", "copy of F1"], ["copy of B0", "copy of B1"]]
    assert two.count() == 4 * 16 and isinstance(recorded, Timeline)
    ends = {(s.name, lane): s for lane, spans in recorded.lanes.items() for s in spans}
    for j in "01":
        assert ends[f"copy of F{j}", "stage 0"].end <= ends[f"F{j}", "stage 1"].start
        assert ends[f"copy of B{j}", "stage 1"].end <= ends[f"B{j}", "stage 0"].start
    assert min(spans[0].start for spans in recorded.lanes.values()) == 0

    with pytest.raises(ValueError, match="stage 1 does B0 before F0"):
        two.pipeline([["F0", "B0"], ["B0", "F0"]], forward, backward, xs)
    with pytest.raises(ValueError, match='F0, B0, F1, …, not "F0\'"'):
        two.pipeline([["F0", "F0'"], ["F0", "F0'"]], forward, backward, xs)
    with pytest.raises(ValueError, match="3 stages need as many devices, not 2"):
        two.pipeline([*orders, []], forward, backward, xs)
    with pytest.raises(ValueError, match="micro-batch 1 has no input: there are 1"):
        two.pipeline(orders, forward, backward, xs[:1])
    with pytest.raises(ZeroDivisionError):  # And the other stage does not wait for ever
        two.pipeline(orders, lambda s, j, x: 1 / 0, backward, xs)
