"""The server over streamable HTTP: where it listens, who may come in, and how it ends."""

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
from mcp_tools.serving.tool_calls import GONE
from mcp_tools.small_files import SETTINGS, read_small

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mcp_tools.server import ToolServer

_SHORTEST = 16
_HOW_TO_MAKE = "Make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"


def read_token(text: str, file: Path | None) -> str:
    """The token that was given; empty when none was.

    Raises:
        UsageError: The file cannot be read or holds none, or the token is too short or holds what no header can.
    """
    if file is not None:
        with os_errors_as(UsageError, f"The token file {file} cannot be read"):
            text = read_small(file, SETTINGS).decode()
        if not text.strip():
            raise UsageError(f"The token file {file} is empty.", remedy=_HOW_TO_MAKE)
    token = text.strip()
    if token and (len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token):
        raise UsageError(
            f"A token has at least {_SHORTEST} printable ASCII characters and no space.",
            remedy=_HOW_TO_MAKE,
        )
    return token


logging.getLogger("mcp").addHandler(logging.NullHandler())  # else the SDK's remarks on bad requests land on stderr
_GRACE_SECONDS = 2
"""Seconds for running calls after the server is stopped."""
_MOST_CONNECTIONS = 1000
HEALTH = "/health"
_READY_SECONDS = 4.0
_FRESH_SECONDS = 1.0
"""Seconds for which an answer about health is reused, so that the library is not read more often."""


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """The server's address, and the rules for access."""

    host: str
    port: int
    token: str
    is_new_token: bool
    """True if the token was generated, so that the user must see it."""
    names: frozenset[str]
    """Host names by which clients may reach it; empty for any."""

    @property
    def is_local(self) -> bool:
        """True if only this machine reaches it. Another name means that a proxy leads others here."""
        return _is_loopback(self.host) and all(map(_is_loopback, self.names))


def listen_options(
    address: str, *, token: str, token_file: Path | None, no_token: bool, names: tuple[str, ...]
) -> ListenOptions:
    """Return the options of the flags.

    A token file goes before the token of the environment.

    Raises:
        UsageError: The address is invalid, or would be open to others without a token.
    """
    host, port = _parsed(address)
    token = read_token(token, token_file)
    is_local = _is_loopback(host)
    is_wildcard = host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
    if not is_local and (no_token or not token):
        raise UsageError(f"{host} can be reached from other machines, so a token is required.", remedy=_HOW_TO_TOKEN)
    if no_token and token:
        raise UsageError("A token and --no-token were both given.", remedy="Use only one of them.")
    is_new = not token and not no_token
    known = {name.lower().strip("[]") for name in names}
    if is_local:
        known |= {"localhost", "127.0.0.1", "::1", host}
    elif not is_wildcard:
        known.add(host)
    return ListenOptions(host, port, secrets.token_urlsafe(32) if is_new else token, is_new, frozenset(known))


_HOW_TO_TOKEN = "Set ALITA_SERVE_TOKEN or give --token-file; or serve on 127.0.0.1."  # noqa: S105 - advice, no token


def _parsed(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"{address!r} is not an address to serve on.", remedy="Write it as 127.0.0.1:8765")
    return host.lower() or "127.0.0.1", int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_SINGLE = ("host", "origin", "authorization", "mcp-session-id", "mcp-protocol-version")
"""Headers of which two could mean different things to two readers."""
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE)
_ORIGIN = re.compile(r"https?://(.+)", re.IGNORECASE)


