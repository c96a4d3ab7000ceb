"""The tools of other people's MCP servers, as a run reaches them: searched and called through the journal."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mcp_tools.clients.results import Reply
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.settings import Settings
    from agent.store.journal import Journal
    from mcp_tools.clients.expand import Expanded
    from mcp_tools.clients.forms import Problem
    from mcp_tools.clients.servers import Servers
    from mcp_tools.clients.standing import Standing

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


class Configured:
    """The servers that this user and this project configure, read from their files without starting anything.

    Args:
        settings: Name the user's folders.
        project: The folder that the user works in.
    """

    def __init__(self, settings: Settings, project: Path) -> None:
        from mcp_tools.clients.files import configured
        from mcp_tools.clients.standing import standing_of
        from mcp_tools.clients.trust import FILE, Decisions

        found = configured(settings.config_dir, project)
        self.decisions = Decisions(settings.data_dir / FILE)
        self.project = project
        self._is_told = False
        self.problems: tuple[Problem, ...] = found.problems
        self.standings: tuple[Standing, ...] = tuple(
            standing_of(entry, self.decisions, os.environ, project) for entry in found.entries
        )

    @property
    def ready(self) -> list[Expanded]:
        """The servers that may be started."""
        return [standing.expanded for standing in self.standings if standing.expanded is not None]

    @property
    def undecided(self) -> list[Standing]:
        """The servers that the project defines and the user has not decided about."""
        return [standing for standing in self.standings if standing.state == "undecided"]

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be written down."""
        return tuple(secret for server in self.ready for secret in server.secrets)

    @property
    def configuration(self) -> dict[str, str]:
        """What an answer depends on: the servers whose tools are offered."""
        names = ",".join(sorted(server.entry.name for server in self.ready))
        return {"servers": names} if names else {}

    def offers(self, name: str) -> bool:
        """Whether a tool of that name would be one of these servers'."""
        from mcp_tools.clients.definitions import prefix_of

        return any(name.startswith(prefix_of(server.entry.name)) for server in self.ready)

    def news(self) -> list[str]:
        """Why servers are not started, and what is wrong in the files, told once; what is off is no news."""
        if self._is_told:
            return []
        self._is_told = True
        waiting = [
            f"the server {s.entry.name} is not started: {s.reason} ({s.remedy})"
            for s in self.standings
            if s.state in {"undecided", "unusable"}
        ]
        return [*waiting, *(f"{problem.where}: {problem.message}" for problem in self.problems)]

    def servers(self) -> Servers | None:
        """The servers, not started yet; None where there are none."""
        if not self.ready:
            return None
        from mcp_tools.clients.servers import Servers

        return Servers(self.ready, os.environ)
