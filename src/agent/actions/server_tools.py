"""Tools of connected servers: functions for some, names and a look-up for the others, modules for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from agent.consent.external_tools import SERVER
from agent.state import State
from mcp_tools.clients.definitions import SEPARATOR, plain_schema
from mcp_tools.text import one_line
from mcp_tools.tool import Json

FOLDED = "folded"
"""Marks an external tool without its own function: `server_tool` shows its definition and calls it."""
RANK = "rank"
"""The place of an external tool among those that fit the question, 0 for the best."""
SERVER_TOOL = "server_tool"
CALL_SERVER_TOOL = "call_server_tool"
"""The function of the host behind every function of the modules."""
MODULES = "servers"
ALL_TOOLS = 10_000
ROOM = 16_000
"""Characters of definitions that are given in full."""
_LONGEST_LINE = 120
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_SOURCE = '''"""Tools of connected servers: a module for each server, a function for each tool."""
import sys as _sys
from types import ModuleType as _Module
import __main__ as _main

__path__ = []


def _function(tool, name, description):
    def function(**arguments):
        return _main.{call}(tool, arguments)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = description
    return function


for _server, _tools in {tools!r}.items():
    globals()[_server] = _sys.modules[f"{{__name__}}.{{_server}}"] = _module = _Module(f"{{__name__}}.{{_server}}")
    for _name, _given in _tools.items():
        setattr(_module, _name, _function(_given[0], _name, _given[1]))
'''


def external_of(state: State) -> list[dict[str, Any]]:
    """Return the tools of connected servers."""
    return [tool for tool in state.get("tools", []) if SERVER in tool]


def external_named(name: Json, state: State) -> dict[str, Any] | None:
    """Return the tool of a connected server with this `server__tool` name."""
    return next((tool for tool in external_of(state) if tool["name"] == name), None)


def arranged(
    own: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]], known: Sequence[str], full: Collection[str]
) -> list[dict[str, Any]]:
    """Put known tools first, in their order, and mark those that have no room for a function as folded.

    The order of new tools does not depend on the question, so that endpoints can reuse their work on a prompt.

    Args:
        own: The tools of the library.
        found: All external tools, best match first.
        known: Names that were offered before.
        full: Names that have a function already and keep it.
    """
    place = {name: number for number, name in enumerate(known)}
    room = ROOM - sum(_size(tool) for tool in found if tool["name"] in full)
    shown = []
    ranked = [{**tool, RANK: number} for number, tool in enumerate(found)]
    for tool in sorted(ranked, key=lambda tool: place.get(tool["name"], len(place))):
        size = 0 if tool["name"] in full else _size(tool)
        is_folded = size > room
        room -= 0 if is_folded else size
        shown.append({**tool, FOLDED: True} if is_folded else tool)
    shown.sort(key=lambda tool: str(tool["name"]))
    return sorted([*own, *shown], key=lambda tool: place.get(tool["name"], len(place)))


def _size(tool: dict[str, Any]) -> int:
    return len(definition(tool)) + len(json.dumps(plain_schema(tool["inputSchema"], described=False)))


def definition(tool: dict[str, Any]) -> str:
    """Return what a server says of its tool, and the schema of its arguments if the model has no function for it."""
    schema, head = tool["inputSchema"], f"{tool['name']}: {tool['description']}{_returns(tool)}"
    if tool.get(FOLDED):
        return f"{head}\nArguments: {json.dumps(schema, ensure_ascii=False)}"
    notes = [f"  {name}: {text}" for name, text in argument_notes(schema)]
    return "\n".join([head, *notes])


def argument_notes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield what a server says of arguments, by their paths, beyond what the schema of the function has."""
    bare = plain_schema(schema, described=False)
    for name, part in schema.get("properties", {}).items():
        inner = next((one for one in (part.get("items"), part) if isinstance(one, dict) and "properties" in one), None)
        place = f"{path}{name}"
        said = {key: value for key, value in part.items() if key not in {"properties", "items", "required"}}
        left_out = {key: value for key, value in said.items() if key not in bare["properties"].get(name, {})}
        if description := left_out.pop("description", ""):
            yield place, str(description)
        if left_out:
            yield place, json.dumps(left_out, ensure_ascii=False)
        yield from argument_notes(inner, f"{place}.") if inner else ()


def _returns(tool: dict[str, Any]) -> str:
    return f" -> {tool['returns']}" if "returns" in tool else ""


def line_of(tool: dict[str, Any]) -> str:
    """Return a tool's entry in the prompt: its definition, or its name and first sentence if it is folded."""
    if not tool.get(FOLDED):
        return definition(tool)
    return f"{tool['name']}: {sentence_of(tool)}{_returns(tool)}"


def sentence_of(tool: dict[str, Any]) -> str:
    """Return the first sentence of a tool's description."""
    sentence = _SENTENCE.split(one_line(str(tool["description"]), 1_000), maxsplit=1)[0]
    return one_line(sentence, _LONGEST_LINE)


def module_names(tool: dict[str, Any]) -> tuple[str, str]:
    """Return the names under which programs import a tool: its server's and its own."""
    return _identifier(str(tool[SERVER])), _identifier(str(tool["name"]).partition(SEPARATOR)[2])


def _identifier(name: str) -> str:
    plain = re.sub(r"\W", "_", name)
    return plain if plain.isidentifier() else f"_{plain}"


def server_modules(tools: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the source of the package `servers`; nothing without tools."""
    names: dict[str, dict[str, tuple[str, str]]] = {}
    for tool in tools:
        server, name = module_names(tool)
        names.setdefault(server, {}).setdefault(name, (tool["name"], definition({**tool, FOLDED: True})))
    return {MODULES: _SOURCE.format(call=CALL_SERVER_TOOL, tools=names)} if names else {}
