"""What each device did when: lanes of operators, their overlap, a picture, a trace file.

Nothing here knows a framework. A subclass says how to start and stop the framework's profiler and
hands over the spans it recorded.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

# Blue and orange of Okabe and Ito's palette: distinct also to color-blind readers. Copies are
# hatched too, for print in gray.
COMPUTE_STYLE = {"facecolor": "#0072B2", "label": "compute"}
BAR_STYLE = {"edgecolor": "white", "linewidth": 0.4}
COPY_STYLE = {"facecolor": "#E69F00", "hatch": "////", "label": "copy"}

MAX_SPANS = 2000  # in the data of one figure: about 30 kB of a notebook


class Span(NamedTuple):
    """One operator on one device; ``start`` and ``end`` in seconds since the recording began."""

    name: str
    start: float
    end: float

    @property
    def is_copy(self) -> bool:
        """Whether the operator moves data rather than computes."""
        return any(word in self.name.lower() for word in ("copy", "memcpy", "nccl"))


class Timeline:
    """Records what every device does inside a ``with`` block.

    Work queued before the block is finished first, and the block ends when all devices are idle,
    so exactly the block's work is on record. Afterwards ``lanes`` maps each device that did
    something (``"cpu/0"``, ``"gpu/1"``) to its list of `Span`, ordered by start.

    A second Timeline inside the block raises RuntimeError. If the block raises, the recording
    stops, ``lanes`` holds what ran until then, and the exception goes on. A block that computes
    nothing leaves ``lanes`` empty.
    """

    _recording: Timeline | None = None

    def __init__(self, lanes: dict[str, list] | None = None):
        """``lanes`` (device to (name, start, end)s) of an earlier recording, to look at again."""
        self.lanes = {lane: [Span(*s) for s in spans] for lane, spans in (lanes or {}).items()}

    def _start(self) -> None:
        """Wait until all devices are idle and start the framework's profiler."""
        raise NotImplementedError

    def _stop(self) -> Iterable[tuple[str, str, float, float]]:
        """Stop the profiler and return (lane, name, start, end), in seconds of any one clock."""
        raise NotImplementedError

    def _wait(self) -> None:
        """Wait until all devices are idle; errors of the block may surface here."""
        raise NotImplementedError

    def __enter__(self) -> Timeline:
        if Timeline._recording is not None:
            raise RuntimeError(
                "a Timeline is recording already, and there is one profiler a process: end its "
                "block before the next one begins"
            )
        self._start()
        Timeline._recording = self
        return self

    def __exit__(self, exception_type, exception, traceback) -> None:
        try:
            self._wait()
        except Exception:
            if exception_type is None:  # Else the block's own exception says more
                raise
        finally:
            Timeline._recording = None
            self._set_lanes(self._stop())

    def _set_lanes(self, events: Iterable[tuple[str, str, float, float]]) -> None:
        events = sorted(events, key=lambda event: event[2])
        zero = events[0][2] if events else 0.0
        lanes: dict[str, list[Span]] = {}
        for lane, name, start, end in events:
            lanes.setdefault(lane, []).append(Span(name, start - zero, end - zero))
        self.lanes = dict(sorted(lanes.items(), key=lambda item: _natural(item[0])))

    def _lane(self, lane: str) -> list[Span]:
        if lane not in self.lanes:
            raise KeyError(
                f"nothing was recorded on {lane!r}; the lanes are {list(self.lanes) or 'none'}"
            )
        return self.lanes[lane]

    def busy(self, lane: str) -> float:
        """Seconds in which at least one operator ran on the device. KeyError: no such lane."""
        return sum(end - start for start, end in _merge(self._lane(lane)))

    def overlap(self, lane_a: str, lane_b: str) -> float:
        """Seconds in which both devices were busy, over the busy seconds of the less busy one.

        1 means that the shorter work was hidden entirely behind the longer, 0 that they took
        turns, or that one did nothing that takes time. KeyError: no such lane.
        """
        a, b = _merge(self._lane(lane_a)), _merge(self._lane(lane_b))
        shorter = min(self.busy(lane_a), self.busy(lane_b))
        return _common_seconds(a, b) / shorter if shorter else 0.0

    def plot(self, ax=None):
        """Draw a Gantt chart with a lane a device on ``ax`` (default: a new figure); return it.

        A notebook that shows the figure also keeps the lanes, in the output's metadata, for pages
        that can zoom into them; see `Drawn`.
        """
        from matplotlib import pyplot as plt

        if ax is None:
            height = 0.9 + 0.4 * max(1, len(self.lanes))
            _, ax = plt.subplots(figsize=(7, height), layout="constrained")
        for row, spans in enumerate(self.lanes.values()):
            for copies, style in ((False, COMPUTE_STYLE), (True, COPY_STYLE)):
                chosen = [span for span in spans if span.is_copy == copies]
                if chosen:
                    bars = [(1e3 * s.start, 1e3 * (s.end - s.start)) for s in chosen]
                    ax.broken_barh(bars, (row - 0.35, 0.7), **BAR_STYLE, **style)
        ax.set_yticks(range(len(self.lanes)), list(self.lanes))
        ax.invert_yaxis()
        ax.set_xlabel("time (ms)" if self.lanes else "nothing was recorded")
        ax.spines[["top", "right"]].set_visible(False)
        handles = {label: bar for bar, label in zip(*ax.get_legend_handles_labels())}
        if handles:
            ax.legend(
                handles.values(), handles, ncol=2, frameon=False,
                loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.1,
            )  # fmt: skip
        if not isinstance(getattr(ax.figure, "_repr_mimebundle_", None), Drawn):
            ax.figure._repr_mimebundle_ = Drawn()
        ax.figure._repr_mimebundle_.charts.append((ax, self.lanes))
        return ax

    def save(self, path: str | os.PathLike) -> None:
        """Write the lanes as a Chrome trace, which https://ui.perfetto.dev opens."""
        events = []
        for pid, (lane, spans) in enumerate(self.lanes.items()):
            events.append({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": lane}})
            events += [
                {
                    "ph": "X", "pid": pid, "tid": 0, "name": s.name,
                    "cat": "copy" if s.is_copy else "compute",
                    "ts": s.start * 1e6, "dur": (s.end - s.start) * 1e6,
                }
                for s in spans
            ]  # fmt: skip
        text = json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})
        partial = Path(f"{os.fspath(path)}.part")
        try:
            partial.write_text(text)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


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

    def __init__(self):
        self.charts = []  # (axes, lanes)

    def __call__(self, include=None, exclude=None) -> tuple[dict, dict]:
        """Return no data, and the metadata, when IPython displays the figure."""
        spans = [span for _, lanes in self.charts for lane in lanes.values() for span in lane]
        lengths = sorted((span.end - span.start for span in spans), reverse=True)
        limit = lengths[MAX_SPANS] if len(spans) > MAX_SPANS else -1.0
        names = list(dict.fromkeys(s.name for s in spans if s.end - s.start > limit))
        index = {name: number for number, name in enumerate(names)}

        def text(lane):
            return " ".join(
                f"{index[s.name]} {s.start * 1e6:.0f} {(s.end - s.start) * 1e6:.0f}"
                for s in lane
                if s.end - s.start > limit
            )

        charts = [
            {
                "title": ax.get_title(loc="left") or ax.get_title(),
                "lanes": {device: text(lane) for device, lane in lanes.items()},
                **self._shared_end(ax),
                **_texts(ax),
            }
            for ax, lanes in self.charts
        ]
        data = {
            "names": names,
            "copies": [index[name] for name in names if Span(name, 0, 0).is_copy],
            "charts": charts,
            "left_out": sum(length <= limit for length in lengths),
        }
        return {}, {"d2l_local": data}

    def _shared_end(self, ax) -> dict:
        """Return the ``"end"`` of the charts that share the time axis of ``ax``, if any do."""
        shared = ax.get_shared_x_axes()
        together = [lanes for other, lanes in self.charts if shared.joined(ax, other)]
        ends = [span.end for lanes in together for lane in lanes.values() for span in lane]
        return {"end": round(max(ends) * 1e6)} if len(together) > 1 and ends else {}


def _texts(ax) -> dict:
    """Return the ``"texts"`` that stand in the lanes of a chart, if any do."""
    texts = [text for text in ax.texts if text.get_transform() == ax.transData]
    places = [text.get_position() for text in texts]
    written = [f"{y:g} {1e3 * x:.0f} {t.get_text()}" for t, (x, y) in zip(texts, places)]
    return {"texts": written} if written else {}


def _natural(lane: str) -> tuple[str, int, str]:
    kind, number, rest = re.fullmatch(r"(\D*)(\d*)(.*)", lane, re.DOTALL).groups()
    return kind, int(number or -1), rest


def _merge(spans: Iterable[Span]) -> list[tuple[float, float]]:
    """Disjoint intervals that cover the same time as ``spans`` (ordered by start)."""
    merged: list[tuple[float, float]] = []
    for _, start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _common_seconds(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> float:
    seconds, i, j = 0.0, 0, 0
    while i < len(a) and j < len(b):
        seconds += max(0.0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return seconds
