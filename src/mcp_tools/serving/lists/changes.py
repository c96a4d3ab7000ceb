"""Telling every client, on both eras of the protocol, that the list of tools changed."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Callable
from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_tools.errors import AlitaError
from mcp_tools.serving.lists.catalogue import Catalogue
from mcp_tools.text import one_line

_MOST_TOLD = 5
_WIDTH = 300


class Report:
    """Says what is withheld and what is hidden behind a constant tool, each time that it changes.

    Args:
        catalogue: What is offered.
        tell: Gets one line at a time.
    """

    def __init__(self, catalogue: Catalogue, tell: Callable[[str], None]) -> None:
        self._catalogue = catalogue
        self._tell = tell
        self._told: list[str] = []
        self._seen = -1

    async def report(self) -> None:
        """Tells what is new since the last report. Cheap when the catalogue was not read anew."""
        if self._seen == self._catalogue.readings:
            return
        self._seen = self._catalogue.readings
        lines = await asyncio.to_thread(self._lines)
        for line in lines:
            if line not in self._told:
                self._tell(one_line(line, _WIDTH))
        self._told = lines

    def _lines(self) -> list[str]:
        withheld = self._catalogue.library.withheld()
        lines = [f"{one.name} is not served: {one.reason}; {one.remedy}" for one in withheld[:_MOST_TOLD]]
        if len(withheld) > _MOST_TOLD:
            lines.append(f"{len(withheld) - _MOST_TOLD} more tools are not served; alita tools list tells why")
        lines += [f"{name} is a tool of the server: call_tool reaches yours" for name in self._catalogue.shadowed]
        return lines


_LOOK_SECONDS = 0.5
_DEBOUNCE_SECONDS = 0.1
_NOTIFY_SECONDS = 2.0


class Announcer:
    """Tells clients of changes: those of 2026 over their subscriptions, those of 2025 over their connections."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()

    async def observe(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """A middleware that remembers connections of 2025, which have no subscriptions."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            # the session is a proxy for one request: only the connection behind it lasts
            self._connections.add(ctx.session._connection)
        return await call_next(ctx)

    async def announce(self) -> None:
        """Says that the tools, and with them the resources, are others now. Nobody is waited for."""
        await self.bus.publish(ToolsListChanged())
        await self.bus.publish(ResourcesListChanged())
        ready = [connection for connection in self._connections if connection.initialized.is_set()]
        await asyncio.gather(*(_notify(connection) for connection in ready), return_exceptions=True)


async def _notify(connection: Connection) -> None:
    """A client that does not read must not keep the others waiting."""
    async with asyncio.timeout(_NOTIFY_SECONDS):
        await connection.notify("notifications/tools/list_changed", None)
        await connection.notify("notifications/resources/list_changed", None)


class Watcher:
    """Looks after the library, and announces when what is offered changed.

    Several connections of one process may watch at once: the first begins, the last ends.
    """

    def __init__(self, catalogue: Catalogue, announcer: Announcer, *, tell: Callable[[str], None]) -> None:
        self._catalogue = catalogue
        self._announcer = announcer
        self._tell = tell
        self._report = Report(catalogue, tell)
        self._complaint = ""
        self._watching: set[asyncio.Task[None]] = set()
        self._users = 0

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Meanwhile the library is watched."""
        self._users += 1
        if self._users == 1:
            self._watching = {asyncio.create_task(self._look_often()), asyncio.create_task(self._announce())}
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                for task in self._watching:
                    task.cancel()
                await asyncio.gather(*self._watching, return_exceptions=True)

    async def _look_often(self) -> None:
        while True:
            try:
                await self._catalogue.renew()
                self._complaint = ""
            except (AlitaError, OSError) as error:
                self._complain(str(error))
            await asyncio.sleep(_LOOK_SECONDS)
            with contextlib.suppress(AlitaError, OSError):
                await self._report.report()

    def _complain(self, text: str) -> None:
        if text != self._complaint:
            self._complaint = text
            self._tell(one_line(text, 300))

    async def _announce(self) -> None:
        """What changes soon after is announced with it."""
        changed = self._catalogue.changed
        while True:
            await changed.wait()
            await asyncio.sleep(_DEBOUNCE_SECONDS)
            changed.clear()
            await self._announcer.announce()
