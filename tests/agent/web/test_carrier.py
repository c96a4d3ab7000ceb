"""Requests of tools, carried to declared hosts only, with keys that never come back; and whoever tries for more."""

from __future__ import annotations

import base64
import gzip
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from agent.web import carrier as carrying
from agent.web.carrier import Carrier, HostKey, host_keys
from agent.web.guard import AddressGuard
from agent.web.leak_guard import LeakGuard
from agent.web.page import WebProblem
from mcp_tools.errors import AlitaError
from mcp_tools.hosts import Host, HostError, HostRequest, read_host
from support.web_server import Answer, Asked, WebServer

VALUE = "s3cret/of+weather=="


async def _yes(*_: object) -> str:
    return ""


def ask(url: str, method: str = "GET", body: bytes = b"", **headers: str) -> HostRequest:
    """A request as it comes out of the sandbox."""
    pairs = [[name.replace("_", "-"), value] for name, value in headers.items()]
    encoded = base64.b64encode(body).decode()
    return HostRequest.read({"method": method, "url": url, "headers": pairs, "body": encoded})


@asynccontextmanager
async def opened(*hosts: str, keys: tuple[HostKey, ...] = (), **more: Any) -> AsyncIterator[Carrier]:
    guard = more.pop("guard", AddressGuard(allow_private=True))
    carrier = Carrier(guard, map(read_host, hosts), keys, more.pop("refusal", _yes), **more)
    async with aclosing(carrier):
        yield carrier


def key_for(web: WebServer, name: str = "W") -> HostKey:
    return HostKey(name, read_host(web.url), VALUE)


@pytest.fixture
def other() -> Iterator[WebServer]:
    with WebServer() as server:
        yield server


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("api.example.com", Host("https", "api.example.com", 443)),
        ("api.example.com:8443", Host("https", "api.example.com", 8443)),
        ("https://api.example.com", Host("https", "api.example.com", 443)),
        ("http://localhost:8000", Host("http", "localhost", 8000)),
    ],
)
def test_hosts_as_they_are_declared(text: str, host: Host) -> None:
    assert read_host(text) == host
    assert read_host(str(host)) == host


@pytest.mark.parametrize(
    "text",
    [
        "", "*", "*.example.com", ".example.com", "example.com.", "example..com", "a b.com", "a@b.com", "b.com/path",
        "https://b.com/path", "ftp://b.com", "b.com:0", "b.com:99999", "b.com:x", "127.1", "0x7f.1", "2130706433",
        "b.com\n", "b.com\r\nHost: c", "bücher.example", "[::1]", "//b.com", "b.com?x", "b.com#x", "%62.com", "B.com",
    ],
)  # fmt: skip
def test_what_is_no_exact_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"host|port|form"):
        read_host(text)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"method": "CONNECT"}, "method"),
        ({"method": "TRACE"}, "method"),
        ({"method": "get"}, "method"),
        ({"method": "GET / HTTP/1.1\r\nX: y"}, "method"),
        ({"url": "https://a.example/ HTTP/1.1\r\nX: y"}, "the URL is too long or contains"),
        ({"url": "https://a.example/ü"}, "the URL is too long or contains"),
        ({"url": "https://a.example/" + "a" * 9000}, "the URL is too long or contains"),
        ({"url": "https://a.example\\@b.example/"}, "the URL is too long or contains"),
        ({"headers": [["X", "a\r\nHost: b"]]}, "is not a valid header"),
        ({"headers": [["X", "a\nb"]]}, "is not a valid header"),
        ({"headers": [["X", "a\x00b"]]}, "is not a valid header"),
        ({"headers": [["X: y\r\nZ", "a"]]}, "is not a valid header"),
        ({"headers": [["", "a"]]}, "is not a valid header"),
        ({"headers": [["X", 1]]}, "is not a valid header"),
        ({"headers": [["X", "a"]] * 101}, "100 headers"),
        ({"headers": [["X", "a" * 33_000]]}, "100 headers"),
        ({"headers": {"X": "a"}}, "a request must have"),
        ({"body": "?"}, "base64"),
        ({"body": base64.b64encode(b"a" * 1_000_001).decode()}, "1,000,001"),
        ({"body": None}, "a request must have"),
    ],
)
def test_what_is_no_request_is_refused(message: dict[str, Any], said: str) -> None:
    with pytest.raises(HostError, match=said):
        HostRequest.read({"method": "GET", "url": "https://a.example/", "headers": [], "body": "", **message})


