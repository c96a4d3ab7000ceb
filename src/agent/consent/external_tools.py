"""The MCP servers that the user and a project configure."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agent.configuration.project_choice import ProjectChoice
from agent.consent.grants import FILE as GRANTS_FILE
from agent.consent.grants import Grants
from mcp_tools.clients.config_files import configured_servers
from mcp_tools.clients.trust import FILE, PINS_FILE, Contact, Decisions, ServerStatus, ToolPins, status_of

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.clients.config_parser import ConfigProblem
    from mcp_tools.clients.servers import Servers


def _is_selected(name: str, servers: tuple[str, ...]) -> bool:
    return name in servers or "all" in servers


class ConfiguredServers:
    """The servers configured by the user and the project. Reading the configuration starts nothing."""

    def __init__(self, settings: Settings, project: Path) -> None:
        found = configured_servers(settings.config_dir, project)
        self.decisions = Decisions(settings.data_dir / FILE)
        self.choice = ProjectChoice.of(settings)
        self.project = project
        self._data = settings.data_dir
        self.problems: tuple[ConfigProblem, ...] = found.problems
        self.standings = [
            status_of(entry, self.decisions, os.environ, project)
            for entry in found.entries
            if _is_selected(entry.name, settings.servers)
        ]
        self.ready = [standing.expanded for standing in self.standings if standing.expanded is not None]
        self.undecided = [standing for standing in self.standings if standing.state == "undecided"]
        """Servers that the project defines and the user has neither allowed nor refused."""
        self.secrets = tuple(secret for server in self.ready for secret in server.secrets)
        """Values that logs and journals must not contain."""
        names = ",".join(sorted(server.entry.name for server in self.ready))
        self.configuration = {"servers": names} if names else {}
        """The usable servers as part of a run's configuration, since answers depend on them."""
        self._seen = ToolPins(settings.data_dir / PINS_FILE)
        self._were_news_read = False

    @cached_property
    def grants(self) -> Grants:
        """The calls that the user allowed permanently."""
        from mcp_tools.clients.definitions import prefix_of

        servers = [(prefix_of(server.entry.name), server.entry.digest) for server in self.ready]
        return Grants(self._data / GRANTS_FILE, servers)

    def offers(self, name: str) -> bool:
        """Return True if one of these servers may have a tool of this name."""
        from mcp_tools.clients.definitions import prefix_of

        return any(name.startswith(prefix_of(server.entry.name)) for server in self.ready)

    def news(self) -> list[str]:
        """Return why servers are not started and which entries are wrong. Later calls return nothing.

        Disabled servers are not mentioned.
        """
        if self._were_news_read:
            return []
        self._were_news_read = True
        waiting = [
            f"the server {s.entry.name} is not started: {s.reason} ({s.remedy})"
            for s in self.standings
            if s.state in {"undecided", "unusable"}
        ]
        return [*waiting, *(f"{problem.where}: {problem.message}" for problem in self.problems)]

    def state(self, standing: ServerStatus) -> str:
        """Return the state of a server for display. For a usable server, this is the result of the last contact."""
        if standing.state != "ready":
            return standing.state
        contact = self.contact(standing)
        return "untried" if contact is None else "ready" if contact.ok else "failed"

    def contact(self, standing: ServerStatus) -> Contact | None:
        """Return the result of the last contact with a server."""
        return self._seen.contact(standing.entry)

    def servers(self) -> Servers | None:
        """Return the servers before they are started; None if there are none."""
        if not self.ready:
            return None
        from mcp_tools.clients.servers import Servers

        return Servers(self.ready, os.environ, seen=self._seen)
