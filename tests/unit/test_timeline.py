"""Lanes, overlap, picture and trace file of a Timeline, with a made-up recorder."""

from __future__ import annotations

import json
import pickle
import random
import threading
import time
import warnings

from d2l_local.measure.drawn import COMPUTE_STYLE, COPY_STYLE, MAX_SPANS
from d2l_local.measure.timeline import Span, Timeline

import pytest


class FakeTimeline(Timeline):
    """Records the events that a test appends to ``events``; ``error`` surfaces while waiting."""

    def __init__(self, error=None):
        super().__init__()
        self.events, self.error, self.log = [], error, []

    def _start(self):
        self.log.append("start")

    def _wait(self):
        self.log.append("wait")
        if self.error:
            raise self.error

    def _stop(self):
        self.log.append("stop")
        return list(self.events)


def recorded(*events) -> FakeTimeline:
    """Return a Timeline of the given (lane, name, start, end)s."""
    with FakeTimeline() as timeline:
        timeline.events += events
    return timeline


# --- Lanes ----------------------------------------------------------------------------------------


def test_lanes_are_ordered_and_begin_at_zero():
    timeline = recorded(
        ("gpu/0", "dot", 12.0, 13.0),
        ("cpu/10", "late", 11.0, 11.5),
        ("cpu/2", "second", 10.5, 11.0),
        ("cpu/2", "first", 10.0, 10.25),
    )
    assert list(timeline.lanes) == ["cpu/2", "cpu/10", "gpu/0"]
    assert timeline.lanes["cpu/2"] == [("first", 0.0, 0.25), ("second", 0.5, 1.0)]
    name, start, end = timeline.lanes["gpu/0"][0]
    assert (name, start, end) == ("dot", 2.0, 3.0)
    assert isinstance(timeline.lanes["gpu/0"][0], Span)


def test_one_call_is_recorded_and_one_before_it_is_not():
    calls = []

    class Recorder(FakeTimeline):
        def _start(self):
            self.log.append(f"start after {len(calls)}")

    timeline = Recorder.of(lambda: calls.append(1))
    assert type(timeline) is Recorder and len(calls) == 2
    assert timeline.log == ["start after 1", "wait", "stop"]


@pytest.mark.parametrize(
    ("name", "copy"),
    [
        ("CopyCPU2CPU", True),
        ("CopyGPU2CPU", True),
        ("_copyto", True),
        ("Memcpy DtoH", True),
        ("dot", False),
        ("FullyConnected", False),
    ],
)
def test_copies_are_told_from_computation(name, copy):
    assert Span(name, 0, 1).is_copy is copy


def test_lanes_of_an_earlier_recording_come_back_from_json():
    timeline = recorded(("cpu/0", "dot", 5, 6), ("cpu/1", "CopyCPU2CPU", 5.5, 7))
    again = Timeline(json.loads(json.dumps(timeline.lanes)))
    assert again.lanes == timeline.lanes
    assert again.lanes["cpu/1"][0].is_copy
    assert again.overlap("cpu/0", "cpu/1") == timeline.overlap("cpu/0", "cpu/1")


# --- Busy seconds and overlap ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "overlap"),
    [
        ([(0, 4)], [(0, 4)], 1),
        ([(0, 4)], [(1, 2)], 1),  # The shorter one hidden behind the longer one
        ([(0, 4)], [(4, 8)], 0),  # In turns
        ([(0, 4)], [(2, 6)], 0.5),
        ([(0, 1), (2, 3)], [(1, 2), (3, 4)], 0),
        ([(0, 2), (4, 6)], [(1, 5)], 0.5),
        ([(0, 3), (1, 4)], [(2, 10)], 0.5),
        ([(0, 4)], [(1, 1)], 0),  # No time at all
    ],
)
def test_overlap_by_hand(a, b, overlap):
    spans = [[("op", start, end) for start, end in lane] for lane in (a, b)]
    timeline = Timeline({"cpu/0": spans[0], "cpu/1": spans[1]})
    assert timeline.overlap("cpu/0", "cpu/1") == pytest.approx(overlap)
    assert timeline.overlap("cpu/1", "cpu/0") == pytest.approx(overlap)


@pytest.mark.parametrize("seed", range(20))
def test_overlap_as_counted_second_by_second(seed):
    rng = random.Random(seed)
    lanes, seconds = {}, {}
    for lane in ("cpu/0", "cpu/1"):
        starts = sorted(rng.randrange(40) for _ in range(rng.randint(1, 12)))
        spans = [("op", start, start + rng.randint(1, 8)) for start in starts]
        lanes[lane] = spans
        seconds[lane] = {second for _, start, end in spans for second in range(start, end)}
    timeline = Timeline(lanes)
    common = len(seconds["cpu/0"] & seconds["cpu/1"])
    shorter = min(len(seconds["cpu/0"]), len(seconds["cpu/1"]))
    assert timeline.busy("cpu/0") == len(seconds["cpu/0"])
    assert timeline.busy("cpu/1") == len(seconds["cpu/1"])
    assert timeline.overlap("cpu/0", "cpu/1") == pytest.approx(common / shorter)


