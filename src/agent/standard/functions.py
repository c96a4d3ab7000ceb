"""The functions that a capable model can call: one for each action and each retrieved tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.actions.action import FINAL, TEXT, WHY, FunctionCall, function_form
from agent.actions.registry import ACTIONS
from agent.actions.server_tools import SERVER_TOOL, arguments_schema
from agent.models.protocol import ToolCall
from agent.state import Decision, Ending, Reply, State, ToolRef
from mcp_tools.text import one_line

_LONGEST_REASON = 300
_FUNCTIONS = {name: action.function for name, action in ACTIONS.items() if action.function is not None}
_ACTIONS = {form["function"]["name"]: ACTIONS[name] for name, form in _FUNCTIONS.items()}
"""The actions by the name of their function."""


def functions_for(state: State) -> list[dict[str, Any]]:
    """Return the functions of a run in Chat Completions format. Actions come first, so that prompts begin alike."""
    own = [tool for tool in state["tools"] if tool.name not in _ACTIONS and not tool.signature]
    tools = [_tool_function(tool) for tool in own if not tool.is_folded]
    if any(tool.is_folded for tool in own):
        tools = [_FUNCTIONS["use_tool"], *tools]
    if state["purpose"].wants_tool:
        return [_FUNCTIONS["create_tool"], *tools]
    left_out = {*state.get("without", []), "use_tool"}
    return [*(form for name, form in _FUNCTIONS.items() if name not in left_out), *tools]


def _tool_function(tool: ToolRef) -> dict[str, Any]:
    """Return a tool as a function. Descriptions of server tools and drafts are in the first message, as data."""
    schema = arguments_schema(tool)
    properties = {**schema.get("properties", {})}
    properties.setdefault(FINAL, TEXT)
    description = "A tool of the library that is not approved." if tool.is_draft else tool.description
    description = f"A tool of the connected server {tool.server}." if tool.is_external else description
    form = function_form(tool.name, description, properties, schema.get("required", []))
    extra = {key: value for key, value in schema.items() if key not in {"properties", "required", "type", "title"}}
    form["function"]["parameters"] |= extra
    return form


def decision_of_call(
    call: ToolCall, text: str = "", replies: Sequence[Reply] = (), tools: Sequence[ToolRef] = ()
) -> Decision:
    """Return the decision of a function call that has no problem.

    Args:
        call: The call.
        text: The text of the model's reply. It is the decision's reason. If it is empty, the call's `why` is used.
        replies: Earlier replies, which may hold the code of a tool.
        tools: The tools of the run. Their own parameters named `why` or `final_answer` are passed to them.
    """
    action, arguments = _ACTIONS.get(call.name), call.values
    if action is not None and action.name != "use_tool":
        why = one_line(text or str(arguments.get(WHY, "")), _LONGEST_REASON)
        return action.decision(FunctionCall(arguments, why, call.id, replies))
    called_tool = next((tool for tool in tools if action is None and tool.name == call.name), None)
    own = arguments_schema(called_tool).get("properties", {}) if called_tool else {}
    added = {name: str(arguments.get(name, "")) for name in (WHY, FINAL) if name not in own}
    why, final = one_line(text or added.get(WHY, ""), _LONGEST_REASON), added.get(FINAL, "")
    called, given = call.name, {name: value for name, value in arguments.items() if name not in added}
    if call.name == SERVER_TOOL and "arguments" in arguments:
        called, given = arguments["name"], arguments["arguments"]
    return Decision("use_tool", why, tool=called, arguments=given, ending=Ending(final), call=call.id)
