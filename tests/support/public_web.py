"""A local server that looks like a public host."""

from __future__ import annotations

import ssl

from agent.web.http import MAX_PAGE_BYTES, Http
from agent.web.response import Response, response_of
from support.web_server import WebServer


def public_client(web: WebServer, tls: ssl.SSLContext) -> Http:
    """Return a client that reaches the server as the public host `gone.example`."""

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    client = Http(allow_private=True, resolve=resolve, tls=tls)
    strict = client.guard.addresses

    async def addresses(host: str, port: int) -> list[str]:
        return ["8.8.8.8"] if (host, port) == ("gone.example", 443) else await strict(host, port)

    client.guard.addresses = addresses  # type: ignore[method-assign]  # there is no public address to serve at
    return client


async def get(client: Http, url: str, limit: int = MAX_PAGE_BYTES) -> Response:
    """Fetch a page of at most `limit` bytes."""
    return await client.fetch(url, lambda opened: response_of(opened, limit))
