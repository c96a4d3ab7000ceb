"""All external servers of one process: started in parallel when first needed, searched together, closed together."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_tools.clients.config_files import Expanded
from mcp_tools.clients.definitions import ExternalTool, Listed, Listing, listing_of
from mcp_tools.clients.replies import ServerReply
from mcp_tools.clients.trust import Changed, Contact, Seen
from mcp_tools.errors import ArgumentsError, ServerError
from mcp_tools.library.arguments import validate_arguments
from mcp_tools.library.index import Index
from mcp_tools.text import did_you_mean, one_line
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from mcp_tools.clients.connection import Connection


_MOST_FAILURES = 2
_UNKNOWN = "it is not known whether the call took effect, so it is not repeated"
_NAMED = 5


class Link:
    """One server, with its tools."""

    def __init__(self, server: Expanded, environment: Mapping[str, str], seen: Seen | None = None) -> None:
        self.name = server.entry.name
        self.notes: list[str] = []
        """Messages for the user that have not been shown."""
        self._server = server
        self._environment = environment
        self._seen = seen
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()
        self._calls = asyncio.Semaphore(server.entry.limits.concurrent_calls)
        self._listing = Listing()
        self._untrusted: dict[str, Changed] = {}
        self._is_stale = True
        self._failures = 0
        self._aside: ServerError | None = None

    @property
    def protocol(self) -> str:
        """The protocol version that was agreed on; empty without a connection."""
        return self._connection.protocol if self._connection else ""

    @property
    def known(self) -> tuple[ExternalTool, ...]:
        """The tools of the newest list; none of a server that was set aside."""
        return () if self._aside else self._listing.tools

    @property
    def is_settled(self) -> bool:
        """True if its tools are known, or known to be none."""
        return self._aside is not None or not self._is_stale

    async def refresh(self) -> None:
        """Lists the server's tools, if it said that they changed; a server that fails is set aside."""
        if self.is_settled:
            return
        try:
            connection = await self._connected()
            self._is_stale = False
            listed = await connection.definitions()
            self._take(listing_of(self.name, listed.definitions, self._server.entry.limits.max_tools, listed.notes))
        except ServerError as failure:
            self._set_aside(failure)

    async def definitions(self) -> Listed:
        """The server's own list, uncut.

        Raises:
            ServerError: It is unavailable.
        """
        return await (await self._connected()).definitions()

    async def call(self, tool: ExternalTool, arguments: dict[str, Json], seconds: float | None = None) -> ServerReply:
        """Calls a tool. Whatever goes wrong is in the reply."""
        started = time.perf_counter()
        most = math.inf if seconds is None else max(seconds, 0.1)
        limit = min(self._server.entry.limits.call_seconds, most)
        try:
            validate_arguments(tool.name, tool.input_schema, arguments)
            _check_text(arguments)
            async with self._calls:
                reply = await self._called(tool, arguments, limit, most)
        except ArgumentsError as misfit:
            reply = ServerReply(False, f"{misfit.message}\n{misfit.remedy}".strip(), kind="arguments")
        except ServerError as failure:
            late = f"it did not answer within {round(limit, 1):g} seconds"
            message = late if failure.kind == "timeout" else failure.message
            reply = ServerReply(False, message, kind=failure.kind)
        return replace(reply, seconds=round(time.perf_counter() - started, 6))

    async def _called(self, tool: ExternalTool, arguments: dict[str, Json], limit: float, most: float) -> ServerReply:
        """Calls a tool, and once more if that can do no harm: the server did not take the call, or the tool only reads.

        Raises:
            ServerError: There is no reply.
        """
        is_second = False
        while True:
            connection = await self._connected()
            try:
                return await connection.call(tool, arguments, limit, most)
            except ServerError as failure:
                await self._drop_if_lost(connection, failure)
                only_reads = tool.hints.get("readOnlyHint") is True
                if is_second or failure.kind not in ({"session", "gone"} if only_reads else {"session"}):
                    if failure.kind in {"gone", "timeout"} and not only_reads:
                        raise ServerError(f"{failure.message}; {_UNKNOWN}", kind=failure.kind) from None
                    raise
            is_second = True

    async def _drop_if_lost(self, connection: Connection, failure: ServerError) -> None:
        """Drops a connection that is of no more use, so that the next call begins with a new one."""
        is_lost = failure.kind in {"gone", "session"} or not connection.is_open
        if is_lost or (failure.kind == "timeout" and not await connection.answers()):
            if self._connection is connection:
                self._connection = None
                if failure.kind == "session":
                    self.notes.append(f"the server {self.name} lost its session; a new one is begun")
                else:
                    self._lost(failure)
            await connection.aclose()

    def _lost(self, failure: ServerError) -> None:
        self._failures += 1
        self._is_stale = True
        if self._failures > _MOST_FAILURES:
            self._set_aside(failure)
        else:
            self.notes.append(f"the server {self.name} failed and is started again when needed: {failure.message}")

    async def _connected(self) -> Connection:
        """The open connection, or a new one.

        Raises:
            ServerError: The server was set aside, or cannot be reached.
        """
        async with self._opening:
            if self._connection is not None and not self._connection.is_open:
                connection, self._connection = self._connection, None
                await connection.aclose()
                self._lost(ServerError("it ended"))
            if self._aside is not None:
                raise self._aside
            if self._connection is None:
                try:
                    self._connection = await self._open()
                except ServerError as failure:
                    if self._failures:
                        self._lost(failure)
                    raise
                self._is_stale = True
            return self._connection

    async def _open(self) -> Connection:
        """A new connection. A server that dies of a question newer than itself is asked in the old way."""
        from mcp_tools.clients.connection import Connection

        def connection() -> Connection:
            return Connection(self._server, self._environment, changed=self._changed, note=self.notes.append)

        first = connection()
        try:
            await first.open()
        except ServerError as failure:
            if failure.kind not in {"gone", "protocol"}:
                raise
        else:
            return first
        second = connection()
        await second.open("legacy")
        return second

    def _changed(self) -> None:
        self._is_stale = True

    def _take(self, listing: Listing) -> None:
        self.notes += [note for note in listing.notes if note not in self._listing.notes]
        if self._seen is not None:
            self._seen.found(self._server.entry, Contact(ok=True, notes=list(listing.notes)))
        self._listing = listing
        told = self._untrusted
        self._untrusted = self._seen.changed(self._server.entry, listing.tools) if self._seen is not None else {}
        if self._untrusted and self._untrusted != told:
            names = ", ".join(one_line(name, 80) for name in list(self._untrusted)[:_NAMED])
            more = ", …" if len(self._untrusted) > _NAMED else ""
            self.notes.append(
                f"the server {self.name} now says something else of its tools {names}{more}; "
                f"they are called once you allow it: alita mcp enable {self.name}"
            )

    def changed(self, tool: ExternalTool) -> Changed | None:
        """Return the server's present description of a tool, if nobody has trusted it yet."""
        return self._untrusted.get(tool.tool)

    def trust(self, tool: ExternalTool) -> None:
        """Trusts what the server now says of a tool."""
        if self._untrusted.pop(tool.tool, None) and self._seen is not None:
            self._seen.trust(self._server.entry, [tool.tool])

    def _set_aside(self, failure: ServerError) -> None:
        if self._aside is None:
            self._aside = failure
            remedy = f" ({failure.remedy})" if failure.remedy else ""
            self.notes.append(f"the server {self.name} is left out: {failure.message}{remedy}")
            if self._seen is not None:
                self._seen.found(self._server.entry, Contact(ok=False, notes=[f"{failure.message}{remedy}"]))

    def forgive(self) -> None:
        """Gives a server that was set aside another chance: a new run begins."""
        self._aside, self._failures = None, 0
        self._is_stale = self._is_stale or self._connection is None

    async def aclose(self) -> None:
        """Ends the connection and the server's process."""
        async with self._opening:
            if self._connection is not None:
                await self._connection.aclose()
            self._connection = None