async def test_a_request_and_its_response(web: WebServer, trusted: ssl.SSLContext) -> None:
    web.route("/a", lambda asked: Answer(201, asked.body * 2, {"Set-Cookie": "a=b", "Keep-Alive": "5"}))
    async with opened(web.url, tls=trusted) as carrier:
        response = await carrier.carry(ask(f"{web.url}/a?b=c#d", "POST", b"x", X_Own="1", Content_Type="text/plain"))
        binary = await carrier.carry(ask(f"{web.url}/a", "POST", b"\xff"))
    assert (response["status"], response["url"], response["body"]) == (201, f"{web.url}/a?b=c", "xx")
    assert {name for name, _ in response["headers"]} == {"server", "date", "set-cookie"}
    assert (binary["binary"], base64.b64decode(binary["body"])) == (True, b"\xff\xff")
    asked = web.requests[0]
    assert (asked.headers["x-own"], asked.headers["content-type"], asked.headers["content-length"]) == (
        "1", "text/plain", "1",
    )  # fmt: skip


async def test_headers_of_the_connection_are_the_carriers_own(web: WebServer, trusted: ssl.SSLContext) -> None:
    web.page("/a", "x")
    smuggled = {
        "Host": "inner.example", "Transfer_Encoding": "chunked", "Content_Length": "0", "Connection": "X-Own",
        "Proxy_Authorization": "Basic x", "Proxy_Connection": "keep-alive", "Upgrade": "h2c", "TE": "trailers",
        "Expect": "100-continue", "Forwarded": "for=x",
    }  # fmt: skip
    async with opened(web.url, tls=trusted) as carrier:
        await carrier.carry(ask(f"{web.url}/a", "POST", b"abc", **smuggled))
    headers = web.requests[0].headers
    assert (headers["host"], headers["content-length"]) == (web.url.removeprefix("http://"), "3")
    assert headers.keys() <= {"host", "content-length", "accept-encoding", "user-agent"}


async def test_only_declared_hosts_are_reached(web: WebServer, other: WebServer, trusted: ssl.SSLContext) -> None:
    async with opened(web.url, tls=trusted) as carrier:
        for url in (
            f"{other.url}/", f"https://127.0.0.1:{web.port}/", f"http://localhost:{web.port}/", "http://127.0.0.1/",
            f"http://127.0.0.1.:{web.port}/", "ftp://127.0.0.1/", "file:///etc/passwd", "/a", "http:///a",
            f"http://127.0.0.1:{web.port}@{other.url.removeprefix('http://')}/", f"http://user@127.0.0.1:{web.port}/",
        ):  # fmt: skip
            with pytest.raises(HostError, match=r"not a declared host|not opened"):
                await carrier.carry(ask(url))
    assert web.requests == other.requests == []


async def test_each_hop_of_a_redirect_is_judged(web: WebServer, other: WebServer, trusted: ssl.SSLContext) -> None:
    """To another declared host no credentials go along."""
    web.route("/out", lambda _: Answer(302, b"", {"Location": f"{other.url}/a"}))
    web.route("/in", lambda _: Answer(302, b"", {"Location": "/a"}))
    web.route("/post", lambda _: Answer(303, b"", {"Location": "/a"}))
    web.route("/kept", lambda _: Answer(307, b"", {"Location": "/a"}))
    web.route("/round", lambda _: Answer(302, b"", {"Location": "/round"}))
    web.page("/a", "here")
    other.page("/a", "there")
    seen: list[tuple[str, str]] = []

    async def refusal(host: Host, hop: HostRequest, _: object) -> str:
        seen.append((str(host), hop.method))
        return ""

    async with opened(web.url, refusal=refusal, tls=trusted) as carrier:
        with pytest.raises(HostError, match=f"{other.url} is not a declared host"):
            await carrier.carry(ask(f"{web.url}/out"))
        assert (await carrier.carry(ask(f"{web.url}/in")))["url"] == f"{web.url}/a"
        await carrier.carry(ask(f"{web.url}/post", "POST", b"x", Content_Type="text/plain"))
        await carrier.carry(ask(f"{web.url}/kept", "POST", b"x"))
        with pytest.raises(HostError, match="too many times"):
            await carrier.carry(ask(f"{web.url}/round"))
    assert other.requests == []
    hops = [(asked.method, asked.body) for asked in web.requests if asked.path == "/a"]
    assert hops == [("GET", b""), ("GET", b""), ("POST", b"x")]
    async with opened(web.url, other.url, refusal=refusal, tls=trusted) as carrier:
        response = await carrier.carry(ask(f"{web.url}/out", Authorization="x", Cookie="y", X_Own="z"))
    assert (response["body"], seen[-1]) == ("there", (other.url, "GET"))
    headers = other.requests[0].headers
    assert {"authorization", "cookie"}.isdisjoint(headers)
    assert headers["x-own"] == "z"


