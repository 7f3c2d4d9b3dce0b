"""Whether the outputs of a cell in two languages, which are two runs of it, agree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from book.builder.check.problem import HINT, Problem
from book.builder.check.untranslated import printed
from book.builder.notebook import Cell, measures
from book.builder.page import Page
from d2l_local.machine.facts import in_words

APART = 1.5  # A number that is more times as large as its twin is told
POINTS = 0.1  # Shares that are less apart say the same, however small one of them is
NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.,])[-+−]?\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[-+]?\d+)?%?(?![A-Za-z0-9_])"
)


def agree(page: Page) -> Iterator[Problem]:
    """What a cell measured is near what it measured for the original, on machines alike."""
    original = page.original.committed if page.original else None
    if page.committed is None or original is None or page.original is None:
        return
    for cell, twin in zip(page.committed.code, original.code):
        same = cell.order == twin.order and measures(cell) and of_machines_alike(cell, twin)
        if found := apart(printed(twin), printed(cell)) if same else []:
            one, other = max(found, key=lambda pair: ratio(*pair))
            what = f"cell {cell.id}: {other} here, and {one} in {page.original.lang}"
            yield Problem(page.where, what, HINT, "cells that two runs tell differently")


def of_machines_alike(one: Cell, other: Cell) -> bool:
    """Whether two cells were executed, on machines that are described alike."""
    runs = [cell.run for cell in (one, other) if cell.run]
    return len(runs) == 2 and in_words(runs[0]["machine"]) == in_words(runs[1]["machine"])


def apart(one: str, other: str) -> list[tuple[str, str]]:
    """Return the numbers of two texts, line by line in pairs, that are too far apart.

    A line whose twin has more numbers or fewer is not compared. Another language may have others
    of a line's numbers first: those that are the same need no order.
    """
    lines = one.splitlines(), other.splitlines()
    found: list[tuple[str, str]] = []
    for left, right in zip(*lines) if len(lines[0]) == len(lines[1]) else [(one, other)]:
        numbers = NUMBER.findall(left), NUMBER.findall(right)
        if len(numbers[0]) == len(numbers[1]):
            orders = [zip(*numbers), zip(*_without_the_same(*numbers))]
            pairs = [[(one, other) for one, other in order if far(one, other)] for order in orders]
            fewest = min(pairs, key=len)
            found += fewest
    return found


def _without_the_same(one: list[str], other: list[str]) -> tuple[list[str], list[str]]:
    left, right = list(one), list(other)
    for number in one:
        if number in right:
            left.remove(number)
            right.remove(number)
    return left, right


def far(one: str, other: str) -> bool:
    """Whether two printed numbers are further apart than `APART`, and not by being rounded."""
    if max(_digits(one), _digits(other)) < 2:
        return False
    if one.endswith("%") and other.endswith("%") and abs(_value(one) - _value(other)) < POINTS:
        return False
    return ratio(one, other) > APART


def ratio(one: str, other: str) -> float:
    """Return how many times one number is at least the other; 1 if one of them is zero."""
    small, large = sorted((one, other), key=lambda number: abs(_value(number)))
    if not _value(small):
        return 1.0
    if _value(small) * _value(large) < 0:
        return float("inf")
    least = abs(_value(large)) - _half(large), abs(_value(small)) + _half(small)
    return max(1.0, least[0] / least[1])


def _value(number: str) -> float:
    plain = number.replace(",", "").replace("−", "-")
    return float(plain.rstrip("%")) / (100 if plain.endswith("%") else 1)


def _digits(number: str) -> int:
    """Return how many digits a number is printed with, leading zeros aside."""
    return len(re.sub(r"\D", "", number.split("e")[0]).lstrip("0"))


def _half(number: str) -> float:
    """Return half of a number's last digit: by so much it may have been rounded."""
    mantissa, _, exponent = number.rstrip("%").partition("e")
    places = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - places) / (100 if number.endswith("%") else 1)
