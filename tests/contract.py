"""What a backend must do to be one, asked of any: see `d2l_local.backend.Backend`."""

from __future__ import annotations

import contextlib
import inspect
import io

from d2l_local import shared
from d2l_local.backend import Backend
from d2l_local.base import arguments
from d2l_local.base.language import counted
from d2l_local.measure import memory, operation, timing
from d2l_local.measure.allocations import Allocations
from d2l_local.measure.timeline import Timeline

import numpy as np
import pytest

SHARED = {name: value for name, value in vars(shared).items() if name[0] != "_"}
PROMISED = {**dict.fromkeys(Backend.__annotations__), **vars(Backend), **SHARED}
NAMES = [name for name in PROMISED if name[0] != "_"]


def differences(d2l) -> list[str]:
    """Names that a backend lacks, and functions that cannot be called as the contract says."""
    found = [f"{name} is missing" for name in NAMES if not hasattr(d2l, name)]
    for name, value in SHARED.items():  # What they do is tested where they are
        if getattr(d2l, name, value) is not value:
            found.append(f"{name} is another one than that of d2l_local.shared")
    for name in NAMES:
        if inspect.isfunction(PROMISED[name]) and hasattr(d2l, name):
            asked = list(inspect.signature(PROMISED[name]).parameters.values())
            asked = [parameter for parameter in asked if parameter.name != "self"]
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
    """Fail with an AssertionError where a backend breaks its promises."""
    assert differences(d2l) == []
    for promise in (
        devices,
        figures,
        gpus,
        times,
        operations,
        samples,
        allocated,
        timelines,
        rates,
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
    times = d2l.measure(lambda: calls.append(1), 2, 3)
    assert len(times.samples) == len(times.issued) == 2 and len(calls) == 7
    calls.clear()
    turns = {"a": lambda: calls.append(1), "b": lambda: calls.append(2)}
    assert list(d2l.compare(turns, 2)) == ["a", "b"]
    assert sorted(calls) == [1] * 3 + [2] * 3  # In each of the rounds in an order drawn anew
    calls.clear()
    found = d2l.seconds(turns)
    assert list(found) == ["a", "b"] and all(0 < each < 1e-3 for each in found.values())
    assert 0 < d2l.seconds(turns["a"], replay=True) < 1e-3
    for wrong in (7, {"a": 7}):
        with pytest.raises(TypeError, match="must be a function to call"):
            d2l.seconds(wrong)
    with d2l.Timeline(), pytest.raises(RuntimeError, match="a Timeline is recording"):
        d2l.seconds(turns)
    calls.clear()
    parts, whole = d2l.together(turns, 2)
    assert list(parts) == ["a", "b"] and whole > 0 and sorted(calls) == [1] * 6 + [2] * 6

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
    # In each round two measurements, both warmed up and made three times; a recording
    assert len(calls) == 3 * (2 * (1 + 3 * 2) + 2)
    with pytest.raises(ValueError, match="rounds must be a positive integer, not 0"):
        d2l.operation_times(lambda: None, 1, 0)
    d2l.waits(calls.append, lambda: 7)
    assert calls[-2:] == [7, 7]


def samples(d2l) -> None:
    with d2l.Memory() as sampled:
        held = np.ones(10**6)
    assert issubclass(d2l.Memory, memory.Memory) and len(sampled.samples) >= 2
    assert sampled.peak >= sampled.samples[0][1] and held.size == 10**6


def allocated(d2l) -> None:
    if not hasattr(d2l, "Allocations"):
        return
    recording = d2l.Allocations.of(lambda: 7)
    assert issubclass(d2l.Allocations, Allocations) and recording.result == 7
    assert recording.peak >= 0
    with d2l.Timeline(), pytest.raises(RuntimeError, match="a Timeline is recording"):
        d2l.Allocations.of(lambda: 7)
    assert d2l.plot_allocations({"one": Allocations([(0.0, 10**6)])}).get_ylim()[0] == 0


def timelines(d2l) -> None:
    assert issubclass(d2l.Timeline, Timeline)
    with d2l.Timeline() as timeline:
        pass
    assert isinstance(d2l.Timeline.of(d2l.synchronize), d2l.Timeline)
    assert timeline.lanes == {} and list(d2l.Timeline({"cpu/0": [("x", 0, 1)]}).lanes) == ["cpu/0"]
    for on_record in (d2l.Timeline.span, lambda _, lane, name: d2l.on_record(lane, name)):
        with d2l.Timeline() as timeline, on_record(timeline, "Python", "make"):
            pass
        assert list(timeline.lanes) == ["Python"]


def rates(d2l) -> None:
    assert d2l.device_times({"a": lambda: None}, 1, number=2).keys() == {"a"}
    assert (d2l.copy_rates(d2l.try_gpu(), [2**10, 2**12]) > 0).all()


def figures(d2l) -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from matplotlib.figure import Figure

    getattr(d2l, "set_figsize", d2l.use_svg_display)()  # Through d2l's own function, where it is
    formatters = InteractiveShell.instance().display_formatter.formatters
    shown = [kind for kind in ("image/png", "image/svg+xml") if Figure in formatters[kind]]
    assert shown == ["image/png"]


def images(d2l) -> None:
    train, _ = printed(d2l.load_data_fashion_mnist, 4, None)[0]
    X, y = next(iter(train))
    assert tuple(X.shape) == (4, 1, 28, 28) and tuple(y.shape) == (4,)
    assert np.asarray(X.asnumpy() if hasattr(X, "asnumpy") else X).dtype == np.float32
