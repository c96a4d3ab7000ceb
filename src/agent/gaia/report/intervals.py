"""How far a share may be off: Wilson's interval."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


class Interval(NamedTuple):
    """The shares that fit what was seen, from 0 to 1."""

    low: float
    high: float


def wilson(right: float, of: int, *, z: float = Z95) -> Interval:
    """Wilson's score interval without continuity correction.

    Args:
        right: How many were right; a fraction where several epochs of one question count as one.
        of: How many there were.
        z: The normal quantile.

    Returns:
        Both ends; of nothing, every share is possible.

    Raises:
        ValueError: More were right than there were, or fewer than none.

    Wilson 1927, as in Brown, Cai and DasGupta 2001, equation 4.
    """
    if not 0 <= right <= of:
        raise ValueError(f"{right} of {of} cannot be right")
    if of == 0:
        return Interval(0.0, 1.0)
    share = right / of
    square = z * z / of
    middle = share + square / 2
    half = z * sqrt(share * (1 - share) / of + square / (4 * of))
    low, high = (middle - half) / (1 + square), (middle + half) / (1 + square)
    return Interval(0.0 if right == 0 else max(0.0, low), 1.0 if right == of else min(1.0, high))
