"""A question's template matches the same question with other values, and no other question."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.library.question_template import arguments_for, question_record

SAME: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("What is the 57th Fibonacci number?", {"n": 57}, "what is the 61st  Fibonacci number", {"n": 61}),
    (
        "How many Mondays are from 2024-01-01 to 2024-02-01?",
        {"start": "2024-01-01", "end": "2024-02-01"},
        "How many Mondays are from 2031-05-01 to 2031-05-09?",
        {"start": "2031-05-01", "end": "2031-05-09"},
    ),
    (
        "What is the mean of 3, 4, 5 and 9.5 above 2?",
        {"xs": [3, 4, 5, 9.5], "least": 2.0},
        "What is the mean of 1, 2, 7 above 6?",
        {"xs": [1, 2, 7], "least": 6.0},
    ),
    ("Reverse 'abc'.", {"text": "abc"}, 'Reverse "x y".', {"text": "x y"}),
    (
        "Roll two dice with 6 sides. What is the chance of 7, such as 5/36?",
        {"dice": 2, "sides": 6, "total": 7},
        "Roll two dice with 8 sides. What is the chance of 9, such as 5/36?",
        {"dice": 2, "sides": 8, "total": 9},
    ),
]


@pytest.mark.parametrize(("question", "arguments", "other", "expected"), SAME, ids=[row[0][:20] for row in SAME])
def test_the_same_question_with_other_values_gives_other_arguments(question, arguments, other, expected) -> None:
    kept = question_record(question, arguments)
    assert arguments_for(question, kept) == arguments
    assert arguments_for(other, kept) == expected


@pytest.mark.parametrize(
    "other",
    [
        "What is the 57th prime number?",
        "What is not the 57th Fibonacci number?",
        "What is the 57th and 58th Fibonacci number?",
        "What is the 'x'th Fibonacci number?",
        "",
    ],
)
def test_another_question_is_not_taken_for_the_same(other: str) -> None:
    assert arguments_for(other, question_record("What is the 57th Fibonacci number?", {"n": 57})) is None


def test_a_value_that_may_stand_in_the_code_must_be_the_same() -> None:
    kept = question_record("A card has 16 digits. What is the sum of the first 5?", {"count": 5})
    assert arguments_for("A card has 16 digits. What is the sum of the first 7?", kept) == {"count": 7}
    assert arguments_for("A card has 12 digits. What is the sum of the first 7?", kept) is None


@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        ("Add 5 and 5.", {"a": 5, "b": 5}),  # which 5 is which
        ("What is 6.5 % of 80?", {"rate": 0.065, "amount": 80}),  # no value as the question writes it
        ("Is 7 a prime?", {"n": 7, "strict": True}),
        ("Count it.", {"x": None}),
        ("Count 3 things", {"x": "unsaid"}),
        ("How far is (0, 4) from (7, 1)?", {"one": [0, 4], "other": {"x": 7, "y": 1}}),
    ],
)
def test_what_cannot_be_told_apart_is_not_remembered(question: str, arguments: dict[str, Any]) -> None:
    assert question_record(question, arguments) is None


@given(st.integers(-(10**12), 10**12), st.integers(2, 10**12), st.lists(st.integers(0, 999), min_size=3, max_size=8))
def test_numbers_come_back_as_they_were(first: int, second: int, row: list[int]) -> None:
    question = "From {} take {} things, then add {} to it."
    kept = question_record(question.format(-1, -2, "5, 6, 7"), {"a": -1, "b": -2, "row": [5, 6, 7]})
    assert arguments_for(question.format(first, second, ", ".join(map(str, row))), kept) == {
        "a": first,
        "b": second,
        "row": row,
    }


@pytest.mark.parametrize(
    ("final", "kept"),
    [
        ("{}", "{}"),
        ("T = {[kelvin]:.2f} K", "T = {[kelvin]:.2f} K"),
        ("", ""),
        ("{} at 11 km", ""),
        ("{[0]}, {[1]}", ""),
    ],
)
def test_the_form_of_the_answer_is_kept_where_it_fits_other_values(final: str, kept: str) -> None:
    record = question_record("How warm is it at a height of 11 km?", {"height": 11}, final)
    assert record is not None
    assert record["final"] == kept
