"""The MCP tool object that clients get, and its hash."""

from __future__ import annotations

import hashlib
import json
import re
import sys

from mcp_tools.tool import Capabilities, Json, Tool


def definition_of(tool: Tool) -> dict[str, Json]:
    """The MCP tool object of a tool, without `_meta`.

    The hints say what the sandbox enforces, whatever the tool's own file claims.
    """
    definition: dict[str, Json] = {
        "name": tool.name,
        "title": tool.annotations.get("title") or tool.name.replace("_", " ").capitalize(),
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }
    if tool.output_schema:
        definition["outputSchema"] = tool.output_schema
    return definition | {"annotations": _hints(tool.capabilities)}


def _hints(capabilities: Capabilities) -> dict[str, bool]:
    """All four hints: MCP takes a missing `destructiveHint` for true and a missing `idempotentHint` for false.

    Nothing that a tool writes outlives its call, so it only reads; a host may answer differently each time.
    """
    return {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": not capabilities.hosts,
        "openWorldHint": bool(capabilities.hosts),
    }


def definition_hash(tool: Tool) -> str:
    """SHA-256 of the definition's canonical JSON, in hexadecimal."""
    return sys.intern(hashlib.sha256(canonical(definition_of(tool))).hexdigest())


def canonical(value: Json) -> bytes:
    """JSON that is the same for the same value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")
_STRANGE_KEY = re.compile(r'"[^"]*\\[^"]*": |"[^"]{129,}": ')
"""In JSON without escaped quotes: a key with a line feed or a tab, or one that is too long."""
_LONGEST = 8_000
_LONGEST_TITLE = 200
_MOST_NESTED = 50


def surely_sound(definition: dict[str, Json]) -> bool:
    """Whether `lint` would find no error: never true when it would, and mostly true when it would not.

    It matters where a thousand tools are read at the start of a server.
    """
    try:
        text = json.dumps(definition, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return _is_plain(text) and _has_shape(definition)


def _is_plain(text: str) -> bool:
    """Whether JSON is short, shallow, without references, and ASCII without escapes but line feeds and tabs."""
    if len(text) > _LONGEST or "$" in text or not text.isprintable():
        return False
    if text.count("{") + text.count("[") > _MOST_NESTED:
        return False
    if "\\" not in text:
        return _STRANGE_KEY.search(text) is None
    return "\\" not in text.replace("\\n", "").replace("\\t", "") and _STRANGE_KEY.search(text) is None


def _has_shape(definition: dict[str, Json]) -> bool:
    name, title, description = (definition.get(key) for key in ("name", "title", "description"))
    return (
        isinstance(name, str)
        and _NAME.fullmatch(name) is not None
        and isinstance(title, str)
        and len(title) <= _LONGEST_TITLE
        and title.isprintable()
        and isinstance(description, str)
        and isinstance(definition.get("annotations"), dict)
        and _is_object(definition.get("inputSchema"))
        and ("outputSchema" not in definition or _is_object(definition["outputSchema"]))
    )


def _is_object(schema: Json) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "object"
