"""Tavily, Wikipedia and arXiv: what is asked of them, and what their answers become."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from agent.web.engines.services import Arxiv, Tavily, Wikipedia
from agent.web.http import Http
from agent.web.page import SearchHit, WebProblem
from support.json_server import JsonServer, Reply

_FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">
  <title>ArXiv Query</title><opensearch:totalResults>1</opensearch:totalResults>{entries}
</feed>"""
_ENTRY = """<entry>
    <id>http://arxiv.org/abs/2401.01234v2</id><published>2024-01-02T03:04:05Z</published>
    <title>Rivers
      in the Plain</title><summary>  We measure
    rivers. </summary>{authors}
  </entry>"""


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with JsonServer() as server:
        yield server


async def test_tavily(client: Http, server: JsonServer) -> None:
    """The key goes into a header and nowhere else; a site and an age are asked for in its own way."""
    server.answer = lambda request: Reply(
        {
            "query": "elbe",
            "results": [
                {"url": "https://a.example/", "title": "Elbe", "content": "1,094 km", "score": 0.9},
                {
                    "url": "https://b.example/",
                    "title": "News",
                    "content": "x",
                    "published_date": "Tue, 03 Nov 2026 10:00:00 GMT",
                },
                "no object",
            ],
        }
    )
    engine = Tavily(client, server.url, key="tvly-key")
    hits = await engine.search("elbe site:a.example", limit=50, freshness="week")
    assert hits == [
        SearchHit("https://a.example/", "Elbe", "1,094 km", "tavily"),
        SearchHit("https://b.example/", "News", "x", "tavily", "2026-11-03"),
    ]
    [asked] = server.requests
    assert (asked.method, asked.path, asked.headers["authorization"]) == ("POST", "/search", "Bearer tvly-key")
    assert asked.body == {
        "query": "elbe",
        "max_results": 20,
        "search_depth": "basic",
        "include_answer": False,
        "time_range": "week",
        "include_domains": ["a.example"],
    }


@pytest.mark.parametrize(("status", "reason"), [(432, "quota"), (433, "quota"), (400, "http")])
async def test_tavily_has_statuses_of_its_own(client: Http, server: JsonServer, status: int, reason: str) -> None:
    """Its plan's limit is a quota; what its errors say is shown."""
    server.answer = lambda request: Reply({"detail": {"error": "your plan's limit"}}, status)
    engine = Tavily(client, server.url, key="tvly-key")
    with pytest.raises(WebProblem, match="your plan's limit") as caught:
        await engine.search("elbe")
    assert caught.value.reason == reason


async def test_a_named_engine_without_its_key(client: Http, server: JsonServer) -> None:
    """It says which variable is missing."""
    server.answer = lambda request: Reply({"detail": {"error": "Unauthorized"}}, 401)
    engine = Tavily(client, server.url)
    with pytest.raises(WebProblem) as caught:
        await engine.search("elbe")
    assert caught.value.reason == "no_key"
    assert "TAVILY_API_KEY" in caught.value.remedy
    assert "authorization" not in server.requests[0].headers


async def test_wikipedia(client: Http, server: JsonServer) -> None:
    """Titles become addresses, and its marks in snippets go."""
    now = datetime.now(UTC)
    server.answer = lambda request: Reply(
        {
            "query": {
                "search": [
                    {
                        "ns": 0,
                        "title": "Elbe (river) & Moldau?",
                        "snippet": 'The <span class="searchmatch">Elbe</span> &amp; its &lt;b&gt; arm',
                        "timestamp": f"{now:%Y-%m-%dT%H:%M:%SZ}",
                    },
                    {
                        "ns": 0,
                        "title": "Old",
                        "snippet": "",
                        "timestamp": f"{now - timedelta(days=30):%Y-%m-%dT%H:%M:%SZ}",
                    },
                ]
            }
        }
    )
    engine = Wikipedia(client, server.url)
    hits = await engine.search("elbe river", limit=3)
    fresh = await engine.search("elbe river", freshness="week")
    elsewhere = await engine.search("elbe site:rivers.example")
    assert hits[0] == SearchHit(
        f"{server.url}/wiki/Elbe_(river)_%26_Moldau%3F", "Elbe (river) & Moldau?", "The Elbe & its <b> arm", "wikipedia"
    )
    assert [hit.title for hit in hits] == ["Elbe (river) & Moldau?", "Old"]
    assert [hit.title for hit in fresh] == ["Elbe (river) & Moldau?"]
    assert elsewhere == []
    assert len(server.requests) == 2
    asked = server.requests[0]
    assert asked.path == "/w/api.php"
    assert (asked.params["srsearch"], asked.params["srlimit"], asked.params["format"]) == ("elbe river", "3", "json")
    assert asked.headers["user-agent"].startswith("alita/")


async def test_wikipedia_refuses_with_status_200(client: Http, server: JsonServer) -> None:
    """Its errors come with the status 200."""
    server.answer = lambda request: Reply({"error": {"code": "ratelimited", "info": "You are too fast"}})
    engine = Wikipedia(client, server.url)
    with pytest.raises(WebProblem, match="ratelimited: You are too fast") as caught:
        await engine.search("elbe")
    assert caught.value.reason == "rate_limit"


async def test_arxiv(client: Http, server: JsonServer) -> None:
    """The query in its syntax, and a paper with authors, date and abstract."""
    authors = "".join(f"<author><name>Author {n}</name></author>" for n in range(7))
    server.answer = lambda request: Reply(_FEED.format(entries=_ENTRY.format(authors=authors)))
    engine = Arxiv(client, server.url)
    hits = await engine.search('the "deep rivers" of plains AND (x) -lakes', limit=4, freshness="month")
    assert hits == [
        SearchHit(
            "https://arxiv.org/abs/2401.01234v2",
            "Rivers in the Plain",
            "Author 0, Author 1, Author 2, Author 3, Author 4 and others: We measure rivers.",
            "arxiv",
            "2024-01-02",
        )
    ]
    [asked] = server.requests
    assert asked.path == "/api/query"
    assert asked.params["search_query"].startswith(
        'all:"deep rivers" AND all:plains AND all:x ANDNOT all:"lakes" AND submittedDate:['
    )
    assert asked.params["max_results"] == "4"


async def test_arxiv_xml_that_attacks(client: Http, server: JsonServer) -> None:
    """Entities are not followed, neither to files nor without end."""
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    server.answer = lambda request: Reply(
        f'<!DOCTYPE feed [<!ENTITY e0 "x">{bomb}<!ENTITY file SYSTEM "file:///etc/passwd">]>'
        f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/abs/1</id>'
        f"<title>&file;&e11;</title></entry></feed>"
    )
    engine = Arxiv(client, server.url)
    with pytest.raises(WebProblem) as caught:
        await engine.search("rivers")
    assert caught.value.reason == "mismatch"
    server.answer = lambda request: Reply(
        '<!DOCTYPE feed [<!ENTITY file SYSTEM "file:///etc/passwd">]><feed xmlns="http://www.w3.org/2005/Atom">'
        "<entry><id>http://arxiv.org/abs/1</id><title>&file;</title></entry></feed>"
    )
    hits = await engine.search("rivers")
    assert [hit.title for hit in hits] == [""]
