"""One connection to one server, from its start to its end.

Its scopes must be entered and left in one task: it lives in a task of its own, and others speak through it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.metadata import version
from typing import Any

import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.extension import UnexpectedClaimedResult
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.streamable_http import StreamableHTTPError, streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from mcp_tools.clients.config_files import Expanded
from mcp_tools.clients.definitions import ServerReply, reply_of
from mcp_tools.clients.pipes import LONGEST_MESSAGE, Pipes
from mcp_tools.errors import ServerError
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_WRITE_SECONDS = 30.0


class Web:
    """A server's address and what its answers said. Open it with `async with web.open() as streams`."""

    def __init__(self, server: Expanded) -> None:
        self._server = server
        self.ended = asyncio.Event()
        """Never set: an address is there until a request fails."""
        self.account = ""
        """What is known of why it failed."""

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        """Connects with the first request; leaving ends the server's session."""
        async with (
            httpx2.AsyncClient(
                headers=self._server.headers,
                # Redirects would carry the headers to another place, and no call may wait here: each has its own limit.
                follow_redirects=False,
                timeout=httpx2.Timeout(_WRITE_SECONDS, read=None, connect=self._server.entry.limits.connect_seconds),
                event_hooks={"response": [self._look_at]},
            ) as client,
            streamable_http_client(self._server.url, http_client=client) as streams,
        ):
            yield streams

    async def _look_at(self, response: httpx2.Response) -> None:
        """Notes what HTTP says, which the SDK keeps to itself, and bounds what is read of it."""
        if response.is_redirect:
            place = response.headers.get("location", "elsewhere")
            self.account = f"it redirects to {place}: name that address if you trust it"
            raise ServerError(self.account, kind="http")
        self.account = f"it answers {response.status_code}" if response.status_code >= 400 else ""
        if response.status_code in {401, 403}:
            self.account += ": it wants a key, or another one"
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        response.stream = _Bounded(response.stream, resets=is_stream)


class _Bounded(httpx2.AsyncByteStream):
    """A body that fails where one message in it is too long; an event stream holds many."""

    def __init__(self, stream: httpx2.AsyncByteStream, *, resets: bool) -> None:
        self._stream = stream
        self._resets = resets

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LONGEST_MESSAGE:
                raise httpx2.StreamError(f"it sent a message of more than {LONGEST_MESSAGE:,} bytes")
            if self._resets and any(end in chunk for end in _EVENT_ENDS):
                size = 0
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


_CLOSED = -32000
_CLOSED_HERE = "the connection was closed"
_SESSION_OVER = "Session terminated"
"""What the SDK says where an HTTP server knows the session no more."""


_UNREACHED = (httpx2.ConnectTimeout, httpx2.ConnectError)
_FOREIGN = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, httpx2.CookieConflict, OSError)
_SENSELESS = (StreamableHTTPError, UnexpectedClaimedResult)


def failure_of(error: BaseException) -> ServerError:
    """The failure that an error of a connection stands for."""
    if isinstance(error, BaseExceptionGroup):  # of a group, one that is no mere consequence of the others' end
        leaves = [failure_of(inner) for inner in error.exceptions]
        return next((leaf for leaf in leaves if leaf.message != _CLOSED_HERE), leaves[0])
    words = one_line(str(error) or type(error).__name__, 200)
    match error:
        case ServerError():
            return error
        case TimeoutError() | MCPError(code=-32001):
            return ServerError("it did not answer in time", kind="timeout")
        case asyncio.CancelledError():
            return ServerError(_CLOSED_HERE, kind="gone")
        case MCPError() if error.code == _CLOSED or error.message == _SESSION_OVER:
            return ServerError("it ended the connection", kind="gone")
        case MCPError():
            return ServerError(f"it refused: {one_line(error.message, 300)} ({error.code})", kind="refused")
        case ValidationError():
            return ServerError("its answer does not follow MCP", kind="protocol")
        case SubscriptionLost() | ListenNotSupportedError():
            return ServerError("it ended the stream of its changes", kind="gone")
    if isinstance(error, _UNREACHED):
        return ServerError("it cannot be reached: no connection to its address", kind="unreachable")
    if isinstance(error, _SENSELESS):
        return ServerError(f"its answer does not follow MCP: {words}", kind="protocol")
    if isinstance(error, _FOREIGN):
        return ServerError(f"the connection failed: {getattr(error, 'strerror', None) or words}", kind="gone")
    return ServerError(f"the connection failed: {type(error).__name__}: {words}", kind="protocol")


