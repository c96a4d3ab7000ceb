"""The MCP tool object of a tool, and its hash."""

from __future__ import annotations

import dataclasses

from mcp.types import Tool as McpTool

from mcp_tools.definition import definition_hash, definition_of
from mcp_tools.tool import Status, Tool

TOOL = Tool(
    "days_between",
    "Count the days between two dates.",
    {"type": "object", "properties": {"start": {"type": "string"}}, "required": ["start"]},
    {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
    "def days_between(start: str) -> int: ...",
    {"title": "Days between", "readOnlyHint": False, "openWorldHint": True},
    Status.VERIFIED,
)


def test_the_definition_is_an_mcp_tool() -> None:
    found = McpTool.model_validate(definition_of(TOOL))
    assert found.name == "days_between"
    assert found.title == "Days between"
    assert "_meta" not in definition_of(TOOL)


def test_hints_say_what_is_enforced_and_not_what_the_file_claims() -> None:
    """A tool only computes and reads, so all four hints are told; one that may reach a host may change something."""
    assert definition_of(TOOL)["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    writing = dataclasses.replace(TOOL, provenance={"capabilities": {"write": True}})
    hints = definition_of(writing)["annotations"]
    assert hints == {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    assert definition_hash(writing) == definition_hash(TOOL)  # earlier approvals stay: capabilities have their own
    online = dataclasses.replace(TOOL, provenance={"capabilities": {"hosts": ["example.org"]}})
    hints = definition_of(online)["annotations"]
    assert hints == {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


def test_the_hash_covers_what_clients_see_and_nothing_else() -> None:
    same = dataclasses.replace(
        TOOL,
        input_schema=dict(reversed(list(TOOL.input_schema.items()))),
        source="other",
        status=Status.VERIFIED,
        provenance={"run": "x"},
    )
    assert definition_hash(same) == definition_hash(TOOL)
    assert len(definition_hash(TOOL)) == 64
    for change in (
        {"name": "days"},
        {"description": "Count."},
        {"input_schema": {"type": "object"}},
        {"output_schema": {}},
        {"annotations": {"title": "Other"}},
        {"provenance": {"capabilities": {"hosts": ["example.org"]}}},
    ):
        assert definition_hash(dataclasses.replace(TOOL, **change)) != definition_hash(TOOL)
