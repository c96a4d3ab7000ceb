"""All external servers of a process: started in parallel on first use, searched together, closed together."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_tools.clients.config_files import ExpandedServer
from mcp_tools.clients.definitions import ExternalTool, RawListing, ToolListing, listing_of
from mcp_tools.clients.replies import ServerReply
from mcp_tools.clients.trust import ChangedTool, Contact, ToolPins
from mcp_tools.errors import ArgumentsError, ServerError
from mcp_tools.library.arguments import validate_arguments
from mcp_tools.library.index import Index
from mcp_tools.text import did_you_mean, one_line
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from mcp_tools.clients.connection import Connection


_MAX_FAILURES = 2
_OUTCOME_UNKNOWN = "the call may have taken effect, so it is not repeated"
_MAX_NAMES = 5


class ServerLink:
    """One server, with its tools and a connection that is opened on demand."""

    def __init__(self, server: ExpandedServer, environment: Mapping[str, str], seen: ToolPins | None = None) -> None:
        self.name = server.entry.name
        self.notes: list[str] = []
        """Messages for the user that have not been shown yet."""
        self._server = server
        self._environment = environment
        self._seen = seen
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()
        self._calls = asyncio.Semaphore(server.entry.limits.concurrent_calls)
        self._listing = ToolListing()
        self._untrusted: dict[str, ChangedTool] = {}
        self._is_stale = True
        self._failures = 0
        self._exclusion: ServerError | None = None

    @property
    def protocol(self) -> str:
        """The negotiated protocol version, or an empty string without a connection."""
        return self._connection.protocol if self._connection else ""

    @property
    def known(self) -> tuple[ExternalTool, ...]:
        """The tools in the latest list. Empty for an excluded server."""
        return () if self._exclusion else self._listing.tools

    @property
    def is_settled(self) -> bool:
        """True if the server's tools are known or the server is excluded."""
        return self._exclusion is not None or not self._is_stale

    async def refresh(self) -> None:
        """List the server's tools again if they may have changed. Exclude the server if that fails."""
        if self.is_settled:
            return
        try:
            connection = await self._connect()
            self._is_stale = False
            listed = await connection.definitions()
            self._accept(listing_of(self.name, listed.definitions, self._server.entry.limits.max_tools, listed.notes))
        except ServerError as failure:
            self._exclude(failure)

    async def definitions(self) -> RawListing:
        """Return the tool definitions as the server sent them.

        Raises:
            ServerError: The server is unavailable.
        """
        return await (await self._connect()).definitions()

    async def call(self, tool: ExternalTool, arguments: dict[str, Json], seconds: float | None = None) -> ServerReply:
        """Call a tool. A failure is returned as a reply."""
        started = time.perf_counter()
        most = math.inf if seconds is None else max(seconds, 0.1)
        limit = min(self._server.entry.limits.call_seconds, most)
        try:
            validate_arguments(tool.name, tool.input_schema, arguments)
            _check_text(arguments)
            async with self._calls:
                reply = await self._call_with_retry(tool, arguments, limit, most)
        except ArgumentsError as misfit:
            reply = ServerReply(False, f"{misfit.message}\n{misfit.remedy}".strip(), kind="arguments")
        except ServerError as failure:
            late = f"it did not answer within {round(limit, 1):g} seconds"
            message = late if failure.kind == "timeout" else failure.message
            reply = ServerReply(False, message, kind=failure.kind)
        return replace(reply, seconds=round(time.perf_counter() - started, 6))

    async def _call_with_retry(
        self, tool: ExternalTool, arguments: dict[str, Json], limit: float, most: float
    ) -> ServerReply:
        """Call a tool. Retry once if that is safe: the server did not receive the call, or the tool is read-only.

        Raises:
            ServerError: There is no reply.
        """
        is_second = False
        while True:
            connection = await self._connect()
            try:
                return await connection.call(tool, arguments, limit, most)
            except ServerError as failure:
                await self._drop_if_lost(connection, failure)
                only_reads = tool.hints.get("readOnlyHint") is True
                if is_second or failure.kind not in ({"session", "gone"} if only_reads else {"session"}):
                    if failure.kind in {"gone", "timeout"} and not only_reads:
                        raise ServerError(f"{failure.message}; {_OUTCOME_UNKNOWN}", kind=failure.kind) from None
                    raise
            is_second = True

    async def _drop_if_lost(self, connection: Connection, failure: ServerError) -> None:
        """Drop a connection that is no longer usable, so that the next call opens a new one."""
        is_lost = failure.kind in {"gone", "session"} or not connection.is_open
        if is_lost or (failure.kind == "timeout" and not await connection.is_responsive()):
            if self._connection is connection:
                self._connection = None
                if failure.kind == "session":
                    self.notes.append(f"the server {self.name} lost its session; starting a new one")
                else:
                    self._count_failure(failure)
            await connection.aclose()

    def _count_failure(self, failure: ServerError) -> None:
        self._failures += 1
        self._is_stale = True
        if self._failures > _MAX_FAILURES:
            self._exclude(failure)
        else:
            self.notes.append(f"the server {self.name} failed and will be restarted when needed: {failure.message}")

    async def _connect(self) -> Connection:
        """Return the open connection, or a new one.

        Raises:
            ServerError: The server is excluded, or cannot be reached.
        """
        async with self._opening:
            if self._connection is not None and not self._connection.is_open:
                connection, self._connection = self._connection, None
                await connection.aclose()
                self._count_failure(ServerError("its connection ended"))
            if self._exclusion is not None:
                raise self._exclusion
            if self._connection is None:
                try:
                    self._connection = await self._new_connection()
                except ServerError as failure:
                    if self._failures:
                        self._count_failure(failure)
                    raise
                self._is_stale = True
            return self._connection

    async def _new_connection(self) -> Connection:
        """Open a connection. Servers that crash on the newest protocol get a second attempt with the old protocol."""
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

    def _accept(self, listing: ToolListing) -> None:
        self.notes += [note for note in listing.notes if note not in self._listing.notes]
        if self._seen is not None:
            self._seen.found(self._server.entry, Contact(ok=True, notes=list(listing.notes)))
        self._listing = listing
        before = self._untrusted
        self._untrusted = self._seen.changed(self._server.entry, listing.tools) if self._seen is not None else {}
        if self._untrusted and self._untrusted != before:
            names = ", ".join(one_line(name, 80) for name in list(self._untrusted)[:_MAX_NAMES])
            more = ", …" if len(self._untrusted) > _MAX_NAMES else ""
            self.notes.append(
                f"the server {self.name} changed the definitions of its tools {names}{more}; "
                f"to allow the new definitions: alita mcp enable {self.name}"
            )

    def changed(self, tool: ExternalTool) -> ChangedTool | None:
        """Return the tool's new definition if the user has not trusted it yet."""
        return self._untrusted.get(tool.tool)

    def trust(self, tool: ExternalTool) -> None:
        """Trust the tool's new definition."""
        if self._untrusted.pop(tool.tool, None) and self._seen is not None:
            self._seen.trust(self._server.entry, [tool.tool])

    def _exclude(self, failure: ServerError) -> None:
        if self._exclusion is None:
            self._exclusion = failure
            remedy = f" ({failure.remedy})" if failure.remedy else ""
            self.notes.append(f"the server {self.name} is unavailable: {failure.message}{remedy}")
            if self._seen is not None:
                self._seen.found(self._server.entry, Contact(ok=False, notes=[f"{failure.message}{remedy}"]))

    def retry_failed(self) -> None:
        """Give an excluded server another chance, at the beginning of a new run."""
        self._exclusion, self._failures = None, 0
        self._is_stale = self._is_stale or self._connection is None

    async def aclose(self) -> None:
        """End the connection and the server's process."""
        async with self._opening:
            if self._connection is not None:
                await self._connection.aclose()
            self._connection = None


