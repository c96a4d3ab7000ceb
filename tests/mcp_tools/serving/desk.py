"""Shared by the tests of the server: tools, a server, and clients."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.client import Client

from mcp_tools.library.library import Library
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.serving.server import ToolServer, build_server
from mcp_tools.serving.tool_calls import AuditLog
from mcp_tools.tool import Status, Tool

INTEGER = {"type": "integer"}
LOOKS = 0.1
"""Seconds between checks of the library, shorter than in production."""


def tool(
    name: str = "double",
    body: str = "return n * 2",
    *,
    description: str = "Return twice the number.",
    takes: dict[str, Any] | None = None,
    gives: Any = None,
    signature: str = "n: int",
    status: Status = Status.VERIFIED,
    **provenance: Any,
) -> Tool:
    """Return a tool, which takes an integer by default."""
    properties = {"n": {**INTEGER, "description": "A number"}} if takes is None else takes
    return Tool(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
        output_schema={
            "type": "object",
            "properties": {"result": INTEGER if gives is None else gives},
            "required": ["result"],
        },
        source=f'def {name}({signature}):\n    """{description}"""\n    {body}\n',
        status=status,
        provenance=provenance,
    )


@dataclass
class Desk:
    """A library, a sandbox and a folder, from which tests start servers and clients."""

    library: Library
    sandbox: Sandbox
    folder: Path
    logs: list[AuditLog] = field(default_factory=list)

    @property
    def audit(self) -> Path:
        return self.folder / "audit" / "calls.jsonl"

    def has(self, *tools: Tool) -> Desk:
        for one in tools:
            self.library.register(one, replace=True)
        return self

    def server(self, **options: Any) -> ToolServer:
        self.logs.append(AuditLog(self.audit))
        options = {"audit": self.logs[-1], **options}
        return build_server(self.library, options.pop("sandbox", self.sandbox), **options)

    @contextlib.asynccontextmanager
    async def client(self, mode: str, **options: Any) -> AsyncIterator[Client]:
        """Yield an in-memory client with one protocol version."""
        own = {name: options.pop(name) for name in ("elicitation_callback", "message_handler") if name in options}
        async with Client(self.server(**options), mode=mode, **own) as client:
            yield client

    def written(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.audit.read_text().splitlines()]


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


def error_of(result: Any) -> dict[str, str]:
    """Return the `alita/error` of a result."""
    assert result.is_error
    found: dict[str, str] = result.meta["alita/error"]
    return found
