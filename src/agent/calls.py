"""Calling a tool of the library: validated, in the sandbox, journaled, counted."""

from __future__ import annotations

from dataclasses import dataclass

from agent.context import Context
from agent.events import ToolCalled
from agent.steps import value_text
from mcp_tools.errors import ArgumentsError
from mcp_tools.run import run_tool
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Tool, call_text


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call of a tool gave."""

    ok: bool
    value: Json
    finding: str
    """For the next prompt: the call with its result, or what was wrong and how to mend it."""


async def call_tool(context: Context, tool: Tool, arguments: dict[str, Json]) -> CallResult:
    """Calls a tool; a misfit of arguments or result, or a failure, is a result that a model can act on."""
    shown = call_text(tool.name, arguments)
    granted = context.files if tool.capabilities.read else ()
    try:
        outcome = await run_tool(tool, arguments, context.sandbox, read=granted)
    except ArgumentsError as misfit:
        context.emit(ToolCalled(tool.name, arguments, False, one_line(misfit.message)))
        return CallResult(False, None, f"{shown} was not called: {misfit.message}")
    problem = outcome.problem
    await context.library.record_call(tool.name, outcome.ok, problem.kind if problem else None)
    if problem is not None:
        context.emit(ToolCalled(tool.name, arguments, False, one_line(problem.message), outcome.seconds))
        return CallResult(False, None, f"{shown} failed: {problem.message}")
    text = value_text(outcome.value)
    context.emit(ToolCalled(tool.name, arguments, True, one_line(text), outcome.seconds))
    return CallResult(True, outcome.value, f"{shown} = {text}")
