"""One call as the tools of the server see it: its arguments, and the ways back to the client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_tools.serving.results import Reply
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, InputRequiredResult

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
