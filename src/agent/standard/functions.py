"""What a capable model can call: each action, and each retrieved tool, as a typed function of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent.actions.server_tools import FOLDED, SERVER_TOOL
from agent.actions.tools import DRAFT, NEAR
from agent.configuration.specialists import SPECIALISTS
from agent.consent.external_tools import SERVER, arguments_schema
from agent.models.protocol import ToolCall
from agent.state import Action, Decision, Reply, State
from agent.web.page import SOURCES
from mcp_tools.header import with_declared
from mcp_tools.hosts import key_names
from mcp_tools.text import one_line
from mcp_tools.tool import object_schema

FINAL = "final_answer"
"""The argument that makes a result the answer."""
WHY = "why"
"""The reason of a call, for the person who watches; see `standard.md`. No action gets it."""
_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_LONGEST_REASON = 300


def _function(name: str, description: str, properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    parameters = object_schema({WHY: _TEXT, **properties}, required)
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_FUNCTIONS: dict[Action, dict[str, Any]] = {
    "run_code": _function(
        "run_python",
        "Runs Python; variables stay. print() what to see.",
        {"code": _TEXT, "packages": _TEXTS, "hosts": _TEXTS, FINAL: _TEXT},
        ["code"],
    ),
    "create_tool": _function(
        "create_tool",
        "Calls a new general tool with `arguments`, tests and keeps it. `code`: a module, one typed public function, "
        "its Google docstring with Args (meaning, unit, limits), Returns, Raises and an example that runs; Literal for "
        "a choice; ValueError naming each bad input. Without it, the last one.",
        {
            "code": _TEXT,
            "arguments": {"type": "object"},
            "hosts": _TEXTS,
            "writes_files": {"type": "boolean"},
            "objection": _TEXT,
            FINAL: _TEXT,
        },
        ["arguments"],
    ),
    "read_file": _function(
        "read",
        "Reads a file, or a page by address or `link 7`; `find`: only near these words.",
        {
            "source": _TEXT,
            "page": {"type": "integer", "minimum": 1},
            "find": _TEXT,
        },
        ["source"],
    ),
    "search": _function(
        "search",
        "Searches the web.",
        {"query": _TEXT, "source": {"enum": list(SOURCES)}},
        ["query"],
    ),
    "browse": _function(
        "browse",
        "Operates a site: clicks, forms, log-ins.",
        {"url": _TEXT, "task": _TEXT, FINAL: _TEXT},
        ["url", "task"],
    ),
    "ask": _function(
        "ask",
        "A specialist answers a question that stands alone.",
        {"question": _TEXT, "agent": {"enum": [*SPECIALISTS]}},
        ["question", "agent"],
    ),
}
_SERVER_TOOL = _function(
    SERVER_TOOL,
    "Calls a listed tool of a connected server; without `arguments` shows its definition.",
    {"name": _TEXT, "arguments": {"type": "object"}, FINAL: _TEXT},
    ["name"],
)
_ACTIONS: dict[str, Action] = {form["function"]["name"]: action for action, form in _FUNCTIONS.items()}


def functions_for(state: State) -> list[dict[str, Any]]:
    """The functions of a run, in Chat Completions form; those of actions first, so that their text stays the same."""
    others = {*_ACTIONS, SERVER_TOOL}
    own = [tool for tool in state["tools"] if tool["name"] not in others and NEAR not in tool]
    folded = any(tool.get(FOLDED) for tool in own)
    tools = [_SERVER_TOOL] * folded + [_tool_function(tool) for tool in own if not tool.get(FOLDED)]
    if state.get("wish") == "create":
        return [_FUNCTIONS["create_tool"], *tools]
    without = state.get("without", [])
    return [*(form for action, form in _FUNCTIONS.items() if action not in without), *tools]


def _tool_function(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as a function. What a server or a draft says of itself is data: a block of the first message holds it."""
    schema = arguments_schema(tool)
    properties = {**schema.get("properties", {})}
    properties.setdefault(FINAL, _TEXT)
    said = "A tool of the library that is not approved." if tool.get(DRAFT) else str(tool["description"])
    said = f"A tool of the connected server {tool[SERVER]}." if SERVER in tool else said
    form = _function(str(tool["name"]), said, properties, schema.get("required", []))
    extra = {key: value for key, value in schema.items() if key not in {"properties", "required", "type", "title"}}
    form["function"]["parameters"] |= extra
    return form


def decision_of_call(
    call: ToolCall, said: str = "", replies: Sequence[Reply] = (), tools: Sequence[dict[str, Any]] = ()
) -> Decision:
    """Return the decision of a function call that has no problem.

    Args:
        call: The call.
        said: The text of the model's reply. It is the reason of the decision; without it, the call's `why` is.
        replies: Earlier replies, which may hold the code of a tool.
        tools: The tools of the run. Parameters of theirs that are named `why` or `final_answer` reach them.
    """
    action, arguments = _ACTIONS.get(call.name), call.values
    called_tool = next((tool for tool in tools if action is None and tool["name"] == call.name), {})
    own = arguments_schema(called_tool).get("properties", {}) if called_tool else {}
    added = {name: str(arguments.get(name, "")) for name in (WHY, FINAL) if name not in own}
    why, final = one_line(said or added.get(WHY, ""), _LONGEST_REASON), added.get(FINAL, "")
    if action == "run_code":
        code = arguments["code"]
        code = with_declared(code, arguments.get("packages", ()), **_hosts(code, arguments))
        return Decision(action, why, code=code, final=final, call=call.id)
    if action == "create_tool":
        given, objection = arguments["arguments"], arguments.get("objection", "")
        code = arguments.get("code") or _proposed(replies)
        code = with_declared(code, **_hosts(code, arguments), write=arguments.get("writes_files", False))
        return Decision(action, why, arguments=given, code=code, objection=objection, final=final, call=call.id)
    if action == "read_file":
        page, find = arguments.get("page", 1), arguments.get("find", "")
        return Decision(action, why, file=arguments["source"], page=page, find=find, call=call.id)
    if action == "search":
        source = SOURCES[arguments.get("source", "web")]
        return Decision(action, why, query=arguments["query"].strip(), source=source, call=call.id)
    if action == "ask":
        return Decision(action, why, query=arguments["question"].strip(), agent=arguments["agent"], call=call.id)
    if action == "browse":
        url, task = arguments["url"].strip(), arguments["task"].strip()
        return Decision(action, why, url=url, task=task, final=final, call=call.id)
    called, given = call.name, {name: value for name, value in arguments.items() if name not in added}
    if call.name == SERVER_TOOL and "arguments" in arguments:
        called, given = arguments["name"], arguments["arguments"]
    return Decision("use_tool", why, tool=called, arguments=given, final=final, call=call.id)


def _hosts(code: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The hosts that a call names, with the keys that its code names; none without hosts."""
    hosts = arguments.get("hosts", [])
    return {"hosts": hosts, "keys": key_names(code)} if hosts else {}


def _proposed(replies: Sequence[Reply]) -> str:
    """The code of the tool that was proposed last; empty where there is none."""
    for reply in reversed(replies):
        for call in reply["message"].get("tool_calls", []):
            if call["function"]["name"] == "create_tool" and (code := _code_in(call["function"]["arguments"])):
                return code
    return ""


def _code_in(arguments: str) -> str:
    try:
        return str(json.loads(arguments).get("code") or "")
    except (ValueError, AttributeError):  # a call that could not be read
        return ""
