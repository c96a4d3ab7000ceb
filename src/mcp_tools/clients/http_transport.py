"""A server at a URL: the SDK's streamable HTTP transport with an HTTP client that converts errors to replies.

In the SDK, one failed request ends the whole connection, responses have no size limit, and HTTP errors are lost. This
client gives the SDK a valid event stream for every request. If the request failed, the stream contains the failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from typing import Any

import httpx2
import mcp_types as types
from httpx2 import EventSource
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.jsonrpc import jsonrpc_message_adapter
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_tools.clients.config_files import ExpandedServer
from mcp_tools.clients.messages import LONGEST_MESSAGE, Inbox, failed, failure_of
from mcp_tools.errors import ServerError
from mcp_tools.network import NetworkError, network_client
from mcp_tools.text import one_line

_WRITE_SECONDS = 30.0
_NOTICE_SECONDS = 5.0
"""Time limit for sending a message that has no reply."""
_EVENTS = "text/event-stream"
_NO_SESSION = re.compile(r"session|not (?:been )?initiali[sz]ed|before initiali[sz]ation", re.IGNORECASE)
"""Pattern for the body of the 400 response that some servers send when a session is lost."""


class HttpTransport:
    """Connects to a server's URL: `async with transport.open() as streams`."""

    def __init__(self, server: ExpandedServer) -> None:
        self._server = server
        self.inbox = Inbox()
        self.ended = asyncio.Event()
        """Never set, because each request reports its own failure."""
        self.diagnosis = ""

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        """Yield the streams. The first request opens the connection; leaving the context ends the session."""
        try:
            client = network_client(
                partial(_Client, self.inbox),
                headers=self._server.headers,
                follow_redirects=False,  # a redirect would send the headers, including API keys, to another server
                # no read limit, since each call has its own
                timeout=httpx2.Timeout(_WRITE_SECONDS, read=None, connect=self._server.entry.limits.connect_seconds),
            )
        except NetworkError as error:
            raise ServerError(f"{error.message.rstrip('.')}. {error.remedy}", kind="unreachable") from None
        async with client, streamable_http_client(self._server.url, http_client=client) as streams:
            yield streams


