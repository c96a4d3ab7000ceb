"""Forms made from the inputSchema of a tool."""

from __future__ import annotations

from typing import Any

import pytest

from agent.page.form import MOST, arguments_of, fields_of
from mcp_tools.errors import ArgumentsError

PROPERTIES: dict[str, Any] = {
    "n": {"type": "integer", "minimum": 1, "description": "How many."},
    "name": {"type": "string", "default": "Ada", "maxLength": 9},
    "way": {"enum": ["up", "down", 3]},
    "deep": {"type": "boolean", "default": False},
    "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    "points": {"type": "array", "items": {"type": "number"}},
    "place": {"$ref": "#/$defs/Place"},
    "any": {},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": PROPERTIES,
    "required": ["n", "way", "points"],
    "$defs": {"Place": {"type": "object", "description": "A place."}},
}


def test_each_parameter_has_a_field_with_its_type_limits_default_and_choices() -> None:
    fields = fields_of(SCHEMA)
    assert fields is not None
    assert [(one.name, one.about, one.default, one.choices) for one in fields] == [
        ("n", "integer, required, at least 1 — How many.", "", ()),
        ("name", "string, optional, at most this many characters: 9", "Ada", ()),
        ("way", "integer or number or string, required", '"up"', ('"up"', '"down"', "3")),
        ("deep", "boolean, optional", "false", ("true", "false")),
        ("note", "string, optional", "", ()),
        ("points", "array, required", "", ()),
        ("place", "object, optional — A place.", "", ()),
        ("any", "any JSON value, optional", "", ()),
    ]


@pytest.mark.parametrize(
    ("filled", "arguments"),
    [
        pytest.param({}, {"n": 2, "name": "Ada", "way": "up", "deep": False, "points": [1.5]}, id="as it was"),
        pytest.param({"way": "3", "deep": "true"}, {"way": 3, "deep": True}, id="choices"),
        pytest.param({"name": "", "note": " 12 "}, {"name": "", "note": " 12 "}, id="texts are taken as they are"),
        pytest.param({"deep": ""}, {"deep": None}, id="left out"),
        pytest.param({"place": '{"x": 1}', "any": '"é"'}, {"place": {"x": 1}, "any": "é"}, id="JSON"),
        pytest.param({"n": "9007199254740993"}, {"n": 9007199254740993}, id="a number that no float holds"),
    ],
)
def test_a_filled_form_gives_arguments(filled: dict[str, str], arguments: dict[str, Any]) -> None:
    fields = fields_of(SCHEMA) or []
    typed = {one.name: one.default for one in fields} | {"n": "2", "points": "[1.5]"} | filled
    found = arguments_of(fields, list(typed.values()))
    assert {name: found.get(name) for name in arguments} == arguments


def test_texts_that_do_not_fit_are_all_named() -> None:
    fields = fields_of(SCHEMA) or []
    texts = ["", "Ada", "3", "NaN", None, "[1, 2", "[" * 100_000, "word"]
    with pytest.raises(ArgumentsError) as told:
        arguments_of(fields, texts)
    lines = told.value.message.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["n", "deep:", "points:", "place:", "any:"]
    assert "'[1, 2' is not valid JSON, such as [1, 2]" in lines[2]
    assert 'write a text as "text"' in lines[4]


@pytest.mark.parametrize(
    "schema",
    [{}, {"properties": []}, {"properties": {f"p{number}": {} for number in range(MOST + 1)}}, {"required": 3}],
    ids=["anything", "damaged", "too many", "damaged too"],
)
def test_what_no_form_has_is_asked_for_as_one_object(schema: dict[str, Any]) -> None:
    assert fields_of(schema) is None


def test_a_tool_without_parameters_has_an_empty_form() -> None:
    assert fields_of({"properties": {}, "additionalProperties": False}) == []
