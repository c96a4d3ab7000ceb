"""plan: what is at hand before anything is decided."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.events import Note, ToolFound
from agent.state import State

SHOWN_TOOLS = 3
"""The prompt stays the same size with ten tools or ten thousand."""
SHOWN_FLAWS = 3
"""`alita tools list` tells them all."""


async def plan(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Finds the few tools of the library that may fit the question."""
    context = runtime.context
    for flaw in (await context.library.flaws())[:SHOWN_FLAWS]:
        context.emit(Note(flaw))
    found = await context.library.search(state["question"], SHOWN_TOOLS)
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "asked": tool.provenance.get("asked"),
        }
        for tool in found
    ]
    for tool in found:
        context.emit(ToolFound(tool.name))
    return {"tools": tools}
