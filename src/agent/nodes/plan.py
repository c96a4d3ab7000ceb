"""plan: what is at hand before anything is decided."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.consent.external_tools import SERVER
from agent.context import Context
from agent.events import Note, ToolFound
from agent.material.attached import look_at_files
from agent.standard.functions import DRAFT
from agent.state import State
from mcp_tools.clients.definitions import plain_schema
from mcp_tools.library.trust import SERVED, errors_of
from mcp_tools.prompt import data_block
from mcp_tools.tool import Json, Tool

SHOWN_TOOLS = 3
"""The prompt stays the same size with ten tools or ten thousand."""
SHOWN_EXTERNAL_TOOLS = 4
SHOWN_FLAWS = 3
"""`alita tools list` tells them all."""


async def plan(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Finds the few tools of the library, and of external servers, that may fit the question."""
    context = runtime.context
    for flaw in (await context.library.flaws())[:SHOWN_FLAWS]:
        context.emit(Note(flaw))
    found = [tool for tool in await context.library.search(state["question"], SHOWN_TOOLS) if not errors_of(tool)]
    drafts = [tool.name for tool in found if tool.status not in SERVED]
    if drafts:
        context.emit(Note(f"not approved here, so treated as drafts: {', '.join(drafts)} (alita tools approve NAME)"))
    wants_tool = state.get("wish") == "create"  # an approved one of the library, or a new one
    tools = [shown_tool(tool) for tool in found if not wants_tool or tool.name not in drafts]
    if not wants_tool:
        tools += await context.external.search(state["question"], SHOWN_EXTERNAL_TOOLS)
    for tool in tools:
        context.emit(ToolFound(tool["name"], server=tool.get(SERVER, "")))
    return {"tools": tools, **({"attached": await look_at_files(context)} if context.files else {})}


def shown_tool(tool: Tool) -> dict[str, Json]:
    """A tool of the library as prompts and rules see it; what a draft says of itself is data, and nothing more."""
    if tool.status in SERVED:
        asked = tool.provenance.get("asked")
        said = f"{tool.description}{_returns(tool)}"
        return {"name": tool.name, "description": said, "inputSchema": tool.input_schema, "asked": asked}
    description = data_block(f"tool {tool.name}, not approved", tool.description)
    schema = plain_schema(tool.input_schema, described=False)
    return {"name": tool.name, "description": description, "inputSchema": schema, DRAFT: True}


def _returns(tool: Tool) -> str:
    """What a tool says of its result."""
    described = tool.output_schema.get("properties", {}).get("result", {}).get("description", "")
    return f"\n\nReturns:\n    {described}" if described else ""


async def tools_now(state: State, context: Context) -> list[dict[str, Any]]:
    """The shown tools, with those of the external servers as they are by now: they may come late, or change."""
    tools = state["tools"]
    if not context.external.is_active or not state.get("steps") or state.get("wish") == "create":
        return tools
    own = [tool for tool in tools if SERVER not in tool]
    return own + await context.external.search(state["question"], SHOWN_EXTERNAL_TOOLS)
