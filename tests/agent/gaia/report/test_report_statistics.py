"""Each figure of a report equals what brute force finds."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.gaia.report.statistics import mcnemar, pass_at_k, wilson

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


def test_of_nothing_every_share_is_possible():
    assert wilson(0, 0) == (0.0, 1.0)


@given(ATTEMPTS, st.data())
def test_pass_at_k_is_the_share_of_choices_with_a_right_one(attempts, data):
    k = data.draw(st.integers(1, len(attempts)))
    choices = list(combinations(attempts, k))
    assert pass_at_k(sum(attempts), len(attempts), k) == pytest.approx(sum(map(any, choices)) / len(choices))


@pytest.mark.parametrize(
    ("first", "second", "p"), [(0, 0, 1.0), (5, 5, 1.0), (0, 5, 0.0625), (0, 6, 0.03125), (1, 9, 0.021484375)]
)
def test_mcnemar_of_known_cases(first, second, p):
    assert mcnemar(first, second) == mcnemar(second, first) == p


def test_mcnemar_of_many_questions_does_not_overflow():
    assert 0 <= mcnemar(400, 900) < 1e-40
