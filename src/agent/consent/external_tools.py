"""The MCP servers that the user and a project configure, and the user's permanent permissions for their tools."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from agent.configuration.project_choice import ProjectChoice
from mcp_tools.clients.config_files import configured_servers
from mcp_tools.clients.trust import FILE, PINS_FILE, Contact, Decisions, ServerStatus, ToolPins, status_of
from mcp_tools.data_files import JsonFile
from mcp_tools.errors import ServersFileError, os_errors_as

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.consent.questions import CallProposal
    from mcp_tools.clients.config_parser import ConfigProblem
    from mcp_tools.clients.servers import Servers

GRANTS_FILE = "allowed.json"


class ToolGrant(BaseModel):
    """Permission to call a server's tool. It covers one reason for asking."""

    tool: str
    reason: str
    server: str
    """Digest of the server's entry. If the entry changes, the user is asked again."""


class ServerFolderGrant(BaseModel):
    """Permission for one server's tools to read and write below a folder."""

    folder: str
    name: str
    """Name of the server."""
    server: str
    """Digest of the server's entry."""


class _GrantsDocument(BaseModel):
    form: Literal[1] = Field(1, alias="schema")
    tools: list[ToolGrant] = []
    folders: list[ServerFolderGrant] = []


class Grants:
    """The user's permanent permissions for calls of external tools.

    Args:
        path: File in the user's data folder. If it cannot be read, nothing is allowed.
        servers: Tool name prefix and digest of each configured server.
    """

    def __init__(self, path: Path, servers: Sequence[tuple[str, str]] = ()) -> None:
        self.path = path
        self._file = JsonFile(path, _GrantsDocument, empty={"schema": 1})
        self._servers = servers

    @property
    def tools(self) -> list[ToolGrant]:
        """The tools that may be called."""
        return self._file.remembered().tools

    @property
    def folders(self) -> list[ServerFolderGrant]:
        """The folders that may be used."""
        return self._file.remembered().folders

    def cover(self, call: CallProposal) -> bool:
        """Return True if a permission covers this call."""
        if call.tool and self._grant(call) in self.tools:
            return True
        server = self._server(call.tool)
        granted = [Path(one.folder) for one in self.folders if one.server == server] if server and call.folders else []
        return bool(granted) and all(
            any(Path(os.path.realpath(path)).is_relative_to(folder) for folder in granted) for path in call.paths
        )

    def keep(self, call: CallProposal, scope: Literal["always", "folder"]) -> None:
        """Save a permission for calls like this one.

        Raises:
            ServersFileError: The file cannot be written.
        """
        what = f"The permission cannot be saved: {self.path} cannot be written"
        remedy = "Make the folder writable, or set ALITA_HOME to another place."
        with os_errors_as(ServersFileError, what, remedy), self._file.changing() as document:
            if scope == "always" and self._grant(call) not in document.tools:
                document.tools.append(self._grant(call))
            elif scope == "folder":
                name, server = call.tool.partition("__")[0], self._server(call.tool)
                new = [ServerFolderGrant(folder=one, name=name, server=server) for one in call.folders]
                document.folders += [one for one in new if one not in document.folders]

    def forget(self, what: str) -> int:
        """Revoke the permissions of a tool or a folder; return their number.

        Raises:
            ServersFileError: The file cannot be written.
        """
        place = Path(what).expanduser()
        folders = {os.path.normpath(place.absolute()), os.path.realpath(place)}  # the folder may now be a link
        message, remedy = f"The permissions cannot be saved in {self.path}", "Check the permissions of this file."
        with os_errors_as(ServersFileError, message, remedy), self._file.changing() as document:
            before = len(document.tools) + len(document.folders)
            document.tools = [grant for grant in document.tools if grant.tool != what]
            document.folders = [one for one in document.folders if one.folder not in folders]
            return before - len(document.tools) - len(document.folders)

    def _grant(self, call: CallProposal) -> ToolGrant:
        return ToolGrant(tool=call.tool, reason=call.reason, server=self._server(call.tool))

    def _server(self, tool: str) -> str:
        """Return the digest of the entry of a tool's server; empty if the server is not configured."""
        found = [(len(prefix), digest) for prefix, digest in self._servers if tool.startswith(prefix)]
        return max(found, default=(0, ""))[1]


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
        """Return the servers before they are started, or None if no server is ready."""
        if not self.ready:
            return None
        from mcp_tools.clients.servers import Servers

        return Servers(self.ready, os.environ, seen=self._seen)
