"""Intervals of shares, paired comparisons, and what repeated attempts say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from math import comb, sqrt
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


def mcnemar(only_first: int, only_second: int) -> float:
    """The two-sided p-value of McNemar's exact test.

    Args:
        only_first: Questions that the first run alone got right.
        only_second: Questions that the second run alone got right.

    Returns:
        The chance of a split at least as uneven, if each of these questions were as likely to fall to either run: the
        binomial test with one half (Fay 2010, "Two-sided exact tests"). 1 when no question is split.

    Raises:
        ValueError: A count is negative.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError(f"{min(only_first, only_second)} questions")
    split = only_first + only_second
    ways, tail = 1, 0
    for k in range(min(only_first, only_second) + 1):
        tail += ways
        ways = ways * (split - k) // (k + 1)  # from C(split, k) to C(split, k + 1)
    return float(min(Fraction(1), Fraction(2 * tail, 2**split)))


_NUMBER = re.compile(r"[$€£]?\s*([-+]?[$€£]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|[-+]?\.\d+)\s*%?")
"""A number as people write it: with thousands in groups, a currency or a per cent sign."""


def pass_at_k(right: int, of: int, k: int) -> float:
    """The chance that at least one of `k` attempts is right, unbiased, from `of` attempts of one question.

    Chen et al. 2021, "Evaluating large language models trained on code", equation 1: of all choices of k among
    the attempts, the share that holds a right one.

    Raises:
        ValueError: There are fewer attempts than `k`.
    """
    _check(right, of, k)
    return 1.0 - comb(of - right, k) / comb(of, k)


def pass_hat_k(right: int, of: int, k: int) -> float:
    """The chance that all of `k` attempts are right, unbiased, from `of` attempts of one question.

    Yao et al. 2024, "tau-bench": of all choices of k among the attempts, the share in which each is right.

    Raises:
        ValueError: There are fewer attempts than `k`.
    """
    _check(right, of, k)
    return comb(right, k) / comb(of, k)


def voted(answers: Sequence[str]) -> int | None:
    """The place of the answer that the vote chooses; it never sees the truth.

    The answer given most often wins, written as it was the first time. Of answers given equally often the one that
    came first wins. An empty answer has no vote.

    Returns:
        A place in `answers`, or None when all are empty.
    """
    ballots: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        if form := ballot(answer):
            ballots.setdefault(form, []).append(place)
    if not ballots:
        return None
    return max(ballots.values(), key=lambda places: (len(places), -places[0]))[0]


def ballot(answer: str) -> str:
    """The form in which two answers are one: numbers by value, other texts without regard to case and spaces."""
    number = _NUMBER.fullmatch(answer.strip())
    if number is None:
        return " ".join(answer.casefold().split()).rstrip(".")
    value = float(re.sub(r"[$€£,]", "", number[1]))
    return repr(value + 0.0)


def shown_ks(epochs: int) -> list[int]:
    """The k that a report shows: all up to 4, then powers of two, and the number of epochs."""
    powers = (2**exponent for exponent in range(3, 31))
    return sorted({k for k in (1, 2, 3, 4, *powers, epochs) if k <= epochs})


def _check(right: int, of: int, k: int) -> None:
    if not (0 <= right <= of and 1 <= k <= of):
        raise ValueError(f"no choice of {k} among {of} attempts, {right} of them right")
