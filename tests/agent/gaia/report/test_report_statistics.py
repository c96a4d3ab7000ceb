"""Each figure of a report equals what brute force finds."""

from __future__ import annotations

from itertools import combinations
from math import comb, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.gaia.report.statistics import Z95, mcnemar, pass_at_k, wilson

ATTEMPTS = st.lists(st.booleans(), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
    ],
)
def test_wilson_gives_the_published_intervals(right, of, low, high):
    assert wilson(right, of) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_ends_of_wilson_are_where_the_score_test_just_fails(counts):
    """Each end solves |p - share| = z sqrt(p (1 - p) / n)."""
    right, of = counts
    for end in wilson(right, of):
        assert 0 <= end <= 1
        assert abs(end - right / of) == pytest.approx(Z95 * sqrt(end * (1 - end) / of), abs=1e-9)


def test_of_nothing_every_share_is_possible():
    assert wilson(0, 0) == (0.0, 1.0)


@given(ATTEMPTS, st.data())
def test_pass_at_k_is_the_share_of_choices_with_a_right_one(attempts, data):
    k = data.draw(st.integers(1, len(attempts)))
    choices = list(combinations(attempts, k))
    assert pass_at_k(sum(attempts), len(attempts), k) == pytest.approx(sum(map(any, choices)) / len(choices))


@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_is_the_binomial_test_with_one_half(first, second):
    """All outcomes that are at most as likely as the one seen."""
    split = first + second
    likelihood = [comb(split, k) for k in range(split + 1)]
    as_extreme = sum(weight for weight in likelihood if weight <= comb(split, first))
    assert mcnemar(first, second) == pytest.approx(as_extreme / 2**split, rel=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "p"), [(0, 0, 1.0), (5, 5, 1.0), (0, 5, 0.0625), (0, 6, 0.03125), (1, 9, 0.021484375)]
)
def test_mcnemar_of_known_cases(first, second, p):
    assert mcnemar(first, second) == mcnemar(second, first) == p


def test_mcnemar_of_many_questions_does_not_overflow():
    assert 0 <= mcnemar(3_000, 5_000) < 1e-100
