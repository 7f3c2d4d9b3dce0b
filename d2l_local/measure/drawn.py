"""How a timeline looks, and what of it a notebook keeps beside the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from d2l_local.measure.spans import Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Lanes = dict[str, list[Span]]

# Blue and orange of Okabe and Ito's palette: distinct also to color-blind readers. Copies are
# hatched too, for print in gray.
COMPUTE_STYLE = {"facecolor": "#0072B2", "label": "compute"}
BAR_STYLE = {"edgecolor": "white", "linewidth": 0.4}
COPY_STYLE = {"facecolor": "#E69F00", "hatch": "////", "label": "copy"}

MAX_SPANS = 2000  # in the data of one figure: about 30 kB of a notebook


class Drawn:
    """The lanes in a figure, as metadata that IPython stores beside the picture.

    ``{"d2l_local": {"names": [operator], "copies": [index of a name], "charts": [chart],
    "left_out": count}}``, where a chart is ``{"title": text, "lanes": {device: spans}}`` and spans
    are one text, three integers a span: index of the name, start and duration in microseconds.
    (A notebook would put each number of a list on a line of its own.) Of more than ``MAX_SPANS``
    the shortest are left out. A chart also has ``"end": microseconds`` if it shares its time axis
    with others, and ``"texts": [text]`` if something was written into its lanes: number of the
    lane, microseconds and what was written. Not a representation of its own, because viewers and
    tests have to make nothing of it.
    """

    def __init__(self) -> None:
        self.charts: list[tuple[Axes, Lanes]] = []

    def __call__(self, include: object = None, exclude: object = None) -> tuple[dict, dict]:
        """Return no data, and the metadata, when IPython displays the figure."""
        kept = _without_shortest(self.charts)
        names = list(dict.fromkeys(span.name for span in _spans(kept)))
        index = {name: number for number, name in enumerate(names)}
        charts = [
            {
                "title": ax.get_title(loc="left") or ax.get_title(),
                "lanes": {device: _numbers(lane, index) for device, lane in lanes.items()},
                **self._shared_end(ax),
                **_texts(ax),
            }
            for ax, lanes in kept
        ]
        data = {
            "names": names,
            "copies": [index[name] for name in names if Span(name, 0, 0).is_copy],
            "charts": charts,
            "left_out": len(_spans(self.charts)) - len(_spans(kept)),
        }
        return {}, {"d2l_local": data}

    def _shared_end(self, ax: Axes) -> dict:
        """Return the ``"end"`` of the charts that share the time axis of ``ax``, if any do."""
        shared = ax.get_shared_x_axes()
        together = [chart for chart in self.charts if shared.joined(ax, chart[0])]
        ends = [span.end for span in _spans(together)]
        return {"end": round(max(ends) * 1e6)} if len(together) > 1 and ends else {}


def _spans(charts: list[tuple[Axes, Lanes]]) -> list[Span]:
    return [span for _, lanes in charts for lane in lanes.values() for span in lane]


def _without_shortest(charts: list[tuple[Axes, Lanes]]) -> list[tuple[Axes, Lanes]]:
    """Return the charts with at most ``MAX_SPANS`` spans, the longest ones."""
    lengths = sorted((span.end - span.start for span in _spans(charts)), reverse=True)
    if len(lengths) <= MAX_SPANS:
        return charts
    limit = lengths[MAX_SPANS]
    return [
        (ax, {name: [s for s in lane if s.end - s.start > limit] for name, lane in lanes.items()})
        for ax, lanes in charts
    ]


def _numbers(lane: list[Span], index: dict[str, int]) -> str:
    """Return three integers a span: index of the name, start and duration in microseconds."""
    return " ".join(
        f"{index[s.name]} {s.start * 1e6:.0f} {(s.end - s.start) * 1e6:.0f}" for s in lane
    )


def _texts(ax: Axes) -> dict:
    """Return the ``"texts"`` that stand in the lanes of a chart, if any do."""
    texts = [text for text in ax.texts if text.get_transform() == ax.transData]
    places = [text.get_position() for text in texts]
    written = [f"{y:g} {1e3 * x:.0f} {t.get_text()}" for t, (x, y) in zip(texts, places)]
    return {"texts": written} if written else {}
