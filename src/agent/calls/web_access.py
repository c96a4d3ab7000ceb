"""Web searches, pages and browser tasks of a run, with the leak guard. A replay opens no connection."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agent.browser.logins import read_logins
from agent.browser.tasks import AskModel, BrowserOutcome, BrowserTask, is_among
from agent.calls.recorder import Recorder, opened
from agent.consent.text_origins import Origins
from agent.events import PageRead, WebSearched
from agent.models.protocol import Role, Usage
from agent.records import as_plain, from_plain
from agent.user_files import numbered_folder
from agent.web.address import links_by_form
from agent.web.page import LEAK_REMEDY, Page, PageReader, SearchHit, WebProblem
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.web.engines.search_engines import Engines
    from agent.web.leak_guard import LeakGuard


T = TypeVar("T")

KIND = "web"


class RecordedWeb:
    """Searches and reads the web, or returns the recorded results. Known leaks are blocked.

    Args:
        open_web: Opens the search engines and the page reader when they are first needed; None for a replay.
        calls: Records the searches and pages.
        guard: Blocks known leaks.
    """

    def __init__(
        self,
        open_web: Callable[[], tuple[Engines, PageReader]] | None,
        calls: Recorder,
        guard: LeakGuard | None = None,
    ) -> None:
        self._open_web = open_web
        self._opened: tuple[Engines, PageReader] | None = None
        self._calls = calls
        self._guard = guard
        self._pages: dict[str, Page] = {}
        self._ahead: dict[str, asyncio.Task[Any]] = {}
        """Tasks that were started before their step, by address or query."""
        self.links: dict[str, str] = {}
        """Addresses of pages, their links and search results, by each equivalent form of the address."""
        self.texts: list[str] = []
        """Texts of search results and pages. Addresses written in these texts do not count as links."""

    def _web(self) -> tuple[Engines, PageReader]:
        self._opened = self._opened or opened(self._open_web)()
        return self._opened

    def _keep(self, url: str, page: Page) -> None:
        self._pages.setdefault(url, page)
        queried = [form.partition(": ")[0][4:] for form in page.forms if form.startswith("GET ")]
        self._link((url, page.url, *page.links, *queried))
        self.texts.append(f"{page.title}\n{page.whole}")

    def _link(self, addresses: Iterable[str]) -> None:
        new = {address: address for address in addresses if self.links.get(address) != address}
        self.links = {**links_by_form(new), **self.links, **new}

    def recall(self, addresses: Iterable[str]) -> None:
        """Treat addresses from earlier turns of the conversation as links."""
        self._link(addresses)

    def read_ahead(self, url: str) -> None:
        """Start reading a page. `read` waits for it, and raises its error."""
        self._begin(url, self.read(url))

    def search_ahead(self, query: str, *, freshness: str = "", source: str = "") -> None:
        """Start a search. The same `search` waits for it."""
        self._begin(f"search {source} {freshness} {query}", self.search(query, freshness=freshness, source=source))

    def _begin(self, key: str, work: Coroutine[Any, Any, Any]) -> None:
        if key in self._ahead:
            work.close()
        else:
            self._ahead[key] = asyncio.create_task(work)

    async def aclose(self) -> None:
        """Cancel unused tasks and close all connections."""
        for task in self._ahead.values():
            task.cancel()
        await asyncio.gather(*self._ahead.values(), return_exceptions=True)
        async with contextlib.AsyncExitStack() as closing:
            for one in self._opened or ():
                closing.push_async_callback(one.aclose)

    async def search(self, query: str, *, limit: int = 8, freshness: str = "", source: str = "") -> list[SearchHit]:
        """Return the best results of the first engine that has any, or of one source, without known leaks.

        Raises:
            WebProblem: No engine could be asked.
            StoppedError: The run's time is over.
        """
        if (begun := self._begun(f"search {source} {freshness} {query}")) is not None:
            hits: list[SearchHit] = await begun
            return hits
        if self._guard is not None and self._guard.blocks_query(query):
            raise WebProblem("leak", f"{query!r} is not searched for.", remedy=LEAK_REMEDY)
        started = time.monotonic()
        events: list[WebSearched] = []

        def report(event: WebSearched) -> None:
            events.append(event)
            self._calls.emit(event)

        async def work() -> dict[str, Any]:
            found = self._web()[0].search(query, report, limit=limit, freshness=freshness, source=source)
            done = await _outcome(found, lambda results: {"results": as_plain(tuple(results))})
            return done | {"told": as_plain(tuple(events))}

        request: dict[str, Json] = {"search": query, "limit": limit, "freshness": freshness}
        request |= {"source": source} if source else {}
        output = await self._calls.call(
            KIND,
            request,
            work,
            limit="time",
            events=lambda done: from_plain(list[WebSearched], done["told"]),
            reports_itself=True,
        )
        _raise_problem(output)
        results = from_plain(list[SearchHit], output["results"])
        shown = [found for found in results if not self._leaks(found.url, f"{found.title}\n{found.snippet}")]
        by = ", ".join(dict.fromkeys(result.source for result in shown)) or source or "all engines"
        found = [result.url for result in shown]
        self._link(found)
        self.texts += [f"{result.title}\n{result.snippet}" for result in shown]
        self._calls.emit(WebSearched(query, by, found, seconds=time.monotonic() - started))
        return shown

    def _begun(self, key: str) -> asyncio.Task[Any] | None:
        """Return and forget the task that was started ahead; None inside that task."""
        task = self._ahead.get(key)
        return None if task is None or task is asyncio.current_task() else self._ahead.pop(key)

    async def read(self, url: str) -> Page:
        """Return the page at an address. Each page is fetched only once per run.

        Raises:
            WebProblem: It could not be fetched, or is a known leak.
            StoppedError: The run's time is over.
        """
        if (begun := self._begun(url)) is not None:
            page_read: Page = await begun
            return page_read
        if url in self._pages:
            return self._pages[url]
        started = time.monotonic()
        try:
            page = await self._page_at(url)
        except WebProblem as problem:
            if problem.reason != "leak":  # a leak is already reported
                self._calls.emit(PageRead(url, ok=False, message=problem.message, seconds=time.monotonic() - started))
            raise
        self._calls.emit(PageRead(page.url, page.title, page.via, len(page.whole), seconds=time.monotonic() - started))
        self._keep(url, page)
        return page

    async def _page_at(self, url: str) -> Page:
        """Return a page unless the leak guard blocks it.

        Raises:
            WebProblem: It could not be fetched, or is a known leak.
        """
        if self._leaks(url):
            raise WebProblem("leak", f"{url} is not opened.", remedy=LEAK_REMEDY)
        output = await self._calls.call(
            KIND, {"read": url}, lambda: _outcome(self._web()[1].read(url), as_plain), limit="time"
        )
        _raise_problem(output)
        page = from_plain(Page, output)
        if self._guard is not None and await self._guard.blocks_page(page.url, f"{page.title}\n{page.whole}"):
            raise WebProblem("leak", f"{page.url} is not shown.", remedy=LEAK_REMEDY)
        return page

    def _leaks(self, url: str, text: str = "") -> bool:
        return self._guard is not None and self._guard.blocks(url, text)


async def _outcome(call: Awaitable[T], as_json: Callable[[T], dict[str, Json]]) -> dict[str, Json]:
    """Return the outcome of a call as JSON, with its problem if it failed. A resumed run does not repeat such calls."""
    try:
        return as_json(await call)
    except WebProblem as problem:
        details = {"reason": problem.reason, "message": problem.message, "remedy": problem.remedy}
        path = str(problem.path) if problem.path else None
        return {"problem": details | {"retry_after": problem.retry_after, "path": path}}


def _raise_problem(output: dict[str, Any]) -> None:
    if details := output.get("problem"):
        path = Path(details["path"]) if details.get("path") else None
        known = {name: details[name] for name in ("reason", "message", "remedy", "retry_after") if name in details}
        raise WebProblem(**known, path=path)


BROWSE = "browse"


@dataclass(frozen=True, slots=True)
class RecordedBrowser:
    """Does tasks in a browser, or returns the recorded outcomes."""

    settings: Settings
    folder: Path
    """Folder for screenshots and downloads."""
    calls: Recorder
    guard: LeakGuard | None = None

    async def do(
        self, question: str, url: str, files: tuple[Path, ...], ask: AskModel, *, origins: Origins
    ) -> BrowserOutcome:
        """Do a task, or return its recorded outcome.

        Raises:
            WebProblem: There is no browser, it does not start, or the address is a known leak.
            ModelError: The model could not be reached, or refused.
            SettingsError: The logins cannot be used.
        """
        blocks = self.guard.blocks if self.guard is not None else None
        if blocks is not None and blocks(url, ""):
            raise WebProblem("leak", f"{url} is not opened.", remedy="Use another source.")

        async def work() -> BrowserOutcome:
            settings, left = self.settings, self.calls.budget.seconds_left
            task = BrowserTask(
                question,
                url,
                hosts=settings.browser_hosts,
                files=files,
                logins=read_logins(settings.logins) if settings.logins else (),
                steps=settings.browser_steps,
                seconds=round(min(settings.browser_seconds, math.inf if left is None else left), 1),
                folder=numbered_folder(self.folder),
                wanted=origins.wanted,
                private=tuple(origins.private),
                chrome=settings.chrome,
                may_download=settings.may_download,
                allow_private=settings.allow_private,
                allow_addresses=settings.allow_addresses,
                sees=settings.sees(Role.BROWSER),
            )
            from agent.browser.operate import operate

            return await operate(task, ask, self.calls.emit, blocks)

        request: dict[str, Json] = {"task": question, "url": url, "files": [str(path) for path in files]}
        return await self.calls.call(
            BROWSE,
            request,
            work,
            form=BrowserOutcome,
            cost=lambda outcome: outcome.usage or Usage(),
            events=lambda outcome: outcome.steps,
            reports_itself=True,  # the calls of the browser's model are recorded separately
        )

    def may_open(self, url: str) -> bool:
        """Return True if an address is at one of the hosts that the user allows."""
        return is_among(url, self.settings.browser_hosts)

    @property
    def has_logins(self) -> bool:
        """True if the browser can use stored logins."""
        return self.settings.logins is not None
