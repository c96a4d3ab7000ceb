"""The search engines and readers of the settings, and the order in which they are asked."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from agent.configuration.engines import ENGINES, Engine
from agent.configuration.settings import Settings
from agent.events import Event, Note, WebSearched
from agent.files.media.speech import Speech
from agent.web.address import is_address
from agent.web.engines.services import INSTALL
from agent.web.http import Http
from agent.web.page import Page, PageReader, Reason, Result, Search, WebProblem
from agent.web.reading.reader import WebReader
from mcp_tools.text import one_line, printable

Tell = Callable[[Event], None]
AskEngine = Callable[[Search, dict[str, WebProblem]], Awaitable[list[Result]]]

_RESTS: dict[Reason, float] = {
    **dict.fromkeys(("no_key", "bad_key", "quota", "tls"), math.inf),
    **dict.fromkeys(("rate_limit", "dns", "mismatch"), 60.0),
    **dict.fromkeys(("connection", "timeout"), 30.0),
}
"""Seconds for which an engine is not asked, if it does not say how long; some problems last for the whole run."""
_PATIENCE = 20.0  # seconds that a search waits for an engine that rests, when no other gave anything
_LONGEST_QUERY = 1000  # characters; a question with a file pasted into it is no query
_TITLE, _SNIPPET = 300, 1500
"""Characters that are kept of a hit."""
_ROWS = {engine.name: engine for engine in ENGINES}
_turns: dict[str, float] = {}
_turns_lock = threading.Lock()
_NO_WAY_ROUND: tuple[Reason, ...] = ("leak", "robots", "refused_address", "private_address")
"""Problems that no other reader may get round."""
_NOT_AGAIN: tuple[Reason, ...] = ("no_key", "bad_key", "quota")  # the reader is not asked again


async def wait_for_turn(engine: str, seconds: float) -> None:
    """Wait until an engine may be asked again, `seconds` after its last request in any thread or loop."""
    with _turns_lock:
        now = time.monotonic()
        turn = max(now, _turns.get(engine, 0.0))
        _turns[engine] = turn + seconds
    if turn > now:
        await asyncio.sleep(turn - now)


class Engines:
    """Search engines that are tried in order.

    A failure, and a search that found nothing, is reported as `WebSearched` with `ok=False`; the caller reports a
    success, since it knows which hits are shown. Searches are remembered for the run.

    Args:
        engines: The first is asked first.
    """

    def __init__(self, engines: Sequence[Search]) -> None:
        self._engines = tuple(engines)
        self._aside: dict[str, tuple[WebProblem, float]] = {}
        """Engines that are not asked: why, and until when by the monotonic clock."""
        self._found: dict[tuple[str, int, str, str], list[Result]] = {}

    async def search(
        self,
        query: str,
        tell: Callable[[WebSearched], None] = lambda event: None,
        *,
        limit: int = 8,
        freshness: str = "",
        source: str = "",
    ) -> list[Result]:
        """The hits of the first engine that has any; an empty list when all that could be asked found nothing.

        Args:
            query: The query.
            tell: Gets the events.
            limit: Maximum number of hits.
            freshness: `day`, `week`, `month` or `year`; empty for any age.
            source: The only engine to ask; empty for all in their order.

        Raises:
            WebProblem: The query is empty, the settings leave the source out, or no engine could be asked.
        """
        asked = one_line(query, _LONGEST_QUERY)
        if not asked:
            raise WebProblem("no_result", "The query is empty.", remedy="Search for the words that matter.")
        if not self._engines:
            raise WebProblem("no_key", "There is no search engine.", remedy="Name one with ALITA_ENGINES.")
        engines = tuple(engine for engine in self._engines if source in ("", engine.name))
        if not engines:
            names = ", ".join(engine.name for engine in self._engines)
            said = f"{source} is not searched: the setting `engines` names {names} alone."
            raise WebProblem("no_key", said, remedy="Search without a source, or add it to ALITA_ENGINES.")
        key = (asked, limit, freshness, source)
        if key not in self._found:
            self._found[key] = await self._first(engines, partial(self._ask, asked, tell, limit, freshness))
        return list(self._found[key])

    async def aclose(self) -> None:
        """Closes the engines."""
        await close_all(self._engines)

    async def _first(self, engines: Sequence[Search], ask: AskEngine) -> list[Result]:
        problems: dict[str, WebProblem] = {}
        passed_over: set[str] = set()
        for engine in engines:
            problem, until = self._aside.get(engine.name, (None, 0.0))
            if problem is not None and until > time.monotonic():
                problems[engine.name] = problem
                passed_over.add(engine.name)
            elif hits := await ask(engine, problems):
                return hits
        # No engine has anything. One that named a time is waited for, within reason; one that was passed over on our
        # own guess is asked immediately.
        again = []
        for engine in engines:
            if (problem := problems.get(engine.name)) and (until := self._aside[engine.name][1]) < math.inf:
                if problem.retry_after is not None:
                    again.append((max(0.0, until - time.monotonic()), engine))
                elif engine.name in passed_over:
                    again.append((0.0, engine))
        for wait, engine in sorted(again, key=lambda one: one[0]):
            if wait > _PATIENCE:
                break
            await asyncio.sleep(wait)
            del problems[engine.name]
            if hits := await ask(engine, problems):
                return hits
        if len(problems) == len(engines):
            raise _all_failed(problems)
        return []

    async def _ask(
        self,
        query: str,
        tell: Callable[[WebSearched], None],
        limit: int,
        freshness: str,
        engine: Search,
        problems: dict[str, WebProblem],
    ) -> list[Result]:
        """Asks one engine; why it gave nothing is reported, and kept where it failed."""
        await wait_for_turn(engine.name, _ROWS[engine.name].spacing if engine.name in _ROWS else 0.0)
        began, said = time.monotonic(), "it found nothing"
        try:
            if hits := _clean(await engine.search(query, limit=limit, freshness=freshness), limit):
                return hits
        except WebProblem as problem:
            problems[engine.name], said = problem, problem.message
            rest = _RESTS.get(problem.reason, 0.0)
            rest = rest if math.isinf(rest) else problem.retry_after or rest
            self._aside[engine.name] = problem, time.monotonic() + rest
        seconds = time.monotonic() - began
        tell(WebSearched(query, engine.name, ok=False, message=one_line(said, 300), seconds=seconds))
        return []


async def close_all(opened: Iterable[Search | PageReader]) -> None:
    """Close each, even if closing another one fails."""
    async with AsyncExitStack() as closing:
        for one in opened:
            closing.push_async_callback(one.aclose)


def _clean(results: Sequence[Result], limit: int) -> list[Result]:
    """Hits with an address that can be read, each once, and text that can be shown."""
    found: dict[str, Result] = {}
    for result in results:
        url = printable(result.url).strip()
        if is_address(url) and url not in found:
            title, snippet = one_line(result.title, _TITLE), one_line(result.snippet, _SNIPPET)
            found[url] = replace(result, url=url, title=title or url, snippet=snippet)
    return list(found.values())[: max(1, limit)]


def _all_failed(problems: dict[str, WebProblem]) -> WebProblem:
    """One problem for all, with the first one's reason."""
    first = next(iter(problems.values()))
    if len(problems) == 1:
        return first
    told = "; ".join(f"{name}: {problem.message}" for name, problem in problems.items())
    remedies = dict.fromkeys(problem.remedy for problem in problems.values() if problem.remedy)
    after = [problem.retry_after for problem in problems.values() if problem.retry_after]
    said = f"No search engine could be asked: {told}."
    return WebProblem(first.reason, said, remedy=" ".join(remedies), retry_after=min(after, default=None))


