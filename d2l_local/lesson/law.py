"""The one law of the chapter: in turns, times add; at once, the longest counts."""

from __future__ import annotations

from d2l_local.base.language import columns, padded, say, translated

WIDTH = 12
BAR = 40


def law(section: str, measured: float, /, **parts: float) -> float:
    """Print a row of *the law so far*, and return the share of the time that is hidden.

    ``parts`` are the seconds of each part alone, by name (``**{"N t_q": …}`` for names that are no
    identifiers), ``measured`` those of all of them together. The share is (sum - measured) /
    (sum - longest): 0 where the parts take turns, 1 where all but the longest are hidden behind
    it. It is negative where the whole takes longer than the sum, and above 1 where it takes less
    than the longest part; the row then says 0% or 100%, and a line by how much. A bar shows where
    between its two ends the measured time lies. Prints milliseconds if the parts take less than a
    second in all, microseconds if they take less than a millisecond. Raises ValueError unless two
    parts or more take time.
    """
    longest, total = max(parts.values(), default=0.0), sum(parts.values())
    if not total > longest > 0:
        raise ValueError(f"the law needs two parts or more that take time, not {parts}")
    hidden = (total - measured) / (total - longest)
    heads = [translated(head) for head in ("longest", "measured", "sum", "hidden")]
    title, unit, digits = "The law so far (sec)", 1.0, 4
    if total < 1e-3:
        title, unit, digits = "The law so far (µs)", 1e6, 1
    elif total < 1:
        title, unit, digits = "The law so far (ms)", 1e3, 2
    percent = f"{min(max(hidden, 0), 1):.0%}"
    row = [*(f"{unit * t:.{digits}f}" for t in (longest, measured, total)), percent]
    print(padded(translated(title), 24) + "".join(map(_to_the_right, heads)))
    print(padded(section, 24) + "".join(map(_to_the_right, row)))
    print(f"  {_bar(1 - hidden)}")
    if measured > total:
        say("  beyond the sum by {more}", more=f"{unit * (measured - total):.{digits}f}")
    elif measured < longest:
        say("  below the longest by {less}", less=f"{unit * (longest - measured):.{digits}f}")
    named = "  ".join(f"{name} {unit * seconds:.{digits}f}" for name, seconds in parts.items())
    say("  parts: {parts}", parts=named)
    return hidden


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
