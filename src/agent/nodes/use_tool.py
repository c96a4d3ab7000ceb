"""use_tool: calls a tool of the library, or one of an external server."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.attached import file_named, granted
from agent.calls import CallResult, call_external, call_tool
from agent.context import Context
from agent.events import Note
from agent.external import SERVER
from agent.state import State
from agent.steps import decision_of, step
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.tool import Json


async def use_tool(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Calls the tool that was decided on; its result, or what was wrong, is the step's finding."""
    decision = decision_of(state)
    if any(tool["name"] == decision.tool and SERVER in tool for tool in state["tools"]):
        result = await call_external(runtime.context, decision.tool, decision.arguments)
        return _found(state, decision.tool, result)
    try:
        tool = await runtime.context.library.get(decision.tool)
    except (UnknownToolError, LibraryError) as gone:
        runtime.context.emit(Note(gone.message))
        return {"steps": [step(state, ok=False, finding=str(gone))]}
    result = await call_tool(
        runtime.context, tool, _with_places(decision.arguments, state), read=granted(state, runtime.context)
    )
    return _found(state, tool.name, result)


def _found(state: State, name: str, result: CallResult) -> dict[str, Any]:
    return {
        "steps": [step(state, ok=result.ok, finding=result.finding, value=result.value)],
        "used": [name] if result.ok else [],
    }


def _with_places(arguments: dict[str, Json], state: State) -> dict[str, Json]:
    """The arguments with the path of an attached file for each that is its name."""
    found = {name: file_named(value, state) for name, value in arguments.items() if isinstance(value, str) and value}
    return {**arguments, **{name: file["path"] for name, file in found.items() if file is not None}}