class EngineState(NamedTuple):
    """True if a search engine can be asked."""

    name: str
    state: str  # `ready: …`, or why it cannot be asked
    ready: bool
    remedy: str = ""
    needs_nothing: bool = False  # no key: there is nothing to set


def open_web(settings: Settings, folder: Path, tell: Tell, speech: Speech) -> tuple[Engines, PageReader]:
    """The engines and the reader of a run, in the order of the settings; nothing is connected yet.

    Args:
        settings: With keys, places and what is allowed.
        folder: Folder of downloaded files; made for the first one.
        tell: Gets what fails, and what takes long.
        speech: The model that transcribes speech.
    """
    http = Http(allow_private=settings.allow_private, allow_addresses=settings.allow_addresses, robots=settings.robots)
    plain = WebReader(
        http,
        folder,
        chrome=settings.chrome,
        note=lambda text: tell(Note(text)),
        speech=speech,
        may_download=settings.may_download,
    )
    return open_engines(settings, http), open_reader(settings, http, plain)


def open_engines(settings: Settings, http: Http) -> Engines:
    """The engines in their order: those that the settings name, else those that can be asked.

    A named engine that lacks its key is there and says so when it is asked.

    Args:
        settings: With keys and places.
        http: Asks those that answer over plain HTTP.
    """
    return Engines([_open(_ROWS[name], settings, http) for name in names_of(settings)])


