"""Episodes of MiniWoB++ begin by themselves, always the same for a seed, and tell their first reward."""

from __future__ import annotations

import pytest
from miniwob_pages import Episode, MiniWob, instructions, load_episodes

from support.browser import CHROMIUM

pytest.importorskip("miniwob", reason="MiniWoB++ is in the group bench")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
EPISODE = Episode("click-button", 1)


def test_the_list_has_twenty_tasks_that_are_there():
    """Each with its page in the package."""
    episodes = load_episodes()
    assert len({episode.task for episode in episodes}) == 20
    with MiniWob() as pages:
        assert all(pages.page(f"/miniwob/{episode.task}.html") for episode in episodes)
        assert pages.page("/../__init__.py") is None


@pytest.mark.slow
async def test_every_episode_says_what_is_wanted():
    """The same words each time."""
    from pathlib import Path

    assert CHROMIUM
    with MiniWob() as pages:
        first = await instructions(pages, load_episodes(), Path(CHROMIUM))
        again = await instructions(pages, load_episodes()[:3], Path(CHROMIUM))
    assert all(len(words) > 8 for words in first.values())
    assert again == {episode: first[episode] for episode in again}


@pytest.mark.parametrize("right", [True, False])
async def test_an_episode_tells_its_first_reward(right: bool):
    """A wrong click counts, and a right one after it does not mend it."""
    from playwright.async_api import async_playwright

    with MiniWob() as pages:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page()
            await page.goto(pages.url(EPISODE))
            assert not await page.locator("#reward-display").is_visible()
            wanted = (await page.evaluate("core.getUtterance()")).split('"')[1]
            buttons = page.get_by_role("button")
            names = await buttons.all_inner_texts()
            order = [i for i, name in enumerate(names) if (name == wanted) is right]
            assert pages.rewards == {}
            async with page.expect_request("**/reward*"):
                await buttons.nth(order[0]).click()
            await page.wait_for_timeout(100)
            await browser.close()
        assert (pages.rewards[EPISODE] > 0) is right
