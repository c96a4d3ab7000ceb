"""The tab that browser-use works in, as Playwright knows it: not always the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page


class TabInUse:
    """Finds the tab.

    Args:
        context: The browser.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.session: Any = None
        """browser-use's, which knows the tab as a target of the DevTools protocol; set when there is one."""
        self._context = context
        self._targets: WeakKeyDictionary[Page, str] = WeakKeyDictionary()

    async def page(self) -> Page | None:
        """The tab; the newest one where browser-use has none, None where there is none at all."""
        pages = self._context.pages
        wanted = getattr(self.session, "agent_focus_target_id", None)
        for page in pages if wanted else ():
            if await self._target_of(page) == wanted:
                return page
        return pages[-1] if pages else None

    async def url(self, otherwise: str) -> str:
        """The tab's address, or another where there is no tab."""
        page = await self.page()
        return page.url if page is not None else otherwise

    async def _target_of(self, page: Page) -> str:
        """The tab's name in the DevTools protocol, which stays the same; empty for one that is gone."""
        from playwright.async_api import Error

        if page not in self._targets:
            try:
                asked = await self._context.new_cdp_session(page)
                self._targets[page] = (await asked.send("Target.getTargetInfo"))["targetInfo"]["targetId"]
                await asked.detach()
            except Error:
                return ""
        return self._targets[page]
