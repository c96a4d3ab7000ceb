"""The external servers that this user and this project configure, and which of them may be started."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agent.configuration.project_choice import ProjectChoice
from mcp_tools.clients.config_files import configured
from mcp_tools.clients.server_status import standing_of
from mcp_tools.clients.trust import FILE, Decisions

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.clients.config_parser import Problem
    from mcp_tools.clients.expand import Expanded
    from mcp_tools.clients.server_status import Standing
    from mcp_tools.clients.servers import Servers


class ConfiguredServers:
    """The servers that this user and this project configure, read from their files without starting anything.

    Args:
        settings: Name the user's folders.
        project: The folder that the user works in.
    """

    def __init__(self, settings: Settings, project: Path) -> None:
        found = configured(settings.config_dir, project)
        self.decisions = Decisions(settings.data_dir / FILE)
        self.choice = ProjectChoice.of(settings)
        """What the project's files choose about who answers."""
        self.project = project
        self._data_dir = settings.data_dir
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
        from mcp_tools.clients.definition_pins import FILE as SEEN_FILE
        from mcp_tools.clients.definition_pins import Seen
        from mcp_tools.clients.servers import Servers

        return Servers(self.ready, os.environ, seen=Seen(self._data_dir / SEEN_FILE))
