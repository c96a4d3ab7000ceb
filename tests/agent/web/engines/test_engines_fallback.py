"""Engines in order: who is asked, who is left alone, what is told, what is remembered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from agent.events import Event, WebSearched
from agent.web.engines.search_engines import Engines
from agent.web.page import Reason, SearchHit, WebProblem

HIT = SearchHit("https://rivers.example/elbe", "The Elbe", "1,094 km", "")


class Scripted:
    """An engine that does what it is told: hits, or a problem, one for each search; the last one stays."""

    def __init__(self, name: str, *does: list[SearchHit] | WebProblem | Callable[[], list[SearchHit]]) -> None:
        self.name = name
        self.does = list(does)
        self.asked: list[str] = []
        self.closed = False

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[SearchHit]:
        self.asked.append(query)
        await asyncio.sleep(0.01)
        does = self.does.pop(0) if len(self.does) > 1 else self.does[0]
        if isinstance(does, WebProblem):
            raise does
        return does() if callable(does) else does

    async def aclose(self) -> None:
        self.closed = True


def problem(reason: Reason, *, after: float | None = None) -> WebProblem:
    """A problem of an engine."""
    return WebProblem(reason, f"it has {reason}", remedy=f"mend {reason}", retry_after=after)


def told(events: list[Event]) -> list[tuple[str, str]]:
    """Engine and message of what was told."""
    assert all(isinstance(event, WebSearched) and not event.ok for event in events)
    return [(event.source, event.message) for event in events if isinstance(event, WebSearched)]


async def test_the_first_that_finds_something_answers() -> None:
    """A failure and an empty result lead to the next engine, and both are told."""
    events: list[Event] = []
    first, second = Scripted("first", problem("http")), Scripted("second", [])
    third, fourth = Scripted("third", [HIT]), Scripted("fourth", [HIT])
    engines = Engines([first, second, third, fourth])
    assert await engines.search("how long is the elbe", events.append) == [HIT]
    assert told(events) == [("first", "it has http"), ("second", "it found nothing")]
    assert fourth.asked == []
    await engines.aclose()
    assert first.closed
    assert fourth.closed


async def test_a_source_is_asked_alone() -> None:
    """The others are asked neither before nor after it; one that the settings leave out is no source."""
    web, wikipedia = Scripted("ddgs", [HIT]), Scripted("wikipedia", [], problem("http"))
    engines = Engines([web, wikipedia])
    assert await engines.search("the elbe", source="wikipedia") == []
    assert await engines.search("the elbe") == [HIT]
    with pytest.raises(WebProblem, match="it has http"):
        await engines.search("the rhine", source="wikipedia")
    with pytest.raises(
        WebProblem, match="arxiv cannot be searched: the setting `engines` contains only ddgs, wikipedia"
    ):
        await engines.search("the elbe", source="arxiv")
    assert (web.asked, wikipedia.asked) == (["the elbe"], ["the elbe", "the rhine"])


async def test_a_search_is_remembered() -> None:
    """The same query is asked once in a run, whatever its blanks; another limit or freshness is another query."""
    engine = Scripted("one", [HIT])
    engines = Engines([engine])
    for query in ("the elbe", "  the \n elbe "):
        (await engines.search(query)).clear()
    assert await engines.search("the elbe") == [HIT]
    assert engine.asked == ["the elbe"]
    await engines.search("the elbe", freshness="week")
    assert len(engine.asked) == 2


@pytest.mark.parametrize("reason", ["bad_key", "no_key", "quota", "tls", "mismatch"])
async def test_what_does_not_get_better_is_set_aside(reason: Reason) -> None:
    """A wrong key is tried once in a run, and told once."""
    events: list[Event] = []
    broken, good = Scripted("broken", problem(reason)), Scripted("good", [HIT])
    engines = Engines([broken, good])
    for query in ("a", "b", "c"):
        assert await engines.search(query, events.append) == [HIT]
    assert broken.asked == ["a"]
    assert told(events) == [("broken", f"it has {reason}")]


async def test_a_rate_limit_rests() -> None:
    """An engine that named seconds is left alone for these, and asked again after them."""
    limited, good = Scripted("limited", problem("rate_limit", after=0.3), [HIT]), Scripted("good", [HIT])
    engines = Engines([limited, good])
    await engines.search("a")
    await engines.search("b")
    assert limited.asked == ["a"]
    await asyncio.sleep(0.35)
    await engines.search("c")
    assert limited.asked == ["a", "c"]
    assert good.asked == ["a", "b"]


async def test_a_rate_limit_is_waited_for_when_nobody_else_has_anything() -> None:
    """Better late than not at all, within reason."""
    limited, empty = Scripted("limited", problem("rate_limit", after=0.3), [HIT]), Scripted("empty", [])
    began = time.monotonic()
    assert await Engines([limited, empty]).search("a") == [HIT]
    assert 0.3 <= time.monotonic() - began < 20
    never = Engines([Scripted("limited", problem("rate_limit", after=3600))])
    with pytest.raises(WebProblem) as caught:
        await never.search("a")
    assert caught.value.retry_after == 3600
    assert time.monotonic() - began < 20


async def test_all_failed() -> None:
    """One problem for all, with what each said, and what to do about each."""
    engines = Engines([Scripted("x", problem("quota")), Scripted("y", problem("dns"))])
    with pytest.raises(WebProblem) as caught:
        await engines.search("elbe")
    assert caught.value.message == "All search engines failed: x: it has quota; y: it has dns."
    assert caught.value.remedy == "mend quota mend dns"
    assert caught.value.reason == "quota"
    with pytest.raises(WebProblem, match="x: it has quota"):
        await engines.search("oder")


async def test_hits_are_cleaned() -> None:
    """Addresses that cannot be read are left out, each is there once, and text can be printed."""
    hits = [
        SearchHit("javascript:alert(1)", "a", "", "one"),
        SearchHit("https://", "b", "", "one"),
        SearchHit("http://[broken", "c", "", "one"),
        SearchHit("", "d", "", "one"),
        SearchHit(" https://a.example/1\x1b[31m ", "red\x1b[31m\nline", "x" * 9000, "one"),
        SearchHit("https://a.example/1", "again", "", "one"),
        SearchHit("https://a.example/2", "", "", "one"),
        SearchHit("file:///pages/a.txt", "a file", "", "one"),
        SearchHit("https://a.example/3", "three", "", "one"),
        SearchHit("https://a.example/4", "too many", "", "one"),
    ]
    found = await Engines([Scripted("one", hits)]).search("q", limit=3)
    assert [(hit.url, hit.title) for hit in found] == [
        ("https://a.example/1", "red line"),
        ("https://a.example/2", "https://a.example/2"),
        ("https://a.example/3", "three"),
    ]
    assert len(found[0].snippet) == 1500
