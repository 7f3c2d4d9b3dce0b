"""What arguments must be, said once: the value is returned, or a ValueError says what it was."""

from __future__ import annotations

import contextlib
import math
import numbers
import operator

MOST_DEVICES = 4096  # More than any machine has; far more would take all of its memory


def integer(value: object) -> int | None:
    """An integer of any type as an int; None for all else, such as True, 256.0 and "256"."""
    if not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            return operator.index(value)  # type: ignore[arg-type]  # Which raises it for others
    return None


def positive_integer(name: str, value: object) -> int:
    """``value`` as an int. ValueError, with ``name`` and the value, unless it is 1, 2, 3, …"""
    number = integer(value)
    if number is None or number < 1:
        raise ValueError(f"{name} must be a positive integer, not {value!r}")
    return number


def positive_number(name: str, value: object) -> float:
    """``value`` as a float. ValueError, with ``name`` and the value, unless it is 0 < x < inf."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            if 0 < (number := float(value)) < math.inf:
                return number
    raise ValueError(f"{name} must be a positive number, not {value!r}")


def index(name: str, value: object, count: int) -> int:
    """``value`` as an int. ValueError, with ``name`` and the value, unless 0 <= it < ``count``."""
    number = integer(value)
    if number is None or not 0 <= number < count:
        raise ValueError(f"{name} must be one of the integers 0 to {count - 1}, not {value!r}")
    return number


def number_of_devices(value: object) -> int:
    """``value`` as an int. ValueError, with the value, unless it is 1 to `MOST_DEVICES`."""
    number = positive_integer("the number of devices", value)
    if number > MOST_DEVICES:
        raise ValueError(f"the number of devices must be at most {MOST_DEVICES}, not {value!r}")
    return number


def index_of_device(value: object) -> int:
    """``value`` as an int. ValueError, with the value, unless it is less than `MOST_DEVICES`."""
    number = integer(value)
    if number is None or number < 0:
        raise ValueError(f"the index of a device must be 0, 1, 2, …, not {value!r}")
    if number >= MOST_DEVICES:
        raise ValueError(f"the index of a device must be less than {MOST_DEVICES}, not {value!r}")
    return number