_MOST_PAGES = 50
_MOST_ROUNDS = 4
_PROBE_SECONDS = 2.0
_EXPLAINED = frozenset({"gone", "protocol", "timeout", "http", "refused"})
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
        self._wire = Web(server) if server.url else Pipes(server, environment)
        self._changed = changed
        self._note = note
        self._client: Client | None = None
        self._life: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._failure: ServerError | None = None

    @property
    def is_open(self) -> bool:
        """Whether it can be spoken to."""
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
                opened.set_exception(self._told(self._failure or ServerError("it ended at once", kind="gone")))
                opened.exception()  # it may be told to nobody

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
        with contextlib.suppress(Exception):  # a server without such a stream just never tells
            async with client.listen(tools_list_changed=True) as subscription:
                async for _ in subscription:
                    pass  # `_hear` is told as well

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed()

    async def definitions(self) -> list[dict[str, Json]]:
        """The tools that the server lists, as MCP tool objects.

        Raises:
            ServerError: It does not answer in time, or answers nonsense.
        """
        most = self._server.entry.limits.max_tools
        found: list[dict[str, Json]] = []
        cursor: str | None = None
        with self._mapped():
            async with asyncio.timeout(self._server.entry.limits.list_seconds):
                for _ in range(_MOST_PAGES):
                    page = await self._session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
                    found += [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in page.tools]
                    cursor = page.next_cursor
                    if not cursor or len(found) > most:
                        break
        return found

    async def call(self, tool: str, arguments: dict[str, Json], seconds: float) -> ServerReply:
        """Calls a tool.

        Raises:
            ServerError: It did not answer in time, went away, or answered nonsense; kind `refused` is an answer.
        """
        with self._mapped():
            async with asyncio.timeout(seconds):
                result = await self._result(tool, arguments)
        hide, structured = self._server.hide, result.structured_content
        most = self._server.entry.limits.result_chars
        reply = reply_of(result.content, structured, is_error=bool(result.is_error), most=most)
        value = hide(reply.value) if isinstance(reply.value, str) else reply.value
        return ServerReply(reply.ok, hide(reply.text), value, reply.kind)

    async def _result(self, tool: str, arguments: dict[str, Json]) -> types.CallToolResult:
        """The result of a call. What the server asks back is answered with a refusal."""
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        for _ in range(_MOST_ROUNDS):
            # Not the session's call_tool: it fetches what an outputSchema refers to, wherever that is.
            result = await self._session.send_request(types.CallToolRequest(params=params), _RESULT)
            if isinstance(result, types.CallToolResult):
                return result
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
                raise ServerError(f"it asked for something that is not available: {response.message}", kind="refused")
            found[key] = response
        return found

    async def answers(self) -> bool:
        """Whether it still answers at all."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self._session.list_tools()
        except Exception:  # noqa: BLE001 - any failure is the answer
            return False
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
    def _mapped(self) -> Any:
        """Errors of the connection as failures of the server, with what is known of its end."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - mapped in one place
            raise self._told(failure_of(error)) from None

    def _told(self, failure: ServerError) -> ServerError:
        """The failure with what the wire knows of it, without secrets."""
        known = self._wire.account if failure.kind in _EXPLAINED else ""
        text = f"{failure.message} ({known})" if known not in failure.message else failure.message
        return ServerError(self._server.hide(text), kind=failure.kind, remedy=failure.remedy)

    async def _decline(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked = one_line(str(getattr(params, "message", "")), 200)
        self._note(f"the server {self._server.entry.name} asked the user, and was declined: {asked}")
        return types.ElicitResult(action="decline")
