"""Opens the configured search engines and page readers, and asks them in order."""

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
from agent.web.page import Page, PageReader, Reason, SearchEngine, SearchHit, WebProblem
from agent.web.reading.reader import WebReader
from mcp_tools.text import one_line, printable

Tell = Callable[[Event], None]
AskEngine = Callable[[SearchEngine, dict[str, WebProblem]], Awaitable[list[SearchHit]]]

_RESTS: dict[Reason, float] = {
    **dict.fromkeys(("no_key", "bad_key", "quota", "tls"), math.inf),
    **dict.fromkeys(("rate_limit", "dns", "mismatch"), 60.0),
    **dict.fromkeys(("connection", "timeout"), 30.0),
}
"""Seconds for which an engine is skipped after a problem, unless it names a time. `inf` means the whole run."""
_MAX_WAIT_SECONDS = 20.0  # for a skipped engine, if no other one found anything
_MAX_QUERY_CHARS = 1000
_MAX_TITLE_CHARS, _MAX_SNIPPET_CHARS = 300, 1500
_ROWS = {engine.name: engine for engine in ENGINES}
_turns: dict[str, float] = {}
_turns_lock = threading.Lock()
_FINAL_REASONS: tuple[Reason, ...] = ("leak", "robots", "refused_address", "private_address")
"""Problems after which no other reader may read the page either."""
_DISABLING_REASONS: tuple[Reason, ...] = ("no_key", "bad_key", "quota")  # for the whole run


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

    A failed or empty search is reported as `WebSearched` with `ok=False`. The caller reports successful ones, since it
    knows which hits are shown. Results are cached for the run.

    Args:
        engines: The engines, in the order in which they are asked.
    """

    def __init__(self, engines: Sequence[SearchEngine]) -> None:
        self._engines = tuple(engines)
        self._aside: dict[str, tuple[WebProblem, float]] = {}
        """Skipped engines: the problem, and the monotonic time at which they are asked again."""
        self._found: dict[tuple[str, int, str, str], list[SearchHit]] = {}

    async def search(
        self,
        query: str,
        tell: Callable[[WebSearched], None] = lambda event: None,
        *,
        limit: int = 8,
        freshness: str = "",
        source: str = "",
    ) -> list[SearchHit]:
        """Return the hits of the first engine that finds any; empty if none does.

        Args:
            query: The query.
            tell: Receives the events.
            limit: Maximum number of hits.
            freshness: `day`, `week`, `month` or `year`; empty for any age.
            source: Name of the only engine to ask; empty to ask all in order.

        Raises:
            WebProblem: The query is empty, the settings exclude the source, or every engine failed.
        """
        asked = one_line(query, _MAX_QUERY_CHARS)
        if not asked:
            raise WebProblem("no_result", "The query is empty.", remedy="Add words to search for.")
        if not self._engines:
            raise WebProblem("no_key", "No search engine is set up.", remedy="Set ALITA_ENGINES to a search engine.")
        engines = tuple(engine for engine in self._engines if source in ("", engine.name))
        if not engines:
            names = ", ".join(engine.name for engine in self._engines)
            message = f"{source} cannot be searched: the setting `engines` contains only {names}."
            raise WebProblem("no_key", message, remedy="Search without a source, or add it to ALITA_ENGINES.")
        key = (asked, limit, freshness, source)
        if key not in self._found:
            self._found[key] = await self._first(engines, partial(self._ask, asked, tell, limit, freshness))
        return list(self._found[key])

    async def aclose(self) -> None:
        """Close connections."""
        await close_all(self._engines)

    async def _first(self, engines: Sequence[SearchEngine], ask: AskEngine) -> list[SearchHit]:
        problems: dict[str, WebProblem] = {}
        passed_over: set[str] = set()
        for engine in engines:
            problem, until = self._aside.get(engine.name, (None, 0.0))
            if problem is not None and until > time.monotonic():
                problems[engine.name] = problem
                passed_over.add(engine.name)
            elif hits := await ask(engine, problems):
                return hits
        # Nothing was found. Wait for engines that named a time, and ask those that were skipped by our own guess.
        again = []
        for engine in engines:
            if (problem := problems.get(engine.name)) and (until := self._aside[engine.name][1]) < math.inf:
                if problem.retry_after is not None:
                    again.append((max(0.0, until - time.monotonic()), engine))
                elif engine.name in passed_over:
                    again.append((0.0, engine))
        for wait, engine in sorted(again, key=lambda one: one[0]):
            if wait > _MAX_WAIT_SECONDS:
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
        engine: SearchEngine,
        problems: dict[str, WebProblem],
    ) -> list[SearchHit]:
        """Ask one engine. Report an empty result; report and remember a failure."""
        await wait_for_turn(engine.name, _ROWS[engine.name].spacing if engine.name in _ROWS else 0.0)
        began, outcome = time.monotonic(), "it found nothing"
        try:
            if hits := _clean(await engine.search(query, limit=limit, freshness=freshness), limit):
                return hits
        except WebProblem as problem:
            problems[engine.name], outcome = problem, problem.message
            rest = _RESTS.get(problem.reason, 0.0)
            rest = rest if math.isinf(rest) else problem.retry_after or rest
            self._aside[engine.name] = problem, time.monotonic() + rest
        seconds = time.monotonic() - began
        tell(WebSearched(query, engine.name, ok=False, message=one_line(outcome, 300), seconds=seconds))
        return []


async def close_all(opened: Iterable[SearchEngine | PageReader]) -> None:
    """Close each, even if closing another one fails."""
    async with AsyncExitStack() as closing:
        for one in opened:
            closing.push_async_callback(one.aclose)


def _clean(results: Sequence[SearchHit], limit: int) -> list[SearchHit]:
    """Remove duplicates and hits with an invalid address, and clean the texts."""
    found: dict[str, SearchHit] = {}
    for result in results:
        url = printable(result.url).strip()
        if is_address(url) and url not in found:
            title, snippet = one_line(result.title, _MAX_TITLE_CHARS), one_line(result.snippet, _MAX_SNIPPET_CHARS)
            found[url] = replace(result, url=url, title=title or url, snippet=snippet)
    return list(found.values())[: max(1, limit)]


def _all_failed(problems: dict[str, WebProblem]) -> WebProblem:
    """Combine all problems into one with the reason of the first."""
    first = next(iter(problems.values()))
    if len(problems) == 1:
        return first
    reasons = "; ".join(f"{name}: {problem.message}" for name, problem in problems.items())
    remedies = dict.fromkeys(problem.remedy for problem in problems.values() if problem.remedy)
    after = [problem.retry_after for problem in problems.values() if problem.retry_after]
    message = f"All search engines failed: {reasons}."
    return WebProblem(first.reason, message, remedy=" ".join(remedies), retry_after=min(after, default=None))


class EngineState(NamedTuple):
    """The state of a search engine, as `alita doctor` shows it."""

    name: str
    state: str  # `ready: …`, or why it cannot be used
    ready: bool
    remedy: str = ""
    needs_nothing: bool = False  # True if it works without a key


def open_web(settings: Settings, folder: Path, tell: Tell, speech: Speech) -> tuple[Engines, PageReader]:
    """Return the engines and the page reader for a run. Nothing is connected yet.

    Args:
        settings: The settings, with keys and permissions.
        folder: Folder for downloads. It is created when it is needed.
        tell: Receives notes for the user.
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
    """Return the engines named in the settings, or else all that are ready.

    An engine that is named but lacks its key raises a problem when it is asked.
    """
    return Engines([_open(_ROWS[name], settings, http) for name in names_of(settings)])


