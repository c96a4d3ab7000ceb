"""Tests when two results are the same answer."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.create.interfaces import TrialCall
from mcp_tools.create.same_answer import agree, answer_key

SAME: list[tuple[Any, ...]] = [
    (12, 12.0, "12", "12.0", " 12. ", "12.00"),
    (365435296162, "365435296162", 365435296162.0, "365,435,296,162"),
    (354224848179261915075, "354224848179261915075"),
    (10**20, 1e20, str(10**20)),
    (0.3, 0.1 + 0.2, "0.3", ".3"),
    (0, -0.0, "0"),
    (1234.5, "1,234.50", "$1,234.50"),
    (-5, "-5", "−5", "-$5"),
    ([2, 1], "2, 1", "[2, 1]", "(2, 1)", "2\n1", "2 and 1", ["2", "1"]),
    (["a b", "c"], "['a b', 'c']", "a b, c"),
    ("Sunday", "sunday.", " 'Sunday' ", "SUNDAY"),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "{'b': 2, 'a': 1}", "a: 1, b: 2"),
    ({"average": 35.5}, 35.5, "35.5"),
    (True, "True", "yes", "Yes."),
    (False, "false", "No"),
    (None, "None"),
]
DIFFERENT: list[tuple[Any, Any]] = [
    (365435296162, 365435296163),
    ("365435296162", "365435296163"),
    (1234567890.5, 1234567890.25),
    (0.5, ".5x"),
    (".5", "5"),
    ([1, 2], [2, 1]),
    ([1, 23], [12, 3]),
    ("Sunday", "Monday"),
    ({"a": 1, "b": 2}, {"x": 1, "y": 2}),
    ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
    ("()()", "(())"),
    (".-", "-"),
    ("-.", "-"),
    (True, 1),
    (0, False),
    (0.1, 0.1000001),
    ("1e999", 10**300),
]
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=8,
)


def test_a_number_may_be_written_down_rounded_to_two_decimals_whose_zeros_do_not_survive() -> None:
    assert agree(100.0000038, 100.0)
    assert agree(540.1989, 540.2)
    assert agree(1.909127332e-07, 1.90913e-07)
    assert not agree(1.909127332e-07, 1.90914e-07)
    assert not agree(1.909127332e-07, 1.9e-07)
    assert agree(1.8450817e22, 1.84508e22)
    assert not agree(540.206, 540.2)
    assert not agree(0.004, 0.0)
    assert not agree(100.0000038, 100)


@pytest.mark.parametrize("values", SAME, ids=lambda values: str(values[0]))
def test_the_same_answer(values: tuple[Any, ...]) -> None:
    assert {answer_key(value) for value in values} == {answer_key(values[0])}


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=str)
def test_different_answers(one: Any, other: Any) -> None:
    assert answer_key(one) != answer_key(other)


@given(json_values)
def test_nothing_raises_and_the_same_value_is_the_same_answer(value: Any) -> None:
    assert answer_key(value) == answer_key(value)


@pytest.mark.parametrize(
    "value",
    [
        10**6000,
        "9" * 10_000,
        " " * 200_000 + "x",
        "[" * 10_000 + "]" * 10_000,
        "['\\d']",
        "and " * 50_000,
        ",\n" * 50_000,
    ],
    ids=["huge", "huge text", "blanks", "brackets", "escape", "ands", "separators"],
)
def test_extreme_values_take_no_time(value: Any) -> None:
    started = time.process_time()
    answer_key(value)
    assert time.process_time() - started < 5


def test_calls_differ_by_the_order_of_names_in_a_dict() -> None:
    formula = TrialCall({"counts": {"C": 1, "H": 2}, "unit": "g"})
    assert formula.key != TrialCall({"counts": {"H": 2, "C": 1}, "unit": "g"}).key
    assert formula.key == TrialCall({"unit": "g", "counts": {"C": 1, "H": 2}}).key
