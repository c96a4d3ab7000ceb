"""The tools of other people's MCP servers, as a run reaches them: searched and called through the journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from mcp_tools.clients.results import Reply
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.store.journal import Journal
    from mcp_tools.clients.servers import Servers

KIND = "external"
"""What the journal calls these calls."""
SERVER = "server"
"""The key that marks a shown tool as external: the name of its server."""


class ExternalTools(Protocol):
    """The tools of external servers."""

    @property
    def is_active(self) -> bool:
        """Whether there can be any; without, nothing below does anything."""
        ...

    async def search(self, query: str, limit: int) -> list[dict[str, Json]]:
        """The tools that fit a query best, best first: name, description, inputSchema, server."""
        ...

    async def call(self, name: str, arguments: dict[str, Json], seconds: float | None = None) -> Reply:
        """Calls a tool; whatever goes wrong is in the reply."""
        ...


class NoExternalTools:
    """No server is configured."""

    is_active = False

    async def search(self, query: str, limit: int) -> list[dict[str, Json]]:
        """None."""
        return []

    async def call(self, name: str, arguments: dict[str, Json], seconds: float | None = None) -> Reply:
        """Says that there is none."""
        return Reply(False, f"no external tool is called {name}", kind="unknown")


class JournaledExternalTools:
    """External tools whose answers are recorded, so that a replay needs no server.

    Args:
        servers: None where none is configured, and for a replay.
        journal: Records every call.
        note: Told what the user should know of the servers, in a replay too.
    """

    is_active = True

    def __init__(self, servers: Servers | None, journal: Journal, note: Callable[[str], None]) -> None:
        self._servers = servers
        self._journal = journal
        self._note = note

    async def search(self, query: str, limit: int) -> list[dict[str, Json]]:
        """The tools that fit a query best, best first."""

        async def perform() -> Json:
            found = await self._servers.search(query, limit) if self._servers else []
            tools = [
                {"name": t.name, "description": t.description, "inputSchema": t.input_schema, SERVER: t.server}
                for t in found
            ]
            return {"tools": tools, "notes": self._notes()}

        return list(self._told(await self._journal.call(KIND, {"search": query, "limit": limit}, perform))["tools"])

    async def call(self, name: str, arguments: dict[str, Json], seconds: float | None = None) -> Reply:
        """Calls a tool, or gives the recorded reply."""

        async def perform() -> Json:
            if self._servers is None:
                reply = Reply(False, f"the server of {name} is not configured here any more", kind="unknown")
            else:
                reply = await self._servers.call(name, arguments, seconds)
            return {"reply": asdict(reply), "notes": self._notes()}

        request = {"call": name, "arguments": arguments}
        return Reply(**self._told(await self._journal.call(KIND, request, perform))["reply"])

    def _notes(self) -> list[str]:
        return self._servers.notes() if self._servers else []

    def _told(self, output: dict[str, Any]) -> dict[str, Any]:
        for note in output["notes"]:
            self._note(note)
        return output


def journaled(servers: Servers | None, journal: Journal, note: Callable[[str], None]) -> ExternalTools:
    """The external tools of a run: those of the servers, or those that its journal knows."""
    if servers is None and not journal.knows(KIND):
        return NoExternalTools()
    return JournaledExternalTools(servers, journal, note)
