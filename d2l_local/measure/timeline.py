"""What each device did when: lanes of operators, their overlap, a picture.

Nothing here knows a framework. A subclass says how to start and stop the framework's profiler and
hands over the spans it recorded.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from d2l_local.measure.drawn import (
    BAR_STYLE,
    STYLES,
    Drawn,
    draw_outlines,
    lane_label,
    style_of,
)  # fmt: skip
from d2l_local.measure.fonts import label
from d2l_local.measure.spans import Span, common_seconds, in_order, merge

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Timeline:
    """Records what every device does inside a ``with`` block.

    Work queued before the block is finished first, and the block ends when all devices are idle,
    so exactly the block's work is on record. Afterwards ``lanes`` maps each device that did
    something (``"cpu/0"``, ``"gpu/1"``) to its list of `Span`, ordered by start.

    A process has one profiler, so where it is the reader's already, the Timeline raises
    RuntimeError, and inside the block a second Timeline or another profiler does. If the block
    raises, the recording stops, ``lanes`` holds what ran until then, and the exception goes on. A
    block that computes nothing leaves ``lanes`` empty.
    """

    in_calls: frozenset[str] = frozenset()
    """Lanes of what runs inside of Python's own calls, rather than behind them."""

    _recording: Timeline | None = None
    _began = 0  # Nanoseconds since the epoch

    def __init__(self, lanes: Mapping[str, Iterable[tuple[str, float, float]]] | None = None):
        """``lanes`` (device to (name, start, end)s, in any order) of an earlier recording.

        ValueError: a start or an end is no number.
        """
        self.lanes = {lane: [Span(*s) for s in spans] for lane, spans in (lanes or {}).items()}
        for lane, spans in self.lanes.items():
            for span in spans:
                if not (math.isfinite(span.start) and math.isfinite(span.end)):
                    raise ValueError(f"{lane}: the times of {span!r} must be finite")
            spans.sort(key=lambda span: span.start)
        self._added: list[tuple[str, str, float, float]] = []

    @classmethod
    def of(cls, fn: Callable[[], object]) -> Timeline:
        """Record one call of ``fn()``, after a call that is not recorded, and return the Timeline.

        The first call of anything also loads, allocates and traces, which is another question.
        """
        fn()
        with cls() as timeline:
            fn()
        return timeline

    def _start(self) -> None:
        """Wait until all devices are idle and start the framework's profiler."""
        raise NotImplementedError

    def _stop(self) -> Iterable[tuple[str, str, float, float]]:
        """Stop the profiler and return (lane, name, start, end), in seconds since `_began`."""
        raise NotImplementedError

    def _wait(self) -> None:
        """Wait until all devices are idle; errors of the block may surface here."""
        raise NotImplementedError

    def __enter__(self) -> Timeline:
        if Timeline._recording is not None:
            raise RuntimeError(
                "a Timeline is recording already, and there is one profiler a process: end it "
                "before the next one begins"
            )
        self._added = []
        self._began = time.time_ns()
        self._start()
        Timeline._recording = self
        return self

    def __exit__(self, exception_type: object, exception: object, traceback: object) -> None:
        try:
            self._wait()
        except Exception:
            if exception_type is None:  # Else the block's own exception says more
                raise
        finally:
            Timeline._recording = None
            self._set_lanes([*self._stop(), *self._added])

    @contextlib.contextmanager
    def span(self, lane: str, name: str) -> Iterator[None]:
        """Put what a block does, on any thread, on a lane of its own: ``span("Python", "make")``.

        Within the recording, for what the framework's profiler does not see, such as Python's own
        work. Lanes of devices are the profiler's.
        """
        start = time.time_ns()
        try:
            yield
        finally:
            self.add(lane, name, start, time.time_ns())

    def add(self, lane: str, name: str, start: int, end: int) -> None:
        """Put a span on a lane of its own, as `span` does; times in nanoseconds since the epoch."""
        self._added.append((lane, name, (start - self._began) / 1e9, (end - self._began) / 1e9))

    def _set_lanes(self, events: Iterable[tuple[str, str, float, float]]) -> None:
        events = sorted(events, key=lambda event: event[2])
        zero = events[0][2] if events else 0.0
        lanes: dict[str, list[Span]] = {}
        for lane, name, start, end in events:
            lanes.setdefault(lane, []).append(Span(name, start - zero, end - zero))
        self.lanes = dict(sorted(lanes.items(), key=lambda item: in_order(item[0])))

    def _lane(self, lane: str) -> list[Span]:
        if lane not in self.lanes:
            raise KeyError(
                f"nothing was recorded on {lane!r}; the lanes are {list(self.lanes) or 'none'}"
            )
        return self.lanes[lane]

    @property
    def seconds(self) -> float:
        """From the start of the first operator to the end of the last one; 0 without any."""
        spans = [span for lane in self.lanes.values() for span in lane]
        return max((s.end for s in spans), default=0.0) - min((s.start for s in spans), default=0.0)

    def busy(self, lane: str) -> float:
        """Seconds in which at least one operator ran on the device. KeyError: no such lane."""
        return sum(end - start for start, end in merge(self._lane(lane)))

    def idle(self, *lanes: str) -> float:
        """Share of `seconds` in which a lane does nothing, averaged over ``lanes``.

        KeyError: no such lane. ValueError: no lane is named.
        """
        if not lanes:
            raise ValueError("idle: name the lanes")
        busy = sum(self.busy(lane) for lane in lanes) / len(lanes)
        return 1 - busy / self.seconds if self.seconds else 0.0

    def overlap(self, lane_a: str, lane_b: str) -> float:
        """Seconds in which both devices were busy, over the busy seconds of the less busy one.

        1 means that the shorter work was hidden entirely behind the longer, 0 that they took
        turns, or that one did nothing that takes time. KeyError: no such lane.
        """
        a, b = merge(self._lane(lane_a)), merge(self._lane(lane_b))
        shorter = min(self.busy(lane_a), self.busy(lane_b))
        return common_seconds(a, b) / shorter if shorter else 0.0

    def mean(self, begin: str) -> float:
        """Seconds of a span, averaged over those of all lanes whose name begins so.

        ValueError: there is none.
        """
        spans = [s for lane in self.lanes.values() for s in lane if s.name.startswith(begin)]
        if not spans:
            raise ValueError(f"no span's name begins with {begin!r}")
        return sum(span.end - span.start for span in spans) / len(spans)

    def plot(self, ax: Axes | None = None, predicted: Timeline | None = None) -> Axes:
        """Draw a Gantt chart with a lane per device on ``ax`` (default: a new figure); return it.

        The spans of a ``predicted`` Timeline (`d2l_local.simulate.schedule`) are drawn over it as
        outlines, and their names on the recorded spans that are called the same, else on
        themselves. KeyError if it has a lane that was not recorded.

        A notebook that shows the figure also keeps the lanes, in the output's metadata, for pages
        that can zoom into them; see `Drawn`.
        """
        from matplotlib import pyplot as plt

        outlines = predicted.lanes if predicted else {}
        for lane in outlines:
            self._lane(lane)
        if ax is None:
            height = 0.9 + 0.4 * max(1, len(self.lanes))
            _, ax = plt.subplots(figsize=(7, height), layout="constrained")
        for row, (lane, spans) in enumerate(self.lanes.items()):
            for style in STYLES:
                chosen = [span for span in spans if style_of(lane, span) is style]
                if chosen:
                    bars = [(1e3 * s.start, 1e3 * (s.end - s.start)) for s in chosen]
                    look: dict[str, Any] = {**BAR_STYLE, **style, "label": label(style["label"])}
                    ax.broken_barh(bars, (row - 0.35, 0.7), **look)
        for lane, spans in outlines.items():
            draw_outlines(ax, list(self.lanes).index(lane), spans, self.lanes[lane])
        ax.set_yticks(range(len(self.lanes)), [lane_label(lane) for lane in self.lanes])
        ax.invert_yaxis()
        ax.set_xlabel(label("time (ms)" if self.lanes else "nothing was recorded"))
        ax.spines[["top", "right"]].set_visible(False)
        handles = {name: bar for bar, name in zip(*ax.get_legend_handles_labels())}
        if handles:
            ax.legend(
                handles.values(), handles, ncol=4, frameon=False,
                loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.1,
            )  # fmt: skip
        figure: Any = ax.figure  # Whose types do not know what IPython asks it for
        if not isinstance(getattr(figure, "_repr_mimebundle_", None), Drawn):
            figure._repr_mimebundle_ = Drawn()
        figure._repr_mimebundle_.charts.append((ax, self.lanes, outlines))
        return ax


@contextlib.contextmanager
def on_record(lane: str, name: str) -> Iterator[None]:
    """Put what a block does on a lane of the Timeline that is recording, if one is.

    A program names its parts so once, for whoever may look: ``with on_record("input", "load"):``,
    or the same as the decorator of a function. See `Timeline.span`.
    """
    recording = Timeline._recording
    with recording.span(lane, name) if recording else contextlib.nullcontext():
        yield
