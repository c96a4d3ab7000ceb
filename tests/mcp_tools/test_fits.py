"""A quick yes is never wrong; whatever is not plain is left to jsonschema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from mcp_tools.library.arguments import surely_fits

PLAIN = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 5},
        "count": {"type": ["integer", "null"]},
        "sizes": {"type": "array", "items": {"type": "number"}},
        "next": {"anyOf": [{"const": "go"}, {"type": "object", "additionalProperties": {"type": "boolean"}}]},
        "kind": {"enum": ["a", "b"], "description": "One of two."},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "value",
    [
        {"name": "x"},
        {"name": "x", "count": None, "sizes": [1, 2.5], "next": "go", "kind": "a"},
        {"name": "x", "next": {"open": True}},
    ],
)
def test_plain_values_fit(value: Any) -> None:
    assert surely_fits(value, PLAIN)


_NAMES = st.sampled_from(["a", "b", "c"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2) | st.sampled_from(["", "a", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)
_KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object", "odd"])
_SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": _KINDS | st.lists(_KINDS, min_size=1, max_size=3, unique=True),
            "enum": st.lists(_VALUES, min_size=1, max_size=3),
            "const": _VALUES,
            "maxLength": st.integers(0, 2) | st.booleans(),
            "minimum": st.integers(-1, 1),
            "required": st.lists(_NAMES, max_size=2, unique=True),
            "description": st.just("words"),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": _KINDS,
            "properties": st.dictionaries(_NAMES, inner, max_size=2),
            "patternProperties": st.dictionaries(_NAMES, inner, max_size=1),
            "additionalProperties": inner | st.booleans(),
            "items": inner | st.booleans(),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=5,
)


@given(_VALUES, _SCHEMAS)
def test_a_yes_is_what_jsonschema_says_too(value: Any, schema: dict[str, Any]) -> None:
    if surely_fits(value, schema):
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError:
            return  # a part of it that this value does not touch
        assert Draft202012Validator(schema).is_valid(value), (value, schema)
