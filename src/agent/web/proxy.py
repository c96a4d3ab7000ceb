"""A local proxy through which the browser reaches the web. It connects only to addresses that the guard allows.

Without this proxy, a browser would look up names and follow redirects unchecked. If the environment names another
proxy, requests are sent on to that one, as in `transport.Routed`.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from dataclasses import dataclass
from html import escape
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from agent.web.address import split_address
from agent.web.guard import AddressGuard
from agent.web.page import WebProblem
from mcp_tools.network import network_problems

_HEAD = _PIECE = 64 * 2**10
_CONNECT_SECONDS = 10.0
_HEAD_SECONDS = 60.0
_LAST_SECONDS = 1.0  # for the rest of the data after one side closes a tunnel
_ADDRESSES = 4
_OF_CONNECTION = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te", b"upgrade"}
)


class _Side(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class GuardedProxy:
    """The proxy. It is open inside `async with`.

    Args:
        guard: Asked for the addresses of each host before a connection is made.
    """

    def __init__(self, guard: AddressGuard) -> None:
        self.url = ""  # address for the browser's settings
        self._refused: dict[str, str] = {}
        """Reasons for refused connections, by host."""
        self._guard = guard
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    def refusal_of(self, url: str) -> str:
        """Return why the host of a page was refused; empty if it was not. Browsers also contact hosts on their own."""
        return self._refused.get(split_address(url).hostname or "", "")

    async def __aenter__(self) -> GuardedProxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
        await _ended(*self._talks)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.create_task(self._talk(_Side(reader, writer)))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, here: _Side) -> None:
        """Handle a connection, which has one request or one tunnel."""
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                request = _Request.read(await here.reader.readuntil(b"\r\n\r\n"))
            there, upstream = await self._connected(request)
            self._refused.pop(request.host, None)
            try:
                await (_tunnel if request.is_tunnel else _forward)(request, here, there, upstream)
            finally:
                there.writer.close()
        except WebProblem as problem:
            self._refused[request.host] = problem.message
            status = "403 Forbidden" if problem.reason == "private_address" else "502 Bad Gateway"
            await _answer(here, status, problem.message)
        except (OSError, ValueError, EOFError, asyncio.LimitOverrunError) as error:
            await _answer(here, "502 Bad Gateway", f"{type(error).__name__} {error}")
        finally:
            here.writer.close()

    async def _connected(self, request: _Request) -> tuple[_Side, str]:
        """Connect to the host, or to the proxy that the environment names for it. Also return that proxy's address."""
        upstream = proxy_for("https" if request.is_tunnel else "http", request.host)
        if not upstream:
            addresses = await self._guard.addresses(request.host, request.port)
            return await _opened(addresses[:_ADDRESSES], request.port), ""
        await self._guard.known_addresses(request.host, request.port)
        parts = urlsplit(upstream)
        if parts.scheme != "http" or not parts.hostname:
            raise WebProblem("connection", f"Pages cannot be rendered through a {parts.scheme} proxy.")
        return await _opened([parts.hostname], parts.port or 80), upstream