def open_reader(settings: Settings, http: Http, web: PageReader) -> PageReader:
    """Return `web`, with the ready engines that read pages as fallbacks."""
    rows = (_ROWS[name] for name in names_of(settings))
    others = [_open(row, settings, http) for row in rows if row.reads_pages and _state(row, settings).ready]
    return ReaderChain([web, *others]) if others else web


def engine_states(settings: Settings) -> list[EngineState]:
    """Return the state of every engine, in the order in which they are tried. Nothing is opened."""
    return [_state(engine, settings) for engine in ENGINES]


def names_of(settings: Settings) -> tuple[str, ...]:
    """Return the names of the engines to ask, in order."""
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
    """Page readers that are tried in order until one succeeds."""

    name = "readers"

    def __init__(self, readers: Sequence[PageReader]) -> None:
        self._readers = tuple(readers)
        self._aside: set[str] = set()

    async def read(self, url: str) -> Page:
        """Return the page. If it does not come from the first reader, a note says why.

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
                if problem.reason in _FINAL_REASONS or problem.path is not None:
                    raise first or problem from None
                if problem.reason in _DISABLING_REASONS:
                    self._aside.add(reader.name)
                first = first or problem
            else:
                if first is None:
                    return page
                return replace(page, notes=(f"It is read by {reader.name}: {first.message}", *page.notes))
        raise first or WebProblem("no_key", "No page reader is available.")

    async def aclose(self) -> None:
        """Close connections."""
        await close_all(self._readers)
