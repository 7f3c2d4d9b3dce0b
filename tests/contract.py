"""What a face must do to be one, asked of any: see `d2l_local.face.Face`."""

from __future__ import annotations

import contextlib
import inspect
import io
import re

from d2l_local import arguments, face
from d2l_local.language import counted
from d2l_local.measure import memory, operation, timing
from d2l_local.measure.timeline import Timeline

import numpy as np
import pytest

NAMES = [name for name in (*vars(face.Face), *face.Face.__annotations__) if name[0] != "_"]


def differences(d2l) -> list[str]:
    """Names that a face lacks, and functions that cannot be called as the contract says."""
    found = [f"{name} is missing" for name in NAMES if not hasattr(d2l, name)]
    for name, promised in vars(face.Face).items():
        if isinstance(promised, staticmethod) and hasattr(d2l, name):
            asked = list(inspect.signature(promised.__func__).parameters.values())
            has = list(inspect.signature(getattr(d2l, name)).parameters.values())
            same = [(p.name, p.kind, p.default) for p in asked] == [
                (p.name, p.kind, p.default) for p in has[: len(asked)]
            ]
            if not same or any(p.default is p.empty for p in has[len(asked) :]):
                found.append(f"{name}{inspect.signature(getattr(d2l, name))} takes other arguments")
    return found


