"""Statistics: confidence intervals, paired comparison, and pass@k."""

from __future__ import annotations

from fractions import Fraction
from math import comb, sqrt
from typing import NamedTuple

Z95 = 1.959963984540054
"""Normal quantile for a two-sided 95 % interval."""


class Interval(NamedTuple):
    """An interval of shares from 0 to 1."""

    low: float
    high: float


def wilson(right: float, of: int) -> Interval:
    """Return Wilson's 95 % score interval, without continuity correction. With `of` 0 it is 0 to 1.

    Wilson 1927, as in Brown, Cai and DasGupta 2001, equation 4. `right` may be a fraction, since several epochs of a
    question count as one observation.
    """
    if of == 0:
        return Interval(0.0, 1.0)
    share, square = right / of, Z95 * Z95 / of
    middle = share + square / 2
    half = Z95 * sqrt(share * (1 - share) / of + square / (4 * of))
    low, high = (middle - half) / (1 + square), (middle + half) / (1 + square)
    return Interval(0.0 if right == 0 else max(0.0, low), 1.0 if right == of else min(1.0, high))


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the two-sided p-value of McNemar's exact test; 1 if the runs agree on every question.

    This is the probability of a split at least as uneven if both runs were equally likely to win each question that
    only one answered correctly: a binomial test with p = 1/2 (Fay 2010, "Two-sided exact tests").
    """
    split = only_first + only_second
    tail = sum(comb(split, k) for k in range(min(only_first, only_second) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**split)))


def pass_at_k(right: int, of: int, k: int) -> float:
    """Return the unbiased estimate of the probability that at least one of `k` attempts is right.

    Chen et al. 2021, "Evaluating large language models trained on code", equation 1: the share of all choices of `k`
    out of `of` attempts that include a right one.
    """
    return 1.0 - comb(of - right, k) / comb(of, k)
