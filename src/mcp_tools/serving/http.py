"""Serve MCP over streamable HTTP: listen address, access control, deadlines and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import re
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcp_tools.errors import AlitaError, UsageError, os_errors_as
from mcp_tools.serving.client_call import ServerLimits
from mcp_tools.serving.http_sessions import IDLE_SECONDS, PATH, PortableSessions
from mcp_tools.serving.tool_calls import DISCONNECTED
from mcp_tools.small_files import SETTINGS, read_small

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mcp_tools.serving.server import ToolServer

_MIN_TOKEN_CHARS = 16
_HOW_TO_MAKE = "Make a token: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"


def read_token(text: str, file: Path | None) -> str:
    """Return the bearer token from `file` or `text`, or an empty string if neither is given.

    Raises:
        UsageError: The file is unreadable or empty, or the token is too short or not valid in an HTTP header.
    """
    if file is not None:
        with os_errors_as(UsageError, f"The token file {file} cannot be read"):
            text = read_small(file, SETTINGS).decode()
        if not text.strip():
            raise UsageError(f"The token file {file} is empty.", remedy=_HOW_TO_MAKE)
    token = text.strip()
    if token and (len(token) < _MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token):
        raise UsageError(
            f"A token must have at least {_MIN_TOKEN_CHARS} printable ASCII characters and no spaces.",
            remedy=_HOW_TO_MAKE,
        )
    return token


logging.getLogger("mcp").addHandler(logging.NullHandler())  # keeps SDK warnings about bad requests off stderr
_SHUTDOWN_GRACE_SECONDS = 2
_MAX_CONNECTIONS = 1000
HEALTH = "/health"
_READY_SECONDS = 4.0
_HEALTH_CACHE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """The address to listen on, and who may connect."""

    host: str
    port: int
    token: str
    is_new_token: bool
    """True if we generated the token and must show it to the user."""
    host_names: frozenset[str]
    """Allowed `Host` headers, in lower case. If empty, any host is allowed."""

    @property
    def is_local(self) -> bool:
        """True if only this machine can connect. A public host name implies a reverse proxy, so it counts as open."""
        return _is_loopback(self.host) and all(map(_is_loopback, self.host_names))


def listen_options(
    address: str, *, token: str, token_file: Path | None, no_token: bool, host_names: tuple[str, ...]
) -> ListenOptions:
    """Check the command-line flags, and convert them to options.

    Example:
        >>> listen_options("127.0.0.1:8765", token="", token_file=None, no_token=True, host_names=()).port
        8765

    Args:
        address: `HOST:PORT`. Port 0 selects a free port.
        token: The token from the environment. A token file overrides it.
        token_file: A file that holds the token.
        no_token: True to require no token, which is permitted only on a loopback address.
        host_names: Additional host names that clients use to reach the server, such as a proxy's.

    Raises:
        UsageError: The address is invalid, or other machines could connect without a token.
    """
    host, port = _parse_address(address)
    token = read_token(token, token_file)
    is_local = _is_loopback(host)
    is_wildcard = host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
    if not is_local and (no_token or not token):
        raise UsageError(f"{host} can be reached from other machines, so a token is required.", remedy=_HOW_TO_TOKEN)
    if no_token and token:
        raise UsageError("A token and --no-token were both given.", remedy="Use only one of them.")
    is_new = not token and not no_token
    known = {name.lower().strip("[]") for name in host_names}
    if is_local:
        known |= {"localhost", "127.0.0.1", "::1", host}
    elif not is_wildcard:
        known.add(host)
    return ListenOptions(host, port, secrets.token_urlsafe(32) if is_new else token, is_new, frozenset(known))


_HOW_TO_TOKEN = "Set ALITA_SERVE_TOKEN, give --token-file, or serve on 127.0.0.1."  # noqa: S105 - advice, no token


def _parse_address(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"{address!r} is not a valid address.", remedy="Use HOST:PORT, for example 127.0.0.1:8765")
    return host.lower() or "127.0.0.1", int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_UNIQUE_HEADERS = ("host", "origin", "authorization", "mcp-session-id", "mcp-protocol-version")
"""Headers that may occur only once, because a proxy and this server might each use a different copy."""
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE)
_ORIGIN = re.compile(r"https?://(.+)", re.IGNORECASE)


class AccessCheck:
    """ASGI middleware that checks the host, the origin and the token of each request.

    We do not use the SDK's own check, because it accepts any text as the port of a known host.
    `GET /health` works without a token.
    """

    def __init__(self, application: ASGIApp, listen: ListenOptions, ready: Callable[[], Awaitable[None]]) -> None:
        from starlette.middleware.cors import CORSMiddleware

        self._application = application
        self._health = HealthCheck(ready)
        self._listen = listen
        self._with_cors = CORSMiddleware(
            self._check_token,
            allow_origins=["*"],  # other origins have already been refused
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            expose_headers=["Mcp-Session-Id", "Mcp-Protocol-Version", "WWW-Authenticate"],
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request or forward it."""
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        application: ASGIApp = self._with_cors
        if scope["path"] == HEALTH:
            application = await self._health.answer()
        elif (refusal := host_refusal(headers, self._listen)) is not None:
            application = refusal
        elif origin is not None and not self._may_use(origin, headers["host"]):
            application = PlainTextResponse("this origin is not allowed to use the server\n", 403)
        await application(scope, receive, send)

    def _may_use(self, origin: str, host: str) -> bool:
        """Return True for pages at the server's names. Without a token, their port must be the server's as well."""
        found = _ORIGIN.fullmatch(origin)
        if not found or _host_name(found[1]) not in self._listen.host_names:
            return False
        return bool(self._listen.token) or found[1].lower() == host.lower()

    async def _check_token(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse

        given = Headers(scope=scope).get("authorization")
        scheme, _, token = (given or "").partition(" ")
        is_right = hmac.compare_digest(token.strip().encode("latin-1"), self._listen.token.encode())
        if self._listen.token and not (scheme.lower() == "bearer" and is_right):
            challenge = 'Bearer realm="alita"' + (', error="invalid_token"' if given is not None else "")
            refusal = PlainTextResponse("a bearer token is required\n", 401, {"WWW-Authenticate": challenge})
            await refusal(scope, receive, send)
            return
        disconnected = scope[DISCONNECTED] = asyncio.Event()

        async def watched_receive() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                disconnected.set()
            return message

        await self._application(scope, watched_receive, send)


class HealthCheck:
    """Reports whether this replica can read the library and the approvals, and so can handle calls."""

    def __init__(self, ready: Callable[[], Awaitable[None]]) -> None:
        self._ready = ready
        self._checking = asyncio.Lock()
        self._valid_until = 0.0
        self._is_ready = False

    async def answer(self) -> Response:
        """Return 200 or 503. The result is cached briefly, so that frequent probes do not put load on the library."""
        from starlette.responses import JSONResponse

        async with self._checking:
            if time.monotonic() >= self._valid_until:
                self._is_ready = False
                with contextlib.suppress(AlitaError, OSError, TimeoutError):
                    async with asyncio.timeout(_READY_SECONDS):
                        await self._ready()
                        self._is_ready = True
                self._valid_until = time.monotonic() + _HEALTH_CACHE_SECONDS
        status = "ok" if self._is_ready else "the tool library or its approvals cannot be read"
        return JSONResponse({"status": status}, 200 if self._is_ready else 503)


def host_refusal(headers: Headers, listen: ListenOptions) -> Response | None:
    """Return an error response if a request names a foreign host or repeats a header, otherwise None."""
    from starlette.responses import PlainTextResponse

    if repeated := [name for name in _UNIQUE_HEADERS if len(headers.getlist(name)) > 1]:
        return PlainTextResponse(f"the header {repeated[0]} occurs more than once\n", 400)
    name = _host_name(headers.get("host", ""))
    if not name or (listen.host_names and name not in listen.host_names):
        return PlainTextResponse("this host name is not served here\n", 421)
    return None


def _host_name(authority: str) -> str:
    """Return the host without its port, in lower case, or an empty string if it is invalid."""
    found = _AUTHORITY.fullmatch(authority)
    return found[1].strip("[]").lower() if found else ""


async def serve_http(
    server: ToolServer, listen: ListenOptions, *, report: Callable[[str], None], limits: ServerLimits | None = None
) -> None:
    """Serve MCP clients until cancelled.

    Args:
        server: The server, from `build_server`.
        listen: The address and the access rules.
        report: Called with the address to show to the user, and with the token if we generated it.
        limits: The size limits of requests.

    Raises:
        UsageError: The address is unavailable.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    application = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=(limits or ServerLimits()).message_bytes,
        # AccessCheck checks Host and Origin
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    server.session_manager.session_idle_timeout = IDLE_SECONDS

    def on_listening(address: str) -> None:
        report(f"Serving on {address}{PATH}")
        if listen.is_new_token:
            report(f"Clients must send: Authorization: Bearer {listen.token}")

    await run_server(
        AccessCheck(PortableSessions(application, listen.token), listen, server.ready), listen, on_listening
    )


HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
MAX_UNFINISHED = 512
MAX_UNFINISHED_PER_PEER = 256
"""Maximum number of unfinished requests per client address. If a client has more, its oldest one is closed."""

_unfinished: dict[DeadlineProtocol, str] = {}
"""Connections with an incomplete request, oldest first, mapped to the peer's address."""


class DeadlineProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the head and the body of each request.

    Otherwise, anyone could use up all connections with a few hundred incomplete requests, even without a token.
    """

    _phase: Any = None
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's signature
        """Start the deadline for the first request."""
        super().connection_made(transport)
        self._enter()

    def data_received(self, data: bytes) -> None:
        """Handle the bytes, then update the deadline."""
        super().data_received(data)
        self._enter()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        self._leave()
        super().connection_lost(exc)

    def _enter(self) -> None:
        phase: Any = self.conn.their_state
        if phase is self._phase:
            return
        self._leave()
        seconds = {h11.IDLE: HEAD_SECONDS, h11.SEND_BODY: BODY_SECONDS}.get(phase)
        if seconds is None or self.transport.is_closing():
            return
        self._phase = phase
        self._deadline = asyncio.get_running_loop().call_later(seconds, self.transport.abort)
        peer = self.client[0] if self.client else ""
        _unfinished[self] = peer
        from_peer = [one for one, address in _unfinished.items() if address == peer]
        if len(from_peer) > MAX_UNFINISHED_PER_PEER:
            from_peer[0].transport.abort()
        elif len(_unfinished) > MAX_UNFINISHED:
            next(iter(_unfinished)).transport.abort()

    def _leave(self) -> None:
        self._phase = None
        _unfinished.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


async def run_server(application: ASGIApp, listen: ListenOptions, on_listening: Callable[[str], None]) -> None:
    """Serve an ASGI application until cancelled. `on_listening` is called once with the URL.

    Raises:
        UsageError: The address is unavailable.
    """
    sockets = [_bind(listen)]
    port = sockets[0].getsockname()[1]
    config = uvicorn.Config(
        application,
        http=DeadlineProtocol,
        limit_concurrency=_MAX_CONNECTIONS,
        log_level=logging.ERROR,
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_GRACE_SECONDS,
        server_header=False,
        proxy_headers=False,
        ws="none",
    )

    class SignalFreeServer(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # the command handles signals

    listener = SignalFreeServer(config)
    shown = f"[{listen.host}]" if ":" in listen.host else listen.host
    on_listening(f"http://{shown}:{port}")
    serving = asyncio.create_task(listener.serve(sockets))
    try:
        await asyncio.shield(serving)
    finally:
        listener.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


def _bind(listen: ListenOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    remedy = "Choose another port, or 0 for a free one."
    with os_errors_as(UsageError, f"Cannot listen on {listen.host}:{listen.port}", remedy):
        return socket.create_server((listen.host, listen.port), family=family, backlog=128)
