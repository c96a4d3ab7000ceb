"""The answer that a result gives, in the form that the model asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.answering.answer_format import answer_of, checked_schema, problem_of
from agent.state import Ending, Step


def done(value: Any, form: str) -> Step:
    return Step(number=1, action="use_tool", input="f()", ok=True, finding="f() = …", value=value, ending=Ending(form))


@pytest.mark.parametrize(
    ("form", "value", "answer"),
    [
        ("{}", 42, "42"),
        ("{}", [3, 5, 8], "3, 5, 8"),
        ("{:.2f}", 12.3456, "12.35"),
        ("{:,.0f} crowns", 1234567.8, "1,234,568 crowns"),
        ("{:.1f}", "0.25\n", "0.2"),
        ("{[total]} km", {"total": 12.5, "legs": 3}, "12.5 km"),
        ("{0[total]:.2f} km in {0[legs]}", {"total": 12.5, "legs": 3}, "12.50 km in 3"),
        ("{[total]} km", "{'total': 12.5, 'legs': (1, 2)}\n", "12.5 km"),
        ("{[7]}", "{7: 'seven'}", "seven"),
        ("{[0][total]:.1f} km", '[{"total": 12.25, "open": true}]', "12.2 km"),
        ("{total} km", {"total": 12.5, "legs": 3}, "12.5 km"),
        ("{:json}", {"a": [True, None]}, '{"a": [true, null]}'),
        ("{[rows][0][name]}, {[rows][-1][name]}", {"rows": [{"name": "Ann"}, {"name": "Bo"}]}, "Ann, Bo"),
        ("{{{}}}", 4, "{4}"),
        ("", 42, ""),
    ],
)
def test_a_result_in_the_form_that_was_asked_for(form: str, value: Any, answer: str) -> None:
    assert problem_of(form) == "" or not form
    assert answer_of(done(value, form), "How much?") == answer


def test_a_failed_step_gives_no_answer() -> None:
    assert answer_of(done(None, "{}"), "How much?") == ""
    assert answer_of(done(4, "{}") | {"ok": False}, "How much?") == ""


@pytest.mark.parametrize(
    ("form", "value", "why"),
    [
        ("{[sum]}", {"total": 4}, r"no \[sum\]"),
        ("{[a]}", "{'a': b'text'}", r"no \[a\]"),
        ("{:.2f}", "none", "has no format"),
        ("{:.1f}", [1, 2], "has no format"),
        ("{:.2f}", 10**400, "has no format"),
    ],
)
def test_a_result_without_what_the_form_names_gives_none(form: str, value: Any, why: str) -> None:
    assert problem_of(form) == ""
    with pytest.raises(ValueError, match=why):
        answer_of(done(value, form), "How much?")


@pytest.mark.parametrize(
    "form", ["true", "42", "{", "{1}", "{1x}", "{.__class__}", "{[a].b}", "{!r}", "{:{}}", "{:9999999}", "{:>99999d}"]
)
def test_a_form_that_says_no_answer_is_refused(form: str) -> None:
    assert problem_of(form).startswith("final_answer ")


def test_a_schema_may_contain_other_schemas_and_values_that_look_like_references() -> None:
    place = {"$id": "https://example.org/place", "properties": {"town": {"$ref": "#/$defs/name"}}}
    schema = {
        "$id": "https://example.org/person",
        "properties": {"home": {"$ref": "https://example.org/place"}, "link": {"enum": [{"$ref": "nowhere"}]}},
        "$defs": {"place": {**place, "$defs": {"name": {"type": "string"}}}},
    }
    assert checked_schema(json.dumps(schema), "schema.json") == schema
