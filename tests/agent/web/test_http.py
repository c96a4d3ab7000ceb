"""Fetching from real servers: limits, retries, redirects, TLS, robots.txt, and everything that breaks."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.web.http import MAX_PAGE_BYTES, Http
from agent.web.page import Reason, WebProblem
from agent.web.response import StatusProblem
from support.public_web import get
from support.web_server import Answer, WebServer, certificate


async def _asked(web: WebServer) -> None:
    """Returns when the server was asked something."""
    for _ in range(500):
        if web.paths():
            return
        await asyncio.sleep(0.01)


async def _fails(client: Http, url: str, **more: int) -> WebProblem:
    with pytest.raises(WebProblem) as caught:
        await get(client, url, **more)
    assert caught.value.remedy
    return caught.value


async def test_a_page_comes_with_its_address_headers_and_charset(web: WebServer, client: Http) -> None:
    web.page("/a", "grün".encode("latin-1"), headers={"Content-Type": "text/html; charset=ISO-8859-1", "X-One": "1"})
    response = await get(client, f"{web.url}/a#part")
    assert (response.url, response.status, response.text) == (f"{web.url}/a", 200, "grün")
    assert (response.headers["x-one"], response.charset) == ("1", "cp1252")


async def test_endless_redirects_end(web: WebServer, client: Http) -> None:
    web.route("/loop*", lambda asked: Answer(307, b"", {"Location": asked.path + "x"}))
    problem = await _fails(client, f"{web.url}/loop")
    assert problem.reason == "redirects"
    assert len(web.paths()) == 11


@pytest.mark.parametrize(
    "target", ["ftp://example.com/", "http://[bad/", "http://a:b@c.example/", "javascript:void(0)"]
)
async def test_a_redirect_to_no_page_is_refused(web: WebServer, client: Http, target: str) -> None:
    web.page("/a", "", status=302, headers={"Location": target})
    assert (await _fails(client, f"{web.url}/a")).reason == "refused_address"


@pytest.mark.parametrize("status", [502, 429])
async def test_a_busy_server_is_asked_again(web: WebServer, client: Http, status: int) -> None:
    web.route("/a", answers=[Answer(status), Answer(status), Answer(200, "at last")])
    assert (await get(client, f"{web.url}/a")).text == "at last"


@pytest.mark.parametrize(("status", "asked"), [(404, 1), (500, 1), (503, 3)])
async def test_a_refusal_is_told_with_its_status(web: WebServer, client: Http, status: int, asked: int) -> None:
    web.page("/a", "<p>why</p>", status=status)
    problem = await _fails(client, f"{web.url}/a")
    assert isinstance(problem, StatusProblem)
    assert (problem.reason, problem.status, problem.response.text) == ("http", status, "<p>why</p>")
    assert str(status) in problem.message
    assert len(web.paths()) == asked


async def test_a_long_retry_after_is_told_instead_of_waited_for(web: WebServer, client: Http) -> None:
    web.route("/a", answers=[Answer(429, b"", {"Retry-After": "3600"})])
    problem = await _fails(client, f"{web.url}/a")
    assert (problem.reason, problem.retry_after) == ("rate_limit", 3600)
    assert len(web.paths()) == 1


async def test_a_connection_that_breaks_is_tried_again(web: WebServer, client: Http) -> None:
    web.route("/a", answers=[Answer(200, "half", cut=True), Answer(200, "whole")])
    assert (await get(client, f"{web.url}/a")).text == "whole"
    web.route("/b", answers=[Answer(200, "half", cut=True)])
    assert (await _fails(client, f"{web.url}/b")).reason == "connection"
    assert web.paths().count("/b") == 3


async def test_a_slow_page_ends_at_the_clock(web: WebServer) -> None:
    def drops() -> Iterator[bytes]:
        while not web.released.wait(0.05):
            yield b"."

    web.route("/slow", lambda _: Answer(200, drops()))
    client = Http(allow_private=True, seconds=0.4)
    began = time.monotonic()
    assert (await _fails(client, f"{web.url}/slow")).reason == "timeout"
    assert time.monotonic() - began < 20
    await client.aclose()


async def test_a_page_of_200_mb_ends_at_the_limit(web: WebServer, client: Http) -> None:
    """Whether it says how long it is or not; of the rest nothing is fetched."""

    def endless() -> Iterator[bytes]:
        for _ in range(200):
            yield b"x" * 2**20

    web.route("/silent", lambda _: Answer(200, endless(), {"Content-Type": "text/html"}))
    problem = await _fails(client, f"{web.url}/silent", limit=3 * 2**20)
    assert (problem.reason, web.paths()) == ("too_large", ["/silent"])
    assert web.sent < 20 * 2**20
    web.route("/told", lambda _: Answer(200, endless(), {"Content-Length": str(200 * 2**20)}))
    before = web.sent
    problem = await _fails(client, f"{web.url}/told")
    assert problem.reason == "too_large"
    assert f"{200 * 2**20:,}" in problem.message
    assert f"{MAX_PAGE_BYTES:,}" in problem.message
    assert web.sent - before < 20 * 2**20


async def test_a_packed_bomb_ends_at_the_limit(web: WebServer, client: Http) -> None:
    bomb = gzip.compress(bytes(64 * 2**20), 9)
    web.page("/bomb", bomb, headers={"Content-Encoding": "gzip", "Content-Type": "text/html"})
    assert len(bomb) < 2**17
    assert (await _fails(client, f"{web.url}/bomb")).reason == "too_large"


@pytest.fixture
def tls_names() -> object:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    return resolve


async def test_tls_is_checked_against_the_name_and_not_the_address(tmp_path: Path, tls_names: object) -> None:
    own = certificate(tmp_path, "shop.example")
    trusting = ssl.create_default_context(cafile=str(own))
    with WebServer(own) as server:
        server.page("/a", "safe")
        client = Http(allow_private=True, resolve=tls_names, tls=trusting)  # type: ignore[arg-type]  # a Resolver
        assert (await get(client, f"{server.at('shop.example')}/a")).text == "safe"
        for host in ("other.example", "127.0.0.1"):
            problem = await _fails(client, f"{server.at(host)}/a")
            assert problem.reason == "tls"
            assert "match" in problem.message or "valid" in problem.message
        await client.aclose()


@pytest.mark.parametrize("days", [30, -1])
async def test_certificates_that_are_self_made_or_expired_are_refused(
    tmp_path: Path, tls_names: object, days: int
) -> None:
    own = certificate(tmp_path, "shop.example", days=days)
    trusting = ssl.create_default_context(cafile=str(own)) if days < 0 else None
    with WebServer(own) as server:
        client = Http(allow_private=True, resolve=tls_names, tls=trusting)  # type: ignore[arg-type]  # a Resolver
        problem = await _fails(client, f"{server.at('shop.example')}/a")
        assert problem.reason == "tls"
        assert ("expired" if days < 0 else "self-signed") in problem.message
        assert server.requests == []
        await client.aclose()


async def test_robots_txt_is_heeded_and_read_once(web: WebServer, client: Http) -> None:
    web.page("/robots.txt", "User-agent: *\nDisallow: /private\nAllow: /private/open", headers={})
    web.page("/private/open", "open")
    problem = await _fails(client, f"{web.url}/private/a")
    assert (problem.reason, web.paths()) == ("robots", [])
    assert (await get(client, f"{web.url}/private/open")).text == "open"
    assert [one.path for one in web.requests].count("/robots.txt") == 1


async def test_robots_txt_counts_at_the_end_of_a_redirect_too(web: WebServer, client: Http) -> None:
    web.page("/robots.txt", "User-agent: alita\nDisallow: /private", headers={})
    web.page("/go", "", status=302, headers={"Location": "/private"})
    assert (await _fails(client, f"{web.url}/go")).reason == "robots"
    assert "/private" not in web.paths()


@pytest.mark.parametrize(
    "answer",
    [Answer(404), Answer(500), Answer(200, b"\xff\xfe\x00"), Answer(302, b"", {"Location": "/robots.txt"})],
)
async def test_without_usable_robots_txt_everything_is_allowed(web: WebServer, client: Http, answer: Answer) -> None:
    web.route("/robots.txt", lambda _: answer)
    web.page("/a", "text")
    assert (await get(client, f"{web.url}/a")).text == "text"


async def test_one_host_gets_only_so_many_requests_at_once(web: WebServer, client: Http) -> None:
    def slow(asked: object) -> Answer:
        web.released.wait(0.3)
        return Answer(200, "a")

    web.route("/*", slow)
    await asyncio.gather(*(get(client, f"{web.url}/{number}") for number in range(15)))
    assert 5 < web.most_in_flight <= 10


async def test_an_api_is_asked_with_json_and_answers_with_json(web: WebServer, client: Http) -> None:
    web.route("/api", lambda asked: Answer(200, b'{"got": ' + asked.body + b"}"))
    web.page("/robots.txt", "User-agent: *\nDisallow: /", headers={})
    assert await client.ask_json(f"{web.url}/api", {"a": [1]}, {"Authorization": "Bearer k"}) == {"got": {"a": [1]}}
    (asked,) = web.requests
    assert (asked.method, asked.headers["authorization"]) == ("POST", "Bearer k")
    assert asked.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(200, "<html>"), "mismatch"),
        (Answer(200, b""), "mismatch"),
        (Answer(200, b"[" * 100_000), "mismatch"),
        (Answer(402, "pay"), "http"),
        (Answer(429, b"", {"Retry-After": "999"}), "rate_limit"),
        (Answer(200, "{", cut=True), "connection"),
    ],
    ids=["html", "empty", "deep", "402", "429", "cut"],
)
async def test_an_api_that_fails(web: WebServer, client: Http, answer: Answer, reason: Reason) -> None:
    web.route("/api", lambda _: answer)
    with pytest.raises(WebProblem) as caught:
        await client.ask_json(f"{web.url}/api", {}, {})
    assert caught.value.reason == reason


async def test_a_read_that_is_given_up_leaves_nothing_behind(web: WebServer, client: Http) -> None:
    web.route("/slow", lambda _: (web.released.wait(5), Answer(200))[1])
    task = asyncio.create_task(get(client, f"{web.url}/slow"))
    await _asked(web)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    web.page("/a", "goes on")
    assert (await get(client, f"{web.url}/a")).text == "goes on"
    web.released.set()


@pytest.mark.parametrize("proxy", ["ftp://user:secret-key@127.0.0.1:9"])
async def test_a_proxy_that_cannot_be_used_is_named(
    web: WebServer, client: Http, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    problem = await _fails(client, f"{web.url}/a")
    assert (problem.reason, "ALL_PROXY" in problem.remedy, "secret-key" in str(problem)) == (
        "connection",
        True,
        False,
    )