WAIT_SECONDS = 10.0
"""Seconds that a search waits for servers that are starting; later ones count once they have started."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Servers:
    """The servers that may be started.

    Args:
        servers: Their entries, expanded.
        environment: Their processes get some of its variables.
        wait: Seconds that a first search waits for them.
        seen: Their earlier descriptions; without it, changes are not reported.
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
                self._starting[link.name] = asyncio.create_task(link.refresh())

    def forgive(self) -> None:
        """A new run begins: servers that were set aside get another chance."""
        self._late.clear()
        for link in self._links:
            link.forgive()

    def notes(self) -> list[str]:
        """Return messages for the user, each once."""
        told, self._notes = self._notes, []
        for link in self._links:
            told += link.notes
            link.notes.clear()
        return list(dict.fromkeys(told))

    async def search(self, query: str, limit: int) -> list[ExternalTool]:
        """Return the tools that fit a query best, best first; all tools if they are within the limit."""
        await self._gather()
        if not self._tools:
            return []
        if self._index is None:
            self._index = Index(None)
        tools = {name: tool for name, (tool, _) in self._tools.items()}
        stamps = {name: tool.pinned() for name, tool in tools.items()}
        self._index.refresh(stamps, lambda name: _indexed(tools[name]))
        # The user chose these servers: what only a word speaks for is still worth its place.
        found = [tools[match.name] for match in self._index.search(query, limit, with_unlikely=True)]
        if len(tools) <= limit:
            found += [tool for tool in tools.values() if tool not in found]
        return found

    async def call(self, name: str, arguments: dict[str, Json], seconds: float | None = None) -> ServerReply:
        """Calls a tool by its `server__tool` name; failures are in the reply."""
        if not await self.has(name):
            told = f"no external tool is called {one_line(name, 80)}. {did_you_mean(name, self._tools, most=3)}"
            return ServerReply(False, told.rstrip(". "), kind="unknown")
        tool, link = self._tools[name]
        return await link.call(tool, arguments, seconds)

    async def changed(self, name: str) -> Changed | None:
        """Return the server's present description of a tool, if it has changed since it was trusted."""
        if not await self.has(name):
            return None
        tool, link = self._tools[name]
        return link.changed(tool)

    def trust(self, name: str) -> None:
        """Trust the server's present description of a tool. If the tool is gone, its next call says so."""
        if name in self._tools:
            tool, link = self._tools[name]
            link.trust(tool)

    async def has(self, name: str) -> bool:
        """Return True if a server offers a tool of that `server__tool` name."""
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


def _check_text(arguments: dict[str, Json]) -> None:
    """Looks for text that no message can carry.

    Raises:
        ArgumentsError: There is some.
    """
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ArgumentsError(
            f"The arguments hold half a character, {half!r}.", remedy="Send whole characters."
        ) from None


def _indexed(tool: ExternalTool) -> Tool:
    """The tool with its own name in single words, as search wants them."""
    words = _CAMEL.sub(" ", tool.tool).replace("_", " ").replace("-", " ")
    return replace(tool.as_tool(), description=f"{words} {tool.description}")
