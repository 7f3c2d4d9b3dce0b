"""The rows that a benchmark prints, each as soon as it is measured."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass
class Row:
    """What is measured, what else one would use, the figure to judge, and what it should reach."""

    what: str
    other: str
    ours: str
    figure: float | None  # None: not measured, and ``other`` says why
    at_least: float | None = None
    at_most: float | None = None

    def __str__(self) -> str:
        if self.figure is None:
            return f"{self.what}: skipped, {self.other}"
        bounds = {">=": self.at_least, "<=": self.at_most}
        bound = ", ".join(f"{sign} {to:g}" for sign, to in bounds.items() if to is not None)
        judged = f" ({bound}: {'yes' if self.reached() else 'NO'})" if bound else ""
        shown = {"instead": self.other, "here": self.ours}
        details = "; ".join(f"{name} {text}" for name, text in shown.items() if text)
        return f"{self.what}: {self.figure:.2f}{judged}" + (f"\n    {details}" if details else "")

    def reached(self) -> bool:
        assert self.figure is not None
        return (self.at_least is None or self.figure >= self.at_least) and (
            self.at_most is None or self.figure <= self.at_most
        )


Rows = Callable[[], Iterable[Row]]


def report(
    all_rows: Iterable[Rows],
    names: list[str],
    takes: str,
    lacking: Mapping[Rows, str] = MappingProxyType({}),
) -> None:
    """Measure the rows of these names, by default all, and print each as soon as it is known.

    First it says how long all of them take, where. What is ``lacking`` here says why, and is
    skipped; what fails says why, and the rest is measured. SystemExit: there are no rows of a name,
    or some have failed.
    """
    known = {rows.__name__: rows for rows in all_rows}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no row {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [*(names or known)]
    for name in [name for name in chosen if known[name] in lacking]:
        print(f"{name}: skipped, {lacking[known[name]]}")
        chosen.remove(name)
    print(f"{', '.join(chosen)} ({', '.join(known)} take {takes})", flush=True)
    failed: list[str] = []
    for name in chosen:
        start = time.monotonic()
        try:
            for row in known[name]():
                print(row, flush=True)
        except (RuntimeError, TimeoutError) as error:  # Of a process that it has started
            failed.append(name)
            print(f"{name}: failed, {error}", flush=True)
        print(f"    {name} took {(time.monotonic() - start) / 60:.1f} minutes", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