def printed(function, *args) -> tuple[object, str]:
    """Return what a function returns and what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        result = function(*args)
    return result, out.getvalue()


def keep(d2l) -> None:
    """Fail with an AssertionError where a face breaks its promises."""
    assert differences(d2l) == []
    for promise in (
        devices,
        gpus,
        times,
        operations,
        samples,
        bounds,
        timelines,
        charts,
        links,
        pipelines,
        images,
    ):
        promise(d2l)


def devices(d2l) -> None:
    assert [len(d2l.devices(n)) for n in (1, 2)] == [1, 2] and len(d2l.try_all_gpus()) >= 2
    assert d2l.try_gpu(1) == d2l.devices(2)[1]
    most = arguments.MOST_DEVICES
    refused = [
        *((d2l.devices, wrong, "positive integer") for wrong in (0, -1, 1.5, True, "2", None)),
        *((d2l.try_gpu, wrong, "0, 1, 2") for wrong in (-1, 0.5, True)),
        (d2l.devices, most + 1, f"{most}, not {most + 1}"),
        *((d2l.try_gpu, wrong, f"{most}, not {wrong}") for wrong in (most, 10**8)),
    ]
    for count, wrong, message in refused:
        with pytest.raises(ValueError, match=message) as caught:
            count(wrong)
        assert repr(wrong) in str(caught.value)
    assert d2l.lane(d2l.try_gpu()).endswith("/0")
    assert printed(d2l.banner, d2l.devices(2))[1].startswith("devices: ")


def gpus(d2l) -> None:
    here = d2l.num_gpus()
    assert printed(d2l.has_gpus, here) == (True, "")
    needed = counted(here + 1, "GPU")
    said = f"skipped: this cell needs {needed}, and this machine has {here}\n"
    assert printed(d2l.has_gpus, here + 1) == (False, said)

    facts = d2l.examine()
    assert {"version", "build", "devices", "usable_gpus", "threads"} <= set(facts)
    assert facts["devices"] and all(isinstance(name, str) for name in facts["devices"])


def times(d2l) -> None:
    calls: list[int] = []
    result = d2l.measure(lambda: calls.append(1), 3)
    assert isinstance(result, timing.Measurement) and len(result.samples) == 3 and len(calls) == 4
    with pytest.raises(ValueError, match="repeats must be a positive integer, not 0"):
        d2l.measure(lambda: None, 0)
    calls.clear()
    assert len(d2l.measure(lambda: calls.append(1), 2, 3, False).samples) == 2 and len(calls) == 7
    calls.clear()
    turns = {"a": lambda: calls.append(1), "b": lambda: calls.append(2)}
    assert list(d2l.compare(turns, 2)) == ["a", "b"] and calls == [1, 2] * 3
    calls.clear()
    parts, whole = d2l.together(turns, 2)
    assert list(parts) == ["a", "b"] and whole > 0 and calls == [1, 2, 1, 2] * 3

    def block():
        with d2l.Benchmark("two") as benchmark:
            d2l.synchronize()
        return benchmark

    benchmark, text = printed(block)
    assert isinstance(benchmark, timing.Benchmark)
    assert text == f"two: {benchmark.seconds:.4f} sec\n"


def operations(d2l) -> None:
    calls: list[int] = []
    found = d2l.operation_times(lambda: calls.append(1), 2, 3)
    assert isinstance(found, operation.OperationTimes)
    assert 0 < found.t_q < 1 and found.t_c == 0 <= found.t_w < 1
    assert len(calls) == 3 * (1 + 2 + 1 + 2 + 2)  # Two measurements, both warmed up; a recording
    with pytest.raises(ValueError, match="rounds must be a positive integer, not 0"):
        d2l.operation_times(lambda: None, 1, 0)
    assert d2l.waits(calls.append, lambda: 7) in (True, False) and calls[-2:] == [7, 7]


def samples(d2l) -> None:
    with d2l.Memory() as sampled:
        held = np.ones(10**6)
    assert issubclass(d2l.Memory, memory.Memory) and len(sampled.samples) >= 2
    assert sampled.peak >= sampled.samples[0][1] and held.size == 10**6


def bounds(d2l) -> None:
    hidden, row = printed(lambda: d2l.law("here", 3.0, first=2.0, second=2.0))
    assert hidden == 0.5
    assert re.fullmatch(r"here +2\.0000 +3\.0000 +4\.0000 +50%", row.splitlines()[1])
    assert d2l.num_cores() > 0
    with d2l.own_core(), d2l.Crowding() as crowding:
        pass
    assert 0 <= crowding.share <= 1


def timelines(d2l) -> None:
    assert issubclass(d2l.Timeline, Timeline)
    with d2l.Timeline() as timeline:
        pass
    assert isinstance(d2l.Timeline.of(d2l.synchronize), d2l.Timeline)
    assert timeline.lanes == {} and list(d2l.Timeline({"cpu/0": [("x", 0, 1)]}).lanes) == ["cpu/0"]


def charts(d2l) -> None:
    with d2l.Timeline() as timeline, timeline.span("Python", "make"):
        pass
    assert list(timeline.lanes) == ["Python"]
    assert len(d2l.plot_timelines({"one": timeline}).axes) == 1
    ax, text = printed(d2l.plot_prediction, [1], {"a": [2.0]}, {"a": [4.0]}, "n", "s")
    assert ax.get_xlabel() == "n" and text == "a: error median 50%, largest 50%\n"


def links(d2l) -> None:
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
    for wrong in ([5], [2, 2]):
        with pytest.raises(ValueError, match="no sizes of 2 pieces"):
            two.split(x, wrong)
    assert two.count() == 0 and two.send(x, 0, 0) is x and two.sent == []

    there = two.send(x, 0, 1)
    assert two.join([there]).tolist() == whole.tolist() and two.sent == [80]
    assert two.count() == 80 and two.count() == 0
    assert two.difference([x, there], [whole, 2 * whole]) == 0.5
    with pytest.raises(ValueError, match=r"\(5, 4\).*\(4, 5\)"):
        two.difference(x, whole.T)
    with pytest.raises(ValueError):
        two.difference([x], [x, x])

    # The gradient comes back over the link, and counts
    y = two.place(rng.normal(size=(5, 4)), 1)
    product = lambda: (two.send(x, 0, 1) * y).sum()  # noqa: E731
    (grad_x,), grad_y = d2l.gradients(product, [[x], y])
    assert two.difference(grad_x, y) == 0 and two.difference(grad_y, x) == 0
    assert two.count() == 160
    (grad_x,) = d2l.gradients(lambda: [(x * x).sum(), (x * x).sum()], [x])  # Their sum
    assert two.difference(grad_x, 4 * x) == 0


def pipelines(d2l) -> None:
    two, log = d2l.Links(2), []
    xs = [two.place(np.full((2, 2), j), 0) for j in (1, 2)]

    def forward(s, j, x):
        log.append((s, f"F{j}"))
        return xs[j] if s == 0 else x * 10

    def backward(s, j, head):
        log.append((s, f"B{j}"))
        assert (head is None) == (s == 1)
        return two.place(np.full((2, 2), j), s)

    orders = [["F0", "F1", "B0", "B1"], ["F0", "B0", "F1", "B1"]]
    recorded = two.pipeline(orders, forward, backward)
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
        two.pipeline([["F0", "B0"], ["B0", "F0"]], forward, backward)
    with pytest.raises(ZeroDivisionError):  # And the other stage does not wait for ever
        two.pipeline(orders, lambda s, j, x: 1 / 0, backward)
    predicted = d2l.pipeline_schedule(orders, {"F": 1.0, "B": 2.0})
    assert predicted.seconds == 9 and d2l.schedule({"a": [("b", 1.0, [])]}).seconds == 1


def images(d2l) -> None:
    train, _ = printed(d2l.load_data_fashion_mnist, 4, None)[0]
    X, y = next(iter(train))
    assert tuple(X.shape) == (4, 1, 28, 28) and tuple(y.shape) == (4,)
    assert np.asarray(X.asnumpy() if hasattr(X, "asnumpy") else X).dtype == np.float32