def open_reader(settings: Settings, http: Http, web: PageReader) -> PageReader:
    """Return `web`, backed by the engines that read pages if the settings allow any.

    Args:
        settings: Settings with the keys.
        http: Client for the engines.
        web: Reader that uses no engine.
    """
    rows = (_ROWS[name] for name in names_of(settings))
    others = [_open(row, settings, http) for row in rows if row.reads_pages and _state(row, settings).ready]
    return ReaderChain([web, *others]) if others else web


def engine_states(settings: Settings) -> list[EngineState]:
    """Each engine in the order in which they are tried, and whether it can be asked; nothing is opened."""
    return [_state(engine, settings) for engine in ENGINES]


def names_of(settings: Settings) -> tuple[str, ...]:
    """The engines that are asked, in their order: those that the settings name, else all that are ready."""
    return settings.engines or tuple(state.name for state in engine_states(settings) if state.ready)


def _key_and_url(engine: Engine, settings: Settings) -> tuple[str, str]:
    key = getattr(settings, engine.key) if engine.key else None
    url = getattr(settings, engine.url) if engine.url else None
    return key.get_secret_value() if key else "", url or ""


def _open(engine: Engine, settings: Settings, http: Http) -> Any:
    key, url = _key_and_url(engine, settings)
    return resolve_name(engine.search)(http, url, key=key)


def _state(engine: Engine, settings: Settings) -> EngineState:
    key, url = _key_and_url(engine, settings)
    if engine.key and not key and not url:
        own = f", or {engine.url.upper()} for your own server" if engine.url else ""
        return EngineState(engine.name, "no key", False, f"Set {engine.key.upper()}{own}.")
    if engine.needs and find_spec(engine.needs) is None:
        return EngineState(engine.name, "its package is not installed", False, INSTALL)
    if engine.key:
        return EngineState(engine.name, f"ready: your own server at {url}" if url else "ready: key set", True)
    return EngineState(engine.name, "ready: works without a key", True, needs_nothing=True)


class ReaderChain:
    """Readers of pages, each asked where those before it failed.

    Args:
        readers: The first is asked first.
    """

    name = "readers"

    def __init__(self, readers: Sequence[PageReader]) -> None:
        self._readers = tuple(readers)
        self._aside: set[str] = set()

    async def read(self, url: str) -> Page:
        """The page; where another reader than the first gave it, a note says why.

        Raises:
            WebProblem: The first reader's problem, if no reader got the page.
        """
        first: WebProblem | None = None
        for reader in self._readers:
            if reader.name in self._aside:
                continue
            try:
                page = await reader.read(url)
            except WebProblem as problem:
                if problem.reason in _NO_WAY_ROUND or problem.path is not None:
                    raise first or problem from None
                if problem.reason in _NOT_AGAIN:
                    self._aside.add(reader.name)
                first = first or problem
            else:
                if first is None:
                    return page
                return replace(page, notes=(f"It is read by {reader.name}: {first.message}", *page.notes))
        raise first or WebProblem("no_key", "No page reader is available.")

    async def aclose(self) -> None:
        """Closes the readers."""
        await close_all(self._readers)
