"""One connection to one server, from its start to its end.

Its scopes must be entered and left in one task, so it has a separate task, through which others call it.
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

from mcp_tools.clients.config_files import Expanded
from mcp_tools.clients.definitions import ExternalTool, Listed
from mcp_tools.clients.messages import failure_of
from mcp_tools.clients.pipes import Pipes
from mcp_tools.clients.replies import ServerReply, reply_of
from mcp_tools.clients.web import Web
from mcp_tools.errors import ServerError
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_MOST_PAGES = 50
_MOST_ROUNDS = 4
_PROBE_SECONDS = 2.0
_EXPLAINED = frozenset({"gone", "protocol", "timeout"})
"""Kinds of failures that what is known of the process may explain."""
_EXTENSIONS = 10
"""Factor by which a call that reports progress may exceed its limit."""
_RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
for _noisy in ("mcp", "client"):
    logging.getLogger(_noisy).addHandler(logging.NullHandler())  # else the SDK's remarks land on stderr


class Connection:
    """Speaks to one server. `changed` is called when the server says that its tools changed."""

    def __init__(
        self,
        server: Expanded,
        environment: Mapping[str, str],
        *,
        changed: Callable[[], None],
        note: Callable[[str], None],
    ) -> None:
        self._server = server
        self._wire = Web(server) if server.url else Pipes(server, environment, note)
        self._changed = changed
        self._note = note
        self._client: Client | None = None
        self._life: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._failure: ServerError | None = None

    @property
    def is_open(self) -> bool:
        """True if it can be spoken to."""
        return self._client is not None and self._life is not None and not self._life.done()

    @property
    def protocol(self) -> str:
        """The protocol version that was agreed on."""
        return self._client.protocol_version if self._client is not None else ""

    async def open(self, mode: str = "auto") -> None:
        """Starts or reaches the server.

        Raises:
            ServerError: It cannot be started or reached, or does not speak MCP in time.
        """
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live(mode, opened))
        seconds = self._server.entry.limits.connect_seconds
        try:
            done, _ = await asyncio.wait((opened,), timeout=seconds)
            if done:
                opened.result()
                return
            late = ServerError(f"it did not speak MCP within {seconds:g} seconds", kind="timeout")
            raise self._told(late)
        except BaseException:
            await self.aclose()
            raise

    async def _live(self, mode: str, opened: asyncio.Future[None]) -> None:
        try:
            async with Client(
                self._wire.open(),
                mode=mode,
                cache=None,
                client_info=types.Implementation(name="alita", version=version("alita")),
                elicitation_callback=self._decline,
                message_handler=self._hear,
            ) as client:
                self._client = client
                opened.set_result(None)
                await self._until_over(client)
        except asyncio.CancelledError:
            raise
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - all that ends a connection is mapped in one place
            self._failure = failure_of(error)
        finally:
            if not opened.done():
                opened.set_exception(self._told(self._failure or ServerError("it ended immediately", kind="gone")))
                opened.exception()  # nobody may get it

    async def _until_over(self, client: Client) -> None:
        """Returns when the connection is to be closed, or the server has ended it."""
        waits = [asyncio.create_task(event.wait()) for event in (self._stopping, self._wire.ended)]
        watching = asyncio.create_task(self._watch(client))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*waits, watching):
                task.cancel()
            await asyncio.gather(*waits, watching, return_exceptions=True)

    async def _watch(self, client: Client) -> None:
        """Listens for changed tools, where the protocol wants to be asked for that."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        with contextlib.suppress(Exception):  # a server without such a stream never reports changes
            async with client.listen(tools_list_changed=True) as subscription:
                async for _ in subscription:
                    pass  # `_hear` is called, too

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed()

    async def definitions(self) -> Listed:
        """The tools that the server lists, as it sent them, with what is wrong in its pages.

        Raises:
            ServerError: It does not answer in time, or answers nonsense.
        """
        most, found, notes = self._server.entry.limits.max_tools, list[Json](), list[str]()
        cursors: set[str] = set()
        cursor: str | None = None
        with self._mapped():
            async with asyncio.timeout(self._server.entry.limits.list_seconds):
                for number in range(1, _MOST_PAGES + 1):
                    try:
                        page = await self._page(cursor)
                    except ServerError as failure:
                        if number > 1:
                            notes.append(f"page {number} of its list is left out: {failure.message}")
                            break
                        if "-32601" in failure.message and failure.kind == "answer":
                            return Listed((), ("it offers no tools",))
                        raise
                    found += self._usable(page["tools"], notes)
                    cursor = page.get("nextCursor")
                    if not cursor or len(found) > most:
                        break
                    if not isinstance(cursor, str) or cursor in cursors:
                        told = "comes a second time" if isinstance(cursor, str) else "is no text"
                        notes.append(f"its list ends after page {number}: the next cursor {told}")
                        break
                    cursors.add(cursor)
                else:
                    notes.append(f"its list has more than {_MOST_PAGES} pages; the others are left out")
        return Listed(tuple(found), tuple(notes))

    async def _page(self, cursor: str | None) -> dict[str, Any]:
        with self._mapped():
            answer = await self._session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        page: dict[str, Any] = self._wire.mail.whole(answer.meta)
        if not isinstance(page.get("tools"), list):
            raise ServerError("its answer does not follow MCP: `tools` is no list", kind="protocol")
        return page

    def _usable(self, tools: list[Json], notes: list[str]) -> list[Json]:
        """The tools without those that MCP 2026 forbids to use, which are noted."""
        found = []
        for tool in tools:
            schema = tool.get("inputSchema") if isinstance(tool, dict) else None
            is_bound = self.protocol in MODERN_PROTOCOL_VERSIONS and isinstance(schema, dict)
            if is_bound and (reason := find_invalid_x_mcp_header(schema)):
                notes.append(f"the tool {one_line(str(tool.get('name')), 80)} is left out: {one_line(reason, 200)}")
            else:
                found.append(tool)
        return found

    async def call(self, tool: ExternalTool, arguments: dict[str, Json], seconds: float, most: float) -> ServerReply:
        """Calls a tool. Each message about its progress gives it `seconds` more, up to `most` in all.

        Raises:
            ServerError: It did not answer in time, went away, or answered nonsense; kind `answer` is an error that the
                server answered.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + min(most, seconds * _EXTENSIONS)
        with self._mapped():
            async with asyncio.timeout(seconds) as limit:

                async def progressed(progress: float, total: float | None, message: str | None) -> None:
                    limit.reschedule(min(loop.time() + seconds, end))

                result = await self._result(tool.tool, arguments, progressed)
        most_shown = self._server.entry.limits.result_chars
        return reply_of(result, self._server.hide, most=most_shown, schema=tool.output_schema)

    async def _result(self, tool: str, arguments: dict[str, Json], progressed: ProgressFnT) -> dict[str, Json]:
        """The result of a call, as the server sent it. Requests of the server are refused."""
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        for _ in range(_MOST_ROUNDS):
            # Not the session's call_tool: it fetches what an outputSchema refers to, wherever that is.
            request = types.CallToolRequest(params=params)
            result = await self._session.send_request(request, _RESULT, progress_callback=progressed)
            if isinstance(result, types.CallToolResult):
                return self._wire.mail.whole(result.meta)
            params = types.CallToolRequestParams(
                name=tool,
                arguments=arguments,
                input_responses=await self._responses(result),
                request_state=result.request_state,
            )
        raise ServerError(f"it asked back more than {_MOST_ROUNDS} times", kind="protocol")

    async def _responses(self, result: types.InputRequiredResult) -> dict[str, Any]:
        context = ClientRequestContext(session=self._session, request_id="input")
        found: dict[str, Any] = {}
        for key, request in (result.input_requests or {}).items():
            response = await self._session.dispatch_input_request(context, request)
            if isinstance(response, types.ErrorData):
                raise ServerError(f"it asked for something that is not available: {response.message}", kind="answer")
            found[key] = response
        return found

    async def answers(self) -> bool:
        """Return True if it still answers at all."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self._session.list_tools()
        except Exception as error:  # noqa: BLE001 - any failure but an answer is the answer
            return failure_of(error).kind == "answer"
        return True

    async def aclose(self) -> None:
        """Ends the connection, and the server's process with all that it started."""
        self._stopping.set()
        if self._life is None:
            return
        if self._client is None:
            self._life.cancel()
        # Shielded: a second Ctrl-C must not leave the process behind. Its own waits are bounded.
        await asyncio.shield(asyncio.gather(self._life, return_exceptions=True))
        self._client = None

    @property
    def _session(self) -> Any:
        if self._client is None:
            raise self._told(self._failure or ServerError("the connection is closed", kind="gone"))
        return self._client.session

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[None]:
        """Errors of the connection as failures of the server, with what is known of its end."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - mapped in one place
            raise self._told(failure_of(error)) from None

    def _told(self, failure: ServerError) -> ServerError:
        """Return the failure with the connection's details, without secrets."""
        known = self._wire.account if failure.kind in _EXPLAINED else ""
        text = f"{failure.message} ({known})" if known not in failure.message else failure.message
        return ServerError(self._server.hide(text), kind=failure.kind, remedy=failure.remedy)

    async def _decline(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked = one_line(str(getattr(params, "message", "")), 200)
        self._note(f"the server {self._server.entry.name} asked the user, and was declined: {asked}")
        return types.ElicitResult(action="decline")
