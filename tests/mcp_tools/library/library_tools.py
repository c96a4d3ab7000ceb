"""Tools for the tests of the library."""

from __future__ import annotations

from typing import Any

from mcp_tools.tool import Status, Tool


def make_tool(
    name: str = "nth_fibonacci",
    *,
    body: str = "return n",
    description: str = "Return the n-th Fibonacci number.",
    status: Status = Status.VERIFIED,
    **provenance: Any,
) -> Tool:
    """Return a complete tool with one integer parameter."""
    return Tool(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": {"n": {"type": "integer", "description": "Position, from 1"}},
            "required": ["n"],
            "additionalProperties": False,
        },
        output_schema={"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
        source=f'def {name}(n: int) -> int:\n    """{description}"""\n    {body}\n',
        annotations={"title": name, "readOnlyHint": True},
        status=status,
        provenance=provenance,
    )
