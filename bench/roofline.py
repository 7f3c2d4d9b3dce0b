"""How far operators are from what their counts predict: the rows of both frameworks' benchmarks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from rows import Row


def ratios(
    d2l: Any,
    device: Any,
    n: int,
    product: Callable[[], object],
    one: Callable[[], object],
    others: Mapping[str, Callable[[], object]] = MappingProxyType({}),
) -> dict[str, float]:
    """Measured over predicted seconds of the section's eight operators on a device, by name.

    ``product()`` multiplies two matrices of n x n in float32, ``one()`` is an operation on a single
    number. As in the section on hardware, but the best of more rounds. ``others`` are programs that
    do the same as an operator, by its name: they follow, as "name, otherwise".
    """
    on_gpu = not str(device).startswith("cpu")
    b = 1024 if on_gpu else 64
    sizes = [2**i for i in range(14, 31 if on_gpu else 28)]
    rates = d2l.copy_rates(device, sizes)
    W = np.maximum.accumulate(rates[::-1])[::-1]
    t_q = d2l.device_times({"": one}, 9, number=100)[""]
    eight = dict(list(d2l.operators(device, b).items())[:8])
    jobs = {name: operator.run for name, operator in eight.items()}
    same = {f"{name}, otherwise": name for name in others}
    jobs |= {name: others[known] for name, known in same.items()}
    number = 50 if on_gpu else 5
    measured = d2l.device_times({**jobs, "product": product}, 15, number=number)
    P = 2 * n**3 / measured["product"]

    def predicted(operator: Any) -> float:
        _, inputs, weight, output = operator
        F = math.prod(output) * (2 * math.prod(weight[1:]) if weight else 1)
        shapes = [*inputs, output, *([weight] if weight else [])]
        moved = 4 * sum(map(math.prod, shapes))
        return t_q + max(F / P, moved / np.interp(moved, sizes, W))

    return {name: measured[name] / predicted(eight[same.get(name, name)]) for name in jobs}


def rows(where: str, found: dict[str, float]) -> list[Row]:
    """The rows of one device."""
    eight = dict(list(found.items())[:8])
    shown = ", ".join(f"{ratio:.2f}" for ratio in eight.values())
    best = {
        name: min(ratio, found.get(f"{name}, otherwise", ratio)) for name, ratio in eight.items()
    }
    return [
        Row(
            f"eight operators, {where}: measured / predicted, median",
            "1 is the bound",
            shown,
            statistics.median(eight.values()),
            at_least=0.8,
            at_most=1.25,
        ),
        *(
            Row(
                f"eight operators, {where}: measured / predicted, largest{how}",
                "1 is the bound",
                max(by_name, key=lambda name: by_name[name]),
                max(by_name.values()),
                at_most=2,
            )
            for how, by_name in {"": eight, ", each by the best program": best}.items()
            if how == "" or best != eight
        ),
    ]
