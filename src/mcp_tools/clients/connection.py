"""A connection to one server.

The SDK's scopes must be entered and left in the same task, so each connection has a task of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.client import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from mcp_tools.clients.config_files import ExpandedServer
from mcp_tools.clients.definitions import ExternalTool, RawListing
from mcp_tools.clients.http_transport import HttpTransport
from mcp_tools.clients.messages import failure_of
from mcp_tools.clients.replies import ServerReply, reply_of
from mcp_tools.clients.stdio_transport import StdioTransport
from mcp_tools.errors import ServerError
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_MAX_PAGES = 50
_MAX_ROUNDS = 4
_PROBE_SECONDS = 2.0
_DIAGNOSED = frozenset({"gone", "protocol", "timeout"})
"""Kinds of failures that the server's exit code and stderr help to explain."""
_MAX_EXTENSION = 10
"""Multiple of the time limit that a call may take if it reports progress."""
_RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
for _noisy in ("mcp", "client"):
    logging.getLogger(_noisy).addHandler(
        logging.NullHandler()
    )  # without a handler, Python prints the SDK's log messages to stderr


class Connection:
    """A connection to one server. `changed` is called when the server reports a change to its tools."""

    def __init__(
        self,
        server: ExpandedServer,
        environment: Mapping[str, str],
        *,
        changed: Callable[[], None],
        note: Callable[[str], None],
    ) -> None:
        self._server = server
        self._transport = HttpTransport(server) if server.url else StdioTransport(server, environment, note)
        self._changed = changed
        self._note = note
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._failure: ServerError | None = None

    @property
    def is_open(self) -> bool:
        """True if the connection can be used."""
        return self._client is not None and self._task is not None and not self._task.done()

    @property
    def protocol(self) -> str:
        """The negotiated protocol version."""
        return self._client.protocol_version if self._client is not None else ""

    async def open(self, mode: str = "auto") -> None:
        """Start the server or connect to it.

        Raises:
            ServerError: The server cannot be started or reached, or does not complete the MCP handshake in time.
        """
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(mode, opened))
        seconds = self._server.entry.limits.connect_seconds
        try:
            done, _ = await asyncio.wait((opened,), timeout=seconds)
            if done:
                opened.result()
                return
            late = ServerError(f"it did not complete the MCP handshake within {seconds:g} seconds", kind="timeout")
            raise self._with_diagnosis(late)
        except BaseException:
            await self.aclose()
            raise

    async def _run(self, mode: str, opened: asyncio.Future[None]) -> None:
        try:
            async with Client(
                self._transport.open(),
                mode=mode,
                cache=None,
                client_info=types.Implementation(name="alita", version=version("alita")),
                elicitation_callback=self._decline,
                message_handler=self._on_message,
            ) as client:
                self._client = client
                opened.set_result(None)
                await self._until_closed(client)
        except asyncio.CancelledError:
            raise
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - all that ends a connection is mapped in one place
            self._failure = failure_of(error)
        finally:
            if not opened.done():
                opened.set_exception(
                    self._with_diagnosis(self._failure or ServerError("its connection ended immediately", kind="gone"))
                )
                opened.exception()  # mark the exception as retrieved, because the caller may be gone

    async def _until_closed(self, client: Client) -> None:
        """Wait until `aclose` is called or the server ends the connection."""
        waits = [asyncio.create_task(event.wait()) for event in (self._stopping, self._transport.ended)]
        watching = asyncio.create_task(self._watch(client))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*waits, watching):
                task.cancel()
            await asyncio.gather(*waits, watching, return_exceptions=True)

    async def _watch(self, client: Client) -> None:
        """Subscribe to tool list changes, if the protocol version requires a subscription."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        with contextlib.suppress(Exception):  # some servers do not support subscriptions
            async with client.listen(tools_list_changed=True) as subscription:
                async for _ in subscription:
                    pass  # `_on_message` handles it

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed()

    async def definitions(self) -> RawListing:
        """Return the tool definitions as the server sent them, with notes about invalid pages of the list.

        Raises:
            ServerError: The server does not reply in time, or its reply is invalid.
        """
        limit_tools, found, notes = self._server.entry.limits.max_tools, list[Json](), list[str]()
        cursors: set[str] = set()
        cursor: str | None = None
        with self._converted_errors():
            async with asyncio.timeout(self._server.entry.limits.list_seconds):
                for number in range(1, _MAX_PAGES + 1):
                    try:
                        page = await self._page(cursor)
                    except ServerError as failure:
                        if number > 1:
                            notes.append(f"page {number} of its tool list could not be read: {failure.message}")
                            break
                        if "-32601" in failure.message and failure.kind == "answer":
                            return RawListing((), ("it offers no tools",))
                        raise
                    found += self._allowed(page["tools"], notes)
                    cursor = page.get("nextCursor")
                    if not cursor or len(found) > limit_tools:
                        break
                    if not isinstance(cursor, str) or cursor in cursors:
                        problem = "repeats an earlier one" if isinstance(cursor, str) else "is not text"
                        notes.append(f"its tool list was read only up to page {number}: the next cursor {problem}")
                        break
                    cursors.add(cursor)
                else:
                    notes.append(f"its tool list has more than {_MAX_PAGES} pages; the rest are ignored")
        return RawListing(tuple(found), tuple(notes))

    async def _page(self, cursor: str | None) -> dict[str, Any]:
        with self._converted_errors():
            answer = await self._session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        page: dict[str, Any] = self._transport.inbox.original(answer.meta)
        if not isinstance(page.get("tools"), list):
            raise ServerError("its answer does not follow MCP: `tools` is not a list", kind="protocol")
        return page

    def _allowed(self, tools: list[Json], notes: list[str]) -> list[Json]:
        """Remove the tools that clients must not use under the 2026 protocol, and add a note for each."""
        found = []
        for tool in tools:
            schema = tool.get("inputSchema") if isinstance(tool, dict) else None
            is_bound = self.protocol in MODERN_PROTOCOL_VERSIONS and isinstance(schema, dict)
            if is_bound and (reason := find_invalid_x_mcp_header(schema)):
                notes.append(f"the tool {one_line(str(tool.get('name')), 80)} is ignored: {one_line(reason, 200)}")
            else:
                found.append(tool)
        return found

    async def call(self, tool: ExternalTool, arguments: dict[str, Json], seconds: float, most: float) -> ServerReply:
        """Call a tool. Each progress message extends the deadline by `seconds`, up to `most` seconds in total.

        Raises:
            ServerError: The server exited, did not reply in time, or sent an invalid reply. The kind is `answer` if the
                server replied with an error.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + min(most, seconds * _MAX_EXTENSION)
        with self._converted_errors():
            async with asyncio.timeout(seconds) as limit:

                async def progressed(progress: float, total: float | None, message: str | None) -> None:
                    limit.reschedule(min(loop.time() + seconds, end))

                result = await self._result(tool.tool, arguments, progressed)
        most_shown = self._server.entry.limits.result_chars
        return reply_of(result, self._server.hide, most=most_shown, schema=tool.output_schema)

    async def _result(self, tool: str, arguments: dict[str, Json], progressed: ProgressFnT) -> dict[str, Json]:
        """Return the result of a call as the server sent it. Requests that the server sends to us are declined."""
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        for _ in range(_MAX_ROUNDS):
            # The session's call_tool would download every URL that an outputSchema refers to.
            request = types.CallToolRequest(params=params)
            result = await self._session.send_request(request, _RESULT, progress_callback=progressed)
            if isinstance(result, types.CallToolResult):
                return self._transport.inbox.original(result.meta)
            params = types.CallToolRequestParams(
                name=tool,
                arguments=arguments,
                input_responses=await self._responses(result),
                request_state=result.request_state,
            )
        raise ServerError(f"it asked for more input over {_MAX_ROUNDS} times", kind="protocol")

    async def _responses(self, result: types.InputRequiredResult) -> dict[str, Any]:
        context = ClientRequestContext(session=self._session, request_id="input")
        found: dict[str, Any] = {}
        for key, request in (result.input_requests or {}).items():
            response = await self._session.dispatch_input_request(context, request)
            if isinstance(response, types.ErrorData):
                raise ServerError(
                    f"it asked for something that alita does not offer: {response.message}", kind="answer"
                )
            found[key] = response
        return found

    async def is_responsive(self) -> bool:
        """Return True if the server still replies to requests."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self._session.list_tools()
        except Exception as error:  # noqa: BLE001 - an error that the server sent counts as an answer
            return failure_of(error).kind == "answer"
        return True

    async def aclose(self) -> None:
        """End the connection and all processes that the server started."""
        self._stopping.set()
        if self._task is None:
            return
        if self._client is None:
            self._task.cancel()
        # Shielded, so that a second Ctrl-C does not leave the process behind. Every wait inside has a time limit.
        await asyncio.shield(asyncio.gather(self._task, return_exceptions=True))
        self._client = None

    @property
    def _session(self) -> Any:
        if self._client is None:
            raise self._with_diagnosis(self._failure or ServerError("the connection is closed", kind="gone"))
        return self._client.session

    @contextlib.contextmanager
    def _converted_errors(self) -> Iterator[None]:
        """Convert all exceptions to `ServerError` with a diagnosis."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - mapped in one place
            raise self._with_diagnosis(failure_of(error)) from None

    def _with_diagnosis(self, failure: ServerError) -> ServerError:
        """Add the server's exit code and stderr to a failure, with secrets hidden."""
        known = self._transport.diagnosis if failure.kind in _DIAGNOSED else ""
        text = f"{failure.message} ({known})" if known not in failure.message else failure.message
        return ServerError(self._server.hide(text), kind=failure.kind, remedy=failure.remedy)

    async def _decline(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked = one_line(str(getattr(params, "message", "")), 200)
        self._note(f"the server {self._server.entry.name} asked the user a question, which alita declined: {asked}")
        return types.ElicitResult(action="decline")