def test_the_mean_of_spans_by_the_beginning_of_their_names():
    timeline = recorded(("a", "F0", 0, 1), ("b", "F1", 1, 4), ("b", "copy of F1", 4, 9))
    assert timeline.mean("F") == 2 and timeline.mean("copy") == 5
    with pytest.raises(ValueError, match="'B'"):
        timeline.mean("B")


def test_the_idle_share_of_lanes():
    lanes = {"gpu/0": [("op", 0, 2), ("op", 6, 8)], "gpu/1": [("op", 4, 6)]}
    timeline = Timeline(lanes)
    assert timeline.idle("gpu/0") == 0.5 and timeline.idle("gpu/1") == 0.75
    assert timeline.idle("gpu/0", "gpu/1") == 0.625
    assert Timeline({"gpu/0": [("op", 1, 1)]}).idle("gpu/0") == 0
    with pytest.raises(ValueError, match="name the lanes"):
        timeline.idle()


def test_an_unknown_lane_is_answered_with_the_lanes():
    timeline = recorded(("cpu/0", "dot", 0, 1), ("cpu/1", "dot", 0, 1))
    for ask in (
        lambda: timeline.busy("gpu/0"),
        lambda: timeline.idle("cpu/0", "gpu/0"),
        lambda: timeline.overlap("cpu/0", "gpu/0"),
        lambda: timeline.overlap("gpu/0", "cpu/0"),
    ):
        with pytest.raises(KeyError, match=r"'gpu/0'.*\['cpu/0', 'cpu/1'\]"):
            ask()
    with pytest.raises(KeyError, match="'cpu/0'.*none"):
        recorded().busy("cpu/0")


# --- Nested, failing and empty blocks -------------------------------------------------------------


def test_nested_use_is_refused_and_the_outer_recording_goes_on():
    with FakeTimeline() as outer:
        inner = FakeTimeline()
        with pytest.raises(RuntimeError, match="recording already"), inner:
            pytest.fail("the inner block must not run")
        outer.events.append(("cpu/0", "dot", 0, 1))
    assert inner.log == []
    assert list(outer.lanes) == ["cpu/0"]
    assert recorded(("cpu/1", "dot", 0, 1)).busy("cpu/1") == 1


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt("mine")])
def test_an_exception_in_the_block_goes_on_and_what_ran_is_kept(error):
    timeline = FakeTimeline()
    with pytest.raises(type(error), match="mine"), timeline:
        timeline.events.append(("cpu/0", "dot", 0, 1))
        raise error
    assert timeline.busy("cpu/0") == 1
    assert timeline.log[-1] == "stop"
    recorded()  # Another one can begin


def test_an_asynchronous_error_of_the_block_is_raised():
    timeline = FakeTimeline(error=RuntimeError("asynchronous"))
    with pytest.raises(RuntimeError, match="asynchronous"), timeline:
        timeline.events.append(("cpu/0", "dot", 0, 1))
    assert timeline.busy("cpu/0") == 1
    recorded()


def test_the_exception_of_the_block_says_more_than_one_that_follows():
    timeline = FakeTimeline(error=RuntimeError("asynchronous"))
    with pytest.raises(ValueError, match="mine"), timeline:
        raise ValueError("mine")
    recorded()


def test_a_recording_that_cannot_start_does_not_block_the_next_one():
    class Broken(FakeTimeline):
        def _start(self):
            raise OSError("no profiler")

    with pytest.raises(OSError, match="no profiler"), Broken():
        pass
    recorded()


def test_an_empty_block():
    assert recorded().lanes == {}


# --- The data beside the picture ------------------------------------------------------------------


def shown(figure) -> dict:
    """Return the metadata that IPython stores when it displays the figure."""
    from IPython.core.formatters import DisplayFormatter

    data, metadata = DisplayFormatter().format(figure)
    assert set(data) == {"text/plain"}  # No representation that a viewer could prefer
    return metadata["d2l_local"]


