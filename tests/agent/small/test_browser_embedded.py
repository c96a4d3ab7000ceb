"""The embedded model operates a real site in a real browser: from the question to what is sent."""

from __future__ import annotations

import pytest

from agent.events import BrowserStepped
from support.browser import CHROMIUM
from support.site.server import Site


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
async def test_a_page_is_opened_and_its_form_filled_in_and_sent(desk, one_server: dict[str, str], site: Site) -> None:
    desk.flags |= {"allow_private": True, **one_server}
    await desk.ask(f'Go to {site.url}/newsletter and subscribe "ada@finch.example" to the newsletter.')
    assert site.records["newsletter"][-1]["email"] == "ada@finch.example"
    assert desk.of(BrowserStepped)
