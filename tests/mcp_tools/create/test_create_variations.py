"""Other arguments of the same shape, always the same ones."""

from __future__ import annotations

import datetime
import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.create.variations import variations, vary

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.dates().map(str),
    st.times().map(lambda t: f"{t:%H:%M}"),
)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=8,
)
argument_sets = st.dictionaries(st.from_regex("[a-z]{1,5}", fullmatch=True), json_values, max_size=4)


def same_shape(one: Any, other: Any) -> bool:
    """Types agree everywhere; lists may be shorter."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_shape(one[key], other[key]) for key in one)
    return not isinstance(one, list) or all(map(same_shape, one, other))


@given(argument_sets)
def test_variations_differ_and_have_the_shape_of_the_original(arguments: dict[str, Any]) -> None:
    before = json.dumps(arguments)
    found = variations(arguments)
    assert json.dumps(arguments) == before
    assert len(found) <= 4
    assert all(other != arguments and same_shape(arguments, other) for other in found)
    assert all(one not in found[:i] for i, one in enumerate(found))
    json.dumps(found, allow_nan=False)


@given(argument_sets, st.integers(0, 9))
def test_the_same_seed_gives_the_same_variations(arguments: dict[str, Any], seed: int) -> None:
    assert variations(arguments, seed=seed) == variations(arguments, seed=seed)


@given(st.integers(), st.integers(1, 6))
def test_an_integer_always_varies(value: int, count: int) -> None:
    found = variations({"n": value}, count=count)
    assert found
    assert len(found) <= count


def test_nothing_varies_without_arguments() -> None:
    assert variations({}) == []


def test_the_first_ones_change_one_parameter_each_and_one_changes_all() -> None:
    arguments = {"a": 100, "b": 200, "c": 300}
    changed = [[name for name in arguments if found[name] != arguments[name]] for found in variations(arguments)]
    assert sorted(map(len, changed)) == [1, 1, 1, 3]


@given(st.dates())
def test_a_date_becomes_a_date(day: datetime.date) -> None:
    datetime.date.fromisoformat(vary(day.isoformat(), Random(0)))


@pytest.mark.parametrize("text", ["9999-12-31", "0001-01-01", "2024-13-45", "20240105", "2024-W01-1", "25:99"])
def test_what_hardly_is_a_date_or_time_makes_no_trouble(text: str) -> None:
    for seed in range(8):
        assert len(vary(text, Random(seed))) in {len(text), 5}


@pytest.mark.parametrize("value", [0.0, 1e-6, 1e308, 0.07, -2.5])
def test_a_float_varies_and_stays_finite(value: float) -> None:
    found = [vary(value, Random(seed)) for seed in range(20)]
    assert any(other != value for other in found)
    assert all(abs(other) < float("inf") for other in found)