WAIT_SECONDS = 10.0
"""How long a search waits for servers to start. Tools of slower servers are added later."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Servers:
    """The external servers that may be started.

    Example:
        >>> servers = Servers([expand(entry, os.environ, Path.cwd())], os.environ)
        >>> tools = await servers.search("add two numbers", 5)
        >>> reply = await servers.call("calc__add", {"a": 1, "b": 2})
        >>> await servers.aclose()

    Args:
        servers: Expanded entries of the servers.
        environment: The user's environment variables, a few of which are passed to the processes.
        wait: Seconds that the first search waits for servers to start.
        seen: The trusted tool definitions. Without them, changed definitions are not reported.
    """

    def __init__(
        self,
        servers: Sequence[ExpandedServer],
        environment: Mapping[str, str],
        *,
        wait: float = WAIT_SECONDS,
        seen: ToolPins | None = None,
    ) -> None:
        self._links = [ServerLink(server, environment, seen) for server in servers]
        self._notes: list[str] = []
        self._wait = wait
        self._late: set[str] = set()
        self._starting: dict[str, asyncio.Task[object]] = {}
        self._tools: dict[str, tuple[ExternalTool, ServerLink]] = {}
        self._index: Index | None = None

    def start(self) -> None:
        """Start the servers in the background, so that they are ready when needed."""
        for link in self._links:
            if not link.is_settled and link.name not in self._starting:
                self._starting[link.name] = asyncio.create_task(link.refresh())

    def retry_failed(self) -> None:
        """Give excluded servers another chance, at the beginning of a new run."""
        self._late.clear()
        for link in self._links:
            link.retry_failed()

    def notes(self) -> list[str]:
        """Return new messages for the user, without duplicates."""
        notes, self._notes = self._notes, []
        for link in self._links:
            notes += link.notes
            link.notes.clear()
        return list(dict.fromkeys(notes))

    async def search(self, query: str, limit: int) -> list[ExternalTool]:
        """Return the best matches for a query, best first. If there are at most `limit` tools, return all of them."""
        await self._gather()
        if not self._tools:
            return []
        if self._index is None:
            self._index = Index(None)
        tools = {name: tool for name, (tool, _) in self._tools.items()}
        stamps = {name: tool.pinned() for name, tool in tools.items()}
        self._index.refresh(stamps, lambda name: _search_entry(tools[name]))
        # Include weak matches, because the user chose these servers.
        found = [tools[match.name] for match in self._index.search(query, limit, with_unlikely=True)]
        if len(tools) <= limit:
            found += [tool for tool in tools.values() if tool not in found]
        return found

    async def call(self, name: str, arguments: dict[str, Json], seconds: float | None = None) -> ServerReply:
        """Call a tool by its name `server__tool`. A failure is returned as a reply."""
        if not await self.has(name):
            message = f"there is no external tool named {one_line(name, 80)}. {did_you_mean(name, self._tools, most=3)}"
            return ServerReply(False, message.rstrip(". "), kind="unknown")
        tool, link = self._tools[name]
        return await link.call(tool, arguments, seconds)

    async def changed(self, name: str) -> ChangedTool | None:
        """Return a tool's new definition if it differs from the trusted one."""
        if not await self.has(name):
            return None
        tool, link = self._tools[name]
        return link.changed(tool)

    def trust(self, name: str) -> None:
        """Trust a tool's new definition. If the tool no longer exists, the next call reports that."""
        if name in self._tools:
            tool, link = self._tools[name]
            link.trust(tool)

    async def has(self, name: str) -> bool:
        """Return True if a server has a tool with this name `server__tool`."""
        if name not in self._tools:
            await self._gather()
        return name in self._tools

    async def aclose(self) -> None:
        """Stop all servers."""
        for task in self._starting.values():
            task.cancel()
        await asyncio.gather(*self._starting.values(), return_exceptions=True)
        self._starting.clear()
        await asyncio.gather(*(link.aclose() for link in self._links))
        if self._index is not None:
            self._index.close()
            self._index = None

    async def _gather(self) -> None:
        """Update the tools of all servers that are ready. Wait for each server only once."""
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
                self._notes.append(f"the server {name} is still starting; its tools will be added when it is ready")
        self._tools = {tool.name: (tool, link) for link in reversed(self._links) for tool in reversed(link.known)}


def _check_text(arguments: dict[str, Json]) -> None:
    """Check that the arguments can be encoded as a message.

    Raises:
        ArgumentsError: They contain half of a surrogate pair.
    """
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ArgumentsError(
            f"The arguments contain a lone surrogate, {half!r}.", remedy="Replace it with a complete character."
        ) from None


def _search_entry(tool: ExternalTool) -> Tool:
    """Return the tool for searching, with the words of its name added to the description."""
    words = _CAMEL.sub(" ", tool.tool).replace("_", " ").replace("-", " ")
    return replace(tool.as_tool(), description=f"{words} {tool.description}")
