"""The connection to a server at an address: streamable HTTP with its headers, bounded messages, no redirects."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from mcp_tools.clients.expand import Expanded
from mcp_tools.clients.pipes import LONGEST_MESSAGE
from mcp_tools.errors import ServerError

_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_WRITE_SECONDS = 30.0


class Web:
    """A server's address and what its answers said. Open it with `async with web.open() as streams`."""

    def __init__(self, server: Expanded) -> None:
        self._server = server
        self.ended = asyncio.Event()
        """Never set: an address is there until a request fails."""
        self.problem = ""
        """What the newest refusal by HTTP said."""

    @property
    def account(self) -> str:
        """What is known of why it failed."""
        return self.problem

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
            self.problem = f"it redirects to {place}: name that address if you trust it"
            raise ServerError(self.problem, kind="http")
        if response.status_code in {401, 403}:
            self.problem = f"it answers {response.status_code}: it wants a key, or another one"
        elif response.status_code >= 400:
            self.problem = f"it answers {response.status_code}"
        else:
            self.problem = ""
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
