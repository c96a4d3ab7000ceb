"""All external servers of one process: started in parallel when first needed, searched together, closed together."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
import re
from collections.abc import Mapping, Sequence

from mcp_tools.clients.definitions import ExternalTool, Reply
from mcp_tools.clients.expand import Expanded
from mcp_tools.clients.reconnect import Link
from mcp_tools.clients.trust import Changed, Seen
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
