"""A web server, and a client that may open this machine's addresses, without waiting between attempts."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from agent.web import http
from agent.web.http import Http
from support.web_server import WebServer


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr(http, "_FIRST_WAIT", 0.01)


@pytest.fixture(scope="session")
def trusted() -> ssl.SSLContext:
    """Reading the machine's certificates takes longer than most tests."""
    return httpx2.create_ssl_context()


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer() as server:
        yield server


@pytest.fixture
async def client(trusted: ssl.SSLContext) -> AsyncIterator[Http]:
    client = Http(allow_private=True, tls=trusted)
    yield client
    await client.aclose()
