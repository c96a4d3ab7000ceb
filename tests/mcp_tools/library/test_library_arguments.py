"""Arguments and results are validated, with messages that say what to change."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from library_tools import make_tool

from mcp_tools.errors import ArgumentsError
from mcp_tools.library.arguments import read_arguments, validate_arguments, validate_result

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 1},
        "names": {"type": "array", "items": {"type": "string"}},
        "unit": {"enum": ["km", "miles"]},
        "point": {
            "type": "object",
            "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
            "required": ["x", "y"],
        },
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["count", "names"],
    "additionalProperties": False,
}
GOOD = {"count": 2, "names": ["a"], "unit": "km", "point": {"x": 1, "y": 2.5}, "maybe": None}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"count": "2"}, "count: '2' is not a whole number"),
        ({"count": 2.5}, "count: 2.5 is not a whole number"),
        ({"count": True}, "count: True is not a whole number"),
        ({"count": 0}, "count: 0 is less than the minimum of 1"),
        ({"names": ["a", 3]}, "names[1]: 3 is not a string"),
        ({"unit": "m"}, "unit: 'm' is not one of 'km', 'miles'"),
        ({"unit": "m" * 5000}, "mmm' is not one of 'km', 'miles'"),
        ({"point": {"x": 1}}, "point: the key 'y' is missing"),
        ({"maybe": []}, "maybe: [] is not "),
        ({"nmes": []}, "there is no parameter 'nmes'"),
    ],
)
def test_a_misfit_is_named_with_its_place_and_what_is_expected(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentsError) as caught:
        validate_arguments("tool", SCHEMA, GOOD | change)
    assert says in caught.value.message
    assert "count: integer, names: array of string, unit?: one of" in caught.value.remedy


def test_all_misfits_are_told_at_once_but_not_endlessly() -> None:
    with pytest.raises(ArgumentsError) as caught:
        validate_arguments("tool", SCHEMA, {"unit": 1, "other": 2})
    assert all(name in caught.value.message for name in ("count", "names", "other", "unit"))
    with pytest.raises(ArgumentsError) as caught:
        validate_arguments("tool", SCHEMA, {"count": 1, "names": list(range(1000))})
    assert len(caught.value.message.splitlines()) == 10
    assert "and 992 more" in caught.value.message


def _of(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "additionalProperties": False, **more}


_REFERENCE = {"$ref": "#/$defs/d0"}
_TWICE = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)} | {"d30": {"type": "null"}}


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        (_of({"type": "string", "pattern": "^(a+)+$"}), "a" * 28 + "!", ""),
        (_of({"type": "object", "patternProperties": {"^(a+)+$": {}}}), {"a" * 28 + "!": 1}, ""),
        (_of({"type": "array", "uniqueItems": True}), [{"a": n} for n in range(3_000)], ""),
        (_of({"type": "array", "uniqueItems": True}), [*({"a": n} for n in range(3_000)), {"a": 5.0}], "non-unique"),
        (_of({"type": "array", "uniqueItems": True}), [True, 1, *range(2, 90)], ""),
        (_of({"type": "array", "items": {"enum": [*range(6_000)]}}), [5_999] * 500, ""),
        (_of({"type": "array", "items": {"enum": [*range(100)]}}), [True], "not one of"),
        (_of({"type": "array", "items": {"type": "integer"}}), ["a"] * 30_000, "and at least 1992 more"),
        (_of({"anyOf": [{"type": "array", "items": {"type": "integer"}}] * 2}), ["a"] * 50_000, "is not array of"),
        (_of(_REFERENCE, **{"$defs": _TWICE}), 1, "refers to itself too often"),
    ],
    ids=["pattern", "patterns of names", "a set", "not a set", "true is not 1", "many choices", "true is no choice",
         "many misfits", "many misfits of branches", "references that double"],
)  # fmt: skip
def test_no_schema_and_no_value_take_for_ever(schema: dict[str, Any], value: Any, says: str) -> None:
    begun, message = time.monotonic(), ""
    try:
        validate_arguments("tool", schema, read_arguments("tool", schema, {"x": value}))
    except ArgumentsError as misfit:
        message = misfit.message
    assert says in message if says else not message
    assert time.monotonic() - begun < 8


def test_a_result_is_held_against_the_output_schema() -> None:
    assert validate_result(make_tool(), 5) == []
    assert validate_result(make_tool(), "5") == ["result: '5' is not a whole number"]


def test_a_reference_to_elsewhere_is_never_fetched() -> None:
    schema = {"type": "object", "properties": {"n": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    with pytest.raises(ArgumentsError, match="schema"):
        validate_arguments("tool", schema, {"n": 1})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
ALMOST = st.fixed_dictionaries({}, optional=dict.fromkeys(SCHEMA["properties"], JSON))


@given(ALMOST | st.dictionaries(st.text(), JSON), JSON)
@settings(deadline=None)
def test_whatever_does_not_fit_is_described(arguments: dict[str, Any], value: Any) -> None:
    if jsonschema.Draft202012Validator(SCHEMA).is_valid(arguments):
        validate_arguments("tool", SCHEMA, arguments)
    else:
        with pytest.raises(ArgumentsError) as caught:
            validate_arguments("tool", SCHEMA, arguments)
        assert all(len(line) < 600 for line in caught.value.message.splitlines() if line.isprintable())
    assert isinstance(validate_result(make_tool(), value), list)


@given(st.dictionaries(st.sampled_from(["type", "properties", "required", "items", "enum", "anyOf", "pattern"]), JSON))
@example({"required": [[]]})
@settings(deadline=None, max_examples=50)
def test_any_schema_of_a_file_gives_a_message(schema: dict[str, Any]) -> None:
    with contextlib.suppress(ArgumentsError):
        validate_arguments("tool", schema, {"n": 1})
