"""Whether two runs differ on the same questions: McNemar's exact test."""

from __future__ import annotations

from fractions import Fraction


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
