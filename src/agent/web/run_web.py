"""The web access of one run, as configured; nothing is loaded or connected before the first search or page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent.events import Event, Note, WebSearched
from agent.web.page import Page, PageReader, Result

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.web.engines.search_engines import Engines


class RunWeb:
    """Searches and reads for a run.

    Args:
        settings: With keys, places and what is allowed.
        folder: Where files of the web are kept; made when the first one comes.
        tell: Gets what fails, and what takes long.
    """

    name = "web"

    def __init__(self, settings: Settings, folder: Path, tell: Callable[[Event], None]) -> None:
        self._settings = settings
        self._folder = folder
        self._tell = tell
        self._opened: tuple[Engines, PageReader] | None = None

    async def search(
        self, query: str, tell: Callable[[WebSearched], None], *, limit: int = 8, freshness: str = "", source: str = ""
    ) -> list[Result]:
        """The hits of the first engine that has any; see `agent.web.engines.search_engines.Engines`."""
        return await self._open()[0].search(query, tell, limit=limit, freshness=freshness, source=source)

    async def read(self, url: str) -> Page:
        """The page at an address; see `agent.web.page.PageReader`."""
        return await self._open()[1].read(url)

    async def aclose(self) -> None:
        """Closes all connections."""
        if self._opened is not None:
            from agent.web.engines.search_engines import close_all

            await close_all(self._opened)

    def _open(self) -> tuple[Engines, PageReader]:
        if self._opened is None:
            from agent.web.engines.search_engines import open_engines, open_reader
            from agent.web.http import Http
            from agent.web.reading.reader import WebReader

            settings, tell = self._settings, self._tell
            http = Http(allow_private=settings.allow_private, robots=settings.robots)
            plain = WebReader(http, self._folder, chrome=settings.chrome, note=lambda text: tell(Note(text)))
            self._opened = open_engines(settings, http, tell, reader=plain), open_reader(settings, plain)
        return self._opened
