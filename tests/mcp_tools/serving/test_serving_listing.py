"""The list of tools for clients: names, definitions, paging."""

from __future__ import annotations

import pytest
from desk import Desk, error_of, tool
from mcp.shared.exceptions import MCPError

from mcp_tools.definition import definition_hash, lint
from mcp_tools.serving.client_call import ServerLimits
from mcp_tools.serving.server import BUILTIN_TOOLS
from mcp_tools.tool import Status

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def names(desk: Desk, mode: str, **options: object) -> list[str]:
    async with desk.client(mode, **options) as client:
        return [one.name for one in (await client.list_tools()).tools]


async def test_a_tool_is_listed_with_its_schemas_hints_and_hashes(desk: Desk, mode: str) -> None:
    made = tool()
    desk.has(made)
    async with desk.client(mode) as client:
        listed = (await client.list_tools()).tools[-1]
    assert (listed.name, listed.title, listed.description) == ("double", "Double", "Return twice the number.")
    assert (listed.input_schema, listed.output_schema) == (made.input_schema, made.output_schema)
    hints = listed.annotations
    assert hints is not None
    assert (hints.read_only_hint, hints.idempotent_hint, hints.open_world_hint) == (True, True, False)
    meta = listed.meta or {}
    assert meta["alita/source-hash"] == made.source_hash
    assert meta["alita/definition-hash"] == definition_hash(made)
    assert meta["alita/status"] == "verified"
    assert meta["alita/sandbox"]["level"] == "strong"
    assert "seccomp" in meta["alita/sandbox"]["layers"]


async def test_builtin_tools_come_first_with_honest_hints(desk: Desk, mode: str) -> None:
    async with desk.client(mode) as client:
        listed = (await client.list_tools()).tools
    assert tuple(one.name for one in listed) == BUILTIN_TOOLS
    hints = {one.name: one.annotations for one in listed}
    acting = ["propose_tool", "create_tool", "ask"]
    assert [name for name, hint in hints.items() if hint and not hint.read_only_hint] == acting
    assert [name for name, hint in hints.items() if hint and hint.open_world_hint] == ["create_tool", "ask"]
    assert all(one.output_schema and one.title for one in listed)
    assert not [flag for one in listed for flag in lint(one.model_dump(by_alias=True, exclude_none=True))]


async def test_what_is_not_approved_is_not_listed_and_not_called(desk: Desk, mode: str) -> None:
    desk.has(tool(), tool("draft_tool", status=Status.DRAFT), tool("foreign"))
    desk.library.approvals.drop("foreign")
    async with desk.client(mode) as client:
        assert [one.name for one in (await client.list_tools()).tools][len(BUILTIN_TOOLS) :] == ["double"]
        for name in ("draft_tool", "foreign"):
            with pytest.raises(MCPError) as failure:
                await client.call_tool(name, {"n": 1})
            assert failure.value.code == -32602
            refused = await client.call_tool("call_tool", {"name": name, "arguments": {"n": 1}})
            assert error_of(refused)["kind"] == "unknown_tool"


@pytest.mark.parametrize(
    ("offered", "listed", "reached"),
    [
        ("all", ["convert_miles", "double"], ["convert_miles", "double"]),
        ("meta", [], ["convert_miles", "double"]),
        ("convert_*", ["convert_miles"], ["convert_miles"]),
    ],
)
async def test_tools_says_what_is_offered(desk: Desk, offered: str, listed: list[str], reached: list[str]) -> None:
    desk.has(tool(), tool("convert_miles"))
    async with desk.client("2026-07-28", offered=offered) as client:
        assert [one.name for one in (await client.list_tools()).tools][len(BUILTIN_TOOLS) :] == listed
        for name in ("convert_miles", "double"):
            result = await client.call_tool("call_tool", {"name": name, "arguments": {"n": 4}})
            assert (not result.is_error) == (name in reached)


async def test_pages_give_every_tool_once(desk: Desk, era: str) -> None:
    desk.has(*(tool(f"tool_{letter}") for letter in "abcdefg"))
    seen: list[str] = []
    async with desk.client(era, limits=ServerLimits(page=3)) as client:
        page = await client.list_tools()
        seen += [one.name for one in page.tools]
        while page.next_cursor:
            if len(seen) == len(BUILTIN_TOOLS) + 3:  # the list changes between two pages
                desk.library.delete("tool_c")
                desk.has(tool("tool_bb"))
            page = await client.list_tools(cursor=page.next_cursor)
            seen += [one.name for one in page.tools]
    assert seen[len(BUILTIN_TOOLS) :] == [f"tool_{letter}" for letter in "abcdefg"]
