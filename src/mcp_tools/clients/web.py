"""A server at an address: the SDK's streamable HTTP transport, over a client of HTTP that keeps faults apart.

The SDK ends the whole connection when one request fails, reads answers of any length, and keeps to itself what HTTP
said. This client gives it a readable stream of events for each request; failures are replies.
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

from mcp_tools.clients.config_files import Expanded
from mcp_tools.clients.messages import LONGEST_MESSAGE, Mail, failed, failure_of
from mcp_tools.errors import ServerError
from mcp_tools.network import NetworkError, network_client
from mcp_tools.text import one_line

_WRITE_SECONDS = 30.0
_NOTICE_SECONDS = 5.0
"""Limit of a message without a reply, in seconds."""
_EVENTS = "text/event-stream"
_NO_SESSION = re.compile(r"session|not (?:been )?initiali[sz]ed|before initiali[sz]ation", re.IGNORECASE)
"""Texts of servers that answer 400 to a lost session."""


class Web:
    """A server's address. Open it with `async with web.open() as streams`."""

    def __init__(self, server: Expanded) -> None:
        self._server = server
        self.mail = Mail()
        self.ended = asyncio.Event()
        """Never set: each request fails by itself."""
        self.account = ""

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        """Connects with the first request; leaving ends the server's session."""
        try:
            client = network_client(
                partial(_Client, self.mail),
                headers=self._server.headers,
                follow_redirects=False,  # they would carry the headers to another place
                # no call may wait here: each has its own limit
                timeout=httpx2.Timeout(_WRITE_SECONDS, read=None, connect=self._server.entry.limits.connect_seconds),
            )
        except NetworkError as error:
            raise ServerError(f"{error.message.rstrip('.')}. {error.remedy}", kind="unreachable") from None
        async with client, streamable_http_client(self._server.url, http_client=client) as streams:
            yield streams


class _Client(httpx2.AsyncClient):
    def __init__(self, mail: Mail, **options: Any) -> None:
        super().__init__(**options)
        self._mail = mail

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Sends a request of the SDK's transport. The response to a request of MCP always has its reply."""
        message = jsonrpc_message_adapter.validate_json(request.content) if request.method == "POST" else None
        if message is not None:
            self._mail.sent(message)
        if isinstance(message, types.JSONRPCRequest):
            failure = None
            try:
                response = await super().send(request, **options)
            except Exception as error:  # noqa: BLE001 - told in the reply
                response, failure = httpx2.Response(502, request=request), error
            return _as_events(response, self._replied(response, message, failure))
        if request.method == "GET":  # the server's own stream, or the rest of one that broke off
            response = await super().send(request, **options)
            is_stream = response.status_code == 200 and _kind(response) == _EVENTS
            return _as_events(response, self._streamed(response, None)) if is_stream else response
        with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError, OSError):
            async with asyncio.timeout(_NOTICE_SECONDS):
                return await super().send(request, **options)
        return httpx2.Response(202, request=request)

    async def _replied(
        self, response: httpx2.Response, sent: types.JSONRPCRequest, failure: Exception | None
    ) -> AsyncGenerator[bytes]:
        """The events of a response to a request; what goes wrong is the reply."""
        try:
            if failure is not None:
                raise failure
            if response.is_success and response.status_code != 202 and _kind(response) == _EVENTS:
                async for event in self._streamed(response, sent.id):
                    yield event
                return
            for message in await self._read(response, sent):
                yield _event(message)
        except BaseException as error:
            self._mail.forget(sent.id)
            if not isinstance(error, Exception):
                raise
            yield _event(failed(sent.id, failure_of(error)))

    async def _streamed(self, response: httpx2.Response, reply_to: types.RequestId | None) -> AsyncGenerator[bytes]:
        """The events of a stream. The SDK asks for the rest of one that ends before its reply, if it has ids."""
        last = ""
        try:
            async for event in EventSource(response, max_event_size=LONGEST_MESSAGE):
                last = event.id or last
                about = f"id: {event.id}\n" if event.id else ""
                about += f"retry: {event.retry}\n" if event.retry is not None else ""
                is_message = event.event == "message" and event.data
                messages = self._mail.received(event.data, reply_to=reply_to) if is_message else []
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
            raise ServerError("its answer broke off", kind="gone")

    async def _read(self, response: httpx2.Response, sent: types.JSONRPCRequest) -> list[types.JSONRPCMessage]:
        """The messages of a response that is no stream.

        Raises:
            ServerError: They hold no reply.
        """
        if response.is_redirect:
            place = response.headers.get("location", "elsewhere")
            raise ServerError(f"it redirects to {place}: name that address if you trust it", kind="http")
        if response.status_code in {401, 403}:
            raise ServerError(f"it answers {response.status_code}: it wants a key, or another one", kind="http")
        is_json = _kind(response) == "application/json"
        if response.status_code >= 400:
            body = await _whole(response)
            text = body[:10_000].decode("utf-8", "replace")
            if _is_session_lost(response, text):
                raise ServerError("it does not know the session any more", kind="session")
            if is_json and b'"jsonrpc"' in body:
                return self._mail.received(body, reply_to=sent.id)
            said = f": {one_line(text, 200)}" if text.strip() and not text.lstrip().startswith("<") else ""
            raise ServerError(f"it answers {response.status_code}{said}", kind="http")
        if response.status_code == 202 or not is_json:
            said = "nothing" if response.status_code == 202 else _kind(response) or "no content type"
            raise ServerError(f"it answers with {said}, where JSON or an event stream is due", kind="protocol")
        messages = self._mail.received(await _whole(response), reply_to=sent.id)
        if not any(isinstance(message, types.JSONRPCResponse | types.JSONRPCError) for message in messages):
            raise ServerError("its answer holds no reply", kind="protocol")
        return messages


class _Stream(httpx2.AsyncByteStream):
    """Events in place of what a response held."""

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


def _kind(response: httpx2.Response) -> str:
    """The type of its content; empty if it does not say."""
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _is_session_lost(response: httpx2.Response, text: str) -> bool:
    asked = response.request.headers
    is_unknown = (response.status_code == 404 and MCP_SESSION_ID in asked) or (
        response.status_code == 400 and _NO_SESSION.search(text)
    )
    version = asked.get(MCP_PROTOCOL_VERSION_HEADER)
    return bool(is_unknown and version and version not in MODERN_PROTOCOL_VERSIONS)


async def _whole(response: httpx2.Response) -> bytes:
    """The whole body, which is bounded once it is unpacked."""
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > LONGEST_MESSAGE:
            raise _too_long()
    return b"".join(parts)


def _too_long() -> ServerError:
    return ServerError(f"it sent a message of more than {LONGEST_MESSAGE:,} bytes", kind="gone")