def test_a_shown_figure_carries_its_lanes():
    timeline = recorded(
        ("cpu/1", "CopyCPU2CPU", 5.0005, 5.0015),
        ("cpu/0", "dot", 5, 5.000001),
        ("cpu/0", "dot", 5.25, 5.5),
    )
    ax = timeline.plot()
    ax.set_title("two", loc="left")
    assert shown(ax.figure) == {
        "names": ["dot", "CopyCPU2CPU"],
        "copies": [1],
        "loads": [],
        "charts": [
            {"title": "two", "lanes": {"cpu/0": "0 0 1 0 250000 250000", "cpu/1": "1 500 1000"}}
        ],
        "left_out": 0,
    }


def test_a_prediction_is_drawn_over_the_recording_and_in_its_data():
    recording = Timeline({"cpu/0": [("dot", 0, 0.25)], "cpu/1": [("dot", 0.25, 0.5)]})
    predicted = Timeline({"cpu/1": [("F1", 0.2, 0.6)]})
    ax = recording.plot(predicted=predicted)
    [chart] = shown(ax.figure)["charts"]
    assert chart["outlines"] == {"cpu/1": "1 200000 400000"}
    assert chart["texts"] == ["1 400000 F1"] and shown(ax.figure)["names"] == ["dot", "F1"]
    [outline] = [bars for bars in ax.collections if bars.get_label() == "predicted"]
    [path] = outline.get_paths()
    assert path.get_extents().extents == pytest.approx([200, 0.55, 600, 1.45])
    assert not outline.get_facecolor().size
    assert "predicted" in [text.get_text() for text in ax.get_legend().get_texts()]
    with pytest.raises(KeyError, match="gpu/9"):
        recording.plot(predicted=Timeline({"gpu/9": [("F1", 0, 1)]}))


def test_a_prediction_that_ends_later_lengthens_a_common_axis():
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, sharex=True)
    recording = Timeline({"cpu/0": [("dot", 0, 0.25)]})
    recording.plot(axes[0])
    recording.plot(axes[1], predicted=Timeline({"cpu/0": [("dot", 0, 0.5)]}))
    assert [chart["end"] for chart in shown(figure)["charts"]] == [500_000] * 2


def test_every_timeline_of_a_figure_is_in_its_data():
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2)
    for i, ax in enumerate(axes):
        Timeline({"cpu/0": [(f"op{i}", 0, 1)]}).plot(ax).set_title(f"axes {i}")
    data = shown(figure)
    assert [chart["title"] for chart in data["charts"]] == ["axes 0", "axes 1"]
    assert [chart["lanes"] for chart in data["charts"]] == [
        {"cpu/0": "0 0 1000000"},
        {"cpu/0": "1 0 1000000"},
    ]


def test_what_is_written_into_the_lanes_is_in_the_data():
    ax = Timeline({"cpu/0": [("dot", 0, 0.25)], "cpu/1": [("dot", 0, 0.25)]}).plot()
    ax.text(125, 1, "F1 of 2", color="white")
    ax.text(0.5, 0.5, "not in a lane", transform=ax.transAxes)
    [chart] = shown(ax.figure)["charts"]
    assert chart["texts"] == ["1 125000 F1 of 2"]


@pytest.mark.parametrize("shared", [True, False])
def test_timelines_that_share_an_axis_have_a_common_end(shared):
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, sharex=shared)
    for ax, end in zip(axes, (0.25, 0.5)):
        Timeline({"cpu/0": [("dot", 0, end)]}).plot(ax)
    ends = [chart.get("end") for chart in shown(figure)["charts"]]
    assert ends == ([500_000, 500_000] if shared else [None, None])


def test_of_very_many_spans_the_shortest_are_left_out():
    spans = [("op", i, i + 1e-6 * i) for i in range(MAX_SPANS + 500)]
    data = shown(Timeline({"cpu/0": spans}).plot().figure)
    numbers = data["charts"][0]["lanes"]["cpu/0"].split()
    assert len(numbers) == 3 * MAX_SPANS
    assert min(int(n) for n in numbers[2::3]) == 500
    assert data["left_out"] == 500


def test_a_figure_with_data_can_be_pickled_and_saved(tmp_path):
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, sharex=True)
    for ax in axes:
        Timeline({"cpu/0": [("dot", 0, 1)]}).plot(ax).text(500, 0, "F1")
    assert {"texts", "end"} <= set(shown(figure)["charts"][0])
    assert shown(pickle.loads(pickle.dumps(figure))) == shown(figure)
    figure.savefig(tmp_path / "figure.png")


# --- Lanes that are given -------------------------------------------------------------------------


def test_times_that_are_no_numbers_are_refused():
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="cpu/0: the times of Span.*'dot'.* must be finite"):
            Timeline({"cpu/0": [("dot", 0, 1), ("dot", 1, wrong)]})


# --- The picture ----------------------------------------------------------------------------------


