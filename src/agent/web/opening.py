"""The web of one run, as its settings want it; nothing is loaded or connected before the first search or page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.events import Event, Note
from agent.web.protocol import Page, PageReader, Result

if TYPE_CHECKING:
    from agent.settings import Settings
    from agent.web.engines.fallback import Engines


@dataclass(frozen=True, slots=True)
class _Opened:
    engines: Engines
    reader: PageReader


class RunWeb:
    """Searches and reads for a run.

    Args:
        settings: With keys, places and what is allowed.
        folder: Where files of the web are kept; made when the first one comes.
        tell: Told what fails, and what takes long.
    """

    name = "web"

    def __init__(self, settings: Settings, folder: Path, tell: Callable[[Event], None]) -> None:
        self._settings = settings
        self._folder = folder
        self._tell = tell
        self._opened: _Opened | None = None

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[Result]:
        """The hits of the first engine that has any; see `agent.web.engines.fallback.Engines`."""
        return await self._open().engines.search(query, limit=limit, freshness=freshness)

    async def read(self, url: str) -> Page:
        """The page at an address; see `agent.web.protocol.PageReader`."""
        return await self._open().reader.read(url)

    async def aclose(self) -> None:
        """Closes all connections."""
        if self._opened is not None:
            try:
                await self._opened.engines.aclose()
            finally:
                await self._opened.reader.aclose()

    def _open(self) -> _Opened:
        if self._opened is None:
            self._opened = _open(self._settings, self._folder, self._tell)
        return self._opened


def _open(settings: Settings, folder: Path, tell: Callable[[Event], None]) -> _Opened:
    from agent.web.engines.opening import open_engines, open_reader
    from agent.web.fetching.http import Http
    from agent.web.reading.reader import WebReader

    http = Http(allow_private=settings.allow_private, robots=settings.robots)
    key = settings.gemini_api_key.get_secret_value() if settings.gemini_api_key else None
    plain = WebReader(http, folder, chrome=settings.chrome, gemini_key=key, note=lambda text: tell(Note(text)))
    return _Opened(open_engines(settings, tell, reader=plain), open_reader(settings, plain))