def _resolver(*answers: list[str]) -> Callable[[str, int], Any]:
    left = list(answers)

    async def resolve(host: str, port: int) -> list[str]:
        if host not in ("api.example", "b.example"):
            raise socket.gaierror(-2, "unknown")
        return left.pop(0) if len(left) > 1 else left[0]

    return resolve


async def test_a_declared_name_with_a_private_address_is_not_reached(
    web: WebServer, other: WebServer, trusted: ssl.SSLContext
) -> None:
    name = other.at("api.example")
    web.route("/away", lambda _: Answer(302, b"", {"Location": f"{name}/a"}))
    strict = AddressGuard(resolve=_resolver(["127.0.0.1"]), allow_addresses=[web.url])
    secret = AddressGuard(resolve=_resolver(["169.254.169.254"]), allow_private=True)
    for guard, path in ((strict, f"{name}/a"), (strict, f"{web.url}/away"), (secret, f"{name}/a")):
        async with opened(name, web.url, guard=guard, tls=trusted) as carrier:
            with pytest.raises(AlitaError, match=r"address on this machine|cloud credentials"):
                await carrier.carry(ask(path))
    assert (web.paths(), other.requests) == (["/away"], [])


async def test_the_address_that_was_judged_is_the_one_connected_to(web: WebServer, trusted: ssl.SSLContext) -> None:
    """A name that resolves to something else each time: one look-up is judged, and connected to."""
    web.page("/a", "x")
    looked: list[list[str]] = []
    guard = AddressGuard(resolve=_resolver(["8.8.8.8"], ["127.0.0.1"]))
    addresses = guard.addresses

    async def noted(host: str, port: int) -> list[str]:
        looked.append(await addresses(host, port))
        return ["127.0.0.1"] if looked[-1] == ["8.8.8.8"] else looked[-1]  # there is no public address to serve at

    guard.addresses = noted  # type: ignore[method-assign]
    async with opened(web.at("api.example"), guard=guard, tls=trusted) as carrier:
        assert (await carrier.carry(ask(f"{web.at('api.example')}/a")))["body"] == "x"
    assert looked == [["8.8.8.8"]]
    guard = AddressGuard(resolve=_resolver(["127.0.0.1"]))
    async with opened(web.at("api.example"), guard=guard, tls=trusted) as carrier:
        with pytest.raises(AlitaError, match="address on this machine"):
            await carrier.carry(ask(f"{web.at('api.example')}/a"))
    assert len(web.requests) == 1


