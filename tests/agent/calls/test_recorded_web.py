"""The web through the journal: recorded with its failures, replayed without a call, guarded on both sides."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent.budget import Budget, RunLimits
from agent.calls.recorder import Recorder
from agent.calls.web_access import RecordedWeb
from agent.errors import StoppedError
from agent.events import LeakBlocked, WebSearched
from agent.store.journal import Journal
from agent.web.engines.search_engines import Engines
from agent.web.leak_guard import LeakGuard
from agent.web.page import Page, SearchHit, WebProblem
from support.small_web import Pages

URL = "https://a.example/x"
QUESTION = "Which of the nine painted boats in the harbour of Ulm carries the name of the third ferryman?"


def hit(url: str = URL, snippet: str = "") -> SearchHit:
    return SearchHit(url, "Title", snippet, "pages")


def opened(
    path: Path, pages: Pages, told: list[Any], budget: Budget | None = None, **more: Any
) -> tuple[RecordedWeb, Journal]:
    journal = Journal.create(path / "journal.jsonl")
    calls = Recorder(journal, budget or Budget(), told.append)
    return RecordedWeb(lambda: (Engines([pages]), pages), calls, **more), journal


def replayed(path: Path, told: list[Any], **more: Any) -> RecordedWeb:
    return RecordedWeb(None, Recorder(Journal.replay(path / "journal.jsonl"), emit=told.append), **more)


def kinds(told: list[Any]) -> list[tuple[str, bool]]:
    return [(type(event).__name__, getattr(event, "ok", True)) for event in told]


async def test_a_replay_gives_and_tells_the_same_without_a_call(tmp_path):
    page = Page(URL, "T", "Text [a](link 1)", links=("https://a.example/a",), path=tmp_path / "f.csv", notes=("Lost.",))
    broken = WebProblem("timeout", "Too slow.", remedy="Wait.", retry_after=3.0)
    pages = Pages([hit()], {URL: page, "https://b.example/": broken})
    told: list[Any] = []
    web, journal = opened(tmp_path, pages, told)
    results = await web.search("boats", limit=3, freshness="week")
    assert await web.read(URL) == page
    with pytest.raises(WebProblem, match="Too slow"):
        await web.read("https://b.example/")
    await journal.aclose()
    record = tmp_path / "journal.jsonl"  # of another version, which knew more of a problem
    assert '"retry_after":3.0' in record.read_text()
    record.write_text(record.read_text().replace('"retry_after":3.0', '"retry_after":3.0,"more":1'))

    again: list[Any] = []
    late = replayed(tmp_path, again)
    assert await late.search("boats", limit=3, freshness="week") == results == [hit()]
    assert await late.read(URL) == page
    with pytest.raises(WebProblem) as raised:
        await late.read("https://b.example/")
    assert (raised.value.reason, raised.value.remedy, raised.value.retry_after) == ("timeout", "Wait.", 3.0)
    assert kinds(again) == kinds(told) == [("WebSearched", True), ("PageRead", True), ("PageRead", False)]


async def test_leaks_are_left_out_of_hits_and_never_opened_or_shown(tmp_path):
    mirror = "https://huggingface.co/datasets/gaia-benchmark/GAIA"
    moved = "https://b.example/moved"
    pages = Pages(
        [hit(mirror), hit(), hit("https://c.example/q", QUESTION)],
        {URL: Page(URL, "T", f"Q17: {QUESTION} A: …"), moved: Page(mirror, "T", "Text")},
    )
    told: list[Any] = []
    web, journal = opened(tmp_path, pages, told, guard=LeakGuard(told.append, QUESTION))
    assert [found.url for found in await web.search(QUESTION)] == [URL]
    for address in (mirror, URL, moved):
        with pytest.raises(WebProblem) as raised:
            await web.read(address)
        assert raised.value.reason == "leak"
    with pytest.raises(WebProblem, match="not searched for"):
        await web.search("gaia-benchmark validation answers")
    assert mirror not in pages.asked
    assert len([event for event in told if isinstance(event, LeakBlocked)]) == 6
    [searched] = [event for event in told if isinstance(event, WebSearched)]
    assert searched.found == [URL]
    await journal.aclose()


async def test_the_runs_time_ends_a_page_that_does_not_come(tmp_path):
    class Slow(Pages):
        async def read(self, url: str) -> Page:
            await asyncio.sleep(30)
            raise AssertionError

    web, journal = opened(tmp_path, Slow([]), [], budget=Budget(RunLimits(seconds=0.3)))
    with pytest.raises(StoppedError, match="seconds"):
        await web.read(URL)
    await journal.aclose()
    with pytest.raises(StoppedError):
        await replayed(tmp_path, []).read(URL)


async def test_a_problem_of_the_web_keeps_its_reason_in_any_journaled_call(tmp_path):
    class Special(WebProblem):
        def __init__(self, host: str) -> None:
            super().__init__("tls", f"{host} shows no certificate.", remedy="Take another.")

    async def perform() -> Any:
        raise Special("a.example")

    journal = Journal.create(tmp_path / "journal.jsonl")
    with pytest.raises(Special):
        await journal.call("browse", {"url": URL}, perform)
    await journal.aclose()
    with pytest.raises(WebProblem) as raised:
        await Journal.replay(tmp_path / "journal.jsonl").call("browse", {"url": URL}, perform)
    assert (raised.value.reason, raised.value.message) == ("tls", "a.example shows no certificate.")
    assert raised.value.remedy == "Take another."


async def test_a_resumed_run_reads_the_pages_that_it_had_read_from_its_journal(tmp_path):
    leak = "https://leak.example/x"
    pages = Pages([], {URL: Page(URL, "T", "before"), leak: Page(leak, "T", QUESTION)})
    web, journal = opened(tmp_path, pages, [])
    await web.read(URL)
    await web.read(leak)
    await journal.aclose()

    pages.pages[URL] = Page(URL, "T", "after")
    journal = Journal.resume(tmp_path / "journal.jsonl")
    told: list[Any] = []
    resumed = RecordedWeb(lambda: (pages, pages), Recorder(journal, emit=told.append), LeakGuard(told.append, QUESTION))
    assert (await resumed.read(URL)).markdown == "before"
    with pytest.raises(WebProblem, match="is not shown"):
        await resumed.read(leak)
    await journal.aclose()
