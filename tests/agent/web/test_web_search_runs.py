"""A question that is answered by searching and reading a real site, from the settings to the answer and its sources."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from agent.events import FileRead, LeakBlocked, PageRead, StepStarted, ToolCalled, WebSearched
from agent.store.journal import Journal
from agent.store.runs import journal_path
from agent.web.engines.services import Wikipedia
from support.fibonacci import decide
from support.firecrawl_server import FirecrawlServer, pages_of
from support.json_server import JsonServer, Reply
from support.openai_server import Step
from support.site.server import Site

FOUND = '<data source="search">'
"""How a model is told what a search brought."""


@pytest.fixture
def towns() -> Iterator[tuple[Site, Site]]:
    """Two sites: the second stands for a second source."""
    with Site() as one, Site("127.0.0.2") as two:
        yield one, two


@pytest.fixture
def searching(desk, towns):
    """A desk whose only engine finds pages of the first site."""
    pages = pages_of(towns[0], "/lighthouse", "/ferry", "/museum", "/notices", "/files/tides-2026.csv")
    with FirecrawlServer(pages) as server:
        desk.flags |= {"engines": "firecrawl", "firecrawl_api_url": server.url, "allow_private": True}
        yield desk


async def test_a_fact_is_searched_read_quoted_and_cited_and_that_is_traced_and_replayed(searching, towns):
    """The replay searches and reads nothing, and tells the same."""
    from agent.traces.trace import call_of

    lines = [
        decide("answer", answer="It was lit on 9 October 1874 [1].", when=FOUND),
        decide("search", query="when was the lighthouse first lit"),
    ]
    answer = await searching.plays(*lines).ask("When was the lighthouse of Grey Point first lit?")
    assert answer.text == "It was lit on 9 October 1874."
    [source] = answer.sources
    assert (source.number, source.url) == (1, f"{towns[0].url}/lighthouse")
    assert "was lit for the first time on 9 October 1874" in source.quote
    [asked, *_] = searching.of(WebSearched)
    assert (asked.source, asked.query, asked.ok) == ("firecrawl", "when was the lighthouse first lit", True)
    assert "Grey Point lighthouse" in [page.title for page in searching.of(PageRead) if page.ok]
    kept = searching.runs / answer.run_id / "workspace" / "search_1.json"
    assert json.loads(kept.read_text())[0]["url"] == f"{towns[0].url}/lighthouse"
    calls = [call_of(r) for r in Journal.replay(journal_path(searching.runs, answer.run_id)).records()]
    web = [call for call in calls if call.kind == "web"]
    assert web[0].title == "search when was the lighthouse first lit"
    assert f"{towns[0].url}/lighthouse" in next(p.text for p in web[0].came if p.label == "found")
    assert f"read {towns[0].url}/lighthouse" in [call.title for call in web]

    def told() -> list[str]:
        events = [event for event in searching.events if isinstance(event, WebSearched | PageRead)]
        return sorted(f"{type(event)} {getattr(event, 'url', '')}" for event in events)

    before = told()
    for site in towns:
        site.requests.clear()
    again = await searching.replay(answer.run_id)
    assert (again.text, again.sources, told()) == (answer.text, answer.sources, before)
    assert towns[0].paths() == []


def in_step_2(event: Any) -> bool:
    return isinstance(event, StepStarted) and event.step == 2


async def test_every_link_that_was_shown_leads_on_to_the_end_of_the_run_and_after_a_resume(searching, towns):
    site = towns[0]
    lines = [
        decide("answer", answer="knots", when="looking for 'opening'"),
        decide("read_file", file="link 1", find="opening", when="There is no 'link 99'"),
        decide("read_file", file="link 99", when=f"read_file {site.url}/ferry"),
        decide("read_file", file=f"{site.url}/ferry", when="`link N` follows the link [text](link N), now and later."),
        decide("read_file", file=f"{site.url}/lighthouse"),
    ]

    first = await searching.plays(*lines).stop("What does the museum show?", in_step_2)
    assert first.status == "interrupted"
    answer = await searching.resume(first.run_id)
    assert (answer.text, answer.steps) == ("knots", 3)
    journal = Journal.replay(journal_path(searching.runs, answer.run_id))
    read = [record.request["read"] for record in journal.records() if "read" in record.request]
    assert read == [f"{site.url}/{name}" for name in ("lighthouse", "ferry", "museum")]
    assert (await searching.replay(answer.run_id)).text == "knots"


async def test_a_table_of_the_web_is_computed_over_by_a_program(searching, towns, openai_server):
    seen: list[str] = []

    def reply(body: dict[str, Any]) -> Step:
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if not results:
            return Step(tools=[("read", {"source": f"{towns[0].url}/files/tides-2026.csv"})])
        if len(results) == 2:
            return Step(text=results[1].splitlines()[-1])
        seen.append(results[0])
        path = re.findall(r"(?<![\w:/])/\w[\w/.-]+/tides-2026\.csv", str(body["messages"]))[0]
        return Step(tools=[("run_python", {"code": f"import pandas as pd\nprint(len(pd.read_csv({path!r})))"})])

    openai_server.default = reply
    flags = {"model": "tiny", "base_url": openai_server.url, "api_key": "k"}
    answer = await searching.ask("How many tides are there in 2026?", **flags)
    assert answer.text == "12"
    assert "|---" not in seen[0]
    assert [(e.name, e.ok) for e in searching.of(ToolCalled)] == [("program", True)]
    assert [e.type for e in searching.of(FileRead)] == ["csv"]


async def test_a_private_address_is_refused_unless_allowed(searching, towns):
    lines = [
        decide("answer", answer="unknown", when="allow-private"),
        decide("read_file", file=f"{towns[0].url}/ferry"),
    ]
    await searching.plays(*lines).ask("When does the ferry leave?", allow_private=False)
    assert "allow-private" in searching.notes
    assert towns[0].paths() == []


async def test_a_page_that_quotes_the_question_is_kept_from_the_agent(searching, towns):
    question = "Of which tower: stands 37 metres high and has 188 steps. Its light is seen from 21 nautical miles?"
    lines = [
        decide("answer", answer="unknown", when=FOUND),
        decide("search", query="Grey Point lighthouse"),
    ]
    await searching.plays(*lines).ask(question, leak_guard=True)
    blocked = searching.of(LeakBlocked)
    assert blocked
    journal = (searching.runs / searching.events[0].run_id / "journal.jsonl").read_text()
    prompts = [line for line in journal.splitlines() if '"blob"' in line]
    assert prompts
    assert not any("Hanna Brook" in prompt or "188 steps. Its" in prompt.replace(question, "") for prompt in prompts)


async def test_firecrawl_searches_and_reads_what_alita_cannot_as_its_contract_says(desk, towns):
    pages = {f"{towns[0].url}/error": ("Grey Point lighthouse", "# Grey Point\n\nThe lighthouse was lit in 1874.")}
    lines = [decide("answer", answer="1874", when=FOUND), decide("search", query="lighthouse lit")]
    with FirecrawlServer(pages, key="fc-right") as server:
        flags = {"engines": "firecrawl", "firecrawl_api_url": server.url, "firecrawl_api_key": "fc-right"}
        answer = await desk.plays(*lines).ask("When was the lighthouse lit?", allow_private=True, **flags)
    assert (answer.text, [source.quote for source in answer.sources]) == ("1874", ["The lighthouse was lit in 1874."])
    assert [page.via for page in desk.of(PageRead)] == ["firecrawl"]
    assert (server.violations, towns[0].paths()) == ([], ["/robots.txt", "/error"])


async def test_an_engine_with_a_wrong_key_leaves_the_question_to_the_next_and_its_key_is_nowhere(desk, monkeypatch):
    lines = [decide("answer", answer="1874", when=FOUND), decide("search", query="lighthouse lit")]
    hits = {"query": {"search": [{"title": "Grey Point", "snippet": "A lighthouse"}]}}
    page = Reply("<title>Grey Point</title><p>The lighthouse was lit in 1874.", headers={"Content-Type": "text/html"})
    with (
        FirecrawlServer({}, key="fc-right") as server,
        JsonServer(lambda request: Reply(hits) if request.path == "/w/api.php" else page) as wikipedia,
    ):
        monkeypatch.setattr(Wikipedia, "_url", wikipedia.url)
        flags = {
            "engines": "firecrawl,wikipedia",
            "firecrawl_api_url": server.url,
            "firecrawl_api_key": "fc-0wrong0wrong0",
        }
        answer = await desk.plays(*lines).ask("When was the lighthouse lit?", allow_private=True, **flags)
    told = [(event.source, event.ok) for event in desk.of(WebSearched)]
    assert told[:2] == [("firecrawl", False), ("wikipedia", True)]
    for path in (desk.runs / answer.run_id).rglob("*"):
        assert path.is_dir() or b"fc-0wrong0wrong0" not in path.read_bytes()
    await desk.replay(answer.run_id)
    assert [(event.source, event.ok) for event in desk.of(WebSearched)] == told
