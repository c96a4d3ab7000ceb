"""The embedded model operates a real site in a real browser: from the question to the answer, and to what is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.events import BrowserStepped
from agent.models.embedded.local_server import stop_servers
from support.browser import CHROMIUM
from support.site.server import Site


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
async def test_a_page_is_opened_read_and_a_form_sent(desk, weights_path: Path, site: Site) -> None:
    desk.flags |= {"allow_private": True, "models_dir": str(weights_path.parent)}
    try:
        answer = await desk.ask(
            f'Go to {site.url}/council, open the tab "Budget", and say how many thousand are for roads.'
        )
        assert "612" in answer.text
        assert desk.of(BrowserStepped)
        await desk.ask(f'Go to {site.url}/newsletter and subscribe "ada@finch.example" to the newsletter.')
        assert site.records["newsletter"][-1]["email"] == "ada@finch.example"
    finally:
        stop_servers(desk.home / "runtime")