class _Client(httpx2.AsyncClient):
    def __init__(self, inbox: Inbox, **options: Any) -> None:
        super().__init__(**options)
        self._inbox = inbox

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request from the SDK's transport. The response to an MCP request always contains the reply."""
        message = jsonrpc_message_adapter.validate_json(request.content) if request.method == "POST" else None
        if message is not None:
            self._inbox.sent(message)
        if isinstance(message, types.JSONRPCRequest):
            failure = None
            try:
                response = await super().send(request, **options)
            except Exception as error:  # noqa: BLE001 - becomes the reply
                response, failure = httpx2.Response(502, request=request), error
            return _as_events(response, self._reply_events(response, message, failure))
        if request.method == "GET":  # the server's notification stream, or the rest of a stream that broke off
            response = await super().send(request, **options)
            is_stream = response.status_code == 200 and _content_type(response) == _EVENTS
            return _as_events(response, self._stream_events(response, None)) if is_stream else response
        with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError, OSError):
            async with asyncio.timeout(_NOTICE_SECONDS):
                return await super().send(request, **options)
        return httpx2.Response(202, request=request)

    async def _reply_events(
        self, response: httpx2.Response, sent: types.JSONRPCRequest, failure: Exception | None
    ) -> AsyncGenerator[bytes]:
        """Yield the events of the response to a request. An error is converted to the reply."""
        try:
            if failure is not None:
                raise failure
            if response.is_success and response.status_code != 202 and _content_type(response) == _EVENTS:
                async for event in self._stream_events(response, sent.id):
                    yield event
                return
            for message in await self._read(response, sent):
                yield _event(message)
        except BaseException as error:
            self._inbox.forget(sent.id)
            if not isinstance(error, Exception):
                raise
            yield _event(failed(sent.id, failure_of(error)))

    async def _stream_events(
        self, response: httpx2.Response, reply_to: types.RequestId | None
    ) -> AsyncGenerator[bytes]:
        """Yield a stream's events. If a stream with event ids ends before the reply, the SDK requests the rest."""
        last = ""
        try:
            async for event in EventSource(response, max_event_size=LONGEST_MESSAGE):
                last = event.id or last
                about = f"id: {event.id}\n" if event.id else ""
                about += f"retry: {event.retry}\n" if event.retry is not None else ""
                is_message = event.event == "message" and event.data
                messages = self._inbox.received(event.data, reply_to=reply_to) if is_message else []
                for message in messages:
                    yield _event(message, about)
                if not messages and about:
                    yield f"{about}data:\n\n".encode()
        except httpx2.SSEError as error:
            if "byte limit" in str(error):
                raise _too_long() from None
        except (httpx2.HTTPError, httpx2.StreamError):
            pass
        if reply_to is not None and not last:
            raise ServerError("its answer was cut off", kind="gone")

    async def _read(self, response: httpx2.Response, sent: types.JSONRPCRequest) -> list[types.JSONRPCMessage]:
        """Return the messages in a response that is not an event stream.

        Raises:
            ServerError: The response contains no reply.
        """
        if response.is_redirect:
            target = response.headers.get("location", "elsewhere")
            raise ServerError(f"it redirects to {target}: use that address if you trust it", kind="http")
        if response.status_code in {401, 403}:
            raise ServerError(
                f"it answered with status {response.status_code}: the key is missing or wrong", kind="http"
            )
        is_json = _content_type(response) == "application/json"
        if response.status_code >= 400:
            body = await _read_body(response)
            text = body[:10_000].decode("utf-8", "replace")
            if _is_session_lost(response, text):
                raise ServerError("it no longer knows the session", kind="session")
            if is_json and b'"jsonrpc"' in body:
                return self._inbox.received(body, reply_to=sent.id)
            content = f": {one_line(text, 200)}" if text.strip() and not text.lstrip().startswith("<") else ""
            raise ServerError(f"it answered with status {response.status_code}{content}", kind="http")
        if response.status_code == 202 or not is_json:
            content = "nothing" if response.status_code == 202 else _content_type(response) or "no content type"
            raise ServerError(f"it answered with {content} instead of JSON or an event stream", kind="protocol")
        messages = self._inbox.received(await _read_body(response), reply_to=sent.id)
        if not any(isinstance(message, types.JSONRPCResponse | types.JSONRPCError) for message in messages):
            raise ServerError("its answer contains no reply to the request", kind="protocol")
        return messages


class _Stream(httpx2.AsyncByteStream):
    """A response body that consists of the given events."""

    def __init__(self, events: AsyncGenerator[bytes], response: httpx2.Response) -> None:
        self._events = events
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._events

    async def aclose(self) -> None:
        await self._events.aclose()
        await self._response.aclose()


def _as_events(response: httpx2.Response, events: AsyncGenerator[bytes]) -> httpx2.Response:
    session = {MCP_SESSION_ID: response.headers[MCP_SESSION_ID]} if MCP_SESSION_ID in response.headers else {}
    headers = {"content-type": _EVENTS, **session}
    return httpx2.Response(200, headers=headers, stream=_Stream(events, response), request=response.request)


def _event(message: types.JSONRPCMessage, about: str = "") -> bytes:
    return f"{about}data: {message.model_dump_json(by_alias=True, exclude_unset=True)}\n\n".encode()


def _content_type(response: httpx2.Response) -> str:
    """Return the content type without parameters, or an empty string if there is none."""
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _is_session_lost(response: httpx2.Response, text: str) -> bool:
    asked = response.request.headers
    is_unknown = (response.status_code == 404 and MCP_SESSION_ID in asked) or (
        response.status_code == 400 and _NO_SESSION.search(text)
    )
    version = asked.get(MCP_PROTOCOL_VERSION_HEADER)
    return bool(is_unknown and version and version not in MODERN_PROTOCOL_VERSIONS)


async def _read_body(response: httpx2.Response) -> bytes:
    """Return the decompressed body. Raise an error if it is longer than `LONGEST_MESSAGE`."""
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > LONGEST_MESSAGE:
            raise _too_long()
    return b"".join(parts)


def _too_long() -> ServerError:
    return ServerError(f"it sent a message of more than {LONGEST_MESSAGE:,} bytes", kind="gone")
