"""plan: what is at hand before anything is decided."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.events import ToolFound
from agent.state import State

SHOWN_TOOLS = 3
"""The prompt stays the same size with ten tools or ten thousand."""


async def plan(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Finds the few tools of the library that may fit the question."""
    context = runtime.context

    async def look() -> list[dict[str, Any]]:
        hits = context.library.search(state["question"], limit=SHOWN_TOOLS)
        return [
            {
                "name": hit.tool.name,
                "description": hit.tool.description,
                "inputSchema": hit.tool.input_schema,
                "source_hash": hit.tool.source_hash,
            }
            for hit in hits
        ]

    tools = await context.journal.call("library", {"search": state["question"], "limit": SHOWN_TOOLS}, look)
    for tool in tools:
        context.emit(ToolFound(tool["name"]))
    return {"tools": tools}
