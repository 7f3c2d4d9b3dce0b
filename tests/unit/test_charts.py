"""Predictions beside measurements, recordings below each other."""

from __future__ import annotations

import re

import matplotlib

matplotlib.use("agg")

from d2l_local.measure import charts
from d2l_local.measure.charts import plot_parts, plot_prediction, plot_roofline, plot_timelines
from d2l_local.measure.timeline import Timeline

import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb


@pytest.fixture(autouse=True)
def closed():
    """Each test leaves no figure open, of which Matplotlib would warn."""
    yield
    plt.close("all")


def test_lines_dots_and_errors(capsys):
    ax = plot_prediction([1, 10], {"a": [2, 4], "b": [1, 1]}, {"a": [2, 2], "b": [1, 1]}, "n", "s")
    lines = ax.get_lines()
    assert [line.get_label() for line in lines] == [
        "a, predicted",
        "a, measured",
        "b, predicted",
        "b, measured",
    ]
    assert [list(line.get_ydata()) for line in lines[:2]] == [[2, 4], [2, 2]]
    assert lines[0].get_color() == lines[1].get_color() != lines[2].get_color()
    assert [line.get_linestyle() for line in lines] == ["-", "None", "--", "None"]
    assert lines[1].get_markersize() > lines[3].get_markersize()  # A dot on a dot hides it not
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("n", "s")
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["a: error median 50%, largest 100%", "b: error median 0%, largest 0%"]


def test_what_a_prediction_was_made_from_is_hollow_and_has_no_error(capsys):
    ax = plot_prediction([1, 2, 4], {"a": [2, 4, 9]}, {"a": [2, 2, 9]}, given={"a": [1, 4]})
    _, dots, hollow = ax.get_lines()
    assert list(dots.get_ydata()[[1]]) == [2] and list(hollow.get_ydata()[[0, 2]]) == [2, 9]
    assert (dots.get_fillstyle(), hollow.get_fillstyle()) == ("full", "none")
    assert capsys.readouterr().out == "a: error median 100%, largest 100%\n"
    with pytest.raises(ValueError, match="a: all measurements are given"):
        plot_prediction([1], {"a": [2]}, {"a": [2]}, given={"a": [1]})
    assert len(plt.get_fignums()) == 1  # What is refused leaves no empty figure


@pytest.mark.parametrize(
    ("predicted", "measured", "why"),
    [({"a": [1]}, {"b": [1]}, "predicted, but"), ({"a": [1, 2]}, {"a": [1]}, "2 predictions, 1")],
)
def test_what_does_not_fit_is_refused(predicted, measured, why):
    with pytest.raises(ValueError, match=why):
        plot_prediction([1], predicted, measured)


def test_roofs_and_dots():
    dots = {"sum": (0.1, 2e9), "product": (100.0, 9e10)}
    ax = plot_roofline({"float32": 1e11, "half": 4e11}, {"memory": 2e10, "cache": 1e11}, dots)
    full, half, cache, *points = ax.get_lines()
    assert [line.get_label() for line in (full, half, cache)] == ["float32", "half", "cache"]
    assert [line.get_ydata().max() for line in (full, half, cache)] == [100, 400, 100]
    assert full.get_ydata()[0] == half.get_ydata()[0] < cache.get_ydata()[0]
    assert [(p.get_xdata()[0], p.get_ydata()[0]) for p in points] == [(0.1, 2), (100, 90)]
    assert [point.get_label() for point in points] == list(dots)
    assert len({(point.get_color(), point.get_marker()) for point in points}) == len(points)


def test_beside_the_roofs_stands_how_far_each_is_from_its_bound():
    dots = {"sum": (0.1, 2e9), "product": (100.0, 9e10)}
    ax = plot_roofline({"float32": 1e11}, {"memory": 2e10}, dots, {"sum": 1.0, "product": 1.1})
    points, beside = ax.get_lines()[1:], ax.figure.axes[1]
    assert [point.get_xdata()[0] for point in beside.get_lines()[:2]] == [1.0, 1.1]
    assert [tick.get_text() for tick in beside.get_yticklabels()] == list(dots)
    for point, again in zip(points, beside.get_lines()):
        assert (point.get_color(), point.get_marker()) == (again.get_color(), again.get_marker())


