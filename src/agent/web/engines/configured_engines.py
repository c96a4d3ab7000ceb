"""The engines and readers that the settings give, in their order, and why the others are not asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import SecretStr

from agent.configuration.settings import ENGINES, Settings
from agent.events import Event
from agent.files.contents import READERS
from agent.web.engines.ddgs import Ddgs
from agent.web.engines.fallback import Engines
from agent.web.engines.firecrawl import Firecrawl
from agent.web.engines.local_index import OwnIndex
from agent.web.engines.services import INSTALL, Arxiv, Tavily, Wikipedia
from agent.web.guard import AddressGuard
from agent.web.http import Http
from agent.web.page import Page, PageReader, Reason, Search, WebProblem
from agent.web.reading.videos import video_id

Tell = Callable[[Event], None]
_UNINSTALLED = "its package is not installed"


def _nobody(event: Event) -> None:
    """Listens to nothing."""


class EngineState(NamedTuple):
    """How a search engine stands."""

    name: str
    state: str
    """`ready: …`, or why it cannot be asked."""
    ready: bool
    remedy: str = ""
    needs_nothing: bool = False
    """Neither key nor place: there is nothing to set."""


def open_engines(settings: Settings, http: Http, tell: Tell = _nobody, *, reader: PageReader | None = None) -> Engines:
    """The engines in their order: those that the settings name, else those that can be asked.

    A named engine that lacks its key is there and says so when it is asked.

    Args:
        settings: With keys and places.
        http: Asks those that answer over plain HTTP.
        tell: Gets what fails.
        reader: Reads the pages that the list of an own index names.
    """
    names = names_of(settings)

    def opened(name: str) -> Search:
        match name:
            case "index":
                return _own_index(settings, tell, reader, alone=len(names) == 1)
            case "firecrawl":
                return _firecrawl(settings)
            case "tavily":
                return Tavily(http, _key(settings.tavily_api_key))
            case "ddgs":
                return Ddgs()
            case "wikipedia":
                return Wikipedia(http)
            case _:
                return Arxiv(http)

    return Engines([opened(name) for name in names], tell)


def open_reader(settings: Settings, web: PageReader) -> PageReader:
    """Who reads pages: Firecrawl where it can be asked, then the web itself, then the own index.

    Files and videos are read without Firecrawl first: it keeps neither the file nor what is said.

    Args:
        settings: With keys and places.
        web: Reads pages without any engine.
    """
    own: list[PageReader] = [_own_index(settings)] if settings.web_index is not None else []
    if _firecrawl_state(settings).ready and (not settings.engines or "firecrawl" in settings.engines):
        firecrawl = _firecrawl(settings)
        return FirstOf([firecrawl, web, *own], for_files=[web, firecrawl, *own])
    return FirstOf([web, *own]) if own else web


def engine_states(settings: Settings) -> list[EngineState]:
    """Each engine in the order in which they are tried, and whether it can be asked; nothing is opened."""
    return [_STATES[name](settings) for name in ENGINES]


def names_of(settings: Settings) -> tuple[str, ...]:
    """The engines that are asked, in their order: those that the settings name, else all that are ready."""
    return settings.engines or tuple(state.name for state in engine_states(settings) if state.ready)


def _firecrawl(settings: Settings) -> Firecrawl:
    guard = AddressGuard(allow_private=settings.allow_private)
    return Firecrawl(_key(settings.firecrawl_api_key), settings.firecrawl_api_url, guard=guard)


def _own_index(
    settings: Settings, tell: Tell = _nobody, reader: PageReader | None = None, *, alone: bool = True
) -> OwnIndex:
    place = (settings.web_index or Path("no folder of ALITA_WEB_INDEX")).expanduser()
    share = 0.4 if alone else 0.75
    return OwnIndex(place, settings.cache_dir / "index", reader=reader, tell=tell, share=share)


def _key(key: SecretStr | None) -> str:
    return key.get_secret_value() if key else ""


def _firecrawl_state(settings: Settings) -> EngineState:
    if (settings.firecrawl_api_url or settings.firecrawl_api_key) and find_spec("firecrawl") is None:
        return EngineState("firecrawl", _UNINSTALLED, False, INSTALL)
    if settings.firecrawl_api_url:
        return EngineState("firecrawl", f"ready: one's own at {settings.firecrawl_api_url}", True)
    return _keyed("firecrawl", settings.firecrawl_api_key, "FIRECRAWL_API_KEY, or FIRECRAWL_API_URL for one's own")


def _keyed(name: str, key: SecretStr | None, variable: str) -> EngineState:
    if key:
        return EngineState(name, "ready: key set", True)
    return EngineState(name, "no key", False, f"Set {variable}.")


def _index_state(settings: Settings) -> EngineState:
    if settings.web_index is None:
        return EngineState("index", "no pages named", False, "Set ALITA_WEB_INDEX to a folder or a list of pages.")
    place = settings.web_index.expanduser()
    if not place.exists():
        return EngineState("index", f"{place} is not there", False, "Correct ALITA_WEB_INDEX.")
    return EngineState("index", f"ready: {place}", True)


def _keyless(name: str) -> EngineState:
    if name == "ddgs" and find_spec("ddgs") is None:
        return EngineState(name, _UNINSTALLED, False, INSTALL)
    return EngineState(name, "ready: needs no key", True, needs_nothing=True)


_STATES: dict[str, Callable[[Settings], EngineState]] = {
    "index": _index_state,
    "firecrawl": _firecrawl_state,
    "tavily": lambda settings: _keyed("tavily", settings.tavily_api_key, "TAVILY_API_KEY"),
    "ddgs": lambda settings: _keyless("ddgs"),
    "wikipedia": lambda settings: _keyless("wikipedia"),
    "arxiv": lambda settings: _keyless("arxiv"),
}


_NO_WAY_ROUND: tuple[Reason, ...] = ("leak", "robots")
"""What another reader must not get round."""
_QUIET: tuple[Reason, ...] = ("refused_address", "private_address")
"""A reader that is not for such addresses: no loss that a note should tell."""
_FILES = frozenset(READERS) | {"jpg", "tif", "xlsm", "db", "txt", "py", "doc", "ppt", "rtf", "odt", "7z", "parquet"}
_PAGES = ("html", "xml")
"""Kinds of files that are pages when the web has them."""
_NOT_AGAIN: tuple[Reason, ...] = ("no_key", "bad_key", "quota")
"""The reader is not asked again."""


class FirstOf:
    """Readers of pages that stand behind one another.

    Args:
        readers: The first is asked first.
        for_files: The same in another order, for addresses that are files or videos by their looks; some readers keep
            these, others only tell what is in them.
    """

    name = "first"

    def __init__(self, readers: Sequence[PageReader], *, for_files: Sequence[PageReader] = ()) -> None:
        self._readers = tuple(readers)
        self._for_files = tuple(for_files) or self._readers
        self._aside: dict[str, WebProblem] = {}

    async def read(self, url: str) -> Page:
        """The page, with a note for each reader that failed before.

        Raises:
            WebProblem: Of the last reader that could be asked, when none gave the page.
        """
        notes: list[str] = []
        last: WebProblem | None = None
        for reader in self._for_files if _is_file(url) else self._readers:
            if reader.name in self._aside:
                last = last or self._aside[reader.name]
                continue
            try:
                page = await reader.read(url)
            except WebProblem as problem:
                if problem.reason in _NO_WAY_ROUND:
                    raise
                if problem.reason in _NOT_AGAIN:
                    self._aside[reader.name] = problem
                if problem.reason not in _QUIET or last is None:
                    last = problem
                if problem.reason not in _QUIET:
                    notes.append(f"{reader.name} did not read it: {problem.message.rstrip('.')}.")
            else:
                return replace(page, notes=(*notes, *page.notes))
        raise last or WebProblem("no_key", "There is nobody who reads pages.")

    async def aclose(self) -> None:
        """Closes the readers, each whatever comes of the others."""
        async with AsyncExitStack() as closing:
            for reader in self._readers:
                closing.push_async_callback(reader.aclose)


def _is_file(url: str) -> bool:
    try:
        path = urlsplit(url).path
    except ValueError:
        return False
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower() if "." in path else ""
    return bool(video_id(url)) or (suffix in _FILES and suffix not in _PAGES)
