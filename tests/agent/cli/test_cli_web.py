"""The web from the command line: the answer alone on stdout, its sources below it, private pages only when allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.command import Terminal
from support.fibonacci import decide
from support.firecrawl_server import FirecrawlServer, pages_of
from support.site.server import Site

QUESTION = "When was the Grey Point lighthouse first lit?"


@pytest.fixture
def ask(terminal: Terminal, site: Site) -> Iterator[Any]:
    """Asks with an engine that finds the site's pages and a model that plays lines."""
    script = terminal.script(
        decide("answer", answer="1874 [1]", when='<data source="search">'),
        decide("search", query="lighthouse lit"),
    )
    with FirecrawlServer(pages_of(site, "/lighthouse", "/ferry")) as server:
        where = {"ALITA_ENGINES": "firecrawl", "FIRECRAWL_API_URL": server.url}
        yield lambda *arguments: terminal.call("--model", script, *arguments, QUESTION, **where)


def test_the_answer_stands_alone_on_stdout_and_its_sources_below_the_account(ask, site):
    ended = ask("--allow-private")
    assert (ended.code, ended.out) == (0, "1874\n"), ended.err
    below = ended.err.splitlines()[-3:]
    assert below[:2] == ["Sources:", f"  [1] Grey Point lighthouse — {site.url}/lighthouse"]
    assert "lit for the first time on 9 October 1874" in below[2]


def test_without_leave_no_private_page_is_opened(ask, site):
    ended = ask("--no-cache")
    assert "127.0.0.1 is" in ended.err
    assert site.paths() == []
