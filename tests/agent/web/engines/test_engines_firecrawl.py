"""Firecrawl, against a server that holds each request to the published description."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent.web.engines.firecrawl import Firecrawl
from agent.web.http import Http
from agent.web.page import WebProblem
from support.firecrawl_server import FirecrawlServer
from support.json_server import Reply

PAGES = {
    "https://rivers.example/elbe": ("Elbe", "# Elbe\n\nThe Elbe is [long](/length): 1,094 km.\n\n![map](m.png)"),
    "https://rivers.example/oder": ("Oder", "The Oder is 866 km long."),
}


async def public_address(host: str, port: int) -> list[str]:
    return ["8.8.8.8"]


PUBLIC = Http(resolve=public_address)


@pytest.fixture
def server() -> Iterator[FirecrawlServer]:
    with FirecrawlServer(dict(PAGES), key="fc-right") as server:
        yield server
        assert server.violations == []


async def test_it_searches(server: FirecrawlServer) -> None:
    """Hits come in order, and the freshness is asked for."""
    engine = Firecrawl(PUBLIC, server.url, key="fc-right")
    hits = await engine.search("elbe", limit=3, freshness="week")
    await engine.aclose()
    assert [(hit.url, hit.title, hit.source) for hit in hits] == [
        ("https://rivers.example/elbe", "Elbe", "firecrawl"),
    ]
    assert server.requests[0].body["tbs"] == "qdr:w"
    assert server.requests[0].body["limit"] == 3


async def test_it_reads(server: FirecrawlServer) -> None:
    """A page comes with numbered links; certificates are checked and the age of the copy is limited."""
    engine = Firecrawl(PUBLIC, server.url, key="fc-right")
    page = await engine.read("https://rivers.example/elbe")
    await engine.aclose()
    assert page.markdown == "# Elbe\n\nThe Elbe is [long](link 1): 1,094 km.\n\nmap"
    assert page.links == ("https://rivers.example/length",)
    assert (page.title, page.via, page.kind) == ("Elbe", "firecrawl", "html")
    asked = server.requests[0].body
    assert asked["skipTlsVerification"] is False
    assert asked["maxAge"] == 3_600_000


async def test_a_key_of_the_environment_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys come from the settings alone: the SDK would look into the environment itself."""
    monkeypatch.setenv("FIRECRAWL_API_KEY", "fc-other")
    with FirecrawlServer(PAGES) as own:
        engine = Firecrawl(PUBLIC, own.url)
        await engine.search("long")
        await engine.aclose()
        assert "authorization" not in own.requests[0].headers


async def test_a_wrong_key(server: FirecrawlServer) -> None:
    """Said without the key, with the variable to set."""
    engine = Firecrawl(PUBLIC, server.url, key="fc-wrong-key")
    with pytest.raises(WebProblem, match="rejected the key") as caught:
        await engine.read("https://rivers.example/elbe")
    await engine.aclose()
    assert caught.value.reason == "bad_key"
    assert "FIRECRAWL_API_KEY" in caught.value.remedy
    assert "fc-wrong-key" not in f"{caught.value.message}{caught.value.remedy}"


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("SCRAPE_DNS_RESOLUTION_ERROR", 500, "http"),
        ("", 403, "http"),
        ("SCRAPE_TIMEOUT", 408, "timeout"),
        ("", 402, "quota"),
    ],
)
async def test_a_page_that_firecrawl_does_not_get(server: FirecrawlServer, code: str, status: int, reason: str) -> None:
    """What is wrong with the page is told from what is wrong with Firecrawl."""
    details = {"state": "processing_continues", "retryAfterSeconds": 600}
    server.next.append(Reply({"success": False, "error": "no page", "code": code, "details": details}, status))
    engine = Firecrawl(PUBLIC, server.url, key="fc-right")
    with pytest.raises(WebProblem, match="no page") as caught:
        await engine.read("https://rivers.example/elbe")
    await engine.aclose()
    assert caught.value.reason == reason
    assert caught.value.remedy


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/admin", "http://localhost:8080/", "http://169.254.169.254/latest", "http://10.0.0.7/"]
)
async def test_firecrawl_is_not_sent_into_the_network(server: FirecrawlServer, url: str) -> None:
    """Who reads for us is not to be sent where we would not go."""
    engine = Firecrawl(Http(), server.url, key="fc-right")
    with pytest.raises(WebProblem) as caught:
        await engine.read(url)
    await engine.aclose()
    assert caught.value.reason == "private_address"
    assert server.requests == []


async def test_redirects_into_the_network_show_nothing(server: FirecrawlServer) -> None:
    """A public page that leads a Firecrawl of one's own into one's own network is not shown."""
    server.pages["https://8.8.8.8/"] = ("", "secret")
    server.metadata = {"url": "http://192.168.1.1/admin"}
    engine = Firecrawl(Http(), server.url, key="fc-right")
    with pytest.raises(WebProblem) as caught:
        await engine.read("https://8.8.8.8/")
    await engine.aclose()
    assert caught.value.reason == "private_address"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "", "https://user:pw@a.example/"])
async def test_addresses_that_are_none(server: FirecrawlServer, url: str) -> None:
    """Only addresses of the web are read."""
    engine = Firecrawl(Http(), server.url, key="fc-right")
    with pytest.raises(WebProblem) as caught:
        await engine.read(url)
    assert caught.value.reason == "refused_address"


async def test_names_that_only_ones_own_knows(server: FirecrawlServer) -> None:
    """A Firecrawl inside one's network may know names that lead into it: it gets none that we cannot check."""
    engine = Firecrawl(Http(), server.url, key="fc-right")
    with pytest.raises(WebProblem) as caught:
        await engine.read("http://printer.invalid/")
    assert caught.value.reason == "dns"
    assert server.requests == []


async def test_what_is_invisible_in_a_page_is_gone() -> None:
    with FirecrawlServer({"https://a.example/x": ("El\u200bbe", "The El\u200bbe is \u202elong.")}) as own:
        engine = Firecrawl(PUBLIC, own.url)
        page = await engine.read("https://a.example/x")
        await engine.aclose()
    assert (page.title, page.markdown) == ("Elbe", "The Elbe is long.")


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("# Just a moment…\n\nVerify you are human by completing the action below.", 200, "captcha"),
        ("We have detected unusual traffic from your network.", 403, "captcha"),
        ("# The dock\n\nIt was dug in 1931.\n\n[Subscribe](/buy) to continue reading.", 200, "paywall"),
    ],
)
async def test_a_wall_is_no_page(text: str, status: int, reason: str) -> None:
    """Firecrawl gives walls as pages: their words tell them."""
    with FirecrawlServer({"https://a.example/x": ("The dock", text)}) as own:
        own.metadata = {"statusCode": status}
        engine = Firecrawl(PUBLIC, own.url)
        with pytest.raises(WebProblem) as caught:
            await engine.read("https://a.example/x")
        await engine.aclose()
    assert caught.value.reason == reason


async def test_one_that_cannot_be_reached_is_left_alone_for_a_while() -> None:
    """The second page gets the first one's problem, without a connection."""
    with FirecrawlServer(PAGES) as gone:
        engine = Firecrawl(PUBLIC, gone.url)
    problems = []
    for url in PAGES:
        with pytest.raises(WebProblem) as raised:
            await engine.read(url)
        problems.append(raised.value)
    await engine.aclose()
    assert problems[0].reason == "connection"
    assert problems[1] is problems[0]
