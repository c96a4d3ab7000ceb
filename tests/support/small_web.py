"""A few web pages in memory, with a search engine and a reader."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent.web.page import Page, SearchHit, WebProblem

Find = Callable[[str], list[SearchHit]]


class Pages:
    """Pages, and the hits of searches.

    Args:
        found: Hits of every query, or a function that returns them, or an error to raise.
        pages: Pages by address.
        seconds: Time for reading a page.
    """

    name = "pages"

    def __init__(
        self,
        found: list[SearchHit] | Find | WebProblem,
        pages: dict[str, Page | WebProblem] | None = None,
        *,
        seconds: float = 0.0,
    ) -> None:
        self.found = found
        self.pages = pages or {}
        self.seconds = seconds
        self.asked: list[str] = []
        self.at_once = self.most_at_once = 0

    async def search(
        self, query: str, tell: object = None, *, limit: int = 8, freshness: str = "", source: str = ""
    ) -> list[SearchHit]:
        self.asked.append(query)
        if isinstance(self.found, WebProblem):
            raise self.found
        return (self.found(query) if callable(self.found) else self.found)[:limit]

    async def read(self, url: str) -> Page:
        self.asked.append(url)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self.seconds)
        self.at_once -= 1
        page = self.pages[url]
        if isinstance(page, WebProblem):
            raise page
        return page

    async def aclose(self) -> None:
        pass
