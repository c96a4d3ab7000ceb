"""The embedded model answers from a real site by searching and reading it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.site.server import Site

CASES = [
    ("How much is a single adult ticket of the ferry from Oxmere to Callow?", "11.40", "/ferry"),
]


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_facts_are_found_quoted_and_cited(desk, one_server: dict[str, str], tmp_path: Path, site: Site) -> None:
    pages = tmp_path / "pages.txt"
    pages.write_text("".join(f"{site.url}{path}\n" for path in ("/", "/lighthouse", "/ferry", "/museum", "/harbour")))
    desk.flags |= {"web_index": str(pages), "allow_private": True, **one_server}
    for question, expected, path in CASES:
        answer = await desk.ask(question)
        assert answer.text == expected
        assert f"{site.url}{path}" in [source.url for source in answer.sources]
