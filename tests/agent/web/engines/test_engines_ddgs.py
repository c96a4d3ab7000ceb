"""Search without a key: the real ddgs, its real requests ending in a proxy of the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.web.engines.services import Ddgs
from agent.web.page import WebProblem
from support.search_proxy import SearchProxy, duckduckgo_page, mojeek_page

ELBE = ("https://rivers.example/elbe", "The Elbe", "The Elbe is 1,094 km long.")
ODER = ("https://rivers.example/oder", "The Oder", "The Oder is 866 km long.")


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[SearchProxy]:
    with SearchProxy(tmp_path) as proxy:
        yield proxy


def engine(proxy: SearchProxy) -> Ddgs:
    """The engine, whose requests go to the proxy."""
    return Ddgs(seconds=3, proxy=proxy.url, certificates=str(proxy.authority))


async def test_it_finds(proxy: SearchProxy) -> None:
    """The hits of the first site that has any, and the freshness asked for; addresses of clicks are the pages'."""
    clicked = f"//duckduckgo.com/l/?uddg={ODER[0].replace(':', '%3A').replace('/', '%2F')}&rut=1"
    proxy.pages["html.duckduckgo.com"] = (200, duckduckgo_page(ELBE, (clicked, *ODER[1:])))
    hits = await engine(proxy).search("elbe", freshness="month")
    assert {(hit.url, hit.title, hit.source) for hit in hits} == {
        (ELBE[0], "The Elbe", "ddgs"),
        (ODER[0], "The Oder", "ddgs"),
    }
    assert any(hit.snippet == ELBE[2] for hit in hits)
    assert ("html.duckduckgo.com", {"q": "elbe", "l": "us-en", "df": "m"}) in proxy.asked


async def test_a_site_that_refuses_is_passed_over_and_one_without_dates_is_not_asked_for_news(
    proxy: SearchProxy,
) -> None:
    """Mojeek knows no ages: with a freshness, its hits may be of any."""
    proxy.pages["www.mojeek.com"] = (200, mojeek_page(ELBE))
    assert [hit.url for hit in await engine(proxy).search("elbe")] == [ELBE[0]]
    proxy.asked.clear()
    with pytest.raises(WebProblem):
        await engine(proxy).search("elbe", freshness="day")
    assert "www.mojeek.com" not in proxy.hosts


async def test_nobody_gives_anything(proxy: SearchProxy) -> None:
    """Nothing, and being refused, look the same: the problem says both."""
    with pytest.raises(WebProblem, match="there are no results, or the engines block programs") as caught:
        await engine(proxy).search("elbe")
    assert caught.value.reason == "no_result"
    assert "TAVILY_API_KEY" in caught.value.remedy
    assert set(proxy.hosts) >= {"html.duckduckgo.com", "search.brave.com", "www.mojeek.com", "search.yahoo.com"}


@pytest.mark.parametrize("page", ["", "<html>", "\0\0\0", "<div class='body'>" * 3000, '{"a": 1}'], ids=len)
async def test_pages_that_are_none(proxy: SearchProxy, page: str) -> None:
    """A page of another make is a page without hits."""
    proxy.pages |= dict.fromkeys(("html.duckduckgo.com", "search.brave.com"), (200, page))
    proxy.pages["www.mojeek.com"] = (200, mojeek_page(ELBE))
    assert [hit.url for hit in await engine(proxy).search("elbe")] == [ELBE[0]]
