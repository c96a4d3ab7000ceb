"""Notifications for clients and the operator about changes of the served library."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import weakref
from collections.abc import AsyncIterator
from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_tools.errors import AlitaError
from mcp_tools.serving.catalogue import Catalogue
from mcp_tools.text import one_line

_LOOK_SECONDS = 0.5
_DEBOUNCE_SECONDS = 0.1
_NOTIFY_SECONDS = 2.0
_MOST_TOLD = 5
_WIDTH = 300


class Watch:
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

    async def observe(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """A middleware that remembers connections of 2025, which have no subscriptions."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            # the session is a proxy for one request: only the connection behind it lasts
            self._connections.add(ctx.session._connection)
        return await call_next(ctx)

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
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
