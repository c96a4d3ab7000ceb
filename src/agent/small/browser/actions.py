"""What can be done on a page, and what came of it."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agent.browser.logins import PASSWORD, filled_in, login_for
from agent.small.browser.view import Element

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.async_api import Locator, Page

    from agent.browser.logins import Login

_ABOUT_FIELD = "field => [field.ownerDocument.location.href, field.type]"
_LENGTH = "document.body ? document.body.innerText.length + '/' + location.href : ''"
_PATIENCE = 5_000
"""Milliseconds for one action."""
_LOADING = 8_000
_SETTLING = 0.15
"""Seconds between two looks at a page that may still change."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do."""

    deed: Literal["click", "type", "select", "scroll", "back", "read", "done"]
    on: Element | None = None
    text: str = ""
    why: str = ""
    found: str = ""
    """What the page says of the task, in its own words."""
    aside: bool = False
    """It is no part of the task: a banner is closed, a login filled in."""

    def __str__(self) -> str:
        target = f'{self.on.role} "{self.on.name}"' if self.on else ""
        preposition = {"type": "into", "select": "in"}.get(self.deed)
        return f'{self.deed} "{self.text}" {preposition} {target}' if preposition else f"{self.deed} {target}".strip()


async def perform(page: Page, action: Action, logins: Sequence[Login] = ()) -> str:
    """Does it, waits until the page stands still, and says what was in the way; empty when nothing was.

    Raises:
        playwright.async_api.Error: The page is gone.
    """
    from playwright.async_api import Error

    try:
        if action.on is not None:
            await _use(page.locator(f"aria-ref={action.on.ref}"), action.on, action, logins)
        elif action.deed == "scroll":
            await page.mouse.wheel(0, 20_000)
        elif len(page.context.pages) > 1 and await page.evaluate("history.length") <= 1:
            await page.close()  # a tab that a page opened: what was before is in another one
        else:
            await page.go_back(timeout=_LOADING, wait_until="domcontentloaded")
    except Error as error:
        if not page.is_closed():
            return reason_of(error.message)
        if not page.context.pages:
            raise
        return ""  # a window that closes itself when it is done
    await settle(page)
    return ""


async def _use(locator: Locator, element: Element, action: Action, logins: Sequence[Login]) -> None:
    if action.deed == "click":
        # The drawing of a box often lies over it: the element itself is told.
        await locator.click(timeout=_PATIENCE, force=element.role in {"checkbox", "radio", "switch"})
        return
    # The document that the field is in: a frame of another host must not be given a login.
    document, kind = await locator.evaluate(_ABOUT_FIELD, timeout=_PATIENCE)
    # Nor may a page have the password written where it is shown, or sent as a comment.
    login = login_for(document, logins) if kind == "password" or PASSWORD not in action.text else None
    text = filled_in(action.text, login)
    if action.deed == "type":
        await locator.fill(text, timeout=_PATIENCE)
    else:
        await locator.select_option(label=text, timeout=_PATIENCE)


async def settle(page: Page) -> None:
    """Waits until the page is there and its content stands still; a page that never does is taken as it is."""
    from playwright.async_api import Error

    with contextlib.suppress(Error):
        await page.wait_for_load_state("domcontentloaded", timeout=_LOADING)
        await page.wait_for_load_state("networkidle", timeout=1_500)
    before = ""
    for _ in range(6):
        await asyncio.sleep(_SETTLING)
        with contextlib.suppress(Error):
            if (now := await page.evaluate(_LENGTH)) == before:
                return
            before = now


def reason_of(message: str) -> str:
    """The first line of what Playwright says, without its log, which holds what is typed."""
    first = message.split("Call log:")[0].strip()
    line = first.splitlines()[0] if first else "it failed"
    if network := re.search(r"net::ERR_(\w+)", line):
        return network[1].lower().replace("_", " ")
    if "intercepts pointer events" in message:
        return "something lies over it"
    if "Timeout" in line:
        return "it does not react"
    return line.partition(": ")[2] or line
