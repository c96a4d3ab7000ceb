"""Tools of connected servers: some have functions, others are looked up by name, and programs can import all."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from agent.state import State, ToolRef
from mcp_tools.clients.definitions import SEPARATOR, plain_schema
from mcp_tools.text import one_line
from mcp_tools.tool import Json

SERVER_TOOL = "server_tool"
CALL_SERVER_TOOL = "call_server_tool"
"""Name of the host function that all module functions call."""
MODULES = "servers"
ALL_TOOLS = 10_000
ROOM = 16_000
"""Maximum characters of all definitions that are shown in full."""
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


def external_of(state: State) -> list[ToolRef]:
    """Return the tools of connected servers."""
    return [tool for tool in state.get("tools", []) if tool.is_external]


def external_named(name: Json, state: State) -> ToolRef | None:
    """Return the tool of a connected server with this `server__tool` name."""
    return next((tool for tool in external_of(state) if tool.name == name), None)


def arranged(
    own: Sequence[ToolRef], found: Sequence[ToolRef], known: Sequence[str], full: Collection[str]
) -> list[ToolRef]:
    """Put known tools first, in their order, and mark tools as folded if there is no room for their functions.

    The order of new tools does not depend on the question, so that endpoints can reuse their work on a prompt.

    Args:
        own: The tools of the library.
        found: All external tools, best match first.
        known: Names that were offered before.
        full: Names of tools that already have a function and keep it.
    """
    place = {name: number for number, name in enumerate(known)}
    room = ROOM - sum(_size(tool) for tool in found if tool.name in full)
    shown = []
    ranked = [replace(tool, rank=number) for number, tool in enumerate(found)]
    for tool in sorted(ranked, key=lambda tool: place.get(tool.name, len(place))):
        size = 0 if tool.name in full else _size(tool)
        is_folded = size > room
        room -= 0 if is_folded else size
        shown.append(replace(tool, is_folded=is_folded))
    shown.sort(key=lambda tool: tool.name)
    return sorted([*own, *shown], key=lambda tool: place.get(tool.name, len(place)))


def arguments_schema(tool: ToolRef) -> dict[str, Any]:
    """Return the schema of a tool's arguments without the server's text, which belongs only in data blocks."""
    schema = tool.input_schema or {"type": "object"}
    return plain_schema(schema, described=False) if tool.is_external else schema


def _size(tool: ToolRef) -> int:
    return len(definition(tool)) + len(json.dumps(plain_schema(tool.input_schema, described=False)))


def definition(tool: ToolRef) -> str:
    """Return a server's description of its tool, with the schema of the arguments if the tool has no function."""
    schema, head = tool.input_schema, f"{tool.name}: {tool.description}{_returns(tool)}"
    if tool.is_folded:
        return f"{head}\nArguments: {json.dumps(schema, ensure_ascii=False)}"
    notes = [f"  {name}: {text}" for name, text in argument_notes(schema)]
    return "\n".join([head, *notes])


def argument_notes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield a server's descriptions of arguments, each with its path. The function's schema leaves them out."""
    bare = plain_schema(schema, described=False)
    for name, part in schema.get("properties", {}).items():
        inner = next((one for one in (part.get("items"), part) if isinstance(one, dict) and "properties" in one), None)
        place = f"{path}{name}"
        details = {key: value for key, value in part.items() if key not in {"properties", "items", "required"}}
        left_out = {key: value for key, value in details.items() if key not in bare["properties"].get(name, {})}
        if description := left_out.pop("description", ""):
            yield place, str(description)
        if left_out:
            yield place, json.dumps(left_out, ensure_ascii=False)
        yield from argument_notes(inner, f"{place}.") if inner else ()


def _returns(tool: ToolRef) -> str:
    return "" if tool.returns is None else f" -> {tool.returns}"


def line_of(tool: ToolRef) -> str:
    """Return a tool's entry in the prompt: its definition, or its name and first sentence if it is folded."""
    if not tool.is_folded:
        return definition(tool)
    return f"{tool.name}: {sentence_of(tool)}{_returns(tool)}"


def sentence_of(tool: ToolRef) -> str:
    """Return the first sentence of a tool's description."""
    sentence = _SENTENCE.split(one_line(tool.description, 1_000), maxsplit=1)[0]
    return one_line(sentence, _LONGEST_LINE)


def module_names(tool: ToolRef) -> tuple[str, str]:
    """Return the names of the server and the tool as programs import them."""
    return _identifier(tool.server), _identifier(tool.name.partition(SEPARATOR)[2])


def _identifier(name: str) -> str:
    plain = re.sub(r"\W", "_", name)
    return plain if plain.isidentifier() else f"_{plain}"


def server_modules(tools: Sequence[ToolRef]) -> dict[str, str]:
    """Return the source of the package `servers`; nothing without tools."""
    names: dict[str, dict[str, tuple[str, str]]] = {}
    for tool in tools:
        server, name = module_names(tool)
        names.setdefault(server, {}).setdefault(name, (tool.name, definition(replace(tool, is_folded=True))))
    return {MODULES: _SOURCE.format(call=CALL_SERVER_TOOL, tools=names)} if names else {}
