"""The values of a question are found as it writes them, and recognised in arguments."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.library.particulars import as_number, located_values, quoted_in


def question_values(question):
    return list(dict.fromkeys(value.text for value in located_values(question)))


VALUES: list[tuple[str, list[str]]] = [
    ("What is the 57th Fibonacci number?", ["57"]),
    ("the 1st, 2nd, 3rd of 4", ["1", "2", "3", "4"]),
    ("How many vowels are in 'encyclopedia'?", ["encyclopedia"]),
    ('Is "a b" longer than `c`, “d” or ‘e’?', ["a b", "c", "d", "e"]),
    ("Bob's and Ann's ages are 3 and 4", ["3", "4"]),
    ("the Joneses' house and 'x'", ["x"]),
    ("the word 'don't' of Bob's", ["don't"]),
    ("reverse ‘it’s’", ["it’s"]),
    ("number '42' in quotes and 7", ["42", "7"]),
    ("1,000, 2,000 and 12,345.67", ["1,000", "2,000", "12,345.67"]),
    ("of 1,2,3", ["1", "2", "3"]),
    ("points (3,4) and (1.5,-2.5)", ["3", "4", "1.5", "-2.5"]),
    ("from -7 to −3", ["-7", "−3"]),
    ("pages 3-5", ["3", "5"]),
    ("at 5% and 12.5%.", ["5", "12.5"]),
    ("2.5kg over 10km for $1,250.00", ["2.5", "10", "1,250.00"]),
    (".5 of it", [".5"]),
    ("between 2024-01-05 and 2024-03-01T10:30", ["2024-01-05", "2024-03-01T10:30"]),
    ("from 9:05 to 10:30:15", ["9:05", "10:30:15"]),
    ("7 and 7 and 7", ["7"]),
    ("x2 and a4", []),
    ("Nothing here", []),
    ("", []),
]
questions = st.text(st.one_of(st.characters(), st.sampled_from("0123456789,.'\"%-:`’“” ")), max_size=80)


@pytest.mark.parametrize(("question", "values"), VALUES, ids=[question for question, _ in VALUES])
def test_the_values_of_a_question(question: str, values: list[str]) -> None:
    assert question_values(question) == values


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('How many "a" are in «banana»?', ["a", "banana"]),
        ('Read `{"city": "Kell"}`', ['{"city": "Kell"}', "city", "Kell"]),
        ("an 11\" pipe\nof 'black iron' in \"Ada's\" shop", ["pipe\nof 'black iron' in", "black iron", "Ada's"]),
        ("„eins“, ”two” and Bob's", ["eins", "two"]),
    ],
    ids=["two", "in code", "by lines", "other marks"],
)
def test_what_is_quoted_is_found_in_code_and_behind_a_mark_that_closes_nothing(text: str, found: list[str]) -> None:
    assert quoted_in(text) == found


@given(st.decimals(-(10**9), 10**9, places=3))
def test_a_written_number_is_read_exactly(number: Decimal) -> None:
    assert as_number(f"{number:f}") == as_number(f"{number:,f}") == number


@given(questions)
def test_any_question_has_values_that_stand_in_it(question: str) -> None:
    assert all(value in question for value in question_values(question))


@pytest.mark.parametrize(
    "question",
    ["1," * 50_000, "'" * 100_000, "1" * 50_000, "'a" * 50_000, "‘a’b" * 20_000, "1,111" * 20_000, "a'b" * 50_000],
    ids=lambda question: question[:6],
)
def test_a_huge_question_takes_no_time(question: str) -> None:
    started = time.process_time()
    question_values(question)
    assert time.process_time() - started < 5
