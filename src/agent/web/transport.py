"""HTTP connections that ask the address guard about the very IP address to which they connect."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2

from agent.web.guard import AddressGuard
from agent.web.proxy import proxy_for, proxy_problem

_MAX_ADDRESSES = 4  # of one host
_CONNECTIONS = httpx2.Limits(max_connections=64, max_keepalive_connections=16, keepalive_expiry=15.0)


class _Backend(httpcore2.AnyIOBackend):
    """Looks up a name once and connects to an address that the guard allows."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception | None = None
        for address in (await self._guard.addresses(host, port))[:_MAX_ADDRESSES]:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure


class Routed(httpx2.AsyncBaseTransport):
    """Sends each request directly, or through the proxy that the environment names for it.

    A proxy makes the connection itself, so the guard can only check the name and its lookup on this machine.

    Args:
        guard: Checks each host before a connection is made.
        tls: Certificates to trust.
    """

    def __init__(self, guard: AddressGuard, tls: ssl.SSLContext) -> None:
        self._guard = guard
        self._tls = tls
        self._direct = httpx2.AsyncHTTPTransport(verify=tls, limits=_CONNECTIONS)
        # httpx2 has no parameter for the pool's backend.
        self._direct._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=_CONNECTIONS.max_connections,
            max_keepalive_connections=_CONNECTIONS.max_keepalive_connections,
            keepalive_expiry=_CONNECTIONS.keepalive_expiry,
            network_backend=_Backend(guard),
        )
        self._proxied: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        proxy = proxy_for(request.url.scheme, request.url.host)
        if not proxy:
            return await self._direct.handle_async_request(request)
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        await self._guard.known_addresses(request.url.raw_host.decode("ascii"), port)
        if proxy not in self._proxied:
            try:
                self._proxied[proxy] = httpx2.AsyncHTTPTransport(verify=self._tls, proxy=proxy, limits=_CONNECTIONS)
            except (ImportError, ValueError):  # SOCKS package missing, or invalid proxy
                raise proxy_problem() from None
        return await self._proxied[proxy].handle_async_request(request)

    async def aclose(self) -> None:
        """Close connections."""
        for transport in (self._direct, *self._proxied.values()):
            await transport.aclose()
