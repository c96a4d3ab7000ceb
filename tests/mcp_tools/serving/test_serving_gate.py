"""Access over HTTP on a real socket: hosts, origins, tokens, headers, web pages, and disconnects."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from desk import Desk, tool

from mcp_tools.serving import http
from mcp_tools.serving.http import listen_options, serve_http

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOKEN = "a-token-for-tests-only"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}
MINE = {**ACCEPT, "Authorization": f"Bearer {TOKEN}"}


class Served:
    """A listening server, and raw requests to it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.port = int(url.rpartition(":")[2].partition("/")[0])

    async def says(self, *lines: str, body: str = "{}", wait: float = 5.0) -> str:
        """Send these header lines, and return the first line of the response; empty if there is none."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = ["POST /mcp HTTP/1.1", f"Content-Length: {len(body)}", "Connection: close", *lines]
        writer.write(("\r\n".join(head) + "\r\n\r\n" + body).encode("latin-1"))
        try:
            async with asyncio.timeout(wait):
                return (await reader.readline()).decode().strip()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


@contextlib.asynccontextmanager
async def served(desk: Desk, token: str = TOKEN) -> AsyncIterator[Served]:
    desk.has(tool())
    told: asyncio.Queue[str] = asyncio.Queue()
    names = ("alita.example",)
    listen = listen_options("127.0.0.1:0", token=token, token_file=None, no_token=not token, host_names=names)
    task = asyncio.create_task(serve_http(desk.server(), listen, report=told.put_nowait))
    try:
        yield Served((await told.get()).split()[-1])
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


HOSTS = {
    "localhost:1": True,
    "LOCALHOST": True,
    "[::1]:80": True,
    "alita.example": True,
    "evil.example": False,
    "localhost.evil.example": False,
    "localhost:80@evil.example": False,
    "localhost:80.evil.example": False,
    "localhost/": False,
    "evil.example:localhost": False,
    "127.0.0.1.nip.example": False,
    "0.0.0.0": False,
    "localhost.": False,
    "": False,
}


async def test_only_hosts_of_the_server_are_served(desk: Desk) -> None:
    async with served(desk) as server:
        got = {host: await server.says(f"Host: {host}", f"Authorization: Bearer {TOKEN}") for host in HOSTS}
    assert {host: "421" not in line for host, line in got.items()} == HOSTS


ORIGINS = {
    "http://localhost:3000": True,
    "https://alita.example": True,
    "http://[::1]:6274": True,
    "http://evil.example": False,
    "http://localhost@evil.example": False,
    "http://localhost:80@evil.example": False,
    "http://localhost.evil.example": False,
    "null": False,
    "file://localhost": False,
    "localhost": False,
    "http://localhost http://evil.example": False,
    "http://": False,
}


async def test_only_pages_of_the_server_are_let_in(desk: Desk) -> None:
    async with served(desk) as server:
        got = {
            origin: await server.says("Host: localhost", f"Origin: {origin}", f"Authorization: Bearer {TOKEN}")
            for origin in ORIGINS
        }
    assert {origin: "403" not in line for origin, line in got.items()} == ORIGINS


async def test_without_a_token_only_pages_at_the_port_of_the_server_are_let_in(desk: Desk) -> None:
    async with served(desk, token="") as server:
        host = f"Host: localhost:{server.port}"
        assert "403" not in await server.says(host, f"Origin: http://localhost:{server.port}")
        assert "403" in await server.says(host, "Origin: http://localhost:3000")
        assert "403" in await server.says(host, "Origin: http://localhost")


@pytest.mark.parametrize(
    "twice",
    [
        ("Host: localhost", "Host: evil.example"),
        ("Host: localhost", "Origin: http://evil.example", "Origin: http://localhost"),
        ("Host: localhost", "Authorization: Bearer wrong"),
        ("Host: localhost", "Mcp-Session-Id: a", "Mcp-Session-Id: b"),
    ],
)
async def test_a_header_that_is_there_twice_is_refused(desk: Desk, twice: tuple[str, ...]) -> None:
    async with served(desk) as server:
        assert "400" in await server.says(*twice, f"Authorization: Bearer {TOKEN}")


async def test_a_request_has_a_largest_size(desk: Desk) -> None:
    async with served(desk) as server, httpx2.AsyncClient() as http:
        answer = await http.post(server.url, content=b"x" * 5_000_000, headers=MINE)
    assert answer.status_code in {400, 413}


async def test_a_token_is_wanted_in_its_form(desk: Desk) -> None:
    tokens = {f"Bearer {TOKEN}": 200, f"bearer {TOKEN}": 200, "Bearer wrong": 401, f"Basic {TOKEN}": 401, "": 401}
    async with served(desk) as server, httpx2.AsyncClient() as http:
        for token, status in tokens.items():
            answer = await http.post(server.url, json=INITIALIZE, headers={**ACCEPT, "Authorization": token})
            assert answer.status_code == status
            assert ("www-authenticate" in answer.headers) == (status == 401)


async def test_a_page_of_the_server_may_ask_and_read_the_answer(desk: Desk) -> None:
    """Otherwise a client in a browser could send requests but not read the responses."""
    page = {"Origin": "http://localhost:6274"}
    asks = {
        **page,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,mcp-session-id",
    }
    async with served(desk) as server, httpx2.AsyncClient() as http:
        before = await http.options(server.url, headers=asks)
        answer = await http.post(server.url, json=INITIALIZE, headers={**MINE, **page})
        refused = await http.post(server.url, json=INITIALIZE, headers={**ACCEPT, **page})
        stranger = await http.options(server.url, headers={**asks, "Origin": "http://evil.example"})
        bare = await http.options(server.url)
    assert before.status_code == 200
    assert before.headers["access-control-allow-origin"] == "*"
    assert "mcp-session-id" in before.headers["access-control-allow-headers"]
    assert "DELETE" in before.headers["access-control-allow-methods"]
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "Mcp-Session-Id" in answer.headers["access-control-expose-headers"]
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "*", "the page may read why"
    assert stranger.status_code == 403
    assert "access-control-allow-origin" not in stranger.headers
    assert bare.status_code == 401


async def _begun(http: Any, url: str) -> dict[str, str]:
    answer = await http.post(url, json=INITIALIZE, headers=MINE)
    return {**MINE, "Mcp-Session-Id": answer.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}


async def test_a_client_of_2025_that_disconnects_ends_its_call(desk: Desk) -> None:
    desk.has(tool("nap", "import time\n    time.sleep(n)\n    return n"))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nap", "arguments": {"n": 9}}}
    async with served(desk) as server, httpx2.AsyncClient(timeout=20) as http:
        headers = await _begun(http, server.url)
        started = asyncio.get_running_loop().time()
        for _ in range(3):
            with contextlib.suppress(httpx2.TimeoutException):
                async with httpx2.AsyncClient(timeout=0.4) as leaving:
                    await leaving.post(server.url, json=call, headers=headers)
        while not desk.audit.exists() or len(desk.written()) < 3:
            assert asyncio.get_running_loop().time() - started < 9
            await asyncio.sleep(0.1)
        assert [line["outcome"] for line in desk.written()] == ["cancelled"] * 3
        quick = {**call, "params": {"name": "nap", "arguments": {"n": 0}}}
        assert '"result":0' in (await http.post(server.url, json=quick, headers=headers)).text.replace(" ", "")


async def half(served: Served, text: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection that sends only the beginning of a request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(text.encode())
    return reader, writer


HEAD = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    "text", ["", "POST /mcp HT", HEAD, f"{HEAD}Content-Length: 100\r\n\r\n{{"], ids=["nothing", "line", "head", "body"]
)
async def test_half_requests_are_closed_in_time(desk: Desk, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(http, "BODY_SECONDS", 0.3)
    async with served(desk) as server:
        reader, writer = await half(server, text)
        async with asyncio.timeout(5):
            with contextlib.suppress(ConnectionError):
                await reader.read()
        writer.close()
        assert (await server.says("Host: localhost", "Authorization: Bearer x")).startswith("HTTP/1.1 401")


async def test_many_half_requests_keep_nobody_out(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_UNFINISHED_PER_PEER", 50)
    async with served(desk) as server:
        kinds = [HEAD, f"{HEAD}Content-Length: 100\r\n\r\n{{"]
        halves = [await half(server, kinds[number % 2]) for number in range(120)]
        async with httpx2.AsyncClient(headers=MINE) as client:
            for _ in range(3):
                assert (await client.post(server.url, json=INITIALIZE)).status_code == 200
        assert len(http._unfinished) <= http.MAX_UNFINISHED_PER_PEER
        for _, writer in halves:
            writer.close()
