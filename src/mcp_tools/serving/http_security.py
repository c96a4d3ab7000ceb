"""Who may come in over HTTP: the right host, a known origin, the token, one header of each, and no dawdling."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_tools.serving.call import GONE, ServerLimits
from mcp_tools.serving.http import PATH, Door, holds_token

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

_SINGLE = (b"host", b"origin", b"authorization", b"content-length", b"mcp-session-id", b"mcp-protocol-version")
"""Headers of which two could mean different things to two readers."""
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE)
_ORIGIN = re.compile(r"https?://(.+)", re.IGNORECASE)
_METHODS = b"GET, POST, DELETE"
_TOLD = b"Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate"
"""Headers of ours that a page may read."""
_ASKED = re.compile(rb"[a-z0-9-]+(?:\s*,\s*[a-z0-9-]+)*", re.IGNORECASE)


class Gate:
    """Lets requests through to the protocol.

    Args:
        application: The protocol.
        door: Whom it lets in.
        limits: How long a request may dawdle, and a session lie idle.
    """

    def __init__(self, application: Application, door: Door, limits: ServerLimits) -> None:
        self._application = application
        self._door = door
        self._limits = limits
        self._sessions: dict[bytes, float] = {}
        """When each session that may still be there was last in use; the protocol opens one for any first request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request that may not come in, and hands every other on."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        given: Headers = scope["headers"]
        headers: dict[bytes, bytes] = dict(given)
        if twice := [name for name in _SINGLE if sum(name == other for other, _ in given) > 1]:
            await _refuse(send, 400, f"the header {twice[0].decode()} is there more than once")
        elif not self._knows(headers.get(b"host", b"")):
            await _refuse(send, 421, "this host name is not served here")
        elif not self._trusts(headers.get(b"origin")):
            await _refuse(send, 403, "this origin may not use the server")
        else:
            await self._from_known(scope, headers, receive, _with_cors(headers.get(b"origin"), send))

    async def _from_known(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        """A request from a page or a program that may ask: its token decides. Browsers ask first without one."""
        if scope["method"] == "OPTIONS" and b"origin" in headers and b"access-control-request-method" in headers:
            await _preflight(headers, send)
        elif self._door.token and not holds_token(headers.get(b"authorization", b""), self._door.token):
            reason = b', error="invalid_token"' if b"authorization" in headers else b""
            challenge = [(b"www-authenticate", b'Bearer realm="alita"' + reason)]
            await _refuse(send, 401, "a bearer token is needed", challenge)
        elif (opens := _opens_a_session(scope, headers)) and self._is_full():
            await _refuse(send, 503, "too many sessions are open", [(b"retry-after", b"60")])
        else:
            scope[GONE] = asyncio.Event()
            async with self._session_kept(scope, headers.get(b"mcp-session-id")):
                await self._application(scope, *self._in_time(scope, receive, self._counting(send) if opens else send))

    def _knows(self, host: bytes) -> bool:
        name = _host_name(host.decode("latin-1"))
        return bool(name) and (not self._door.names or name in self._door.names)

    def _trusts(self, origin: bytes | None) -> bool:
        """Whether a page of that origin may call: only one that came from a host of this server."""
        if origin is None:
            return True
        found = _ORIGIN.fullmatch(origin.decode("latin-1"))
        return found is not None and _host_name(found[1]) in self._door.names

    def _is_full(self) -> bool:
        """Whether one more session would be too many."""
        if len(self._sessions) >= self._limits.sessions:
            forgotten = asyncio.get_running_loop().time() - self._limits.session_idle_seconds
            self._sessions = {name: last for name, last in self._sessions.items() if last > forgotten}
        return len(self._sessions) >= self._limits.sessions

    def _counting(self, send: Send) -> Send:
        """Notes the session that was opened; an answer to what is no request may keep its name to itself."""

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                told = {name.lower(): value for name, value in message.get("headers", [])}
                name = told.get(b"mcp-session-id") or secrets.token_bytes(16)
                self._sessions[name] = asyncio.get_running_loop().time()
            await send(message)

        return answer

    def _in_time(self, scope: Scope, receive: Receive, send: Send) -> tuple[Receive, Send]:
        """The body as it arrives, and the way back; for a body that takes too long the gate answers."""
        end = asyncio.get_running_loop().time() + self._limits.body_seconds
        is_whole = is_late = False

        async def next_part() -> Message:
            nonlocal is_whole, is_late
            if is_whole:
                message = await receive()
                if message["type"] == "http.disconnect":
                    scope[GONE].set()
                return message
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                is_late = True
                await _refuse(send, 408, "the request took too long to arrive", [(b"connection", b"close")])
                return {"type": "http.disconnect"}
            is_whole = not message.get("more_body", False)
            return message

        async def answer(message: Message) -> None:
            if not is_late:
                await send(message)

        return next_part, answer

    @contextlib.asynccontextmanager
    async def _session_kept(self, scope: Scope, session: bytes | None) -> AsyncIterator[None]:
        """Meanwhile the session does not count as idle: an answer, or the stream on which it listens, is under way."""
        if session is None:
            yield
            return
        touching = asyncio.create_task(self._touch(scope, session))
        try:
            yield
        finally:
            touching.cancel()
            self._use(session)
            if scope["method"] == "DELETE":
                self._sessions.pop(session, None)

    def _use(self, session: bytes) -> None:
        if session in self._sessions:
            self._sessions[session] = asyncio.get_running_loop().time()

    async def _touch(self, scope: Scope, session: bytes) -> None:
        """Any request of a session shows that it is in use, also one that the protocol refuses."""
        while True:
            await asyncio.sleep(self._limits.session_idle_seconds / 3)
            self._use(session)
            await self._application({**scope, "method": "PUT"}, _nothing, _ignore)


def _opens_a_session(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Whether the protocol opens one for a request: for any that names none, unless it is of 2026."""
    version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
    is_first = b"mcp-session-id" not in headers and version not in MODERN_PROTOCOL_VERSIONS
    return is_first and scope["path"] == PATH


def _host_name(authority: str) -> str:
    """A host without its port; empty when it is none."""
    found = _AUTHORITY.fullmatch(authority)
    return found[1].strip("[]").lower() if found else ""


def _with_cors(origin: bytes | None, send: Send) -> Send:
    """Tells a page that may call that it may also read the answer."""
    if origin is None:
        return send
    told = [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _TOLD),
        (b"vary", b"Origin"),
    ]

    async def tell(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *told]}
        await send(message)

    return tell


async def _preflight(headers: dict[bytes, bytes], send: Send) -> None:
    """What a browser asks on behalf of a page before the request itself."""
    asked = headers.get(b"access-control-request-headers", b"").strip()
    allowed = asked if _ASKED.fullmatch(asked) else b"Authorization, Content-Type"
    told = [
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", allowed),
        (b"access-control-max-age", b"600"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": told})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(send: Send, status: int, reason: str, headers: Headers | None = None) -> None:
    body = f"{reason}\n".encode()
    told = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body)), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(_: Message) -> None:
    pass
