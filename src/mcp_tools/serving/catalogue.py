"""The tools that a server offers: a snapshot of the library, and notifications when it changes."""

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
    """A snapshot of the tools that a server offers.

    Args:
        library: The library that is served.
        offered: `all`, or `meta` to list only built-in tools, or comma-separated name patterns.
        reserved: Names of built-in tools. Library tools with these names can be called only through `call_tool`.
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
        """Tool definitions as compressed JSON, because a library can have 10,000 tools."""
        self._readers: set[str] = set()
        self._seen: tuple[object, ...] | None = None
        self._renewing = asyncio.Lock()

    async def renew(self) -> None:
        """Read the library again if it has changed. This is cheap for an unchanged library.

        Raises:
            LibraryError: The folder or the approvals cannot be read. The old snapshot is kept.
        """
        run_async = self.library.run_async
        if await run_async(self.library.is_unchanged, self._seen):
            return
        async with self._renewing:
            if not await run_async(self.library.is_unchanged, self._seen):
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
        """Return the MCP tool object of an offered tool.

        Raises:
            KeyError: The tool is not offered.
        """
        found: dict[str, Json] = json.loads(zlib.decompress(self._packed[name]))
        return found

    def __contains__(self, name: str) -> bool:
        """Return True if a tool is offered, even if it is not listed."""
        return name in self._packed

    def offers(self, name: str, can_ask: bool) -> bool:
        """Return True if a client can call a tool. A tool that reads files requires a client that can ask its user."""
        return name in self._packed and (can_ask or name not in self._readers)

    def is_reserved(self, name: str) -> bool:
        """Return True if this is the name of a built-in tool."""
        return name in self._reserved

    def all_names(self) -> list[str]:
        """Return the names of all tools that can be called, sorted."""
        return sorted(self._packed)

    async def tool(self, name: str) -> Tool | None:
        """Return the approved version of an offered tool, or None.

        Run the tool's `source`, which has the approved hash. Do not read the file again, because it may have changed.

        Raises:
            LibraryError: The folder or the approvals cannot be read.
        """
        found = await self.library.run_async(self._approved, name)
        if found is None:
            await self.renew()  # the tool may be new or changed
            found = await self.library.run_async(self._approved, name)
        return found

    def _approved(self, name: str) -> Tool | None:
        if name not in self._packed:
            return None
        with contextlib.suppress(LibraryError, UnknownToolError):
            found = self.library.get(name)
            if found.status is Status.VERIFIED and found.name == name:
                return found
        self._seen = None  # forces the library to be read again, which removes the tool from the list
        return None


def page_of(names: Sequence[str], cursor: str | None, size: int) -> tuple[Sequence[str], dict[str, str]]:
    """Return one page of the sorted names, and the `nextCursor` member unless it is the last page.

    A cursor is the last name of the previous page.
    """
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
_MAX_REPORTED = 5
_LINE_CHARS = 300


class ChangeNotifier:
    """Watches the library for changes while a client is connected, and announces them.

    Clients of the 2026 protocol are notified through subscriptions, and clients of the 2025 protocol through their
    connections. Tools that are not served are reported to the operator on stderr.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.bus = InMemorySubscriptionBus()
        self._catalogue = catalogue
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._reported_lines: list[str] = []
        self._last_error = ""
        self._reported_reading = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._users = 0

    async def remember_connection(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Middleware that remembers connections of the 2025 protocol, which has no subscriptions."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            # `ctx.session` exists for one request only; the connection behind it remains
            self._connections.add(ctx.session._connection)
        return await call_next(ctx)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch the library during the block.

        Blocks may overlap: the first one starts watching, and the last one stops.
        """
        self._users += 1
        if self._users == 1:
            self._tasks = [asyncio.create_task(self._poll()), asyncio.create_task(self._announce())]
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _poll(self) -> None:
        while True:
            message = ""
            try:
                await self._catalogue.renew()
                await asyncio.sleep(_LOOK_SECONDS)
                await self._report()
            except (AlitaError, OSError) as error:
                message = str(error)
                await asyncio.sleep(_LOOK_SECONDS)
            if message and message != self._last_error:
                _print_note(message)
            self._last_error = message

    async def _announce(self) -> None:
        """Notify clients of changes. Changes in quick succession are announced together."""
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
        """Print newly withheld tools, and tools hidden by a built-in one, after the library has been read again."""
        if self._reported_reading == self._catalogue.readings:
            return
        self._reported_reading = self._catalogue.readings
        withheld = await asyncio.to_thread(self._catalogue.library.withheld)
        lines = [f"{one.name} is not served: {one.reason}; {one.remedy}" for one in withheld[:_MAX_REPORTED]]
        if len(withheld) > _MAX_REPORTED:
            lines.append(f"{len(withheld) - _MAX_REPORTED} more tools are not served; to see why: alita tools list")
        lines += [
            f"{name} is also the name of a built-in tool; clients can call yours through call_tool"
            for name in self._catalogue.shadowed
        ]
        for line in lines:
            if line not in self._reported_lines:
                _print_note(line)
        self._reported_lines = lines


async def _notify(connection: Connection) -> None:
    async with asyncio.timeout(_NOTIFY_SECONDS):  # a client that does not read must not delay other clients
        await connection.notify("notifications/tools/list_changed", None)
        await connection.notify("notifications/resources/list_changed", None)


def _print_note(text: str) -> None:
    print(f"alita: {one_line(text, _LINE_CHARS)}", file=sys.stderr, flush=True)
