"""Firecrawl v2, hosted or the user's own server. It searches and reads pages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, TypeVar

from agent.models.failures import retry_after
from agent.web.engines.services import Service, missing_package
from agent.web.guard import read_address
from agent.web.http import Http
from agent.web.page import Page, SearchEngine, SearchHit, WebProblem
from agent.web.proxy import proxy_problem
from agent.web.reading.block_pages import wall_of
from agent.web.reading.source import number_links
from agent.web.response import connection_problem
from mcp_tools.text import printable

T = TypeVar("T")

HOSTED = "https://api.firecrawl.dev"
_TBS = {"day": "qdr:d", "week": "qdr:w", "month": "qdr:m", "year": "qdr:y"}
_MAX_QUERY_CHARS = 500  # limit of its API
_MAX_PAGE_CHARS = 2_000_000
_MAX_CACHE_AGE_MS = 3_600_000
_DOWN_SECONDS = 30.0  # after a connection problem, no page is requested for this long
_KINDS = {"application/pdf": "pdf", "text/csv": "csv", "application/json": "json", "text/plain": "txt"}


class Firecrawl(SearchEngine):
    """A search engine and a reader of pages.

    Args:
        http: Client with the guard. Firecrawl only reads addresses that alita may open itself.
        url: Base address of the user's own server; empty for the hosted one.
        key: API key; empty for a server without keys.
        seconds: Time limit of one request.
    """

    name = "firecrawl"

    def __init__(self, http: Http, url: str = "", *, key: str = "", seconds: float = 60.0) -> None:
        self._service = Service(self.name, url or HOSTED, key, "FIRECRAWL_API_KEY")
        self._seconds = seconds
        self._milliseconds = int(max(1000.0, min(seconds * 900, 300_000)))
        """Firecrawl's own time limit, a little shorter than ours."""
        self._guard = http.guard
        self._client: Any = None
        self._down: tuple[WebProblem, float] | None = None  # the connection problem, and when to try again

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[SearchHit]:
        """See `SearchEngine.search`."""
        client = await self._opened()
        found = await self._call(
            lambda: client.search(
                query[:_MAX_QUERY_CHARS],
                limit=max(1, min(limit, 100)),
                sources=["web"],
                tbs=_TBS.get(freshness),
                timeout=self._milliseconds,
            )
        )
        return [
            SearchHit(one.url, one.title or "", one.description or "", self.name)
            for one in found.web or ()
            if isinstance(getattr(one, "url", None), str)
        ]

    async def read(self, url: str) -> Page:
        """See `PageReader.read`."""
        await self._ask_guard(url)
        if self._down is not None and time.monotonic() < self._down[1]:
            raise self._down[0]
        client = await self._opened()
        document = await self._call(
            lambda: client.scrape(
                url,
                auto_resume=False,
                formats=[{"type": "markdown"}],
                only_main_content=True,
                skip_tls_verification=False,
                max_age=_MAX_CACHE_AGE_MS,
                timeout=self._milliseconds,
            ),
            reading=True,
        )
        page = self._page(url, document)
        if page.url != url:
            await self._ask_guard(page.url)  # after redirects
        return page

    async def aclose(self) -> None:
        """Close connections."""
        if self._client is not None:
            await self._client.async_http_client.close()
            self._client = None

    async def _opened(self) -> Any:
        if self._client is None:
            try:  # the import takes a second, too long for the event loop
                sdk: Any = await asyncio.to_thread(import_module, "firecrawl.v2.client_async")
            except ImportError:
                raise missing_package(self.name) from None
            # An empty key, since for None the SDK reads the environment.
            more = {"timeout": self._seconds, "max_retries": 2, "origin": "alita"}
            try:
                self._client = self._client or sdk.AsyncFirecrawlClient(
                    api_key=self._service.key, api_url=self._service.url, **more
                )
            except (ImportError, ValueError):  # the environment names an unusable proxy
                raise proxy_problem() from None
        return self._client

    async def _call(self, call: Callable[[], Awaitable[T]], *, reading: bool = False) -> T:
        """Call the SDK and turn its exceptions into a WebProblem of the API or of the page."""
        import httpx
        from firecrawl.v2.utils.error_handler import FirecrawlError  # type: ignore[import-untyped]  # it has no types

        try:
            async with asyncio.timeout(self._seconds):
                return await call()
        except FirecrawlError as error:
            status = error.status_code or 0
            try:  # the server's message, without the text that the SDK adds
                said = str(error.response.json()["error"])
            except (AttributeError, KeyError, TypeError, ValueError):
                said = str(error)
            if reading and status not in (401, 402, 429):
                message = f"Firecrawl could not get the page: {self._service.shown(said)}"
                remedy = "Read the page in another way, or look for another page."
                raise WebProblem("timeout" if status == 408 else "http", message, remedy=remedy) from None
            if 0 < status < 300:
                raise self._service.nonsense(said) from None
            after = retry_after(error.response.headers) if error.response is not None else None
            raise self._service.refused(status, said, after) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, TimeoutError, OSError) as error:
            problem = self._service.problem(connection_problem(self._service.host, error, self._seconds))
            self._down = problem, time.monotonic() + _DOWN_SECONDS
            raise problem from None
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            # The SDK does not validate responses, so an unexpected one may raise any exception.
            raise self._service.nonsense(f"{type(error).__name__}: {error}") from None

    async def _ask_guard(self, url: str) -> None:
        """Raise WebProblem for an address that alita would not open itself."""
        address = read_address(url)
        # A server in the user's network may resolve names that this machine cannot. So it only gets names that were
        # checked here. The hosted server cannot reach that network.
        is_hosted = self._service.url == HOSTED
        look_up = self._guard.known_addresses if is_hosted else self._guard.addresses
        await look_up(address.host, address.port or (443 if address.scheme == "https" else 80))

    def _page(self, url: str, document: Any) -> Page:
        facts, whole = document.metadata, document.markdown or ""
        status = getattr(facts, "status_code", None) or 200
        at = getattr(facts, "url", None) or url
        markdown, links = number_links(printable(whole[:_MAX_PAGE_CHARS]), at)
        kind = _KINDS.get((getattr(facts, "content_type", None) or "").partition(";")[0].strip(), "html")
        if kind == "html" and (wall := wall_of(markdown, at, status=status)):
            raise wall
        if status >= 400:
            raise WebProblem("http", f"{at} returned status {status}", remedy="Look for another page.")
        if not markdown.strip():
            raise WebProblem("no_result", f"Firecrawl found no text at {at}", remedy="Read the page in another way.")
        notes = [f"Firecrawl: {document.warning}"] if document.warning else []
        if len(whole) > _MAX_PAGE_CHARS:
            notes.append(f"Only the first {_MAX_PAGE_CHARS:,} characters are shown.")
        read, there = getattr(facts, "num_pages", None), getattr(facts, "total_pages", None)
        if read and there and there > read:
            notes.append(f"Only {read} of {there} pages were read.")
        return Page(
            url=at,
            title=printable(getattr(facts, "title", None) or ""),
            markdown=markdown,
            links=links,
            kind=kind,
            via=self.name,
            fetched=getattr(facts, "cached_at", None) or datetime.now(UTC).isoformat(timespec="seconds"),
            published=(getattr(facts, "published_time", None) or "")[:10],
            notes=tuple(notes),
        )
