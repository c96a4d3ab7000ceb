"""Which tools of the library, and of external servers, a run is offered, and how they are shown."""

from __future__ import annotations

from typing import Any

from agent.consent.external_tools import SERVER
from agent.context import Context
from agent.state import State
from mcp_tools.clients.definitions import plain_schema
from mcp_tools.prompt import data_block
from mcp_tools.tool import Json, Status, Tool

DRAFT = "draft"
"""Marks a tool of the library that the user did not approve: it may be called, and what it says of itself is data."""
SHOWN_TOOLS = 3
"""The prompt stays the same size with ten tools or ten thousand."""
SHOWN_EXTERNAL_TOOLS = 4


def shown_tool(tool: Tool) -> dict[str, Json]:
    """A tool of the library as prompts and rules see it; what a draft says of itself is data, and nothing more."""
    if tool.status is Status.VERIFIED:
        asked = tool.provenance.get("asked")
        returns = tool.output_schema.get("properties", {}).get("result", {}).get("description", "")
        said = f"{tool.description}\n\nReturns:\n    {returns}" if returns else tool.description
        return {"name": tool.name, "description": said, "inputSchema": tool.input_schema, "asked": asked}
    description = data_block(f"tool {tool.name}, not approved", tool.description)
    schema = plain_schema(tool.input_schema, described=False)
    return {"name": tool.name, "description": description, "inputSchema": schema, DRAFT: True}


async def tools_now(state: State, context: Context) -> list[dict[str, Any]]:
    """The shown tools, with those of the external servers as they are by now: they may come late, or change."""
    tools = state["tools"]
    if not context.external.is_active or not state.get("steps") or state.get("wish") == "create":
        return tools
    own = [tool for tool in tools if SERVER not in tool]
    return own + await context.external.search(state["question"], SHOWN_EXTERNAL_TOOLS)
