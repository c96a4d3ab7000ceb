"""The search specialist at work on a small web: what it asks, reads, quotes, checks, and says of what failed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agent.calls.recorder import Recorder
from agent.calls.web_access import RecordedWeb
from agent.material.research_request import ResearchRequest
from agent.models.protocol import Role
from agent.models.scripted import ScriptedModel
from agent.small.small import Small
from agent.store.journal import Journal
from agent.web.evidence import Evidence
from agent.web.page import Page, SearchHit, WebProblem
from support.decisions import Weak, context_with
from support.small_web import Pages

QUESTION = "How high is the Grey Point lighthouse?"
TOWER = "The Grey Point lighthouse is 37 metres high. It has 188 steps."
ALIKE = "Of all lighthouses Grey Point is the best known; at 37 metres it is also a high one."
UNKNOWN = {"json": "unknown"}


def page(url: str, text: str, title: str = "Lighthouses") -> tuple[SearchHit, Page]:
    return SearchHit(url, title, text[:80], "pages"), Page(url, title, text)


def web_of(*pages: tuple[SearchHit, Page], **more: Any) -> Pages:
    return Pages([result for result, _ in pages], {result.url: found for result, found in pages}, **more)


class Searching:
    """Searches the small web with a model that plays lines."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.model: ScriptedModel = Weak([])

    async def find(self, pages: Pages, *lines: Any, weak: bool = True, **wanted: Any) -> Evidence:
        self.model = (Weak if weak else ScriptedModel)(list(lines))
        web = RecordedWeb(lambda: (pages, pages), Recorder(self.journal))
        context = replace(context_with(self.model), web=web)
        sought = ResearchRequest(**{"question": QUESTION} | wanted)
        return await context.strategy(Role.COORDINATOR).research(sought, context)


@pytest.fixture
async def searching(tmp_path) -> AsyncIterator[Searching]:
    journal = Journal.create(tmp_path / "journal.jsonl")
    yield Searching(journal)
    await journal.aclose()


async def test_a_weak_model_only_copies_the_answer_and_rules_do_the_rest(searching):
    pages = web_of(page("https://a.example/x", TOWER), page("https://b.example/y", ALIKE))
    evidence = await searching.find(pages, {"json": "37 metres"})
    assert evidence.answer == "37 metres"
    assert len(searching.model.requests) == 1
    assert [source.url for source in evidence.sources] == ["https://a.example/x", "https://b.example/y"]
    text = evidence.text(6000)
    assert text.startswith("search high Grey Point lighthouse: 2 of 2 pages read.")
    assert '"The Grey Point lighthouse is 37 metres high. It has 188 steps." (paragraph 1)' in text
    assert "credibility medium: nothing is known of who is behind it; relevance high" in text


async def test_what_is_named_and_missing_is_asked_for_at_most_twice(searching):
    pages = web_of(page("https://a.example/x", "The lighthouse is high."))
    evidence = await searching.find(
        pages, UNKNOWN, question="How high are the towers of Grey Point, Skagen, Ulm and Callow?"
    )
    assert len(evidence.queries) == 1 + 2
    assert evidence.queries[1].startswith('"Grey Point"')
    assert evidence.missing == ["Grey Point", "Skagen", "Ulm"]
    assert "Not found: Grey Point, Skagen, Ulm." in evidence.text(6000)


async def test_a_page_that_cannot_be_read_is_replaced_and_told(searching):
    found = [page(f"https://{n}.example/x", TOWER) for n in range(5)]
    pages = web_of(*found)
    pages.pages["https://0.example/x"] = WebProblem("paywall", "https://0.example/x wants money.")
    evidence = await searching.find(pages, UNKNOWN)
    assert evidence.read == 3
    assert "Failed: https://0.example/x: https://0.example/x wants money." in evidence.text(6000)


async def test_where_nothing_is_found_the_query_is_widened_and_no_model_is_asked(searching):
    evidence = await searching.find(Pages([]))
    assert evidence.queries[:2] == ["high Grey Point lighthouse", "Grey Point lighthouse"]
    assert not evidence.ok
    assert evidence.text(6000) == (
        "The search failed: nothing was found for 'high Grey Point lighthouse; Grey Point lighthouse'."
        " No engine knows a page with these words: use others."
    )
    assert searching.model.requests == []


async def test_what_a_capable_model_searches_for_is_searched_as_it_is_and_it_is_asked_nothing(searching):
    one, two = page("https://a.example/x", TOWER), page("https://b.example/y", ALIKE)
    query = "Grey Point lighthouse height and builder"
    evidence = await searching.find(web_of(one, two), weak=False, query=query)
    assert evidence.queries == [query]
    assert {source.quotes[0].text for source in evidence.sources} == {TOWER, ALIKE}
    assert (evidence.answer, searching.model.requests) == ("", [])


async def test_a_limit_of_the_run_leaves_what_was_found_so_far(searching):
    pages = web_of(page("https://a.example/x", TOWER))
    searching.model = Weak([])
    context = context_with(Weak([{"json": "37"}]))

    class Stopped:
        def for_role(self, role: str) -> Any:
            return StoppedModel([])

    web = RecordedWeb(lambda: (pages, pages), Recorder(searching.journal))
    evidence = await Small().research(ResearchRequest(QUESTION), replace(context, models=Stopped(), web=web))
    assert evidence.read == 1
    assert [quote.text for quote in evidence.sources[0].quotes] == [TOWER]
    assert "the limit of tokens is reached" in evidence.text(6000)


class StoppedModel(Weak):
    """A model that a limit of the run keeps from answering."""

    async def complete(self, request: Any) -> Any:
        from agent.errors import StoppedError

        raise StoppedError("the limit of tokens is reached")
