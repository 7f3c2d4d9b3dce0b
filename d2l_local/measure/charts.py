"""Charts that lay one thing beside another: predictions and measurements, recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from d2l_local.base.language import say, wrapped
from d2l_local.measure.fonts import has_bold, label, prepare
from d2l_local.measure.timeline import Timeline

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's, which color-blind readers can tell apart
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
# Line, marker and its size: of series that lie on each other, the earlier ones are still seen
SERIES = tuple(zip(COLORS, ("-", "--", ":", "-."), "os^D", (9, 7, 5, 4)))

STYLE = Path(__file__).with_name("chapter.mplstyle")


def axes(title: str, xlabel: str, ylabel: str, size: tuple[float, float] = (7, 3.2)) -> Axes:
    """Return the axes of a new figure in the chapter's style, to draw on with Matplotlib.

    The title states what is to be seen, and is broken into lines where it is long; the labels name
    quantities with their units. ``size`` is width and height in inches. A notebook shows at least
    600 pixels of width. Other figures keep the reader's style.
    """
    from matplotlib import pyplot as plt

    prepare()
    width, _ = size
    with plt.style.context(STYLE):
        _, ax = plt.subplots(figsize=size, dpi=max(100, 650 / width), layout="constrained")
        ax.set(xlabel=xlabel, ylabel=ylabel)
        ax.set_title(wrapped(title, round(9 * width)), weight="bold" if has_bold() else "normal")
    ax.grid(color="0.5", alpha=0.25, linewidth=0.6)  # Ticks are made later, and not in the style
    return ax


def use_svg_display() -> None:
    """Show figures as PNG, unlike d2l's function of this name, which its other functions call.

    JupyterLab shows no SVG in a notebook that it does not trust, such as one just cloned.
    """
    from matplotlib_inline import backend_inline

    backend_inline.set_matplotlib_formats("png")


def plot_prediction(
    x: Sequence[float],
    predicted: Mapping[str, Sequence[float]],
    measured: Mapping[str, Sequence[float]],
    xlabel: str = "",
    ylabel: str = "",
    given: Mapping[str, Sequence[float]] | None = None,
) -> Axes:
    """Draw predictions as lines and measurements as dots, on logarithmic axes; return the axes.

    ``predicted`` and ``measured`` hold a series of positive numbers for each name, a number for
    each ``x``. A few ``x`` near each other are the ticks. Prints the relative errors of each
    series: their median and the largest. Measurements from which the prediction was made are
    ``given``, as a list of their ``x`` by name: drawn hollow and left out of the errors. Raises
    ValueError if the names differ, or the lengths, or if all of a series is given.
    """
    from matplotlib import pyplot as plt

    if predicted.keys() != measured.keys():
        raise ValueError(f"{list(predicted)} are predicted, but {list(measured)} measured")
    known = {name: np.isin(x, (given or {}).get(name, [])) for name in predicted}
    for name, line in predicted.items():
        if not len(x) == len(line) == len(measured[name]):
            raise ValueError(
                f"{name}: {len(line)} predictions, {len(measured[name])} measurements, {len(x)} x"
            )
        if known[name].all():
            raise ValueError(f"{name}: all measurements are given, and none is predicted")
    _, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
    for number, (name, line) in enumerate(predicted.items()):
        color, dashes, marker, size = SERIES[number % len(SERIES)]
        named = [
            label(text).format(name=name) for text in ("{name}, predicted", "{name}, measured")
        ]
        ax.loglog(x, line, dashes, color=color, label=named[0])
        dots = np.asarray(measured[name], dtype=float)
        style = {"color": color, "markersize": size}
        ax.loglog(x, np.where(known[name], np.nan, dots), marker, label=named[1], **style)
        if known[name].any():
            ax.loglog(x, np.where(known[name], dots, np.nan), marker, fillstyle="none", **style)
        errors = abs(np.divide(line, dots) - 1)[~known[name]]
        text = "{name}: error median {median:.0%}, largest {largest:.0%}"
        say(text, name=name, median=np.median(errors), largest=errors.max())
    if len(x) <= 6 and max(x) < 100 * min(x):
        ax.set_xticks(x, [f"{number:g}" for number in x])
        ax.set_xticks([], minor=True)
        ax.yaxis.set_minor_formatter(_plain)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend()
    return ax


def _plain(number: float, position: float) -> str:
    """Label a minor tick of a logarithmic axis, those that leave room: 0.1, 0.2, 0.3, 0.5."""
    digits = f"{number:.0e}"
    return f"{number:g}" if digits[0] in "1235" else ""


def plot_roofline(
    peaks: Mapping[str, float],
    bandwidths: Mapping[str, float],
    dots: Mapping[str, tuple[float, float]],
    over_bound: Mapping[str, float] | None = None,
) -> Axes:
    """Draw the roofs over a device's rates, and dots below them; return the axes.

    ``peaks`` are the FLOP/s that the device reaches by format, ``bandwidths`` the B/s of its paths
    by name. Over the intensity ``I`` (FLOP/B), each peak has a roof ``min(P, W * I)`` with the
    first bandwidth, and each further bandwidth one with the first peak, dashed. ``dots`` has an
    operator's intensity and its rate (FLOP/s) for each name. The panel beside names them, and
    shows how many times its bound each takes, ``over_bound``, which logarithmic axes hide. Raises
    ValueError if a number is not positive.
    """
    from matplotlib import pyplot as plt

    alone = {name: [number] for name, number in {**peaks, **bandwidths}.items()}
    for name, numbers in {**alone, **dots}.items():
        if not all(number > 0 for number in numbers):
            raise ValueError(f"{name} must be positive, not {numbers}")
    names = [label(each) for each in ("intensity (FLOP/B)", "rate (GFLOP/s)", "measured / bound")]
    memory, *others = bandwidths
    P = next(iter(peaks.values()))
    ridges = [peak / bandwidths[memory] for peak in peaks.values()]
    seen = [*(intensity for intensity, _ in dots.values()), *ridges]
    x = np.geomspace(min(seen) / 2, max(seen) * 2, 200)
    W = bandwidths[memory]
    roofs = [
        (name, peak, W, style) for (name, peak), style in zip(peaks.items(), cycle(("-", "-.")))
    ]
    roofs += [(name, P, bandwidths[name], style) for name, style in zip(others, cycle(("--", ":")))]
    _, axes = plt.subplots(
        1, 1 + bool(over_bound), figsize=(7.5, 3.8), squeeze=False, layout="constrained"
    )
    ax: Axes = axes[0, 0]
    for name, peak, W, style in roofs:
        ax.loglog(x, np.minimum(peak, W * x) / 1e9, style, color="0.3", label=name)
    lines = list(ax.get_lines())
    for number, (name, (intensity, rate)) in enumerate(dots.items()):
        ax.loglog([intensity], [rate / 1e9], label=name, **_dot(number))
    ax.set(xlabel=names[0], ylabel=names[1])
    if not over_bound:
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
        return ax
    ax.legend(handles=lines, loc="lower right", fontsize=8)
    beside = axes[0, 1]
    for number, times in enumerate(over_bound.values()):
        beside.plot([times], [number], **_dot(number))
    beside.axvline(1, color="0.3")
    beside.set_yticks(range(len(over_bound)), list(over_bound), fontsize=8)
    beside.set(xlabel=names[2], xlim=(0, None))
    beside.invert_yaxis()
    return ax


def _dot(number: int) -> dict[str, str]:
    """The style of one of several dots, by which it is known again in another panel."""
    marker = "os^Dvp*X"[number % 8]
    return {"color": COLORS[number % len(COLORS)], "marker": marker, "linestyle": "none"}


def plot_parts(
    bars: Mapping[str, Mapping[str, float]], xlabel: str, limit: float | None = None
) -> Axes:
    """Draw a bar for each name, put together of its parts one after the other; return the axes.

    A dashed line shows the ``limit`` that none should exceed. Raises ValueError unless all bars
    have the same parts.
    """
    from matplotlib import pyplot as plt

    if len({frozenset(parts) for parts in bars.values()}) != 1:
        listed = {name: list(parts) for name, parts in bars.items()}
        raise ValueError(f"the bars must have the same parts, not {listed}")
    height = 1.1 + 0.35 * len(bars)
    ax: Axes = plt.subplots(figsize=(6.5, height), layout="constrained")[1]
    ends = np.zeros(len(bars))
    for part in next(iter(bars.values())):
        sizes = [parts[part] for parts in bars.values()]
        ax.barh(list(bars), sizes, left=ends, label=part)
        ends = ends + sizes
    if limit is not None:
        ax.axvline(limit, color="0.3", linestyle="--")
    ax.invert_yaxis()  # The first name on top
    ax.set(xlabel=xlabel)
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    return ax


def plot_timelines(
    timelines: Mapping[str, Timeline], predicted: Mapping[str, Timeline] | None = None
) -> Figure:
    """Draw recordings below each other, each with its name, on one scale; return the figure.

    What is ``predicted`` of a name is drawn over its recording, as in `Timeline.plot`. KeyError if
    it has a name or a lane that was not recorded.
    """
    from matplotlib import pyplot as plt

    for name, prediction in (predicted or {}).items():
        for lane in prediction.lanes:
            timelines[name].busy(lane)  # Raises before there is a figure, which would stay empty
    height = sum(0.9 + 0.4 * max(1, len(timeline.lanes)) for timeline in timelines.values())
    fig, axes = plt.subplots(
        len(timelines), figsize=(7, height), sharex=True, squeeze=False, layout="constrained"
    )
    for ax, (name, timeline) in zip(axes.flat, timelines.items()):
        timeline.plot(ax, (predicted or {}).get(name)).set_title(name, loc="left", fontsize=9)
    return fig