async def test_a_key_goes_to_its_host_in_a_header_or_the_query(web: WebServer, trusted: ssl.SSLContext) -> None:
    web.page("/a", "x")
    asked: list[tuple[str, ...]] = []

    async def refusal(_host: Host, _hop: HostRequest, keys: tuple[str, ...]) -> str:
        asked.append(keys)
        return ""

    recorded: list[Any] = []

    async def record(request: Any, perform: Any) -> Any:
        recorded.append(request)
        recorded.append(response := await perform(_yes))
        return response

    async with opened(web.url, keys=(key_for(web),), refusal=refusal, record=record, tls=trusted) as carrier:
        await carrier.carry(ask(f"{web.url}/a", Authorization="Bearer {key:W}"))
        await carrier.carry(ask(f"{web.url}/a?q=1&appid={{key:W}}"))
        last = await carrier.carry(ask(f"{web.url}/a?appid=%7Bkey%3AW%7D"))
        await carrier.carry(ask(f"{web.url}/a"))
    first, *queries, _ = web.requests
    assert first.headers["authorization"] == f"Bearer {VALUE}"
    assert [one.path for one in queries] == [
        "/a?q=1&appid=s3cret%2Fof%2Bweather%3D%3D", "/a?appid=s3cret%2Fof%2Bweather%3D%3D",
    ]  # fmt: skip
    assert asked == [("W",), ("W",), ("W",), ()]
    assert "appid" in last["url"]
    assert "s3cret" not in json.dumps(recorded)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (lambda web, _: ask(f"{web.url}/{{key:W}}"), "allowed only in a header"),
        (lambda web, _: ask(f"{web.url}/%7Bkey:W%7D/a?b"), "allowed only in a header"),
        (lambda web, _: ask(f"{web.url}/a", "POST", b"{key:W}"), "allowed only in a header"),
        (lambda web, _: ask(f"{web.url}/a?x={{key:OTHER}}"), "OTHER is not declared or not stored"),
        (lambda _, other: ask(f"{other.url}/a?x={{key:W}}"), "the key W belongs to"),
        (lambda _, other: ask(f"{other.url}/a", X="{key:W}"), "the key W belongs to"),
        (lambda web, _: ask(f"{web.url}/a?x=mine-4711"), "contains a key of the user"),
        (lambda web, _: ask(f"{web.url}/a", "POST", b"x=bWluZS00NzEx"), "contains a key of the user"),
        (lambda web, _: ask(f"{web.url}/a", X="mine-4711"), "contains a key of the user"),
    ],
    ids="path percent body undeclared other-query other-header in-query in-body in-header".split(),  # noqa: SIM905
)
async def test_a_key_goes_nowhere_else(
    web: WebServer, other: WebServer, trusted: ssl.SSLContext, request_: Any, said: str
) -> None:
    keys = (key_for(web),)
    async with opened(web.url, other.url, keys=keys, secrets=("mine-4711",), tls=trusted) as carrier:
        with pytest.raises(HostError, match=said):
            await carrier.carry(request_(web, other))
    assert web.requests == other.requests == []


async def test_a_key_is_sent_over_https_or_within_this_machine(trusted: ssl.SSLContext) -> None:
    host = read_host("http://api.example")
    guard = AddressGuard(resolve=_resolver(["8.8.8.8"]))
    async with opened("http://api.example", keys=(HostKey("W", host, VALUE),), guard=guard, tls=trusted) as carrier:
        with pytest.raises(HostError, match="only over https"):
            await carrier.carry(ask("http://api.example/?x={key:W}"))


@pytest.mark.parametrize(
    "where",
    [
        "body", "header", "json", "slashes", "query", "lower case", "in an address", "base64", "base64 inside",
        "base64 of addresses", "hex", "for HTML", "gzip", "utf-16", "error",
    ],
)  # fmt: skip
async def test_a_key_that_comes_back_is_masked(web: WebServer, trusted: ssl.SSLContext, where: str) -> None:
    def echo(_: Asked) -> Answer:
        encoded = base64.b64encode(VALUE.encode()).decode()
        return {
            "body": Answer(200, f"you sent {VALUE}"),
            "header": Answer(200, "", {"X-Echo": VALUE}),
            "slashes": Answer(200, json.dumps({"key": VALUE}).replace("/", "\\/")),
            "lower case": Answer(200, "s3cret%2fof%2bweather%3d%3d"),
            "json": Answer(200, json.dumps({"key": VALUE})),
            "query": Answer(200, "s3cret%2Fof%2Bweather%3D%3D"),
            "in an address": Answer(200, "?next=%2F%3Fk%3Ds3cret%252Fof%252Bweather%253D%253D"),
            "base64": Answer(200, encoded),
            "base64 inside": Answer(200, base64.b64encode(b"a:" + VALUE.encode() + b"more")),
            "base64 of addresses": Answer(200, base64.urlsafe_b64encode(b"a" + VALUE.encode()).rstrip(b"=")),
            "for HTML": Answer(200, '{"key": "s3cret/of+weather\\u003d\\u003d"}'),
            "hex": Answer(200, VALUE.encode().hex()),
            "gzip": Answer(200, gzip.compress(VALUE.encode()), {"Content-Encoding": "gzip"}),
            "utf-16": Answer(200, VALUE.encode("utf-16")),
            "error": Answer(401, f"wrong key {VALUE}"),
        }[where]

    web.route("/a", echo)
    async with opened(web.url, keys=(key_for(web),), tls=trusted) as carrier:
        response = await carrier.carry(ask(f"{web.url}/a", X="{key:W}"))
    shown = json.dumps(response)
    body = base64.b64decode(response["body"]) if response["binary"] else response["body"].encode()
    assert "s3cret" not in shown
    assert b"s3cret" not in body
    assert "s\\u0000" not in shown
    assert base64.b64encode(VALUE.encode()).decode().rstrip("=") not in shown
    assert VALUE.encode().hex() not in shown
    assert "{key:W}" in shown or b"{\0k\0e\0y" in body