class AccessCheck:
    """Passes requests to the protocol if their host, origin and token are right.

    The SDK's own check takes any text behind a known host and a colon for its port. A proxy's question about health is
    answered to anybody.
    """

    def __init__(self, application: ASGIApp, listen: ListenOptions, ready: Callable[[], Awaitable[None]]) -> None:
        from starlette.middleware.cors import CORSMiddleware

        self._application = application
        self._health = HealthCheck(ready)
        self._listen = listen
        self._for_pages = CORSMiddleware(
            self._with_token,
            allow_origins=["*"],  # those that got here
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            expose_headers=["Mcp-Session-Id", "Mcp-Protocol-Version", "WWW-Authenticate"],
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request that may not come in, and hands every other on."""
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        application: ASGIApp = self._for_pages
        if scope["path"] == HEALTH:
            application = await self._health.answer()
        elif (refusal := host_refusal(headers, self._listen)) is not None:
            application = refusal
        elif origin is not None and not (
            (found := _ORIGIN.fullmatch(origin)) and _host_name(found[1]) in self._listen.names
        ):
            application = PlainTextResponse("this origin may not use the server\n", 403)
        await application(scope, receive, send)

    async def _with_token(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse

        given = Headers(scope=scope).get("authorization")
        scheme, _, token = (given or "").partition(" ")
        is_right = hmac.compare_digest(token.strip().encode("latin-1"), self._listen.token.encode())
        if self._listen.token and not (scheme.lower() == "bearer" and is_right):
            challenge = 'Bearer realm="alita"' + (', error="invalid_token"' if given is not None else "")
            refusal = PlainTextResponse("a bearer token is needed\n", 401, {"WWW-Authenticate": challenge})
            await refusal(scope, receive, send)
            return
        gone = scope[GONE] = asyncio.Event()

        async def next_part() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        await self._application(scope, next_part, send)


class HealthCheck:
    """Tells proxies if this replica can take calls: it can read the library and its approvals."""

    def __init__(self, ready: Callable[[], Awaitable[None]]) -> None:
        self._ready = ready
        self._looking = asyncio.Lock()
        self._until = 0.0
        self._is_ready = False

    async def answer(self) -> Response:
        """200, or 503."""
        from starlette.responses import JSONResponse

        async with self._looking:
            if time.monotonic() >= self._until:
                self._is_ready = False
                with contextlib.suppress(AlitaError, OSError, TimeoutError):
                    async with asyncio.timeout(_READY_SECONDS):
                        await self._ready()
                        self._is_ready = True
                self._until = time.monotonic() + _FRESH_SECONDS
        status = "ok" if self._is_ready else "the tool library or its approvals cannot be read"
        return JSONResponse({"status": status}, 200 if self._is_ready else 503)


def host_refusal(headers: Headers, listen: ListenOptions) -> Response | None:
    """The refusal of a request that names another host, or repeats a header that must be there once."""
    from starlette.responses import PlainTextResponse

    if twice := [name for name in _SINGLE if len(headers.getlist(name)) > 1]:
        return PlainTextResponse(f"the header {twice[0]} is there more than once\n", 400)
    name = _host_name(headers.get("host", ""))
    if not name or (listen.names and name not in listen.names):
        return PlainTextResponse("this host name is not served here\n", 421)
    return None


def _host_name(authority: str) -> str:
    """Return a host without its port; empty if it is invalid."""
    found = _AUTHORITY.fullmatch(authority)
    return found[1].strip("[]").lower() if found else ""


async def serve_http(
    server: ToolServer, listen: ListenOptions, *, tell: Callable[[str], None], limits: ServerLimits | None = None
) -> None:
    """Serves until it is cancelled.

    It reports its address, and a generated token.

    Raises:
        UsageError: The address is unavailable.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    application = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=(limits or ServerLimits()).message_bytes,
        # the gate checks Host and Origin at every address
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    server.session_manager.session_idle_timeout = IDLE_SECONDS

    def listening(address: str) -> None:
        tell(f"Serving on {address}{PATH}")
        if listen.is_new_token:
            tell(f"Clients send: Authorization: Bearer {listen.token}")

    await run_server(AccessCheck(PortableSessions(application, listen.token), listen, server.ready), listen, listening)


HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
MOST_UNFINISHED = 512
MOST_UNFINISHED_OF_PEER = 256
"""Limit of one address. Beyond it, the oldest is closed."""

_unfinished: dict[DeadlineProtocol, str] = {}
"""Connections with an incomplete request, oldest first, with their peer's address."""


class DeadlineProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the head and for the body of each request."""

    _phase: Any = None
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begins to wait for a head."""
        super().connection_made(transport)
        self._enter()

    def data_received(self, data: bytes) -> None:
        """Takes what came, and looks what is still missing."""
        super().data_received(data)
        self._enter()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits for nothing more."""
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
        own = [one for one, address in _unfinished.items() if address == peer]
        if len(own) > MOST_UNFINISHED_OF_PEER or len(_unfinished) > MOST_UNFINISHED:
            (own if len(own) > MOST_UNFINISHED_OF_PEER else list(_unfinished))[0].transport.abort()

    def _leave(self) -> None:
        self._phase = None
        _unfinished.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


async def run_server(application: ASGIApp, listen: ListenOptions, listening: Callable[[str], None]) -> None:
    """Serves an application until it is cancelled; `listening` gets the address.

    Raises:
        UsageError: The address is unavailable.
    """
    sockets = [_listening(listen)]
    port = sockets[0].getsockname()[1]
    config = uvicorn.Config(
        application,
        http=DeadlineProtocol,
        limit_concurrency=_MOST_CONNECTIONS,
        log_level=logging.ERROR,
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        server_header=False,
        proxy_headers=False,
        ws="none",
    )

    class Quiet(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # signals are the command's

    listener = Quiet(config)
    shown = f"[{listen.host}]" if ":" in listen.host else listen.host
    listening(f"http://{shown}:{port}")
    serving = asyncio.create_task(listener.serve(sockets))
    try:
        await asyncio.shield(serving)
    finally:
        listener.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


def _listening(listen: ListenOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    remedy = "Choose another port, or 0 for a free one."
    with os_errors_as(UsageError, f"{listen.host}:{listen.port} cannot be served on", remedy):
        return socket.create_server((listen.host, listen.port), family=family, backlog=128)
