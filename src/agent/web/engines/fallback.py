"""Engines in order: the first that finds something answers; the others stand behind it."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from agent.events import Event, WebSearched
from agent.web.address import is_address
from agent.web.page import Reason, Result, Search, WebProblem
from mcp_tools.text import one_line, printable

_RESTS: dict[Reason, float] = {
    **dict.fromkeys(("no_key", "bad_key", "quota", "tls"), math.inf),
    **dict.fromkeys(("rate_limit", "dns", "mismatch"), 60.0),
    **dict.fromkeys(("connection", "timeout"), 30.0),
}
"""Seconds for which an engine is not asked, where it does not say how long; some problems stay for the whole run."""
_PATIENCE = 20.0
"""Seconds that a search waits for an engine that rests, when no other gave anything."""
_LONGEST_QUERY = 1000
"""Characters; a question with a file pasted into it is no query."""
_TITLE, _SNIPPET = 300, 1500
"""Characters that are kept of a hit."""


class Engines:
    """Search engines that are tried in order.

    A failure, and a search that found nothing, is reported as `WebSearched` with `ok=False`; a success is reported by
    the caller, who knows what of it is shown. Searches are remembered for the run.

    Args:
        engines: The first is asked first.
        tell: Gets the events.
    """

    name = "engines"

    def __init__(self, engines: Sequence[Search], tell: Callable[[Event], None]) -> None:
        self._engines = tuple(engines)
        self._tell = tell
        self._aside: dict[str, tuple[WebProblem, float]] = {}
        """Engines that are not asked: why, and until when by the monotonic clock."""
        self._found: dict[tuple[str, int, str], list[Result]] = {}
        self._locks: dict[tuple[str, int, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def names(self) -> tuple[str, ...]:
        """The engines in order."""
        return tuple(engine.name for engine in self._engines)

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[Result]:
        """The hits of the first engine that has any; an empty list when all that could be asked found nothing.

        Args:
            query: What to look for.
            limit: How many hits at most.
            freshness: `day`, `week`, `month` or `year`; empty for any age.

        Raises:
            WebProblem: The query is empty, or no engine could be asked.
        """
        asked = one_line(query, _LONGEST_QUERY)
        if not asked:
            raise WebProblem("no_result", "The query is empty.", remedy="Search for the words that matter.")
        if not self._engines:
            raise WebProblem("no_key", "There is no search engine.", remedy="Name one with ALITA_ENGINES.")
        key = (asked, limit, freshness)
        async with self._locks[key]:  # a second run with the same query waits for the first one's hits
            if key not in self._found:
                self._found[key] = await self._first(asked, limit, freshness)
        return list(self._found[key])

    async def aclose(self) -> None:
        """Closes the engines, each whatever comes of the others."""
        async with AsyncExitStack() as closing:
            for engine in self._engines:
                closing.push_async_callback(engine.aclose)

    async def _first(self, query: str, limit: int, freshness: str) -> list[Result]:
        problems: dict[str, WebProblem] = {}
        passed_over: set[str] = set()
        for engine in self._engines:
            problem, until = self._aside.get(engine.name, (None, 0.0))
            if problem is not None and until > time.monotonic():
                problems[engine.name] = problem
                passed_over.add(engine.name)
            elif hits := await self._ask(engine, query, limit, freshness, problems):
                return hits
        # Nobody has anything. An engine that named a time is waited for, within reason; one that was passed over on our
        # own guess is asked at once.
        again: list[tuple[float, Search]] = []
        for engine in self._engines:
            problem, until = self._aside.get(engine.name, (None, 0.0))
            if problem is None or math.isinf(until):
                continue
            if problem.retry_after is not None:
                again.append((until - time.monotonic(), engine))
            elif engine.name in passed_over:
                again.append((0.0, engine))
        for wait, engine in sorted(again, key=lambda one: one[0]):
            if wait > _PATIENCE:
                break
            await asyncio.sleep(max(0.0, wait))
            problems.pop(engine.name, None)
            if hits := await self._ask(engine, query, limit, freshness, problems):
                return hits
        if len(problems) == len(self._engines):
            raise _all_failed(problems)
        return []

    async def _ask(
        self, engine: Search, query: str, limit: int, freshness: str, problems: dict[str, WebProblem]
    ) -> list[Result]:
        """Asks one engine; why it gave nothing is told, and kept where it failed."""
        await wait_for_turn(engine.name, _APART.get(engine.name, 0.0))
        began = time.monotonic()
        try:
            hits = _clean(await engine.search(query, limit=limit, freshness=freshness), limit)
        except WebProblem as problem:
            problems[engine.name] = problem
            rest = _RESTS.get(problem.reason, 0.0)
            rest = rest if math.isinf(rest) else problem.retry_after or rest
            self._aside[engine.name] = problem, time.monotonic() + rest
            said = problem.message
        else:
            if hits:
                return hits
            said = "it found nothing"
        seconds = time.monotonic() - began
        self._tell(WebSearched(query, engine.name, ok=False, message=one_line(said, 300), seconds=seconds))
        return []


def _clean(results: Sequence[Result], limit: int) -> list[Result]:
    """Hits with an address that can be read, each once, and text that can be shown."""
    found: dict[str, Result] = {}
    for result in results:
        url = printable(result.url).strip()
        if not is_address(url) or url in found:
            continue
        title, snippet = one_line(result.title, _TITLE), one_line(result.snippet, _SNIPPET)
        found[url] = replace(result, url=url, title=title or url, snippet=snippet)
    return list(found.values())[: max(1, limit)]


def _all_failed(problems: dict[str, WebProblem]) -> WebProblem:
    """One problem for all: its reason is theirs where they agree, else the first one's."""
    first = next(iter(problems.values()))
    if len(problems) == 1:
        return first
    told = "; ".join(f"{name}: {problem.message}" for name, problem in problems.items())
    remedies = dict.fromkeys(problem.remedy for problem in problems.values() if problem.remedy)
    after = [problem.retry_after for problem in problems.values() if problem.retry_after]
    return WebProblem(
        first.reason,
        f"No search engine could be asked: {told}.",
        remedy=" ".join(remedies),
        retry_after=min(after) if after else None,
    )


_APART = {"ddgs": 1.0, "arxiv": 3.0}
"""Seconds between two requests of this process: arXiv asks for three, DuckDuckGo refuses who is faster for long."""
_turns: dict[str, float] = {}
_turns_lock = threading.Lock()


async def wait_for_turn(engine: str, seconds: float) -> None:
    """Returns when an engine may be asked again, so many seconds after the request before, in any thread and loop."""
    with _turns_lock:
        now = time.monotonic()
        turn = max(now, _turns.get(engine, 0.0))
        _turns[engine] = turn + seconds
    if turn > now:
        await asyncio.sleep(turn - now)
