"""The MCP servers that the user and a project configure."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.configuration.project_choice import ProjectChoice
from agent.consent.grants import FILE as GRANTS_FILE
from agent.consent.grants import Grants
from mcp_tools.clients.config_files import configured_servers
from mcp_tools.clients.definitions import plain_schema
from mcp_tools.clients.trust import FILE, PINS_FILE, Contact, Decisions, ServerStatus, ToolPins, status_of
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.clients.config_parser import Problem
    from mcp_tools.clients.servers import Servers


SERVER = "server"
"""The key that marks a shown tool as external: the name of its server."""


def arguments_schema(tool: dict[str, Json]) -> dict[str, Json]:
    """The form of a tool's arguments.

    An external tool's schema has no descriptions: only a block of data may hold them.
    """
    schema: Any = tool.get("inputSchema") or {"type": "object"}
    return plain_schema(schema, described=False) if SERVER in tool else schema


def _wanted(name: str, servers: tuple[str, ...]) -> bool:
    return name in servers or "all" in servers


class ConfiguredServers:
    """The servers that this user and this project configure, read from their files without starting anything."""

    def __init__(self, settings: Settings, project: Path) -> None:
        found = configured_servers(settings.config_dir, project)
        self.decisions = Decisions(settings.data_dir / FILE)
        self.choice = ProjectChoice.of(settings)
        self.project = project
        self._data = settings.data_dir
        self.problems: tuple[Problem, ...] = found.problems
        self.standings = [
            status_of(entry, self.decisions, os.environ, project)
            for entry in found.entries
            if _wanted(entry.name, settings.servers)
        ]
        self.ready = [standing.expanded for standing in self.standings if standing.expanded is not None]
        self.undecided = [standing for standing in self.standings if standing.state == "undecided"]
        """Returns the servers that the project defines and the user has not decided about."""
        self.secrets = tuple(secret for server in self.ready for secret in server.secrets)
        """The values that must not be written down."""
        names = ",".join(sorted(server.entry.name for server in self.ready))
        self.configuration = {"servers": names} if names else {}
        """Returns the names of the servers that offer tools; an answer depends on them."""
        self._seen = ToolPins(settings.data_dir / PINS_FILE)
        self._is_told = False

    @cached_property
    def grants(self) -> Grants:
        """Calls that this user allowed permanently."""
        from mcp_tools.clients.definitions import prefix_of

        servers = [(prefix_of(server.entry.name), server.entry.digest) for server in self.ready]
        return Grants(self._data / GRANTS_FILE, servers)

    def offers(self, name: str) -> bool:
        """Return True if the name is that of a tool of these servers."""
        from mcp_tools.clients.definitions import prefix_of

        return any(name.startswith(prefix_of(server.entry.name)) for server in self.ready)

    def news(self) -> list[str]:
        """Return, once, why servers are not started and what is wrong in the files.

        Disabled servers are not mentioned.
        """
        if self._is_told:
            return []
        self._is_told = True
        waiting = [
            f"the server {s.entry.name} is not started: {s.reason} ({s.remedy})"
            for s in self.standings
            if s.state in {"undecided", "unusable"}
        ]
        return [*waiting, *(f"{problem.where}: {problem.message}" for problem in self.problems)]

    def state(self, standing: ServerStatus) -> str:
        """The state of a server for people: of one that may be started, how it was found when it was last spoken to."""
        if standing.state != "ready":
            return standing.state
        contact = self.contact(standing)
        return "untried" if contact is None else "ready" if contact.ok else "failed"

    def contact(self, standing: ServerStatus) -> Contact | None:
        """State of a server at its last call."""
        return self._seen.contact(standing.entry)

    def servers(self) -> Servers | None:
        """The servers, not started yet; None if there are no servers."""
        if not self.ready:
            return None
        from mcp_tools.clients.servers import Servers

        return Servers(self.ready, os.environ, seen=self._seen)