@pytest.mark.parametrize("declared", [False, True])
async def test_a_key_in_a_redirect_leaves_for_no_other_host(
    web: WebServer, other: WebServer, trusted: ssl.SSLContext, declared: bool
) -> None:
    other.page("/", "x")
    web.route("/value", lambda _: Answer(302, b"", {"Location": f"{other.url}/?x=s3cret%2Fof%2Bweather%3D%3D"}))
    web.route("/plain", lambda _: Answer(302, b"", {"Location": f"{other.url}/?x={VALUE}"}))
    web.route("/name", lambda _: Answer(302, b"", {"Location": f"{other.url}/?x={{key:W}}"}))
    web.route("/asks", lambda _: Answer(302, b"", {"Location": "/?x={key:W}"}))
    hosts = (web.url, other.url) if declared else (web.url,)
    async with opened(*hosts, keys=(key_for(web),), tls=trusted) as carrier:
        for path in ("/value", "/plain", "/name"):
            with pytest.raises(AlitaError) as caught:
                await carrier.carry(ask(f"{web.url}{path}", Authorization="{key:W}"))
            assert "s3cret" not in str(caught.value)
        with pytest.raises(HostError, match="asks for a key"):
            await carrier.carry(ask(f"{web.url}/asks"))
    assert other.requests == []
    assert all(asked.path != "/" for asked in web.requests)


async def test_a_failing_connection_tells_no_key(trusted: ssl.SSLContext) -> None:
    url = "http://127.0.0.1:1"
    async with opened(url, keys=(HostKey("W", read_host(url), VALUE),), tls=trusted) as carrier:
        with pytest.raises(AlitaError) as caught:
            await carrier.carry(ask(f"{url}/?x={{key:W}}"))
    assert "failed" in str(caught.value)
    assert "s3cret" not in str(caught.value)


async def test_an_endless_response_and_a_bomb_are_cut_off(
    web: WebServer, trusted: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carrying, "MOST_BYTES", 100_000)
    web.route("/endless", lambda _: Answer(200, (b"x" * 10_000 for _ in range(1_000_000))))
    web.route("/bomb", lambda _: Answer(200, gzip.compress(b"\0" * 10_000_000), {"Content-Encoding": "gzip"}))
    async with opened(web.url, tls=trusted) as carrier:
        for path in ("/endless", "/bomb"):
            with pytest.raises(HostError, match="too large"):
                await carrier.carry(ask(f"{web.url}{path}"))
    assert web.sent < 50_000_000


async def test_what_is_packed_in_another_way_is_not_given_on(web: WebServer, trusted: ssl.SSLContext) -> None:
    """A key in it could not be masked."""
    web.route("/a", lambda _: Answer(200, b"\x8b", {"Content-Encoding": "gzip, br"}))
    async with opened(web.url, tls=trusted) as carrier:
        with pytest.raises(HostError, match="compressed as br"):
            await carrier.carry(ask(f"{web.url}/a"))


LEAK = "https://huggingface.co/datasets/gaia-benchmark/GAIA"


