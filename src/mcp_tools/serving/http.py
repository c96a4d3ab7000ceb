"""The server over streamable HTTP: who may come in, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import secrets
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from mcp_tools.errors import UsageError
from mcp_tools.serving.call import ServerLimits

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server


_SHORTEST = 16
_HOW_TO_MAKE = "Make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"


def read_token(text: str, file: Path | None) -> str:
    """The token that was given; empty when none was.

    Raises:
        UsageError: The file cannot be read or holds none, or the token is too short or holds what no header can.
    """
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The token file {file} cannot be read: {error}.") from None
        if not text.strip():
            raise UsageError(f"The token file {file} is empty.", remedy=_HOW_TO_MAKE)
    token = text.strip()
    if token and (len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token):
        raise UsageError(
            f"A token has at least {_SHORTEST} printable ASCII characters and no space.",
            remedy=_HOW_TO_MAKE,
        )
    return token


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(32)


def holds_token(header: bytes, token: str) -> bool:
    """Whether an Authorization header holds the token; takes the same time for every wrong one."""
    scheme, _, given = header.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), token.encode())


HEADER_SECONDS = 15.0
"""How long the head of a request may take. Between two requests the usual, shorter limit holds."""


class Patient(H11Protocol):
    """A connection whose client must send the whole head of each request in time.

    Without this, one client that sends a byte now and then on many connections could take them all.
    """

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn itself
        """Begins to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Waits while no request is under way; each byte of a head counts toward the same limit."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more to wait for."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        under_way: Any = self.cycle is not None and not self.cycle.response_complete
        if not under_way and not self.transport.is_closing():
            self.transport.close()


PATH = "/mcp"
logging.getLogger("mcp").addHandler(logging.NullHandler())  # else the SDK's remarks on bad requests land on stderr
_GRACE_SECONDS = 2
"""How long answers under way may take after the server was told to end."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where the server listens, and whom it lets in."""

    host: str
    port: int
    token: str
    """Empty when none is asked for."""
    is_new_token: bool
    """Whether the token was made up now, so that the user must be told."""
    names: frozenset[str]
    """Host names by which clients may reach it; empty for any."""


def open_door(address: str, *, token: str, token_file: Path | None, no_token: bool, names: tuple[str, ...]) -> Door:
    """What the flags ask for.

    Args:
        address: `HOST:PORT`; an IPv6 address in brackets.
        token: The token from the environment, or nothing.
        token_file: The file that holds it; goes before the environment.
        no_token: Whether none shall be asked for.
        names: More host names by which clients may reach it.

    Raises:
        UsageError: The address is none, or would be open to others without a token.
    """
    host, port = _parsed(address)
    token = read_token(token, token_file)
    is_local = _is_loopback(host)
    if no_token and not is_local:
        raise UsageError(f"{host} can be reached from other machines: a token is needed.", remedy=_HOW_TO_TOKEN)
    if no_token and token:
        raise UsageError("A token is given, and --no-token too.", remedy="Leave one of them out.")
    if not token and not is_local:
        raise UsageError(f"{host} can be reached from other machines: a token is needed.", remedy=_HOW_TO_TOKEN)
    is_new = not token and not no_token
    known = {name.lower().strip("[]") for name in names}
    if is_local:
        known |= {"localhost", "127.0.0.1", "::1", host}
    elif not _is_wildcard(host):
        known.add(host)
    reachable = frozenset() if _is_wildcard(host) and not names else frozenset(known)
    return Door(host, port, new_token() if is_new else token, is_new, reachable)


_HOW_TO_TOKEN = "Set ALITA_SERVE_TOKEN or give --token-file; or serve on 127.0.0.1."  # noqa: S105 - advice, no token


def _parsed(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"{address!r} is no address to serve on.", remedy="Write it as 127.0.0.1:8765")
    return host.lower() or "127.0.0.1", int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_wildcard(host: str) -> bool:
    return host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound


async def serve_http(
    server: Server[Any], door: Door, *, tell: Callable[[str], None], limits: ServerLimits | None = None
) -> None:
    """Serves until it is cancelled.

    Args:
        server: What is served.
        door: Where, and to whom.
        tell: Told where it listens, and a token that was made up.
        limits: The usual ones when not given.

    Raises:
        UsageError: The address cannot be had.
    """
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    from mcp_tools.serving.http_security import Gate

    limits = limits or ServerLimits()
    sockets = [_listening(door)]
    port = sockets[0].getsockname()[1]
    application = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=limits.message_bytes,
        # the gate before it looks at Host and Origin, whatever the address
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    server.session_manager.session_idle_timeout = limits.session_idle_seconds
    config = uvicorn.Config(
        Gate(application, door, limits),
        http=Patient,
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
    shown = f"[{door.host}]" if ":" in door.host else door.host
    tell(f"Serving on http://{shown}:{port}{PATH}")
    if door.is_new_token:
        tell(f"Clients send: Authorization: Bearer {door.token}")
    serving = asyncio.create_task(listener.serve(sockets))
    try:
        await asyncio.shield(serving)
    finally:
        listener.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


def _listening(door: Door) -> socket.socket:
    try:
        found = socket.getaddrinfo(door.host, door.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(128)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise UsageError(
            f"{door.host}:{door.port} cannot be served on: {error.strerror or error}.",
            remedy="Choose another port, or 0 for a free one.",
        ) from None
    return listener
