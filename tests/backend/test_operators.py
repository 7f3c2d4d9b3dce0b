"""Operators whose counts are known, and how long memory takes to answer."""

from __future__ import annotations

import sys

from d2l_local.measure import latency
from d2l_local.measure.latency import read_time
from d2l_local.measure.operators import operators, padding_and_stride

import pytest
from backends import each_backend


@each_backend
def test_operators_compute_what_their_shapes_say(d2l):
    for name, operator in d2l.operators(d2l.try_gpu(), 2).items():
        assert tuple(operator.run().shape) == operator.output, name


@each_backend
def test_copies_have_a_rate_for_each_size(d2l, one_thread):
    small, large = d2l.copy_rates(d2l.try_gpu(), [2**12, 2**22])
    assert 0 < small < large  # So small a copy takes as long as its call


@pytest.fixture
def one_thread():
    """Have PyTorch use one: two wait for each other for as long as others hold a core."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    if torch:
        torch.set_num_threads(1)
    yield
    if torch:
        torch.set_num_threads(before)


def test_names_shapes_and_kinds():
    made = []
    found = operators(4, lambda *each: made.append(each) or (lambda: len(made)))
    assert [name.split()[0] for name in found] == ["LeNet"] * 3 + ["ResNet"] * 8
    assert [each[0] for each in made].count("conv") == 6
    assert all(each[1:] == operator[1:] for each, operator in zip(made, found.values()))
    assert all(operator.output[0] == 4 for operator in found.values())


def test_names_are_in_the_language_in_force(monkeypatch):
    monkeypatch.setenv("D2L_LANGUAGE", "zh")
    names = list(operators(4, lambda *_: lambda: None))
    assert names[3] == "ResNet卷积64，28×28"
    assert not any(word in name for name in names for word in ("Conv", "Dense", "Add", "Norm"))


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2"])
def test_a_batch_is_a_positive_integer(wrong):
    with pytest.raises(ValueError, match="b must be a positive integer"):
        operators(wrong, lambda *_: lambda: None)


@pytest.mark.parametrize(
    ("size", "kernel", "out", "expected"),
    [(13, 5, 9, (0, 1)), (28, 3, 28, (1, 1)), (28, 1, 14, (0, 2)), (4, 3, 4, (1, 1))],
)
def test_padding_and_stride(size, kernel, out, expected):
    x, w, y = (2, 3, size, size), (5, 3, kernel, kernel), (2, 5, out, out)
    assert padding_and_stride(x, w, y) == expected
    pad, stride = expected
    assert (size + 2 * pad - kernel) // stride + 1 == out


def test_reads_follow_one_cycle_through_all_lines_and_go_on_where_they_stopped(monkeypatch):
    places = []

    class Memory(list):
        def __getitem__(self, place):
            places.append(place)
            return super().__getitem__(place)

    walk = latency._walk
    monkeypatch.setattr(latency, "_walk", lambda memory, *args: walk(Memory(memory), *args))
    assert read_time(2**12, reads=16, repeats=4) > 0
    assert places[0] == 0 and sorted(places) == list(range(0, 2**12 // 8, 8))


@pytest.mark.parametrize(("size", "reads", "repeats"), [(0, 1, 1), (64, 0, 1), (64, 1, 0)])
def test_what_is_no_count_is_refused(size, reads, repeats):
    with pytest.raises(ValueError, match="must be a positive integer, not 0"):
        read_time(size, reads, repeats)
