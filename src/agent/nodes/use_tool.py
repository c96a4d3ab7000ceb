"""use_tool: calls a tool of the library."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.calls import call_tool
from agent.context import Context
from agent.events import Note
from agent.state import State
from agent.steps import decision_of, step
from mcp_tools.errors import LibraryError, UnknownToolError


async def use_tool(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Calls the tool that was decided on; its result, or what was wrong, is the step's finding."""
    decision = decision_of(state)
    try:
        tool = await runtime.context.library.get(decision.tool)
    except (UnknownToolError, LibraryError) as gone:
        runtime.context.emit(Note(gone.message))
        return {"steps": [step(state, ok=False, finding=str(gone))]}
    result = await call_tool(runtime.context, tool, decision.arguments)
    return {
        "steps": [step(state, ok=result.ok, finding=result.finding, value=result.value)],
        "used": [tool.name] if result.ok else [],
    }
