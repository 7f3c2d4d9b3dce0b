"""How a timeline looks, and what of it a notebook keeps beside the picture."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from d2l_local.measure.fonts import label
from d2l_local.measure.spans import Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Lanes = dict[str, list[Span]]
Charts = list[tuple["Axes", Lanes, Lanes]]  # What is recorded, and outlines drawn over it

# Blue and orange of Okabe and Ito's palette: distinct also to color-blind readers. Copies are
# hatched too, for print in gray.
COMPUTE_STYLE = {"facecolor": "#0072B2", "label": "compute"}
ISSUE_STYLE = {"facecolor": "#CC79A7", "label": "issue"}  # What Python does before a device can
LOAD_STYLE = {"facecolor": "#009E73", "label": "load"}  # What is read in before a device can
FORWARD_STYLE = {"facecolor": "#0072B2", "label": "forward"}  # Of a pipeline's stage
BACKWARD_STYLE = {"facecolor": "#56B4E9", "label": "backward"}
WEIGHT_STYLE = {"facecolor": "#CC79A7", "label": "weights"}  # The gradient of a stage's weights
BAR_STYLE = {"edgecolor": "white", "linewidth": 0.4}
COPY_STYLE = {"facecolor": "#E69F00", "hatch": "////", "label": "copy"}
STYLES = (
    COMPUTE_STYLE,
    ISSUE_STYLE,
    LOAD_STYLE,
    FORWARD_STYLE,
    BACKWARD_STYLE,
    WEIGHT_STYLE,
    COPY_STYLE,
)

OUTLINE_STYLE: dict[str, Any] = {"facecolor": "none", "edgecolor": "black", "linewidth": 1.3}

MAX_SPANS = 2000  # in the data of one figure: about 30 kB of a notebook


def style_of(lane: str, span: Span) -> dict[str, str]:
    """Return how a span looks: one of `STYLES`."""
    if span.is_copy:
        return COPY_STYLE
    if re.fullmatch(r"[FBW]\d+'*", span.name):
        return {"F": FORWARD_STYLE, "B": BACKWARD_STYLE, "W": WEIGHT_STYLE}[span.name[0]]
    if re.match("read|load", span.name):  # By a program's own lane, such as a disk's
        return LOAD_STYLE
    return {"Python": ISSUE_STYLE, "input": LOAD_STYLE}.get(lane, COMPUTE_STYLE)


def lane_label(lane: str) -> str:
    """Return a lane's name in the language in force."""
    word, _, number = lane.partition(" ")
    if word == "stage" and number.isdigit():
        return label("stage {number}").format(number=number)
    word, _, number = lane.partition("/")
    if word == "device" and number.isdigit():
        return label("device/{number}").format(number=number)
    return label(lane)


