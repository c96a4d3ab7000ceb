"""The quick look at a definition never passes what the linter refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.definition import lint, surely_sound

SOUND: dict[str, Any] = {
    "name": "double",
    "title": "Double",
    "description": "Return twice the number.\n\nAnd\tno more.",
    "inputSchema": {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "A number", "enum": [1, 2.5, None, "x"]}},
        "required": ["n"],
    },
    "outputSchema": {"type": "object", "properties": {"result": {"type": "integer"}}},
    "annotations": {"readOnlyHint": True},
}

TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(alphabet='ab\n\t"\\\x7f\x1b\u200b\u202e\ue000é$', max_size=12),
    st.sampled_from(["x" * 129, "x" * 8001, "a" * 201, "$ref", "https://example.com", "a\nb", 'say "so"', "\\"]),
)
PLACES = (
    ("name",),
    ("title",),
    ("description",),
    ("inputSchema", "type"),
    ("inputSchema", "properties", "n", "description"),
    ("inputSchema", "properties", "n", "enum", 3),
    ("inputSchema", "properties", "n", "$ref"),
    ("outputSchema", "type"),
)


def errors(definition: dict[str, Any]) -> list[Any]:
    return [flag for flag in lint(definition) if flag.severity == "error"]


def test_a_sound_definition_passes() -> None:
    assert surely_sound(SOUND)
    assert errors(SOUND) == []


@given(place=st.sampled_from(PLACES), text=TEXTS, as_key=st.booleans())
def test_what_passes_has_no_error(place: tuple[Any, ...], text: str, as_key: bool) -> None:
    definition = copy.deepcopy(SOUND)
    inner: Any = definition
    for step in place[:-1]:
        inner = inner[step]
    if as_key and isinstance(inner, dict):
        inner[text] = text
    else:
        inner[place[-1]] = text
    assert not surely_sound(definition) or errors(definition) == []


@pytest.mark.parametrize(
    "change",
    [
        {"name": 7},
        {"title": None},
        {"annotations": []},
        {"inputSchema": {"type": "array"}},
        {"outputSchema": None},
        {"inputSchema": {"type": "object", "default": float("nan")}},
        {"inputSchema": {"type": "object", "x": [[]] * 60}},
    ],
)
def test_a_strange_shape_is_left_to_the_linter(change: dict[str, Any]) -> None:
    assert not surely_sound({**SOUND, **change})
