"""use_tool: calls a tool of the library, or one of an external server."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.actions.calls import CallResult, call_external, call_tool
from agent.consent.external_tools import SERVER
from agent.consent.permission import unless_wanted
from agent.consent.provenance import of_call
from agent.context import Context
from agent.material.attached import granted, with_paths
from agent.material.origins import origins_of
from agent.state import State
from agent.steps import decision_of, failed, kept_whole, step
from mcp_tools.errors import LibraryError, UnknownToolError


async def use_tool(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Calls the tool that was decided on; its result, or what was wrong, is the step's finding."""
    decision = decision_of(state)
    external = next((tool for tool in state["tools"] if tool["name"] == decision.tool and SERVER in tool), None)
    if external is not None:
        names = {text for file in state.get("attached", []) for text in (file["name"], file["path"])}
        reads = external.get("readOnly") is True
        origins = origins_of(state, runtime.context)
        ruled = of_call(decision.tool, decision.arguments, origins, read_only=reads, files=names)
        if (refused := await unless_wanted(ruled, state, runtime.context)) is not None:
            return refused
        result = await call_external(runtime.context, decision.tool, decision.arguments)
        return _found(state, runtime.context, decision.tool, result)
    try:
        tool = await runtime.context.library.get(decision.tool)
    except (UnknownToolError, LibraryError) as gone:
        return failed(state, runtime.context, str(gone), gone.message)
    result = await call_tool(
        runtime.context, tool, with_paths(decision.arguments, state), read=granted(state, runtime.context)
    )
    return _found(state, runtime.context, tool.name, result)


def _found(state: State, context: Context, name: str, result: CallResult) -> dict[str, Any]:
    done = step(
        state, ok=result.ok, finding=result.finding, value=result.value, note=kept_whole(state, context, result.text)
    )
    return {"steps": [done | {"result": result.text}], "used": [name] if result.ok else []}
