"""JSON in prose, and JSON held against a schema."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.json_text import NoJsonError, fitting_json, misfit, without_nulls

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
        ("", "not JSON"),
        ("I cannot.", "I cannot"),
        ('{"a": ', "not JSON"),
        ('{"b": 1}', "'a' is a required property"),
        ('{"a": NaN}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"a":' * 100_000, "not JSON"),
    ],
)
def test_not_found(text: str, told: str) -> None:
    with pytest.raises(NoJsonError, match=told):
        fitting_json(text, OBJECT)


def test_prose_full_of_brackets_costs_little() -> None:
    start = time.thread_time()
    with pytest.raises(NoJsonError):
        fitting_json("{[" * 500_000, OBJECT)
    assert time.thread_time() - start < 2


def test_the_misfit_names_its_place() -> None:
    schema = {"properties": {"steps": {"items": {"properties": {"n": {"type": "integer"}}}}}}
    assert misfit({"steps": [{"n": 1}, {"n": "x"}]}, schema) == "at steps[1].n: 'x' is not of type 'integer'"


def test_all_misfits_of_a_value_are_told_at_once() -> None:
    schema = {"properties": {"n": {"type": "integer"}}, "required": ["m"]}
    told = misfit({"n": "x"}, schema)
    assert told is not None
    assert sorted(told.split("; ")) == ["'m' is a required property", "at n: 'x' is not of type 'integer'"]


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


def test_only_nulls_that_stand_for_absence_are_taken_out() -> None:
    person = {
        "properties": {
            "name": {"type": "string"},
            "age": {"type": ["integer", "null"]},
            "home": {"$ref": "#/$defs/place"},
            "born": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
            "tags": {"type": "array"},
            "any": {},
        },
        "required": ["name", "tags"],
        "$defs": {"place": {"type": "string"}},
    }
    value = {"name": "A", **dict.fromkeys(("age", "home", "born", "tags", "any", "other"))}
    assert without_nulls(value, person) == {name: value[name] for name in value if name != "home"}


def test_a_text_that_is_a_little_long_fits() -> None:
    schema = {"type": "object", "properties": {"why": {"type": "string", "maxLength": 160}}, "required": ["why"]}
    assert misfit({"why": "x" * 173}, schema) is None
    assert misfit({"why": 3}, schema) is not None
