"""The embedded model operates a real site in a real browser: from the question to what is sent."""

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
async def test_a_page_is_opened_and_its_form_filled_in_and_sent(desk, weights_path: Path, site: Site) -> None:
    desk.flags |= {"allow_private": True, "models_dir": str(weights_path.parent)}
    try:
        await desk.ask(f'Go to {site.url}/newsletter and subscribe "ada@finch.example" to the newsletter.')
        assert site.records["newsletter"][-1]["email"] == "ada@finch.example"
        assert desk.of(BrowserStepped)
    finally:
        stop_servers(desk.home / "runtime")
