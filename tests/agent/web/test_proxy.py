"""The proxy between a browser and the web: what it passes on, and what it does not."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.web.guard import AddressGuard
from agent.web.proxy import GuardedProxy
from support.web_server import Answer, Asked, WebServer, certificate


@pytest.fixture
async def proxy() -> AsyncIterator[GuardedProxy]:
    async with GuardedProxy(AddressGuard(allow_private=True)) as proxy:
        yield proxy


async def _through(proxy: GuardedProxy, request: str) -> str:
    """What comes back for the bytes of a request, until the connection ends."""
    reader, writer = await _connected(proxy)
    writer.write(request.encode())
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer.decode("latin-1")


async def _connected(proxy: GuardedProxy) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    return await asyncio.open_connection(host, int(port))


async def test_a_request_is_passed_on_without_what_is_the_proxys(web: WebServer, proxy: GuardedProxy) -> None:
    web.page("/a?b=c", "text", headers={"X-One": "1", "Keep-Alive": "timeout=5"})
    answer = await _through(
        proxy,
        f"GET {web.url}/a?b=c HTTP/1.1\r\nHost: {web.url[7:]}\r\nProxy-Connection: keep-alive\r\nX-Two: 2\r\n\r\n",
    )
    assert answer.startswith("HTTP/1.1 200 ")
    assert "X-One: 1" in answer
    assert "Connection: close" in answer
    assert "Keep-Alive" not in answer
    assert answer.endswith("\r\n\r\ntext")
    (asked,) = web.requests
    assert (asked.path, asked.headers["x-two"], asked.headers["connection"]) == ("/a?b=c", "2", "close")
    assert "proxy-connection" not in asked.headers


async def test_a_body_is_passed_on_and_what_follows_it_is_not(proxy: GuardedProxy) -> None:
    """A second request on the connection may be for another host: the first one's server never sees it."""
    seen = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                while piece := await reader.read(1000):
                    seen.extend(piece)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\ndone")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/form"
    second = "GET http://other.example/secret HTTP/1.1\r\nHost: other.example\r\nCookie: secret\r\n\r\n"
    answer = await _through(proxy, f"POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello{second}")
    assert answer.endswith("done")
    assert seen.endswith(b"\r\n\r\nhello")
    server.close()


async def test_a_tunnel_leaves_tls_to_both_ends(tmp_path: Path, proxy: GuardedProxy) -> None:
    own = certificate(tmp_path, "localhost")
    with WebServer(own) as server:
        server.page("/a", "safe")
        reader, writer = await _connected(proxy)
        writer.write(f"CONNECT localhost:{server.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
        await writer.start_tls(ssl.create_default_context(cafile=str(own)), server_hostname="localhost")
        writer.write(b"GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).endswith(b"safe")
        writer.close()


@pytest.mark.parametrize(
    "line",
    [
        "GET http://127.0.0.1:{0}/ HTTP/1.1",
        "GET http://[::ffff:7f00:1]:{0}/ HTTP/1.1",
        "CONNECT 2130706433:{0} HTTP/1.1",
        "CONNECT [::1]:{0} HTTP/1.1",
        "CONNECT 169.254.169.254:80 HTTP/1.1",
    ],
)
async def test_private_addresses_are_refused(web: WebServer, line: str) -> None:
    async with GuardedProxy(AddressGuard()) as proxy:
        answer = await _through(proxy, line.format(web.port) + "\r\nHost: harmless.example\r\n\r\n")
        assert answer.startswith("HTTP/1.1 403 ")
        address = line.format(web.port).split()[1]
        why = proxy.refusal_of(address if "//" in address else f"http://{address}/")
        assert why
        assert why in answer
        assert not proxy.refusal_of("http://harmless.example/")
    assert web.requests == []


@pytest.mark.parametrize(
    "head",
    [
        "GET http://nowhere.invalid/ HTTP/1.1",
        "GET /path HTTP/1.1",
        "GET https://a.example/ HTTP/1.1",
        "GET ftp://a/ HTTP/1.1",
        "CONNECT : HTTP/1.1",
        "CONNECT localhost:99999 HTTP/1.1",
        "CONNECT 127.0.0.1:1 HTTP/1.1",
        "nonsense",
        "\xff\xfe",
        f"GET http://a/ HTTP/1.1\r\nX: {'x' * 100_000}",
    ],
    ids=range(10),
)
async def test_what_cannot_be_passed_on_is_answered(proxy: GuardedProxy, head: str) -> None:
    assert (await _through(proxy, f"{head}\r\n\r\n")).startswith("HTTP/1.1 502 ")


async def test_an_answer_that_breaks_off_gets_nothing_added(web: WebServer, proxy: GuardedProxy) -> None:
    web.route("/half", lambda _: Answer(200, "half", cut=True))
    assert (await _through(proxy, f"GET {web.url}/half HTTP/1.1\r\nHost: x\r\n\r\n")).endswith("\r\n\r\nhalf")


async def test_what_is_open_ends_with_the_proxy(web: WebServer) -> None:
    def slow(_: Asked) -> Answer:
        web.released.wait(10)
        return Answer(200)

    web.route("/slow", slow)
    async with GuardedProxy(AddressGuard(allow_private=True)) as proxy:
        reader, writer = await _connected(proxy)
        writer.write(f"GET {web.url}/slow HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await asyncio.sleep(0.2)
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()
    web.released.set()


async def test_a_proxy_of_the_environment_makes_the_connections(
    web: WebServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Names that only it knows are left to it; what this machine knows to be private is refused still."""
    web.page("http://only-the-proxy-knows.invalid/a?b", "by way of it")
    monkeypatch.setenv("http_proxy", web.url.replace("//", "//user:p%40ss@"))
    async with GuardedProxy(AddressGuard()) as proxy:
        answer = await _through(proxy, "GET http://only-the-proxy-knows.invalid/a?b HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer.endswith("by way of it")
        assert web.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpwQHNz"
        refused = await _through(proxy, "GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n")
        assert refused.startswith("HTTP/1.1 403 ")
        assert len(web.requests) == 1


async def test_a_tunnel_through_a_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 Fine\r\n\r\n" + await reader.readexactly(5))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    monkeypatch.setenv("https_proxy", f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with GuardedProxy(AddressGuard()) as proxy:
        answer = await _through(proxy, "CONNECT known.invalid:443 HTTP/1.1\r\nHost: known.invalid\r\n\r\nhello")
    assert answer == "HTTP/1.1 200 Fine\r\n\r\nhello"
    assert asked == [b"CONNECT known.invalid:443 HTTP/1.1\r\nHost: known.invalid\r\n\r\n"]
    server.close()


async def test_an_allowed_address_is_passed_on_and_its_neighbour_is_not(web: WebServer) -> None:
    web.page("/", "text")
    async with GuardedProxy(AddressGuard(allow_addresses=(f"http://127.0.0.1:{web.port}",))) as proxy:
        request = "GET http://{0}/ HTTP/1.1\r\nHost: {0}\r\n\r\n"
        assert (await _through(proxy, request.format(f"127.0.0.1:{web.port}"))).endswith("text")
        for other in (f"127.0.0.2:{web.port}", "127.0.0.1:1"):
            assert (await _through(proxy, request.format(other))).startswith("HTTP/1.1 403 ")
    assert web.paths() == ["/"]
