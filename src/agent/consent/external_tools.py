"""The tools of other people's MCP servers, as a run reaches them: searched and called through the journal."""

from __future__ import annotations

import base64
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.configuration.project_choice import ProjectChoice
from agent.consent.grants import FILE as GRANTS_FILE
from agent.consent.grants import Grants
from agent.records import as_plain, from_plain
from mcp_tools.clients.config_files import configured
from mcp_tools.clients.definitions import plain_schema, returned_type
from mcp_tools.clients.replies import ServerReply
from mcp_tools.clients.trust import FILE, PINS_FILE, Contact, Decisions, Seen, Standing, standing_of
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.consent.consent import Consent
    from agent.store.journal import Journal
    from mcp_tools.clients.config_parser import Problem
    from mcp_tools.clients.servers import Servers


KIND = "external"
SERVER = "server"
"""The key that marks a shown tool as external: the name of its server."""


def arguments_schema(tool: dict[str, Json]) -> dict[str, Json]:
    """The form of a tool's arguments.

    An external tool's schema has no descriptions: only a block of data may hold them.
    """
    schema: Any = tool.get("inputSchema") or {"type": "object"}
    return plain_schema(schema, described=False) if SERVER in tool else schema


class ExternalTools:
    """The tools of external servers. Replies are recorded, so that a replay does not need the servers."""

    def __init__(
        self,
        servers: Servers | None,
        journal: Journal,
        consent: Consent,
        note: Callable[[str], None],
        keep: Callable[[str, bytes], Path],
    ) -> None:
        self.is_active = servers is not None or journal.knows(KIND)
        """True if there may be external tools."""
        self._servers = servers
        self._consent = consent
        self._journal = journal
        self._note = note
        self._keep = keep
        self._found: dict[str, list[dict[str, Json]]] = {}
        """The newest result of each search; the journal has one again only if it changed."""

    async def search(self, query: str, limit: int) -> list[dict[str, Json]]:
        """The tools that fit a query best, best first: name, description, inputSchema, returns, readOnly, server."""
        if not self.is_active:
            return []

        async def perform() -> Json:
            found = await self._servers.search(query, limit) if self._servers else []
            tools = [
                {
                    "name": t.name,
                    "description": t.description,
                    "inputSchema": t.input_schema,
                    "returns": returned_type(t.output_schema),
                    "readOnly": t.hints.get("readOnlyHint") is True,
                    SERVER: t.server,
                }
                for t in found
            ]
            same = tools == self._found.get(query)
            return {"tools": None if same else tools, "notes": self._servers.notes() if self._servers else []}

        tools = (await self._recorded({"search": query, "limit": limit}, perform))["tools"]
        if tools is not None:
            self._found[query] = tools
        return list(self._found[query])

    async def call(self, name: str, arguments: dict[str, Json], seconds: float | None = None) -> ServerReply:
        """Call a tool, or return the recorded reply. Failures are replies, too. Its files are in the workspace."""

        async def perform() -> Json:
            if self._servers is None:
                reply = ServerReply(False, f"the server of {name} is not configured here any more", kind="unknown")
                return {"reply": as_plain(reply), "notes": []}
            if refusal := await self._consent.refusal_of_call(name, arguments, self._servers):
                reply = ServerReply(False, refusal, kind="refused")
            else:
                reply = self._with_kept(await self._servers.call(name, arguments, seconds), name)
            refused = [reply.text] if reply.kind == "refused" else []
            return {"reply": as_plain(reply), "notes": [*self._servers.notes(), *refused]}

        recorded = await self._recorded({"call": name, "arguments": arguments}, perform)
        return from_plain(ServerReply, recorded["reply"])

    def _with_kept(self, reply: ServerReply, name: str) -> ServerReply:
        """The reply with its files saved, so that the journal holds their paths, and not their bytes."""
        files, texts = [], [reply.text, *reply.returned]
        for file in reply.files:
            path = str(self._keep(f"{name}_{file.name}", base64.b64decode(file.data)))
            files.append(replace(file, data="", path=path))
            old, new = f"file {file.name}:", f"file {path}:"
            texts = [text.replace(old, new) if isinstance(text, str) else text for text in texts]
        return replace(reply, text=texts[0], files=tuple(files), returned=tuple(texts[1:]))

    async def _recorded(self, request: dict[str, Json], perform: Callable[[], Awaitable[Json]]) -> dict[str, Any]:
        output: dict[str, Any] = await self._journal.call(KIND, request, perform)
        for note in output["notes"]:
            self._note(note)
        return output


def _wanted(name: str, servers: tuple[str, ...]) -> bool:
    return name in servers or "all" in servers


class ConfiguredServers:
    """The servers that this user and this project configure, read from their files without starting anything."""

    def __init__(self, settings: Settings, project: Path) -> None:
        found = configured(settings.config_dir, project)
        self.decisions = Decisions(settings.data_dir / FILE)
        self.choice = ProjectChoice.of(settings)
        self.project = project
        self._data = settings.data_dir
        self.problems: tuple[Problem, ...] = found.problems
        self.standings = [
            standing_of(entry, self.decisions, os.environ, project)
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
        self._seen = Seen(settings.data_dir / PINS_FILE)
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

    def state(self, standing: Standing) -> str:
        """The state of a server for people: of one that may be started, how it was found when it was last spoken to."""
        if standing.state != "ready":
            return standing.state
        contact = self.contact(standing)
        return "untried" if contact is None else "ready" if contact.ok else "failed"

    def contact(self, standing: Standing) -> Contact | None:
        """State of a server at its last call."""
        return self._seen.contact(standing.entry)

    def servers(self) -> Servers | None:
        """The servers, not started yet; None if there are no servers."""
        if not self.ready:
            return None
        from mcp_tools.clients.servers import Servers

        return Servers(self.ready, os.environ, seen=self._seen)
