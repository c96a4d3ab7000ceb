"""The embedded model answers from a real site by searching and reading it."""

from __future__ import annotations

import pytest

from support.firecrawl_server import FirecrawlServer, pages_of
from support.site.server import Site

CASES = [
    ("How much is a single adult ticket of the ferry from Oxmere to Callow?", "11.40", "/ferry"),
]


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_facts_are_found_quoted_and_cited(desk, one_server: dict[str, str], site: Site) -> None:
    with FirecrawlServer(pages_of(site, "/ferry", "/", "/lighthouse", "/museum", "/harbour")) as server:
        desk.flags |= {"engines": "firecrawl", "firecrawl_api_url": server.url, "allow_private": True, **one_server}
        for question, expected, path in CASES:
            answer = await desk.ask(question)
            assert answer.text == expected
            assert f"{site.url}{path}" in [source.url for source in answer.sources]