class Drawn:
    """The lanes in a figure, as metadata that IPython stores beside the picture.

    ``{"d2l_local": {"names": [operator], "copies": [index of a name], "loads": [likewise],
    "charts": [chart], "left_out": count}}``, where a chart is ``{"title": text, "lanes": {device:
    spans}}`` and spans are one text, three integers a span: index of the name, start and duration
    in microseconds. (A notebook would put each number of a list on a line of its own.) Of more than
    ``MAX_SPANS`` the shortest are left out. A chart also has ``"end": microseconds`` if it shares
    its time axis with others, ``"texts": [text]`` if something was written into its lanes: number
    of the lane, microseconds and what was written, and ``"outlines"``, as its lanes, if a
    prediction was drawn over them. Not a representation of its own, because viewers and tests have
    to make nothing of it.
    """

    def __init__(self) -> None:
        self.charts: Charts = []

    def __call__(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return no data, and the metadata, when IPython displays the figure."""
        kept = _without_shortest(self.charts)
        outlined = [span for *_, lanes in kept for lane in lanes.values() for span in lane]
        names = list(dict.fromkeys(span.name for span in (*_spans(kept), *outlined)))
        index = {name: number for number, name in enumerate(names)}
        charts = [
            {
                "title": ax.get_title(loc="left") or ax.get_title(),
                "lanes": {lane_label(name): _numbers(lane, index) for name, lane in lanes.items()},
                **_outlines(outlines, index),
                **self._shared_end(ax),
                **_texts(ax),
            }
            for ax, lanes, outlines in kept
        ]
        data = {
            "names": names,
            "copies": [index[name] for name in names if Span(name, 0, 0).is_copy],
            "loads": sorted({index[name] for name in _loads(kept)}),
            "charts": charts,
            "left_out": len(_spans(self.charts)) - len(_spans(kept)),
        }
        return {}, {"d2l_local": data}

    def _shared_end(self, ax: Axes) -> dict[str, int]:
        """Return the ``"end"`` of the charts that share the time axis of ``ax``, if any do."""
        shared = ax.get_shared_x_axes()
        together = [chart for chart in self.charts if shared.joined(ax, chart[0])]
        drawn = (lane for _, *parts in together for lanes in parts for lane in lanes.values())
        ends = [span.end for lane in drawn for span in lane]
        return {"end": round(max(ends) * 1e6)} if len(together) > 1 and ends else {}


def _spans(charts: Charts) -> list[Span]:
    return [span for _, lanes, _ in charts for lane in lanes.values() for span in lane]


def _loads(charts: Charts) -> Iterator[str]:
    """Yield the names of spans that are drawn as reading, once or more often."""
    for _, lanes, _ in charts:
        for lane, spans in lanes.items():
            yield from (span.name for span in spans if style_of(lane, span) is LOAD_STYLE)


def _without_shortest(charts: Charts) -> Charts:
    """Return the charts with at most ``MAX_SPANS`` spans, the longest ones."""
    spans, number = _spans(charts), itertools.count()
    by_length = sorted(range(len(spans)), key=lambda i: spans[i].start - spans[i].end)
    longest = set(by_length[:MAX_SPANS])
    return [
        (
            ax,
            {name: [s for s in lane if next(number) in longest] for name, lane in lanes.items()},
            outlines,
        )
        for ax, lanes, outlines in charts
    ]


def _numbers(lane: list[Span], index: dict[str, int]) -> str:
    """Return three integers a span: index of the name, start and duration in microseconds."""
    return " ".join(
        f"{index[s.name]} {s.start * 1e6:.0f} {(s.end - s.start) * 1e6:.0f}" for s in lane
    )


def _outlines(outlines: Lanes, index: dict[str, int]) -> dict[str, dict[str, str]]:
    """Return the ``"outlines"`` of a chart, if it has any."""
    numbers = {lane_label(name): _numbers(lane, index) for name, lane in outlines.items()}
    return {"outlines": numbers} if numbers else {}


def draw_outlines(ax: Axes, row: int, predicted: list[Span], recorded: list[Span]) -> None:
    """Draw predicted spans over a lane; each name in the middle of the recorded span, if any is."""
    from matplotlib.patheffects import withStroke

    bars = [(1e3 * s.start, 1e3 * (s.end - s.start)) for s in predicted]
    ax.broken_barh(bars, (row - 0.45, 0.9), label=label("predicted"), **OUTLINE_STYLE)
    named = {span.name: span for span in recorded}
    for span in (named.get(span.name, span) for span in predicted):
        text = ax.text(
            1e3 * (span.start + span.end) / 2, row, span.name,
            ha="center", va="center", fontsize=8, clip_on=True,
        )  # fmt: skip
        text.set_path_effects([withStroke(linewidth=2, foreground="white")])


def _texts(ax: Axes) -> dict[str, list[str]]:
    """Return the ``"texts"`` that stand in the lanes of a chart, if any do."""
    texts = [text for text in ax.texts if text.get_transform() == ax.transData]
    places = [text.get_position() for text in texts]
    written = [f"{y:g} {1e3 * x:.0f} {t.get_text()}" for t, (x, y) in zip(texts, places)]
    return {"texts": written} if written else {}
