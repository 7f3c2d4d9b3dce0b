"""The rows of the benchmarks' table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Row:
    """A line of the table: two figures, the one to judge, and what it should reach."""

    what: str
    other: str
    ours: str
    figure: float | None  # None: not measured, and ``other`` says why
    at_least: float | None = None
    at_most: float | None = None

    def cells(self) -> list[str]:
        bounds = {">=": self.at_least, "<=": self.at_most}
        bound = ", ".join(f"{sign} {to:g}" for sign, to in bounds.items() if to is not None)
        if self.figure is None:
            return [self.what, self.other, self.ours, "", bound, "skipped"]
        reached = (self.at_least is None or self.figure >= self.at_least) and (
            self.at_most is None or self.figure <= self.at_most
        )
        verdict = "yes" if reached else "NO"
        return [self.what, self.other, self.ours, f"{self.figure:.2f}", bound, verdict]


def table(rows: list[Row]) -> str:
    head = ["what", "instead", "ours", "figure", "to reach", "reached"]
    lines = [head] + [row.cells() for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines
    )
