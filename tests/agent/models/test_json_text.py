"""JSON in prose, and strict schemas."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.json_text import NoJsonError, fitting_json, misfit, strict_schema, without_nulls

ANY: dict[str, Any] = {}
OBJECT = {"type": "object", "required": ["a"]}


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ('{"a": 1}', OBJECT, {"a": 1}),
        ('  \n{"a": 1}\n', OBJECT, {"a": 1}),
        ('Here: {"a": 1}. Good?', OBJECT, {"a": 1}),
        ('The set {1, 2} gives {"b": 2} or {"a": {"b": 2}}', OBJECT, {"a": {"b": 2}}),
        ('```json\n{"a": "```"}\n```', OBJECT, {"a": "```"}),
        ('```\n{"a": 1}\n```\nand\n```\n{"a": 2}\n```', OBJECT, {"a": 1}),
        ('{"a": [1, 2,], }', OBJECT, {"a": [1, 2]}),
        ('{"a": "x,}"}', OBJECT, {"a": "x,}"}),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ("5", {"type": "integer"}, 5),
        ("null", ANY, None),
    ],
)
def test_found(text: str, schema: dict[str, Any], value: Any) -> None:
    assert fitting_json(text, schema) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no JSON"),
        ("I cannot.", "I cannot"),
        ('{"a": ', "no JSON"),
        ('{"b": 1}', "'a' is a required property"),
        ('{"a": NaN}', "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"a":' * 100_000, "no JSON"),
    ],
)
def test_not_found(text: str, told: str) -> None:
    with pytest.raises(NoJsonError, match=told):
        fitting_json(text, OBJECT)


def test_prose_full_of_brackets_costs_little() -> None:
    start = time.monotonic()
    with pytest.raises(NoJsonError):
        fitting_json("{[" * 500_000, OBJECT)
    assert time.monotonic() - start < 2


def test_the_misfit_names_its_place() -> None:
    schema = {"properties": {"steps": {"items": {"properties": {"n": {"type": "integer"}}}}}}
    assert misfit({"steps": [{"n": 1}, {"n": "x"}]}, schema) == "at steps[1].n: 'x' is not of type 'integer'"


def test_a_reference_elsewhere_is_never_fetched() -> None:
    with pytest.raises(Exception, match=r"127\.0\.0\.1"):
        misfit(1, {"$ref": "http://127.0.0.1:9/schema.json"})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_any_value_is_found_again(value: Any) -> None:
    import json

    assert fitting_json(json.dumps(value), ANY) == value


PERSON = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "default": "x"},
        "age": {"type": ["integer", "null"]},
        "home": {"$ref": "#/$defs/place"},
        "tags": {"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "integer"}]}},
    },
    "required": ["name"],
    "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


def test_strict_form() -> None:
    assert strict_schema(PERSON) == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": ["integer", "null"]},
            "home": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
            "tags": {
                "anyOf": [
                    {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
                    {"type": "null"},
                ]
            },
        },
        "required": ["name", "age", "home", "tags"],
        "additionalProperties": False,
        "$defs": {
            "place": {
                "type": "object",
                "properties": {"city": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                "required": ["city"],
                "additionalProperties": False,
            }
        },
    }


def test_the_original_schema_stays_as_it_was() -> None:
    import copy

    before = copy.deepcopy(PERSON)
    strict_schema(PERSON)
    assert before == PERSON


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": True}},
        {"type": "array"},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"allOf": [{"type": "object"}]},
        {"type": "object", "patternProperties": {"x": {}}, "properties": {}},
    ],
)
def test_what_cannot_be_said_strictly(schema: dict[str, Any]) -> None:
    assert strict_schema(schema) is None


def test_only_added_nulls_are_taken_out() -> None:
    value = {"name": "A", "age": None, "home": {"city": None}, "tags": None}
    assert without_nulls(value, PERSON) == {"name": "A", "age": None, "home": {}}


def test_a_reference_to_itself_ends() -> None:
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert without_nulls({"x": None}, loop) == {"x": None}


def test_a_comma_inside_of_a_text_is_none_too_many() -> None:
    assert fitting_json('{"a": "x, ] y",}', OBJECT) == {"a": "x, ] y"}


def test_a_text_that_is_a_little_long_fits() -> None:
    schema = {"type": "object", "properties": {"why": {"type": "string", "maxLength": 160}}, "required": ["why"]}
    assert misfit({"why": "x" * 173}, schema) is None
    assert misfit({"why": 3}, schema) is not None


def test_a_default_is_said_where_null_stands_for_it() -> None:
    radius = {"type": "number", "description": "Above 0.", "default": 6371.0}
    closed = strict_schema({"type": "object", "properties": {"radius": radius}})
    assert closed is not None
    assert closed["properties"]["radius"]["anyOf"][0]["description"] == "Above 0. Null means 6371.0."


def test_null_that_is_a_value_of_its_own_stands_for_no_default() -> None:
    limit = {"type": ["integer", "null"], "description": "At most.", "default": 5}
    closed = strict_schema({"type": "object", "properties": {"limit": limit}})
    assert closed is not None
    assert closed["properties"]["limit"]["description"] == "At most."
