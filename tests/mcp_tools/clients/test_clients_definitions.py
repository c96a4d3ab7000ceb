"""Definitions of strangers: valid unique names, no hidden characters, bounded plain schemas."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.clients.definitions import listing_of, plain_schema, prefix_of, public_name, suspicions_of
from mcp_tools.library.arguments import surely_fits

VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@given(st.text(min_size=1, max_size=100), st.text(min_size=1, max_size=100))
def test_every_name_is_valid_and_tells_its_server(server: str, tool: str) -> None:
    name = public_name(server, tool)
    assert VALID.fullmatch(name)
    assert name.startswith(prefix_of(server))


@given(st.lists(st.tuples(st.text(max_size=70), st.text(max_size=70)), unique=True, min_size=2, max_size=2))
def test_different_tools_have_different_names(pairs: list[tuple[str, str]]) -> None:
    (a, b), (c, d) = pairs
    if f"{a}__{b}" != f"{c}__{d}" and "." not in f"{a}{b}{c}{d}":
        assert public_name(a, b) != public_name(c, d)


def named(**more: Any) -> dict[str, Any]:
    return {"name": "t", "description": "Fine.", "inputSchema": {"type": "object"}, **more}


HIDDEN = {
    "zero width in the description": named(description="Ni\u200bce."),
    "tag characters": named(description="Nice.\U000e0041"),
    "escape": named(description="\x1b[31mRed."),
    "in a parameter's name": named(inputSchema={"type": "object", "properties": {"a\u202eb": {}}}),
    "in an enum": named(inputSchema={"type": "object", "properties": {"a": {"enum": ["x\u2066"]}}}),
    "in the name": named(name="t\u200b"),
}


@pytest.mark.parametrize("definition", HIDDEN.values(), ids=HIDDEN.keys())
def test_a_definition_with_hidden_characters_is_left_out_and_told(definition: dict[str, Any]) -> None:
    listing = listing_of("s", [definition, named(name="good")], 10)
    assert [tool.name for tool in listing.tools] == ["s__good"]
    (note,) = listing.notes
    assert note.startswith("the tool s__t")
    assert " of the server s is ignored: " in note
    assert note.isprintable()


def test_honest_definitions_stay() -> None:
    told = named(description="Größe in 日本 👩\u200d💻.\r\nZweite Zeile.", title="Größe")
    (tool,) = listing_of("s", [told], 10).tools
    assert tool.description.startswith("Größe in 日本")
    assert suspicions_of(told) == []


def test_long_descriptions_are_cut_and_doubles_and_too_many_are_left_out() -> None:
    many = [named(description="x" * 5000), named(), *(named(name=f"n{i}") for i in range(9))]
    listing = listing_of("s", many, 5)
    assert len(listing.tools[0].description) == 600
    assert len(listing.tools) == 4
    assert "lists the tool s__t twice" in listing.notes[0]
    assert "more than 5 tools" in listing.notes[1]


def test_a_dot_and_an_underscore_make_two_tools_in_any_order() -> None:
    listings = [
        listing_of("s", [named(name=name) for name in names], 10)
        for names in (["get.user", "get_user"], ["get_user", "get.user"])
    ]
    ours, reverse = ({tool.tool: tool.name for tool in listing.tools} for listing in listings)
    assert ours == reverse
    assert ours["get_user"] == "s__get_user"
    assert re.fullmatch(r"s__get_user_[0-9a-f]{8}", ours["get.user"])
    assert [listing.notes for listing in listings] == [(), ()]


def test_references_are_put_in_and_foreign_keywords_dropped() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "who": {"$ref": "#/$defs/person"},
            "far": {"$ref": "https://evil.example/schema.json"},
            "bad": {"type": "string", "pattern": "(a+)+$", "maxLength": 9},
            "one": {"oneOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["who", "ghost"],
        "additionalProperties": False,
        "$defs": {"person": {"type": "object", "properties": {"boss": {"$ref": "#/$defs/person"}}}},
    }
    plain = plain_schema(schema)
    assert plain["properties"]["who"]["properties"]["boss"]["type"] == "object"
    assert plain["properties"]["far"] == {}
    assert plain["properties"]["bad"] == {"type": "string", "maxLength": 9}
    assert plain["properties"]["one"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert plain["required"] == ["who"]
    assert "$ref" not in json.dumps(plain)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "anyOf", "$ref", "required", "enum", "a"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "$ref", "required", "$defs"]), VALUES))
def test_no_schema_of_a_stranger_raises(schema: dict[str, Any]) -> None:
    plain = plain_schema(schema)
    assert plain["type"] == "object"
    json.dumps(plain)
    surely_fits({}, plain)


@given(st.lists(st.dictionaries(st.sampled_from(["name", "description", "inputSchema", "annotations"]), VALUES)))
def test_no_list_of_a_stranger_raises(definitions: list[dict[str, Any]]) -> None:
    for tool in listing_of("s", definitions, 5).tools:
        assert VALID.fullmatch(tool.name)
