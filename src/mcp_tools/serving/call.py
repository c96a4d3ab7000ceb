"""A call from a client as the server's tools see it, and the server's limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_tools.sandbox.protocol import Limits
from mcp_tools.serving.results import Reply
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, InputRequiredResult


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits of a server. Past any of them a call ends with an error that names the limit."""

    argument_bytes: int = 1_000_000
    """The arguments of one call as JSON."""
    result_bytes: int = 1_000_000
    """The result of one call as JSON: what a client can still use."""
    message_bytes: int = 4 * 1024 * 1024
    """One message on the wire."""
    page: int = 1000
    """Tools of the library on one page of the list."""
    resource_page: int = 100
    """Tools whose resources are on one page."""
    call: Limits = field(default_factory=lambda: Limits(wall_seconds=30.0, cpu_seconds=30.0))
    """What one call of a tool may use in the sandbox."""
    program: Limits = field(default_factory=Limits)
    """What one program of `run_code` may use."""
    agent_seconds: float = 1800.0
    """One call of `ask` or `create_tool`."""
    body_seconds: float = 30.0
    """How long the body of one HTTP request may take to arrive."""
    session_idle_seconds: float = 3600.0
    """A session over HTTP with no request and no open stream for so long is forgotten; its client begins anew."""
    sessions: int = 1000
    """Sessions over HTTP at once, each of which takes some memory."""
    consent_seconds: float = 300.0
    """How long a person may take to answer."""


GONE = "alita.gone"
"""In the scope of an HTTP request: the event that its client went away."""


@dataclass(slots=True)
class Call:
    """One `tools/call` under way."""

    arguments: dict[str, Json]
    context: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    told: int = field(default=0)
    """How many progress messages were sent."""

    async def tell(self, text: str, *, total: float | None = None) -> None:
        """Tells the client one line of what is being done."""
        self.told += 1
        await self.context.session.report_progress(self.told, total, text)


@dataclass(frozen=True, slots=True)
class ConstantTool:
    """A tool of the server itself, which every client sees whatever the library holds."""

    definition: dict[str, Json]
    """The MCP tool object."""
    call: Callable[[Call], Awaitable[Reply | InputRequiredResult]]
    """Carries out a call whose arguments fit the definition's inputSchema."""

    @property
    def name(self) -> str:
        """How it is called."""
        return str(self.definition["name"])

    def as_tool(self) -> Tool:
        """The form in which arguments are validated."""
        schema = self.definition["inputSchema"]
        return Tool(self.name, self.definition["description"], schema, self.definition.get("outputSchema", {}), "")