@pytest.mark.parametrize(
    ("request_", "said", "paths"),
    [
        (lambda web: ask(f"{web.url}/a?u={LEAK}"), "is not opened", []),
        (lambda web: ask(f"{web.url}/a", "POST", b'{"q": "gaia-benchmark/GAIA"}'), "is not opened", []),
        (lambda web: ask(f"{web.url}/away"), "is not shown", ["/away"]),
        (lambda web: ask(f"{web.url}/answers"), "is not shown", ["/answers"]),
        (lambda web: ask(f"{web.url}/utf-16"), "is not shown", ["/utf-16"]),
        (lambda web: ask(f"{web.url}/header"), "is not shown", ["/header"]),
        (lambda web: ask(f"{web.url}/question"), "is not shown", ["/question"]),
        (lambda web: ask(f"{web.url}/via"), "is not shown", ["/via"]),
        (lambda web: ask(f"{web.url}/plain"), "", ["/plain"]),
    ],
    ids="address body redirect answers utf-16 header question body-of-redirect plain".split(),  # noqa: SIM905
)
async def test_known_copies_of_answers_are_kept_from_code_as_from_pages(
    web: WebServer, trusted: ssl.SSLContext, request_: Any, said: str, paths: list[str]
) -> None:
    question = "How many of the small blue boats that left the harbour in May came back?"
    web.page("/a", "x")
    web.page("/plain", "nothing of it")
    web.page("/answers", "rows of gaia-benchmark/GAIA")
    web.page("/utf-16", "rows of gaia-benchmark/GAIA".encode("utf-16"))
    web.page("/header", "x", headers={"X-Of": "gaia-benchmark/GAIA"})
    web.page("/question", f"<p>{question}</p> 7")
    web.route("/away", lambda _: Answer(302, b"", {"Location": f"/a?u={LEAK}"}))
    web.route("/via", lambda _: Answer(302, "rows of gaia-benchmark/GAIA", {"Location": "/a"}))
    told: list[Any] = []
    asked: list[str] = []

    async def refusal(_host: Host, hop: HostRequest, _: object) -> str:
        asked.append(hop.url)
        return ""

    async with opened(web.url, leaks=LeakGuard(told.append, question), refusal=refusal, tls=trusted) as carrier:
        if not said:
            assert (await carrier.carry(request_(web)))["body"] == "nothing of it"
        else:
            with pytest.raises(WebProblem, match=said) as caught:
                await carrier.carry(request_(web))
            assert caught.value.reason == "leak"
            assert "find the facts elsewhere" in str(caught.value)
    assert (web.paths(), len(asked), len(told)) == (paths, len(paths), 1 if said else 0)


async def test_a_server_that_is_silent_or_drips_has_a_time_limit(web: WebServer, trusted: ssl.SSLContext) -> None:
    def drip() -> Iterator[bytes]:
        while not web.released.wait(0.1):
            yield b"x"

    def silent(_: Asked) -> Answer:
        web.released.wait(20)
        return Answer(200)

    web.route("/drips", lambda _: Answer(200, drip()))
    web.route("/silent", silent)
    async with opened(web.url, seconds=0.6, tls=trusted) as carrier:
        for path in ("/drips", "/silent"):
            with pytest.raises(AlitaError, match="did not answer within"):
                await carrier.carry(ask(f"{web.url}{path}"))


async def test_requests_are_counted_and_end_with_the_call(web: WebServer, trusted: ssl.SSLContext) -> None:
    web.page("/a", "x")
    async with opened(web.url, tls=trusted) as carrier:
        for number in range(1000):
            if number < 50:
                await carrier.carry(ask(f"{web.url}/a"))
            else:
                with pytest.raises(HostError, match="50 requests"):
                    await carrier.carry(ask(f"{web.url}/a"))
    with pytest.raises(HostError, match="has ended"):
        await carrier.carry(ask(f"{web.url}/a"))
    assert len(web.requests) == 50


async def test_what_is_refused_is_not_sent(web: WebServer, trusted: ssl.SSLContext) -> None:
    async def refusal(*_: object) -> str:
        return "the user does not allow it"

    async with opened(web.url, refusal=refusal, tls=trusted) as carrier:
        with pytest.raises(HostError, match="does not allow it"):
            await carrier.carry(ask(f"{web.url}/a"))
    assert web.requests == []


def test_stored_keys_of_hosts_are_read_by_name() -> None:
    stored = {"OPENAI_API_KEY": "a", "W@api.example.com": VALUE, "BAD@*.example": VALUE, "EMPTY@a.example": ""}
    stored |= {"SHORT@a.example": "1234567", "LINE@a.example": "a\r\nX-Own: b", "ODD@a.example": "schlüssel€"}
    assert host_keys(stored) == {"W": HostKey("W", read_host("api.example.com"), VALUE)}
    assert VALUE not in repr(host_keys(stored))
