"""Variations of arguments keep their shape and are repeatable."""

from __future__ import annotations

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


@pytest.mark.parametrize("text", ["9999-12-31", "0001-01-01", "2024-13-45", "20240105", "2024-W01-1", "25:99"])
def test_what_hardly_is_a_date_or_time_makes_no_trouble(text: str) -> None:
    for seed in range(8):
        assert len(vary(text, Random(seed))) in {len(text), 5}
