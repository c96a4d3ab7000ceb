"""The tools of a library that a server offers: a snapshot, renewed when the library changes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import weakref
import zlib
from bisect import bisect_right
from collections.abc import AsyncIterator, Container, Sequence
from fnmatch import fnmatchcase
from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_tools.definition import definition_of
from mcp_tools.errors import AlitaError, LibraryError, UnknownToolError
from mcp_tools.library.approvals import ApprovedHashes
from mcp_tools.library.folder import META_HASH
from mcp_tools.library.library import Library
from mcp_tools.library.tool_files import META_STATUS
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Status, Tool

META_DEFINITION_HASH = "alita/definition-hash"
META_VERSION = "alita/version"
META_PARENT = "alita/parent-version"


class Catalogue:
    """The tools that are offered now.

    Args:
        library: The library.
        offered: `all`, `meta` for the built-in tools alone, or patterns of names, separated by commas.
        reserved: Names of built-in tools: a tool of the library under such a name is reached through `call_tool` only.
    """

    def __init__(self, library: Library, offered: str, reserved: Container[str]) -> None:
        self.library = library
        self.names: list[str] = []
        self.shadowed: list[str] = []
        self.readings = 0
        self.changed = asyncio.Event()
        self._offered = offered
        self._reserved = reserved
        self._packed: dict[str, bytes] = {}
        """Each definition as compressed JSON: 10,000 of them must not fill the memory."""
        self._readers: set[str] = set()
        self._seen: tuple[object, ...] | None = None
        self._renewing = asyncio.Lock()

    async def renew(self) -> None:
        """Looks whether the library changed. Cheap when nothing happened.

        Raises:
            LibraryError: The folder or the approvals cannot be read; what was offered stays.
        """
        aside = self.library.run_async
        if await aside(self.library.is_unchanged, self._seen):
            return
        async with self._renewing:
            if not await aside(self.library.is_unchanged, self._seen):
                is_first = not self.readings
                if await asyncio.to_thread(self._renew) and not is_first:
                    self.changed.set()

    def _renew(self) -> bool:
        state = self.library.state()
        if state == self._seen:
            return False
        packed: dict[str, bytes] = {}
        readers: set[str] = set()
        patterns = ["*"] if self._offered in {"all", "meta"} else [one.strip() for one in self._offered.split(",")]
        for tool, approval in self.library.served():
            if any(fnmatchcase(tool.name, pattern) for pattern in patterns):
                packed[tool.name] = _packed(tool, approval)
                if tool.capabilities.read:
                    readers.add(tool.name)
        before = self._packed
        self._packed, self._readers, self._seen = packed, readers, state
        listed = [] if self._offered == "meta" else sorted(packed)
        self.names = [name for name in listed if name not in self._reserved]
        self.shadowed = [name for name in listed if name in self._reserved]
        self.readings += 1
        return packed != before

    def definition(self, name: str) -> dict[str, Json]:
        """The MCP tool object of an offered tool.

        Raises:
            KeyError: It is not offered.
        """
        found: dict[str, Json] = json.loads(zlib.decompress(self._packed[name]))
        return found

    def __contains__(self, name: str) -> bool:
        """Return True if a tool is offered, listed or not."""
        return name in self._packed

    def offers(self, name: str, can_ask: bool) -> bool:
        """Return True if a client can call a tool; one that reads files needs a person to ask."""
        return name in self._packed and (can_ask or name not in self._readers)

    def is_reserved(self, name: str) -> bool:
        """Return True for the name of a built-in tool."""
        return name in self._reserved

    def all_names(self) -> list[str]:
        """The tools that can be found and called, sorted."""
        return sorted(self._packed)

    async def tool(self, name: str) -> Tool | None:
        """Return an offered tool in its approved state; None if the library has no such tool.

        Its `source` is what was hashed: run that, never the file.

        Raises:
            LibraryError: The folder or the approvals cannot be read.
        """
        found = await self.library.run_async(self._approved, name)
        if found is None:
            await self.renew()  # it may have come or changed since the last look
            found = await self.library.run_async(self._approved, name)
        return found

    def _approved(self, name: str) -> Tool | None:
        if name not in self._packed:
            return None
        with contextlib.suppress(LibraryError, UnknownToolError):
            found = self.library.get(name)
            if found.status is Status.VERIFIED and found.name == name:
                return found
        self._seen = None  # it is listed no longer
        return None


def page_of(names: Sequence[str], cursor: str | None, size: int) -> tuple[Sequence[str], dict[str, str]]:
    """The sorted names after a cursor, which is a name, and the next cursor as a part of the result."""
    start = 0 if cursor is None else bisect_right(names, cursor)
    page = names[start : start + size]
    return page, {"nextCursor": page[-1]} if start + size < len(names) else {}


def _packed(tool: Tool, approval: ApprovedHashes) -> bytes:
    meta = {META_STATUS: str(tool.status), META_VERSION: tool.source_hash[:12], META_HASH: tool.source_hash}
    if parent := tool.provenance.get("parent_version"):
        meta[META_PARENT] = str(parent)
    definition = {**definition_of(tool), "_meta": {**meta, META_DEFINITION_HASH: approval.definition}}
    return zlib.compress(json.dumps(definition, ensure_ascii=False, separators=(",", ":")).encode(), 1)


_LOOK_SECONDS = 0.5
_DEBOUNCE_SECONDS = 0.1
_NOTIFY_SECONDS = 2.0
_MOST_TOLD = 5
_WIDTH = 300


class ChangeNotifier:
    """Looks after the library while anybody is connected.

    Clients of 2026 get changes over their subscriptions, clients of 2025 over their connections. The operator reads
    on stderr what is not served, each time that it changes.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.bus = InMemorySubscriptionBus()
        self._catalogue = catalogue
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._told: list[str] = []
        self._complaint = ""
        self._reported = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._users = 0

    async def remember_connection(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """A middleware that remembers connections of 2025, which have no subscriptions."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            # the session is a proxy for one request: only the connection behind it lasts
            self._connections.add(ctx.session._connection)
        return await call_next(ctx)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Meanwhile the library is watched. Several connections may watch: the first begins, the last ends."""
        self._users += 1
        if self._users == 1:
            self._tasks = [asyncio.create_task(self._look()), asyncio.create_task(self._announce())]
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _look(self) -> None:
        while True:
            complaint = ""
            try:
                await self._catalogue.renew()
                await asyncio.sleep(_LOOK_SECONDS)
                await self._report()
            except (AlitaError, OSError) as error:
                complaint = str(error)
                await asyncio.sleep(_LOOK_SECONDS)
            if complaint and complaint != self._complaint:
                _tell(complaint)
            self._complaint = complaint

    async def _announce(self) -> None:
        """Changes soon after are announced with it. Nobody is waited for."""
        changed = self._catalogue.changed
        while True:
            await changed.wait()
            await asyncio.sleep(_DEBOUNCE_SECONDS)
            changed.clear()
            await self.bus.publish(ToolsListChanged())
            await self.bus.publish(ResourcesListChanged())
            ready = [connection for connection in self._connections if connection.initialized.is_set()]
            await asyncio.gather(*map(_notify, ready), return_exceptions=True)

    async def _report(self) -> None:
        """Report withheld tools and tools hidden by built-in ones, if the catalogue was read again."""
        if self._reported == self._catalogue.readings:
            return
        self._reported = self._catalogue.readings
        withheld = await asyncio.to_thread(self._catalogue.library.withheld)
        lines = [f"{one.name} is not served: {one.reason}; {one.remedy}" for one in withheld[:_MOST_TOLD]]
        if len(withheld) > _MOST_TOLD:
            lines.append(f"{len(withheld) - _MOST_TOLD} more tools are not served; alita tools list tells why")
        lines += [f"{name} is a tool of the server: call_tool reaches yours" for name in self._catalogue.shadowed]
        for line in lines:
            if line not in self._told:
                _tell(line)
        self._told = lines


async def _notify(connection: Connection) -> None:
    """A client that does not read must not keep the others waiting."""
    async with asyncio.timeout(_NOTIFY_SECONDS):
        await connection.notify("notifications/tools/list_changed", None)
        await connection.notify("notifications/resources/list_changed", None)


def _tell(text: str) -> None:
    print(f"alita: {one_line(text, _WIDTH)}", file=sys.stderr, flush=True)
