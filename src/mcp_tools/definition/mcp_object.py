"""The MCP tool object that clients get, and its hash."""

from __future__ import annotations

import hashlib
import json
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
