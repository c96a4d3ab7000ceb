"""The values of a question are found as it writes them, and recognised in arguments."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_tools.create.literals import (
    as_number,
    in_context,
    names_asked_for,
    numbers_of,
    question_values,
    stands_in,
    uncovered,
)

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
COVERED: list[tuple[str, dict[str, Any]]] = [
    ("1,2,3", {"values": [1, 2, 3]}),
    ("100,200,300", {"values": [100, 200, 300]}),
    ("1,000 apples", {"apples": 1000}),
    ("on 3 May 2021", {"day": "2021-05-03"}),
    ("at 10:30", {"hour": 10, "minute": 30}),
    ("at 9:30", {"time": "09:30"}),
    ("on 2024-01-05", {"year": 2024, "month": 1, "day": 5}),
    ("split 'a, b c'", {"words": ["a", "b", "c"]}),
    ("sort '3, 1, 2'", {"values": [3, 1, 2]}),
    ("from -5", {"start": -5}),
    ("minus -5", {"start": 5}),
    ("5.0 and 6.50", {"a": 5, "b": 6.5}),
    ("Tom is 34, Ida is 29", {"ages": {"Tom": 34, "Ida": 29}}),
    ("the keys '7' and '8'", {"keys": {"7": 1, "8": 2}}),
    ("0 and 1 stand in any code", {}),
    ("the last 5 of [4, 5, 6]", {"numbers": [4, 5, 6], "count": 5}),
    ("the two 5 of 4, 5 and 5", {"numbers": [4, 5, 5, 5]}),
    ("roll 3 dice; the sum of the 3 dice", {"dice": 3}),
    ("the first 5 of [4, 5], such as 5", {"numbers": [4, 5], "count": "5"}),
    ("reverse 10000000000000000000000000001", {"n": 10000000000000000000000000001}),
]
MISSING: list[tuple[str, dict[str, Any], list[str]]] = [
    ("5 and 6", {"a": 5}, ["6"]),
    ("is 'listen' there", {"a": "silent"}, ["listen"]),
    ("5 of a5b", {"text": "b"}, ["5"]),
    ("7 days", {"flag": True}, ["7"]),
    ("1,000", {"value": 100}, ["1,000"]),
    ("'a, z'", {"words": ["a", "b"]}, ["a, z"]),
    ("at 10:30", {"hour": 10}, ["10:30"]),
    ("the last 5 of [4, 5, 6]", {"numbers": [4, 5, 6]}, ["5"]),
    ("the 3rd of 'a3b', 3 times", {"text": "a3b"}, ["3"]),
]
KNOWN: list[tuple[Any, str, bool]] = [
    (57, "the fifty-seventh", True),
    (120, "one hundred twenty", True),
    (-5, "minus 5", True),
    (5.0, "5 apples", True),
    (1000, "1,000", True),
    ("2021-05-03", "3 May 2021", True),
    ({"Tom": 9}, "Tom and Ida", True),
    ("+", "a + b", True),
    (8, "7", False),
    (True, "true", False),
    ("sNaN", "1", False),
    (float("inf"), "7", False),
    (10**5000, "7", False),
    ([], "7", False),
]
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=8,
)
questions = st.text(st.one_of(st.characters(), st.sampled_from("0123456789,.'\"%-:`’“” ")), max_size=80)


@pytest.mark.parametrize(("question", "values"), VALUES, ids=[question for question, _ in VALUES])
def test_the_values_of_a_question(question: str, values: list[str]) -> None:
    assert question_values(question) == values


@pytest.mark.parametrize(("question", "arguments"), COVERED, ids=[question for question, _ in COVERED])
def test_values_that_arguments_hold(question: str, arguments: dict[str, Any]) -> None:
    assert uncovered(question, arguments) == []


@pytest.mark.parametrize(("question", "arguments", "missing"), MISSING, ids=[question for question, *_ in MISSING])
def test_values_that_no_argument_holds(question: str, arguments: dict[str, Any], missing: list[str]) -> None:
    assert uncovered(question, arguments) == missing


ASKED_FOR = [
    ("A-B, B-C. What is reached from A?", ["A"]),
    ("Ann paid 5, Bo 3. How much must Bo pay to Ann?", ["Bo", "Ann"]),
    ("A fee. To whom? I pay. Must I?", []),
    ("What lies in Rome?", []),
    ("from A-B to A", ["A"]),
]
CONTEXTS = [
    ("5", "What are the last 5 numbers of [4, 5]?", '5 ("are the last 5 numbers")'),
    ("2", "It costs 28 cents, rounded to 2 decimals", '2 ("rounded to 2 decimals")'),
    ("35", "loses 35% a day", '35 ("loses 35%")'),
    ("4", "[4, 5]", "4"),
    ("a.b", "the text a.b", 'a.b ("the text a.b")'),
    ("9", "nothing", "9"),
]


@pytest.mark.parametrize(("question", "names"), ASKED_FOR, ids=[question for question, _ in ASKED_FOR])
def test_names_that_a_question_asks_for(question: str, names: list[str]) -> None:
    assert names_asked_for(question, question) == names


@pytest.mark.parametrize(("value", "question", "shown"), CONTEXTS, ids=[question for _, question, _ in CONTEXTS])
def test_a_value_with_the_words_around_it(value: str, question: str, shown: str) -> None:
    assert in_context(value, question) == shown


@pytest.mark.parametrize(("value", "question", "known"), KNOWN, ids=range(len(KNOWN)))
def test_what_comes_from_the_question(value: Any, question: str, known: bool) -> None:
    assert stands_in(value, question) is known


@pytest.mark.parametrize("text", ["", "a", "nan", "sNaN", "Infinity", "1_000", "--1", "1,00", "1 2", "0x10"])
def test_what_is_no_number(text: str) -> None:
    assert as_number(text) is None


@given(st.decimals(-(10**9), 10**9, places=3))
def test_a_written_number_is_read_exactly(number: Decimal) -> None:
    assert as_number(f"{number:f}") == as_number(f"{number:,f}") == number
    assert abs(number) in numbers_of(f"it is {number:,f}.")


@given(questions, json_values)
def test_anything_goes_through(question: str, value: Any) -> None:
    stands_in(value, question)
    uncovered(question, {"value": value})


@given(questions)
@example("10000000000000000000000000001")
def test_all_values_of_a_question_as_arguments_cover_it(question: str) -> None:
    assert uncovered(question, {str(place): value for place, value in enumerate(question_values(question))}) == []


@pytest.mark.parametrize(
    "question",
    ["1," * 50_000, "'" * 100_000, "1" * 50_000, "'a" * 50_000, "‘a’b" * 20_000, "1,111" * 20_000, "a'b" * 50_000],
    ids=lambda question: question[:6],
)
def test_a_huge_question_takes_no_time(question: str) -> None:
    started = time.perf_counter()
    question_values(question)
    numbers_of(question)
    assert time.perf_counter() - started < 3
