"""The engines and readers that the settings give, and what stands against the others."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from agent.configuration.settings import ENGINES, Settings
from agent.events import Event
from agent.web.engines.arxiv import Arxiv
from agent.web.engines.ddgs import Ddgs
from agent.web.engines.fallback import Engines
from agent.web.engines.firecrawl import Firecrawl
from agent.web.engines.local_index import OwnIndex
from agent.web.engines.tavily import Tavily
from agent.web.engines.wikipedia import Wikipedia
from agent.web.engines.wire import INSTALL
from agent.web.guard import AddressGuard
from agent.web.page import PageReader, Search
from agent.web.reading.first_of import FirstOf

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


def open_engines(settings: Settings, tell: Tell = _nobody, *, reader: PageReader | None = None) -> Engines:
    """The engines in their order: those that the settings name, else those that can be asked.

    A named engine that lacks its key is there and says so when it is asked.

    Args:
        settings: With keys and places.
        tell: Told what fails.
        reader: Reads the pages that the list of an own index names.
    """
    names = names_of(settings)
    return Engines([_open(name, settings, tell, reader, alone=len(names) == 1) for name in names], tell)


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


def _open(name: str, settings: Settings, tell: Tell, reader: PageReader | None, *, alone: bool) -> Search:
    match name:
        case "index":
            return _own_index(settings, tell, reader, alone=alone)
        case "firecrawl":
            return _firecrawl(settings)
        case "tavily":
            return Tavily(_key(settings.tavily_api_key))
        case "ddgs":
            return Ddgs()
        case "wikipedia":
            return Wikipedia()
        case _:
            return Arxiv()


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
