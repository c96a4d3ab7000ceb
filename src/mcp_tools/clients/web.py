"""A server at an address: the streamable HTTP transport of a client.

The SDK's transport ends the whole connection when one request fails, keeps to itself what HTTP said, and does not tell
its own errors from those of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import httpx2
import mcp_types as types
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from httpx2 import EventSource
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_tools.clients.config_files import Expanded
from mcp_tools.clients.messages import LONGEST_MESSAGE, Mail, failed, failure_of
from mcp_tools.errors import ServerError
from mcp_tools.network import NetworkError, network_client
from mcp_tools.text import one_line

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_WRITE_SECONDS = 30.0
_NOTICE_SECONDS = 5.0
"""How long a message that wants no reply may take."""
_FIRST_DELAY, _LONGEST_DELAY = 1.0, 60.0
"""Seconds before a stream that ended is asked for again."""
_MOST_RESUMPTIONS = 2
_SESSION = "mcp-session-id"
_TYPES = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_NO_SESSION = re.compile(r"session|not (?:been )?initiali[sz]ed|before initiali[sz]ation", re.IGNORECASE)
"""What servers that answer 400 to a lost session say."""


class Web:
    """A server's address. Open it with `async with web.open() as streams`."""

    def __init__(self, server: Expanded) -> None:
        self._server = server
        self.mail = Mail()
        self._session = ""
        self._version = ""
        self._posts: dict[types.RequestId, anyio.CancelScope] = {}
        self.ended = asyncio.Event()
        """Never set: each request fails by itself."""
        self.account = ""

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Streams]:
        """Connects with the first request; leaving ends the server's session."""
        self._inbound, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outbound = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            client = network_client(
                httpx2.AsyncClient,
                headers=self._server.headers,
                follow_redirects=False,  # they would carry the headers to another place
                # no call may wait here: each has its own limit
                timeout=httpx2.Timeout(_WRITE_SECONDS, read=None, connect=self._server.entry.limits.connect_seconds),
            )
        except NetworkError as error:
            raise ServerError(f"{error.message.rstrip('.')}. {error.remedy}", kind="unreachable") from None
        async with client as self._client:
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._send_all, outbound, group)
                    try:
                        yield read, write
                    finally:
                        group.cancel_scope.cancel()
                        await self._end_session()
            finally:
                for stream in (self._inbound, read, write, outbound):
                    stream.close()

    async def _end_session(self) -> None:
        with anyio.CancelScope(shield=True), contextlib.suppress(Exception):
            if self._session:
                await self._client.delete(self._server.url, headers=self._headers(None), timeout=_NOTICE_SECONDS)

    async def _send_all(self, outbound: MemoryObjectReceiveStream[SessionMessage], group: TaskGroup) -> None:
        async for item in outbound:
            message = item.message
            if isinstance(message, types.JSONRPCRequest) and message.method == "initialize":
                self._session = self._version = ""
            headers = self._headers(item.metadata)
            self.mail.sent(message)
            if isinstance(message, types.JSONRPCRequest):
                scope = self._posts[message.id] = anyio.CancelScope()
                group.start_soon(self._ask, message, headers, scope)
                continue
            notice = message.method if isinstance(message, types.JSONRPCNotification) else ""
            if notice == "notifications/cancelled" and self._version in MODERN_PROTOCOL_VERSIONS:
                self._give_up(message)  # on this wire, the end of the request is the message
                continue
            with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError, OSError):
                await self._client.post(
                    self._server.url, content=_body_of(message), headers=headers, timeout=_NOTICE_SECONDS
                )
            if notice == "notifications/cancelled":
                self._give_up(message)
            elif notice == "notifications/initialized" and self._session:
                group.start_soon(self._listen)

    def _give_up(self, message: types.JSONRPCMessage) -> None:
        scope = self._posts.get((getattr(message, "params", None) or {}).get("requestId", ""))
        if scope is not None:
            scope.cancel()

    def _headers(self, metadata: Any) -> dict[str, str]:
        own = (metadata.headers if isinstance(metadata, ClientMessageMetadata) else None) or {}
        self._version = own.get(MCP_PROTOCOL_VERSION_HEADER, self._version)
        version = {MCP_PROTOCOL_VERSION_HEADER: self._version} if self._version else {}
        return {**_TYPES, **({_SESSION: self._session} if self._session else {}), **version, **own}

    async def _ask(self, request: types.JSONRPCRequest, headers: dict[str, str], scope: anyio.CancelScope) -> None:
        """Sends a request and hands on its reply; whatever goes wrong is the reply."""
        try:
            with scope:
                async with self._client.stream(
                    "POST", self._server.url, content=_body_of(request), headers=headers
                ) as response:
                    await self._take_reply(response, request)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        except Exception as error:  # noqa: BLE001 - mapped in one place
            await self._hand_on([failed(request.id, failure_of(error))])
        finally:
            self._posts.pop(request.id, None)

    async def _take_reply(self, response: httpx2.Response, request: types.JSONRPCRequest) -> None:
        if response.is_redirect:
            place = response.headers.get("location", "elsewhere")
            raise ServerError(f"it redirects to {place}: name that address if you trust it", kind="http")
        if response.status_code in {401, 403}:
            raise ServerError(f"it answers {response.status_code}: it wants a key, or another one", kind="http")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code >= 400:
            await self._take_refusal(response, request, is_json=kind == "application/json")
            return
        if request.method == "initialize":
            self._session = response.headers.get(_SESSION, "")
        if kind == "text/event-stream":
            await self._take_events(response, request)
            return
        if response.status_code == 202 or kind != "application/json":
            said = "nothing" if response.status_code == 202 else kind or "no content type"
            raise ServerError(f"it answers with {said}, where JSON or an event stream is due", kind="protocol")
        if not await self._hand_on(self.mail.received(await _whole(response), reply_to=request.id)):
            raise ServerError("its answer holds no reply", kind="protocol")

    async def _take_refusal(self, response: httpx2.Response, request: types.JSONRPCRequest, *, is_json: bool) -> None:
        """A reply with an error status: a lost session, an error of the server in JSON, or only a status."""
        body = await _whole(response)
        text = body[:10_000].decode("utf-8", "replace")
        is_unknown = (response.status_code == 404 and self._session) or (
            response.status_code == 400 and _NO_SESSION.search(text)
        )
        if is_unknown and self._version and self._version not in MODERN_PROTOCOL_VERSIONS:
            raise ServerError("it does not know the session any more", kind="session")
        answers = self.mail.received(body, reply_to=request.id) if is_json else []
        errors = [one for one in answers if isinstance(one, types.JSONRPCError)]
        if errors and getattr(errors[0].error.data, "kind", "answer") == "answer":
            await self._hand_on(errors)
            return
        said = f": {one_line(text, 200)}" if text.strip() and not text.lstrip().startswith("<") else ""
        raise ServerError(f"it answers {response.status_code}{said}", kind="http")

    async def _take_events(self, response: httpx2.Response, request: types.JSONRPCRequest) -> None:
        """Hands on what comes until the reply has come; a stream that ends before is resumed if its events have ids."""
        last, delay = await self._events(response, "", reply_to=request.id)
        for _ in range(_MOST_RESUMPTIONS):
            if not last or request.id not in self._posts or delay is None:
                break
            await anyio.sleep(delay)
            headers = {**self._headers(None), "last-event-id": last}
            with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError):
                async with self._client.stream("GET", self._server.url, headers=headers) as more:
                    if more.status_code == 200:
                        last, delay = await self._events(more, last, reply_to=request.id)
        if delay is not None:
            raise ServerError("its answer broke off", kind="gone")

    async def _events(
        self, response: httpx2.Response, last: str, *, reply_to: types.RequestId | None
    ) -> tuple[str, float | None]:
        """Hands on the messages of a stream: its last event id, and how long to wait; None once the reply has come."""
        delay: float = _FIRST_DELAY
        try:
            async for event in EventSource(response, max_event_size=LONGEST_MESSAGE):
                last = event.id or last
                delay = delay if event.retry is None else min(event.retry / 1000, _LONGEST_DELAY)
                if event.event != "message" or not event.data:
                    continue
                if await self._hand_on(self.mail.received(event.data, reply_to=reply_to)) and reply_to is not None:
                    return last, None
        except httpx2.SSEError as error:
            if "byte limit" in str(error):
                raise _too_long() from None
        except (httpx2.HTTPError, httpx2.StreamError):
            pass
        return last, delay

    async def _listen(self) -> None:
        """Hears what the server says of its own accord, if it offers a stream for that."""
        last, wait = "", _FIRST_DELAY
        while True:
            headers = {**self._headers(None), **({"last-event-id": last} if last else {})}
            before = last
            try:
                async with self._client.stream("GET", self._server.url, headers=headers) as response:
                    kind = response.headers.get("content-type", "")
                    if response.status_code != 200 or not kind.startswith("text/event-stream"):
                        return
                    last, delay = await self._events(response, last, reply_to=None)
                    wait = max(delay or _FIRST_DELAY, wait)
            except (httpx2.HTTPError, httpx2.StreamError, ServerError, OSError):
                pass
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return
            await anyio.sleep(wait)
            wait = _FIRST_DELAY if last != before else min(wait * 2, _LONGEST_DELAY)

    async def _hand_on(self, messages: Sequence[types.JSONRPCMessage]) -> bool:
        """Gives messages to the SDK; True if a reply was among them."""
        for message in messages:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._inbound.send(SessionMessage(message))
        return any(isinstance(message, types.JSONRPCResponse | types.JSONRPCError) for message in messages)


def _body_of(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8", "replace")


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