@pytest.mark.parametrize(
    ("P", "W", "dot", "why"),
    [(0, 1, (1, 1), "P must"), (1, -1, (1, 1), "memory must"), (1, 1, (1, 0), "dot must")],
)
def test_a_roof_of_nothing_is_refused(P, W, dot, why):
    with pytest.raises(ValueError, match=why):
        plot_roofline({"P": P}, {"memory": W}, {"dot": dot})


def test_timelines_below_each_other_on_one_scale():
    lanes = {"cpu/0": [("op", 0.0, 1.0)]}
    fig = plot_timelines({"one": Timeline(lanes), "two": Timeline({**lanes, "gpu/0": []})})
    first, second = fig.axes
    assert first.get_title(loc="left") == "one" and second.get_title(loc="left") == "two"
    assert first.get_xlim() == second.get_xlim()
    assert len(plot_timelines({"alone": Timeline(lanes)}).axes) == 1


def test_a_prediction_is_drawn_over_the_recording_of_its_name():
    lanes = {"cpu/0": [("dot", 0.0, 0.25)]}
    timelines = {"one": Timeline(lanes), "two": Timeline(lanes)}
    first, second = plot_timelines(timelines, {"two": Timeline({"cpu/0": [("F0", 0, 1)]})}).axes
    assert [[text.get_text() for text in ax.texts] for ax in (first, second)] == [[], ["F0"]]


def test_a_refused_chart_leaves_no_empty_figure():
    recording = {"one": Timeline({"cpu/0": []})}
    for predicted in ({"one": Timeline({"gpu/0": []})}, {"two": Timeline({"cpu/0": []})}):
        with pytest.raises(KeyError):
            plot_timelines(recording, predicted)
    with pytest.raises(ValueError, match="expected at least 1"):
        plot_roofline({"float32": 1.0}, {}, {})
    assert plt.get_fignums() == []


def test_a_predicted_name_stands_on_the_recorded_span_of_that_name():
    recording = Timeline({"stage 0": [("F0", 0, 0.1), ("copy of F0", 0.1, 0.2), ("B0", 0.4, 0.6)]})
    predicted = Timeline({"stage 0": [("F0", 0, 0.2), ("B0", 0.2, 0.4)]})
    [ax] = plot_timelines({"1F1B": recording}, {"1F1B": predicted}).axes
    places = {text.get_text(): text.get_position()[0] for text in ax.texts}
    assert places == pytest.approx({"F0": 50, "B0": 500})
    kinds = {bars.get_label(): bars.get_facecolor().tolist() for bars in ax.collections}
    assert list(kinds) == ["forward", "backward", "copy", "predicted"]
    assert kinds["forward"] != kinds["backward"]


def test_stages_are_numbered_in_every_language(monkeypatch):
    monkeypatch.setenv("D2L_LANGUAGE", "zh")
    lanes = ["device/1", "device/x", "stage 0", "stage one"]
    ax = Timeline({lane: [("F0", 0, 1)] for lane in lanes}).plot()
    shown = [tick.get_text() for tick in ax.get_yticklabels()]
    assert shown == ["设备/1", "device/x", "阶段0", "stage one"]


def test_what_is_loaded_does_not_look_computed():
    for lane, name in (("input", "decode"), ("disk", "read"), ("thread/0", "load_images")):
        ax = Timeline({"cpu/0": [("dot", 1, 2)], lane: [(name, 0, 1)]}).plot()
        assert [bars.get_label() for bars in ax.collections] == ["compute", "load"]


