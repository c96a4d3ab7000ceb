"""Does a task of the site as its solution says, with Playwright alone: no agent, no model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from support.site.server import Site
from support.site.tasks import SiteTask

if TYPE_CHECKING:
    from playwright.async_api import Browser, Locator, Page

SHORT_MS = 5_000
SETTLES = 0.1
"""Seconds in which a click begins a navigation, or a script has its answer."""


async def solve(browser: Browser, site: Site, task: SiteTask) -> str:
    """Walks the solution in a visit of its own; the answer that its last action gives."""
    context = await browser.new_context(accept_downloads=True)
    try:
        page = await context.new_page()
        page.set_default_timeout(SHORT_MS)
        await page.goto(site.url + task.url)
        for action in task.solution:
            await _act(page, action, task)
            if action["do"] != "done":
                await asyncio.sleep(SETTLES)
                await page.wait_for_load_state()
        return task.solution[-1]["answer"]
    finally:
        await context.close()


async def _act(page: Page, action: dict[str, str], task: SiteTask) -> None:
    does = action["do"]
    if does == "click":
        await (await _element(page, action)).click()
    elif does == "type":
        await (await _element(page, action)).fill(_secret(action["text"], task))
    elif does == "select":
        await (await _element(page, action)).select_option(label=action["option"])
    elif does == "scroll":
        await page.mouse.wheel(0, 5_000 if action["direction"] == "down" else -5_000)
    elif does == "back":
        await page.go_back()
    else:
        assert does in ("read", "done"), does


def _secret(text: str, task: SiteTask) -> str:
    for name, value in task.account.items() if task.logins else ():
        text = text.replace(f"<{name}>", value)
    return text


async def _element(page: Page, action: dict[str, str]) -> Locator:
    """The one element of that role and name, in whichever frame it is."""
    role: Any = action["role"]
    for _ in range(100):
        for frame in page.frames:
            found = frame.get_by_role(role, name=action["name"], exact=True).filter(visible=True)
            if action["role"] == "button" and not await found.count():  # Playwright gives a summary no role
                found = frame.locator("summary", has_text=action["name"])
            if await found.count() == 1:
                return found
        await asyncio.sleep(0.05)
    raise LookupError(f"no single {role} {action['name']!r} at {page.url}")
