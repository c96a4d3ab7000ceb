"""What several epochs of the same questions say: pass@k, pass^k, and the vote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import comb

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
