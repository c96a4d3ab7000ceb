"""The definitions of constant tools, in one form."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_tools.tool import Json


def definition(
    name: str,
    title: str,
    description: str,
    properties: dict[str, Json],
    *,
    required: Sequence[str] = (),
    output: dict[str, Json],
    read_only: bool = True,
    idempotent: bool = True,
    open_world: bool = False,
) -> dict[str, Json]:
    """An MCP tool object.

    Args:
        name: How it is called.
        title: What people see.
        description: What the model reads.
        properties: The schema of each argument.
        required: The arguments that must be given.
        output: The schema of each member of the result, all of which are always there.
        read_only: Whether it changes nothing outside the call.
        idempotent: Whether calling it again changes nothing more.
        open_world: Whether it reaches beyond this machine.
    """
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": output, "required": list(output)},
        "annotations": {
            "readOnlyHint": read_only,
            "destructiveHint": False,
            "idempotentHint": idempotent,
            "openWorldHint": open_world,
        },
    }
