"""Every way in which the API of an engine can fail, as a typed problem with what to do."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.web.engines.firecrawl import Firecrawl
from agent.web.engines.services import Arxiv, Ddgs, Tavily, Wikipedia
from agent.web.http import Http
from agent.web.page import SearchEngine, WebProblem
from support.certificates import tls_server
from support.json_server import JsonServer, Reply

ENGINES = {
    "firecrawl": lambda http, url, seconds=3: Firecrawl(http, url, key="secret-key", seconds=seconds),
    "tavily": lambda http, url, seconds=3: Tavily(http, url, key="secret-key", seconds=seconds),
    "wikipedia": lambda http, url, seconds=3: Wikipedia(http, url, seconds=seconds),
    "arxiv": lambda http, url, seconds=3: Arxiv(http, url, seconds=seconds),
}
KEYED = ("firecrawl", "tavily")


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with JsonServer() as server:
        yield server


async def problem_of(engine: SearchEngine) -> WebProblem:
    """What a search ends with."""
    try:
        with pytest.raises(WebProblem) as caught:
            await engine.search("elbe")
    finally:
        await engine.aclose()
    assert "secret-key" not in f"{caught.value.message} {caught.value.remedy}" or engine.name not in KEYED
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize(("status", "reason"), [(401, "bad_key"), (402, "quota"), (429, "rate_limit"), (503, "http")])
async def test_a_status(client: Http, server: JsonServer, name: str, status: int, reason: str) -> None:
    """A status of failure has its reason, and what the server said."""
    server.answer = lambda request: Reply({"error": "it says secret-key"}, status)
    problem = await problem_of(ENGINES[name](client, server.url))
    assert problem.reason == reason
    assert "it says [key]" in problem.message


@pytest.mark.parametrize("name", KEYED)
async def test_a_rate_limit_says_how_long(client: Http, server: JsonServer, name: str) -> None:
    """Retry-After is kept in seconds."""
    server.answer = lambda request: Reply({"error": "slow down"}, 429, {"Retry-After": "7"})
    assert (await problem_of(ENGINES[name](client, server.url))).retry_after == 7


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "body",
    [
        "<html>Log in to the hotel's network</html>",
        pytest.param("[" * 5000, id="deep"),
    ],
)
async def test_nonsense(client: Http, server: JsonServer, name: str, body: str) -> None:
    """An answer that is none of the engine's is told as such, with its beginning."""
    server.answer = lambda request: Reply(body)
    assert (await problem_of(ENGINES[name](client, server.url))).reason == "mismatch"


@pytest.mark.parametrize("name", ["firecrawl", "wikipedia"])
@pytest.mark.parametrize("answer", [{}, {"success": True, "data": 5, "results": 5, "query": 5}])
async def test_json_of_another_shape(client: Http, server: JsonServer, name: str, answer: object) -> None:
    """JSON that is not the engine's is no empty result."""
    server.answer = lambda request: Reply(json.dumps(answer))
    assert (await problem_of(ENGINES[name](client, server.url))).reason == "mismatch"


@pytest.mark.parametrize("name", KEYED)
async def test_no_answer_in_time(client: Http, server: JsonServer, name: str) -> None:
    """A server that does not answer is left."""
    server.answer = lambda request: Reply({}, wait=0.5)
    assert (await problem_of(ENGINES[name](client, server.url, 0.2))).reason == "timeout"


@pytest.mark.parametrize("name", KEYED)
async def test_nobody_listens(client: Http, name: str) -> None:
    """A closed port is a problem of the connection."""
    assert (await problem_of(ENGINES[name](client, "http://127.0.0.1:9"))).reason == "connection"


@pytest.mark.parametrize("name", KEYED)
async def test_a_certificate_that_nobody_knows(client: Http, tmp_path: Path, name: str) -> None:
    """Certificates are checked, and no key goes to an unknown server."""
    context, _ = tls_server(tmp_path, "localhost")
    with JsonServer(tls=context) as server:
        assert (await problem_of(ENGINES[name](client, server.url))).reason == "tls"
        assert server.requests == []


@pytest.mark.parametrize("name", ["tavily"])
async def test_an_endless_answer(client: Http, server: JsonServer, name: str) -> None:
    """What is too long is not taken in."""
    server.answer = lambda request: Reply(b" " * (1 << 20), repeated=40)
    assert (await problem_of(ENGINES[name](client, server.url))).reason == "too_large"


@pytest.mark.parametrize("name", KEYED)
async def test_an_answer_that_breaks_off(client: Http, server: JsonServer, name: str) -> None:
    """A broken connection is tried again, and then reported."""
    server.answer = lambda request: Reply({"success": True}, cut=True)
    assert (await problem_of(ENGINES[name](client, server.url))).reason == "connection"
    assert len(server.requests) == (2 if name == "firecrawl" else 3)


@pytest.mark.parametrize(
    ("engine", "package"),
    [(Firecrawl(Http(), key="k"), "firecrawl.v2.client_async"), (Ddgs(), "ddgs"), (None, "lxml")],
)
async def test_a_package_that_is_not_there(
    client: Http, server: JsonServer, monkeypatch: pytest.MonkeyPatch, engine: SearchEngine | None, package: str
) -> None:
    """An engine of an extra that was not installed says how to install it."""
    monkeypatch.setitem(sys.modules, package, None)
    engine = engine or Arxiv(client, server.url)
    problem = await problem_of(engine)
    assert (problem.reason, problem.message) == ("no_key", f"the package of {engine.name} is not installed")
    assert "the extra [web]" in problem.remedy


@pytest.mark.parametrize("proxy", ["ftp://user:secret-key@127.0.0.1:9"])
@pytest.mark.parametrize("name", KEYED)
async def test_a_proxy_that_cannot_be_used_is_named(
    client: Http, server: JsonServer, monkeypatch: pytest.MonkeyPatch, name: str, proxy: str
) -> None:
    """By its variable: its address may hold a password."""
    monkeypatch.setenv("ALL_PROXY", proxy)
    problem = await problem_of(ENGINES[name](client, server.url))
    assert (problem.reason, "ALL_PROXY" in problem.remedy, "secret-key" in problem.message) == (
        "connection",
        True,
        False,
    )