@dataclass(frozen=True, slots=True)
class _Request:
    method: bytes
    target: bytes
    fields: list[bytes]
    host: str
    port: int

    @property
    def is_tunnel(self) -> bool:
        return self.method == b"CONNECT"

    @property
    def length(self) -> int:
        """Length of the body in bytes. Browsers always send it."""
        lengths = [one.partition(b":")[2].strip() for one in self.fields if one.lower().startswith(b"content-length:")]
        return int(lengths[0]) if lengths else 0

    def head(self, upstream: str) -> bytes:
        """Return the request head for the host or the next proxy. The connection closes after the response."""
        path = b"/" + self.target.split(b"//", 1)[-1].partition(b"/")[2]
        fields = _kept(self.fields)
        if (parts := urlsplit(upstream)).username:
            plain = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            fields.append(b"Proxy-Authorization: Basic " + base64.b64encode(plain.encode()))
        if not self.is_tunnel:
            fields.append(b"Connection: close")
        target = self.target if upstream or self.is_tunnel else path
        return b"\r\n".join([b"%s %s HTTP/1.1" % (self.method, target), *fields, b"", b""])

    @classmethod
    def read(cls, head: bytes) -> _Request:
        """Parse a request head. Raise ValueError if it is not a proxy request."""
        line, *fields = head[:-4].split(b"\r\n")
        method, target, _ = line.split(b" ")
        is_tunnel = method == b"CONNECT"
        parts = urlsplit(("//" if is_tunnel else "") + target.decode("ascii"))
        if not parts.hostname or (not is_tunnel and parts.scheme != "http"):
            raise ValueError("no request to a proxy")
        return cls(method, target, fields, parts.hostname, parts.port or (443 if is_tunnel else 80))


async def _opened(addresses: list[str], port: int) -> _Side:
    """Connect to the first address that responds."""
    failure = OSError("it has no address")
    for address in addresses:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                return _Side(*await asyncio.open_connection(address, port, limit=_HEAD))
        except OSError as error:
            failure = error
    raise failure


async def _tunnel(request: _Request, here: _Side, there: _Side, upstream: str) -> None:
    """Copy bytes both ways until one side closes."""
    if upstream:  # its response goes to the browser unchanged
        there.writer.write(request.head(upstream))
    else:
        here.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    out, back = asyncio.create_task(_pour(here, there)), asyncio.create_task(_pour(there, here))
    try:
        await asyncio.wait({out, back}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({back}, timeout=_LAST_SECONDS)
    finally:
        await _ended(out, back)


async def _forward(request: _Request, here: _Side, there: _Side, upstream: str) -> None:
    """Forward one request and its response, then close: the browser's next request may be for another host."""
    there.writer.write(request.head(upstream))
    sending = asyncio.create_task(_pour(here, there, request.length))
    try:
        status = b"HTTP/1.1 100"
        while status.partition(b" ")[2].startswith(b"1"):  # skip interim responses
            async with asyncio.timeout(_HEAD_SECONDS):
                status, *fields = (await there.reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
        here.writer.write(b"\r\n".join([status, *_kept(fields), b"Connection: close", b"", b""]))
        await _pour(there, here)
    finally:
        await _ended(sending)


def _kept(fields: list[bytes]) -> list[bytes]:
    """Return the headers without those that apply to a single connection."""
    return [one for one in fields if one.partition(b":")[0].strip().lower() not in _OF_CONNECTION]


async def _pour(source: _Side, sink: _Side, most: int | None = None) -> None:
    """Copy at most `most` bytes from one side to the other; stop at EOF or on an error."""
    left = _PIECE if most is None else most
    with contextlib.suppress(OSError):
        while left > 0 and (piece := await source.reader.read(min(_PIECE, left))):
            left -= len(piece) if most is not None else 0
            sink.writer.write(piece)
            await sink.writer.drain()


async def _ended(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _answer(here: _Side, status: str, message: str) -> None:
    body = f"<!doctype html><title>Not opened</title><p>{escape(message[:500])}".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    with contextlib.suppress(OSError):
        here.writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        await here.writer.drain()


def proxy_for(scheme: str, host: str) -> str:
    """Return the proxy from the environment for a host; empty without one, or if NO_PROXY excludes the host."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    if not proxy or proxy_bypass(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def proxy_problem() -> WebProblem:
    """Return the problem of an unusable proxy in the environment, without its address and password."""
    if found := next(network_problems(), None):
        return WebProblem("connection", found.message, remedy=found.remedy)
    return WebProblem(
        "connection",
        "The proxy set by the environment cannot be used: only HTTP proxies are supported.",
        remedy="Use a proxy that begins with http://, or unset HTTPS_PROXY, HTTP_PROXY and ALL_PROXY.",
    )
