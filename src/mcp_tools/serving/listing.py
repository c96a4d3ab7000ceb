"""The lists of tools and prompts, page by page, and the completion of arguments."""

from __future__ import annotations

import asyncio
import contextlib
import re
import weakref
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PromptReference
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_tools.errors import AlitaError
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.serving.call import COMPLETE, FRESH, META_SANDBOX, ServerLimits, can_ask, sandbox_meta
from mcp_tools.serving.catalogue import Catalogue
from mcp_tools.serving.resources import CursorError, Prompts, Resources, page_of
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CompleteRequestParams, PaginatedRequestParams


class Listing:
    """Lists the tools that are offered now."""

    def __init__(
        self, catalogue: Catalogue, constant: Sequence[dict[str, Json]], sandbox: Sandbox, limits: ServerLimits
    ) -> None:
        self._catalogue = catalogue
        self._constant = constant
        self._sandbox = sandbox
        self._limits = limits

    async def list(self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams) -> dict[str, Json]:
        """One page of tools.

        Raises:
            MCPError: The cursor is none of ours.
        """
        await self._catalogue.renew()
        offered, asks = self._catalogue.names, can_ask(context)
        try:
            names, after = page_of(
                [name for name in offered if self._catalogue.offers(name, asks)], params.cursor, self._limits.page
            )
        except CursorError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        sandbox = sandbox_meta(self._sandbox.isolation)
        listed = [] if params.cursor else [*self._constant]
        for name in names:
            tool = self._catalogue.definition(name)
            tool["_meta"][META_SANDBOX] = sandbox
            listed.append(tool)
        return {**FRESH, "tools": listed, **({"nextCursor": after} if after else {})}


_MOST = 100
"""MCP allows no more values in one reply."""
_TOOL_ADDRESS = re.compile(r"alita://tools/\{name\}/\w+")
_TOOL_PROMPT = "explain_tool"


class Completions:
    """What the beginning of an argument may go on to."""

    def __init__(self, catalogue: Catalogue, prompts: Prompts, resources: Resources) -> None:
        self._catalogue = catalogue
        self._prompts = prompts
        self._resources = resources

    async def complete(self, _: ServerRequestContext[Any, Any], params: CompleteRequestParams) -> dict[str, Json]:
        """The names of tools that begin, then those that go on with what was typed; nothing for free text.

        Raises:
            MCPError: There is no such prompt, address or argument.
        """
        found: list[str] = []
        if self._wants_a_tool(params):
            await self._catalogue.renew()
            typed = params.argument.value.casefold()
            fitting = [name for name in self._catalogue.all_names() if typed in name.casefold()]
            found = sorted(fitting, key=lambda name: (not name.casefold().startswith(typed), name))
        shown: dict[str, Json] = {"values": [*found[:_MOST]], "total": len(found), "hasMore": len(found) > _MOST}
        return {**COMPLETE, "completion": shown}

    def _wants_a_tool(self, params: CompleteRequestParams) -> bool:
        argument, reference = params.argument.name, params.ref
        if isinstance(reference, PromptReference):
            prompt = self._prompts.by_name.get(reference.name)
            if prompt is None or argument not in prompt.arguments:
                raise MCPError(INVALID_PARAMS, f"no prompt {one_line(reference.name)} with {one_line(argument)}")
            return reference.name == _TOOL_PROMPT
        address = str(reference.uri)
        if not self._resources.is_template(address) or f"{{{argument}}}" not in address:
            raise MCPError(INVALID_PARAMS, f"no resource template {one_line(address)} with {one_line(argument)}")
        return _TOOL_ADDRESS.fullmatch(address) is not None


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
