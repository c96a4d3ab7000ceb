"""All external servers of one process: started in parallel when first needed, searched together, closed together."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcp_tools.clients.definition_pins import Changed, Seen
from mcp_tools.clients.definitions import ExternalTool
from mcp_tools.clients.entry import ServerEntry
from mcp_tools.clients.expand import Expanded, expand
from mcp_tools.clients.reconnect import Link
from mcp_tools.clients.results import Reply
from mcp_tools.clients.trust import Decisions
from mcp_tools.errors import ServersFileError
from mcp_tools.library.index import Index
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Status, Tool

WAIT_SECONDS = 10.0
"""How long a search waits for servers that are starting; their tools count once they are there."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Servers:
    """The servers that may be started.

    Args:
        servers: Their entries, expanded.
        environment: Of which their processes get a few variables.
        wait: Seconds that a first search waits for them.
        seen: What they said of their tools before; without it, a change is not told.
    """

    def __init__(
        self,
        servers: Sequence[Expanded],
        environment: Mapping[str, str],
        *,
        wait: float = WAIT_SECONDS,
        seen: Seen | None = None,
    ) -> None:
        self._links = [Link(server, environment, seen) for server in servers]
        self._notes: list[str] = []
        self._wait = wait
        self._late: set[str] = set()
        self._starting: dict[str, asyncio.Task[object]] = {}
        self._tools: dict[str, tuple[ExternalTool, Link]] = {}
        self._index: Index | None = None

    def start(self) -> None:
        """Begins to start the servers, so that they are there when they are asked for."""
        for link in self._links:
            if not link.is_settled and link.name not in self._starting:
                self._starting[link.name] = asyncio.create_task(link.tools())

    def forgive(self) -> None:
        """A new run begins: servers that were set aside get another chance."""
        self._late.clear()
        for link in self._links:
            link.forgive()

    def notes(self) -> list[str]:
        """Sentences for the user, each told once."""
        told, self._notes = self._notes, []
        for link in self._links:
            told += link.notes
            link.notes.clear()
        return list(dict.fromkeys(told))

    async def search(self, query: str, limit: int) -> list[ExternalTool]:
        """The tools that fit a query best, best first; all of them where there are no more than the limit."""
        await self._gather()
        if len(self._tools) <= limit:
            found = self._matches(query, limit)
            return [*found, *(tool for tool, _ in self._tools.values() if tool not in found)]
        return self._matches(query, limit)

    async def call(self, name: str, arguments: dict[str, Json], seconds: float | None = None) -> Reply:
        """Calls a tool by its `server__tool` name; whatever goes wrong is in the reply."""
        if not await self.has(name):
            near = difflib.get_close_matches(name, self._tools, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            return Reply(False, f"no external tool is called {one_line(name, 80)}{hint}", kind="unknown")
        tool, link = self._tools[name]
        return await link.call(tool, arguments, seconds)

    async def changed(self, name: str) -> Changed | None:
        """What its server now says of a tool, where that is not what it said when it was trusted."""
        if not await self.has(name):
            return None
        tool, link = self._tools[name]
        return link.changed(tool)

    def trust(self, name: str) -> None:
        """Trusts what its server now says of a tool."""
        tool, link = self._tools[name]
        link.trust(tool)

    async def has(self, name: str) -> bool:
        """Whether a server offers a tool of that `server__tool` name."""
        if name not in self._tools:
            await self._gather()
        return name in self._tools

    async def aclose(self) -> None:
        """Ends every server."""
        for task in self._starting.values():
            task.cancel()
        await asyncio.gather(*self._starting.values(), return_exceptions=True)
        self._starting.clear()
        await asyncio.gather(*(link.aclose() for link in self._links))
        if self._index is not None:
            self._index.close()
            self._index = None

    async def _gather(self) -> None:
        """Takes in the tools of the servers that are there; waits a while for one that has not been waited for."""
        self.start()
        waited_for = [task for name, task in self._starting.items() if name not in self._late]
        if waited_for:
            await asyncio.wait(waited_for, timeout=self._wait)
        for name, task in list(self._starting.items()):
            if task.done():
                del self._starting[name]
                task.result()
            elif name not in self._late:
                self._late.add(name)
                self._notes.append(f"the server {name} is still starting; its tools count once it is there")
        self._tools = {tool.name: (tool, link) for link in reversed(self._links) for tool in reversed(link.known)}

    def _matches(self, query: str, limit: int) -> list[ExternalTool]:
        if not self._tools:
            return []
        if self._index is None:
            self._index = Index(None)
        tools = {name: tool for name, (tool, _) in self._tools.items()}
        self._index.refresh({name: _stamp(tool) for name, tool in tools.items()}, lambda name: _indexed(tools[name]))
        # The user chose these servers: what only a word speaks for is still worth its place.
        found = self._index.search(query, limit, with_unlikely=True)
        return [tools[match.name] for match in found]


def _stamp(tool: ExternalTool) -> str:
    told = json.dumps([tool.description, tool.input_schema], sort_keys=True)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def _indexed(tool: ExternalTool) -> Tool:
    """The tool with its own name in single words, as search wants them."""
    words = _CAMEL.sub(" ", tool.tool).replace("_", " ").replace("-", " ")
    return Tool(tool.name, f"{words} {tool.description}", tool.input_schema, {}, "", status=Status.VERIFIED)


State = Literal["ready", "off", "undecided", "refused", "unusable"]


@dataclass(frozen=True, slots=True)
class Standing:
    """One configured server and whether it may be started."""

    entry: ServerEntry
    state: State
    expanded: Expanded | None = None
    """Present when it is ready."""
    reason: str = ""
    """Why it is not started."""
    remedy: str = ""


def standing_of(
    entry: ServerEntry, decisions: Decisions, environment: Mapping[str, str], project: Path, *, decided: bool = False
) -> Standing:
    """Whether a server may be started.

    Args:
        entry: The server.
        decisions: What the user decided about servers of projects.
        environment: Where its variables are looked up.
        project: The folder that the user works in.
        decided: Whether the user asks for this very server now, so that neither trust nor its being off matters.
    """
    enable = f"alita mcp enable {entry.name}"
    if _is_alita(entry):
        return Standing(entry, "off", reason="it is alita itself")
    if not decided:
        if entry.is_off or (entry.scope == "project" and decisions.is_off(entry, project)):
            return Standing(entry, "off", reason="it is disabled", remedy=enable)
        verdict = decisions.of(entry.digest, project) if entry.scope == "project" else "trusted"
        if verdict is None:
            return Standing(
                entry, "undecided", reason="this project defines it and you have not allowed it", remedy=enable
            )
        if verdict == "refused":
            return Standing(entry, "refused", reason="you refused it", remedy=enable)
    try:
        expanded = expand(entry, environment, project)
    except ServersFileError as error:
        return Standing(entry, "unusable", reason=error.message, remedy=error.remedy)
    command = expanded.command if entry.command else ""
    if command and "/" not in command and shutil.which(command, path=environment.get("PATH")) is None:
        return Standing(entry, "unusable", reason=f"there is no command {entry.command}", remedy="Install it.")
    return Standing(entry, "ready", expanded)


def _is_alita(entry: ServerEntry) -> bool:
    """Whether it is our own server, which other clients have in the files that are read here: it would ask itself."""
    serves = "serve" in entry.arguments
    return serves and (Path(entry.command).stem == "alita" or any("agent.cli.main" in word for word in entry.arguments))