def test_a_worker_that_a_program_names_computes():
    ax = Timeline({"worker": [("multiply", 0, 1), ("reduce_kernel", 1, 2)]}).plot()
    assert [bars.get_label() for bars in ax.collections] == ["compute"]


def test_a_few_x_near_each_other_are_the_ticks():
    values = {"a": [0.333, 0.2, 0.111]}
    ax = plot_prediction([2, 4, 8], values, values)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["2", "4", "8"]
    assert [tick.get_text() for tick in ax.get_xticklabels(minor=True)] == []
    ax.figure.canvas.draw()
    shown = {tick.get_text() for tick in ax.get_yticklabels(minor=True)}
    assert {"0.2", "0.3"} <= shown and "0.4" not in shown


def test_parts_stand_one_after_the_other_below_a_limit():
    bars = {"wide": {"computing": 3.0, "waiting": 1.0}, "deep": {"computing": 3.0, "waiting": 0.5}}
    ax = plot_parts(bars, "time (s)", limit=3.8)
    starts = [[bar.get_x() for bar in bars] for bars in ax.containers]
    widths = [[bar.get_width() for bar in bars] for bars in ax.containers]
    assert starts == [[0, 0], [3, 3]] and widths == [[3, 3], [1, 0.5]]
    assert [bars.get_label() for bars in ax.containers] == ["computing", "waiting"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["wide", "deep"]
    assert list(ax.get_lines()[0].get_xdata()) == [3.8, 3.8] and ax.yaxis_inverted()
    assert not plot_parts(bars, "time (s)").get_lines()


@pytest.mark.parametrize(
    "bars", [{}, {"a": {"x": 1}, "b": {"x": 1, "y": 5}}, {"a": {"x": 1}, "b": {}}]
)
def test_bars_of_other_parts_are_refused(bars):
    listed = re.escape(str({name: list(parts) for name, parts in bars.items()}))
    with pytest.raises(ValueError, match=f"the same parts, not {listed}"):
        plot_parts(bars, "time (s)")


@pytest.mark.parametrize("style", ["default", "classic", "dark_background", "ggplot"])
def test_axes_have_the_chapter_s_style_and_leave_the_reader_s_alone(style):
    with plt.style.context(style, after_reset=True):
        before = dict(matplotlib.rcParams)
        ax = charts.axes("A row gets cheap", "rows", "time (µs)")
        assert dict(matplotlib.rcParams) == before
        [line] = ax.plot([1, 2], [2, 1])
        text = ax.text(1, 1, "66 µs")
        ax.figure.canvas.draw()
    assert (ax.get_title(loc="left"), ax.get_title()) == ("A row gets cheap", "")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rows", "time (µs)")
    assert ax.figure.get_size_inches().tolist() == [7, 3.2]
    assert line.get_color() == "#0072B2"
    shown = {side for side, spine in ax.spines.items() if spine.get_visible()}
    assert shown == {"left", "bottom"} and ax.xaxis.get_gridlines()[0].get_visible()
    for written in (text, ax.title, ax.xaxis.label, *ax.get_xticklabels()):
        behind = ax if written is text else ax.figure.patch
        contrast = [
            abs(a - b) for a, b in zip(to_rgb(written.get_color()), to_rgb(behind.get_facecolor()))
        ]
        assert max(contrast) > 0.4


def test_a_long_title_is_broken_and_stays_in_the_figure(monkeypatch):
    for lang, word in (("en", "seventeen times "), ("zh", "搬运字节的时间，")):
        monkeypatch.setenv("D2L_LANGUAGE", lang)
        ax = charts.axes(word * 10, "x", "y", size=(4, 3))
        ax.figure.canvas.draw()
        assert ax.get_title(loc="left").count("\n") >= 2
        figure, title = ax.figure.bbox, ax._left_title.get_window_extent()
        assert 0 <= title.x0 < title.x1 <= figure.x1 and title.y1 <= figure.y1
        assert figure.width >= 600
