"""The one law of the chapter: in turns, times add; at once, the longest counts."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from d2l_local.base.language import columns, padded, say, translated, wrapped
from d2l_local.measure.charts import axes
from d2l_local.measure.fonts import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 12
BAR = 40
COLUMNS = 95  # Of small letters, that fit into the width of a picture


def law(section: str, measured: float, /, **parts: float) -> float:
    """Print a row of *the law so far*, and return the share of the time that is hidden.

    ``parts`` are the seconds of each part alone, by name (``**{"N t_q": …}`` for names that are no
    identifiers), ``measured`` those of all of them together. The share is (sum - measured) /
    (sum - longest): 0 where the parts take turns, 1 where all but the longest are hidden behind
    it. It is negative where the whole takes longer than the sum, and above 1 where it takes less
    than the longest part; the row then says 0% or 100%, and a line by how much. Where between its
    two ends the measured time lies, a notebook shows in a picture below the row, and else a bar
    does. Prints milliseconds if the parts take less than a second in all, microseconds if they take
    less than a millisecond. Raises ValueError unless two parts or more take time.
    """
    longest, total = max(parts.values(), default=0.0), sum(parts.values())
    if not total > longest > 0:
        raise ValueError(f"the law needs two parts or more that take time, not {parts}")
    hidden = (total - measured) / (total - longest)
    heads = [translated(head) for head in ("longest", "measured", "sum", "hidden")]
    title, time, unit, digits = "The law so far (sec)", "time (s)", 1.0, 4
    if total < 1e-3:
        title, time, unit, digits = "The law so far (µs)", "time (µs)", 1e6, 1
    elif total < 1:
        title, time, unit, digits = "The law so far (ms)", "time (ms)", 1e3, 2
    percent = f"{min(max(hidden, 0), 1):.0%}"
    row = [*(f"{unit * t:.{digits}f}" for t in (longest, measured, total)), percent]
    print(padded(translated(title), 24) + "".join(map(_to_the_right, heads)))
    print(padded(section, 24) + "".join(map(_to_the_right, row)))
    drawn = _in_notebook()
    if not drawn:
        print(f"  {_bar(1 - hidden)}")
    if measured > total:
        say("  beyond the sum by {more}", more=f"{unit * (measured - total):.{digits}f}")
    elif measured < longest:
        say("  below the longest by {less}", less=f"{unit * (longest - measured):.{digits}f}")
    named = "  ".join(f"{name} {unit * seconds:.{digits}f}" for name, seconds in parts.items())
    say("  parts: {parts}", parts=named)
    if drawn:
        told = translated("{name}: {share} hidden", name=section, share=percent)
        scaled = {name: unit * seconds for name, seconds in parts.items()}
        _show(picture(told, label(time), unit * measured, scaled, digits).figure, told)
    return hidden


def picture(
    title: str, xlabel: str, measured: float, parts: Mapping[str, float], digits: int
) -> Axes:
    """Draw a row of the law: the parts one after the other, the longest first, and what they took.

    Times are in the unit of ``xlabel``, and told in so many ``digits``. What was measured is a dot,
    between two lines if the law holds: one where the longest part ends, one where the last does.
    """
    longest, total = max(parts.values()), sum(parts.values())
    right = 1.35 * max(total, measured)  # Leaves room for what is written there
    ax = axes(title, xlabel, "", size=(7, 1.6))
    left, outside = 0.0, []
    for name, time in sorted(parts.items(), key=lambda part: -part[1]):
        ax.barh(1, time, left=left, height=0.8)
        room = int(COLUMNS * time / right)
        lines = wrapped(name, room).split("\n")
        if len(lines) <= 2 and max(map(columns, lines)) <= room:
            inside = ax.text(left + time / 2, 1, "\n".join(lines), color="white", fontsize=9)
            inside.set(ha="center", va="center")
        else:
            outside.append(name)
        left += time
    ax.plot([longest, total], [0, 0], "|-", color="0.5", markersize=14)
    ax.plot([measured], [0], "o", color=ax.xaxis.label.get_color(), markersize=8)
    told = f"{translated('measured')} {measured:.{digits}f}"
    for row, text in ((0, told), (1, wrapped(translated("; ").join(outside), 25))):
        beside = (max(total, measured), row)
        ax.annotate(text, beside, (12, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set(xlim=(0, right), ylim=(-0.6, 1.6), yticks=[])
    ends = {translated("longest"): longest, translated("sum"): total}
    ax.set_xticks([*ends.values()], [f"{name} {at:.{digits}f}" for name, at in ends.items()])
    for tick, side in zip(ax.get_xticklabels(), ("right", "left")):
        tick.set(ha=side)
    return ax


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this, whose front end can show a picture."""
    ipython = sys.modules.get("IPython")
    return hasattr(ipython and ipython.get_ipython(), "kernel")


def _show(figure: Any, text: str) -> None:
    """Show a picture now, and not when the cell ends, whatever shows the reader's own."""
    from IPython.display import display
    from matplotlib import pyplot as plt

    png = io.BytesIO()
    figure.savefig(png, format="png")
    plt.close(figure)
    data = {"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": text}
    display(data, raw=True)


def _bar(place: float) -> str:
    """Draw the range of the law, from the longest part (0) to the sum (1), and a place on it."""
    line = ["─"] * BAR
    before = after = ""
    dot = round(place * (BAR - 1))
    if dot < 0:
        before = "● "
    elif dot >= BAR:
        after = " ●"
    else:
        line[dot] = "●"
    return f"{before}{translated('longest')} ├{''.join(line)}┤ {translated('sum')}{after}"


def _to_the_right(text: str) -> str:
    return " " * (WIDTH - columns(text)) + text