@pytest.fixture
def plt():
    """Return pyplot that draws into memory; a warning, as of a missing glyph, is an error."""
    matplotlib = pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    before = matplotlib.get_backend()
    pyplot.switch_backend("agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield pyplot
    pyplot.close("all")
    pyplot.switch_backend(before)


def pixels(ax):
    ax.figure.canvas.draw()
    return bytes(ax.figure.canvas.buffer_rgba())


def texts(ax):
    from matplotlib.text import Text

    return [text.get_text() for text in ax.figure.findobj(Text) if text.get_text()]


THREE_LANES = {
    "cpu/0": [("dot", 0.0, 0.010), ("CopyCPU2CPU", 0.010, 0.012)],
    "cpu/1": [("dot", 0.001, 0.011)],
    "gpu/0": [("CopyGPU2CPU", 0.002, 0.004)],
}


def test_plot_has_a_row_for_each_lane(plt):
    ax = Timeline(THREE_LANES).plot()
    pixels(ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(THREE_LANES)
    bottom, top = ax.get_ylim()
    assert top < bottom  # The first lane stands on top
    rows = {}
    for bars in ax.collections:
        for path in bars.get_paths():
            (left, low), (right, high) = path.get_extents().get_points()
            row = round((low + high) / 2)
            assert row - 0.5 < low < high < row + 0.5  # Within the row
            rows.setdefault(row, []).append((round(left), round(right)))
    # In milliseconds
    assert {row: sorted(bars) for row, bars in rows.items()} == {
        0: [(0, 10), (10, 12)],
        1: [(1, 11)],
        2: [(2, 4)],
    }
    assert "(ms)" in ax.get_xlabel()


def luminance(color):
    """Return what remains of a color in print, 0 (black) to 1."""
    from matplotlib.colors import to_rgb

    return sum(w * c**2.2 for w, c in zip((0.2126, 0.7152, 0.0722), to_rgb(color)))


def test_computation_and_copies_look_different_also_without_color(plt):
    from matplotlib.colors import to_rgb

    ax = Timeline(THREE_LANES).plot()
    kinds = {bars.get_label(): bars for bars in ax.collections}
    assert set(kinds) == {"compute", "copy"}
    faces = {kind: tuple(bars.get_facecolor()[0][:3]) for kind, bars in kinds.items()}
    assert faces["compute"] == to_rgb(COMPUTE_STYLE["facecolor"])
    assert faces["copy"] == to_rgb(COPY_STYLE["facecolor"])
    # Blue against orange: no kind of color blindness confuses them; and one is darker.
    assert faces["compute"][2] > faces["compute"][0] and faces["copy"][0] > faces["copy"][2]
    assert luminance(faces["copy"]) > 2 * luminance(faces["compute"])
    assert kinds["copy"].get_hatch() and not kinds["compute"].get_hatch()


def test_plot_of_an_empty_timeline(plt):
    ax = recorded().plot()
    pixels(ax)
    assert "nothing was recorded" in texts(ax)
    assert ax.get_legend() is None


# --- What Python does -----------------------------------------------------------------------------


def test_python_s_own_work_has_a_lane_on_the_same_clock():
    class Clocked(FakeTimeline):
        def _stop(self):
            return [("cpu/0", "op", now / 1e9, (now + 5 * 10**6) / 1e9) for now in self.events]

    with Clocked() as timeline:
        with timeline.span("Python", "make"):
            timeline.events.append(time.time_ns() - timeline._began)
            time.sleep(0.02)
        worker = threading.Thread(target=lambda: _on_a_lane(timeline))
        worker.start()
        worker.join()
    assert list(timeline.lanes) == ["Python", "cpu/0", "worker"]
    [made], [computed] = timeline.lanes["Python"], timeline.lanes["cpu/0"]
    assert made.name == "make" and made.end - made.start >= 0.02
    assert 0 <= computed.start - made.start < 0.02
    assert timeline.overlap("Python", "cpu/0") == pytest.approx(1, abs=0.01)


def _on_a_lane(timeline):
    with timeline.span("worker", "multiply"):
        time.sleep(0.001)


def test_a_span_is_kept_when_its_block_raises_and_forgotten_in_the_next_recording():
    timeline = FakeTimeline()
    with pytest.raises(ZeroDivisionError), timeline, timeline.span("Python", "fail"):
        raise ZeroDivisionError
    assert [span.name for span in timeline.lanes["Python"]] == ["fail"]
    with timeline:
        pass
    assert timeline.lanes == {}


def test_seconds_from_the_first_start_to_the_last_end():
    lanes = {"cpu/0": [("op", 1.0, 9.0), ("op", 2.0, 3.0)], "cpu/1": [("op", 0.5, 4.0)]}
    assert Timeline(lanes).seconds == 8.5
    assert Timeline().seconds == 0
