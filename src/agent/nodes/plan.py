"""plan: what is at hand before anything is decided."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.attached import look_at_files
from agent.context import Context
from agent.events import Note, ToolFound
from agent.external import SERVER
from agent.state import State

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
    found = await context.library.search(state["question"], SHOWN_TOOLS)
    tools: list[dict[str, Any]] = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "asked": tool.provenance.get("asked"),
        }
        for tool in found
    ]
    if state.get("wish") != "create":  # what is wanted is a tool of the library
        tools += await context.external.search(state["question"], SHOWN_EXTERNAL_TOOLS)
    for tool in tools:
        context.emit(ToolFound(tool["name"], server=tool.get(SERVER, "")))
    return {"tools": tools, **({"attached": await look_at_files(context)} if context.files else {})}


async def tools_now(state: State, context: Context) -> list[dict[str, Any]]:
    """The shown tools, with those of the external servers as they are by now: they may come late, or change."""
    tools = state["tools"]
    if not context.external.is_active or not state.get("steps") or state.get("wish") == "create":
        return tools
    own = [tool for tool in tools if SERVER not in tool]
    return own + await context.external.search(state["question"], SHOWN_EXTERNAL_TOOLS)
