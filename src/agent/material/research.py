"""A search: reads and quotes the best pages that the queries find, then searches again for missing names."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from agent.answer import has_words
from agent.consent.permission import refusal_of_action
from agent.consent.rulings import judge_query
from agent.errors import StoppedError
from agent.material.research_request import ResearchRequest
from agent.web.address import canonical, source_of
from agent.web.evidence import LEVELS, Evidence, Quote, QuotedPage, credibility_of, relevance_of
from agent.web.page import Page, SearchHit, WebProblem
from agent.web.queries import Terms, broader, freshness_of, stems_of, terms_of, usable, words_of
from agent.web.quoting import ReadPage, read_closely
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.context import Context

T = TypeVar("T")
Quotes: TypeAlias = Mapping[str, tuple[Quote, ...]]  # quotations by page address, most relevant first

HITS = 8  # maximum results per search
_PAGES = 3  # pages to read at first; one more if nothing was found
_MORE_PAGES = 2  # pages to read after a follow-up query
_BATCHES = 2  # batches of pages to try if some cannot be read
_LATE = 8  # how slowly results lose weight further down the list
_BELIEVED = 0.15  # weight of a credibility level; the question's words together have weight 1
_OF_ONE_SOURCE = 2  # maximum pages of one source per batch, if there are other sources
_MOST_MISSING = 3


@dataclass(slots=True)
class _Hit:
    result: SearchHit
    words: float  # share of the question's words in the result, plus the weight of its source
    place: float = 0.0  # weight of the result's places in the lists
    tried: bool = False


class Hits:
    """The search results, by canonical address."""

    def __init__(self) -> None:
        self._hits: dict[str, _Hit] = {}

    def __len__(self) -> int:
        return len(self._hits)

    def add(self, results: Sequence[SearchHit], terms: Terms) -> None:
        """Add the results of a search, best first. A page that is found again ranks higher."""
        for place, result in enumerate(results):
            if (hit := self._hits.get(canonical(result.url))) is None:
                url = result.url.replace("/", " ").replace("-", " ").replace("_", " ")
                words = terms.share(stems_of(f"{result.title} {result.snippet} {url}"))
                hit = _Hit(result, words + _BELIEVED * credibility_of(result.url).rank)
                self._hits[canonical(result.url)] = hit
            hit.place += _LATE / (_LATE + place)

    def take(self, count: int) -> list[SearchHit]:
        """Return at most this many of the best untried pages, and mark them as tried."""
        left = [hit for hit in self._hits.values() if not hit.tried]
        left.sort(key=lambda hit: -(0.5 * hit.place + hit.words))
        of_source: Counter[str] = Counter()
        first: list[_Hit] = []
        later: list[_Hit] = []
        for hit in left:
            of_source[source := source_of(hit.result.url)] += 1
            (first if of_source[source] <= _OF_ONE_SOURCE else later).append(hit)
        taken = (first + later)[:count]
        for hit in taken:
            hit.tried = True
        return [hit.result for hit in taken]

    def mark(self, url: str) -> None:
        """Mark a page as tried, because another address led to it."""
        if (hit := self._hits.get(canonical(url))) is not None:
            hit.tried = True


async def research(
    wanted: ResearchRequest,
    context: Context,
    queries: Sequence[str],
    *,
    quotes: int = 3,
    follow_ups: int = 2,
    answer: Callable[[Sequence[ReadPage], Quotes], Awaitable[str]] | None = None,
) -> Evidence:
    """Return evidence from the web; at a limit of the run, the evidence so far.

    Args:
        wanted: The request.
        context: The context of the run.
        queries: The first queries.
        quotes: Number of quotations from the best page. Each further page gets one fewer.
        follow_ups: Number of further queries if names are missing.
        answer: Copies the answer from the quotations. The result is empty if they do not state it.
    """
    inquiry = _Inquiry(wanted, context, quotes)
    try:
        await inquiry.run(queries, follow_ups)
        if answer is not None and any(inquiry.quotes.values()):
            inquiry.evidence.answer = await answer(inquiry.pages, inquiry.quotes)
    except StoppedError as stopped:
        inquiry.evidence.failed.append(stopped.message)
    inquiry.conclude()
    return inquiry.evidence


class _Inquiry:
    """One search in progress."""

    def __init__(self, wanted: ResearchRequest, context: Context, most: int) -> None:
        self.evidence = Evidence()
        self.pages: list[ReadPage] = []
        self.quotes: dict[str, tuple[Quote, ...]] = {}
        self._wanted = wanted
        self._context = context
        self._most = most
        self._terms = terms_of(wanted.aim)
        self._hits = Hits()

    async def run(self, queries: Sequence[str], follow_ups: int) -> None:
        """Run the search, from the first queries to the last follow-up."""
        await self._round(queries, _PAGES, freshness_of(self._wanted.aim))
        if not any(read.passages for read in self.pages):
            await self._round([broader(query, self._terms) for query in queries], _PAGES + 1)
        self._assess()
        while follow_ups > 0 and (more := self._missing_queries()[:follow_ups]):
            follow_ups -= len(more)
            if not await self._round(more, _MORE_PAGES):
                break
            self._assess()

    async def _round(self, queries: Iterable[str], pages: int, freshness: str = "") -> bool:
        """Search and read; return True if anything new was read."""
        new = [query for query in queries if query and query not in self.evidence.queries]
        self.evidence.queries += new
        terms = terms_of(" ".join([self._wanted.aim, *new])) if self.pages else self._terms
        for results in await _all(*(self._search(query, freshness) for query in new)):
            self._hits.add(results, terms)
        return await self._read(pages, terms)

    async def _search(self, query: str, freshness: str) -> list[SearchHit]:
        origins = self._wanted.origins
        is_ruled = query == self._wanted.query
        if not is_ruled and await refusal_of_action(
            judge_query(query, origins), "search", f"search {query}", origins.wanted, self._context
        ):
            return []
        try:
            return await self._context.web.search(query, limit=HITS, freshness=freshness, source=self._wanted.source)
        except WebProblem as problem:
            self.evidence.failed.append(f"search {query!r}: {one_line(problem.message, 160)}")
            return []

    async def _read(self, count: int, terms: Terms) -> bool:
        """Read this many of the best pages, replacing unreadable ones. Return True if any page was read."""
        before = len(self.pages)
        summaries: list[SearchHit] = []
        for _ in range(_BATCHES):
            batch = self._hits.take(count - (len(self.pages) - before))
            for result, page in zip(batch, await _all(*map(self._page, batch)), strict=True):
                if page is None:
                    summaries.append(result)
                elif canonical(page.url) not in {canonical(read.page.url) for read in self.pages}:
                    self._hits.mark(page.url)
                    self.pages.append(read_closely(page, terms, self._wanted.question))
        if len(self.pages) == before:  # the engines' snippets are better than nothing
            for hit in summaries:
                if hit.snippet.strip():
                    page = Page(hit.url, hit.title, hit.snippet, via="summary", published=hit.published)
                    self.pages.append(read_closely(page, terms, self._wanted.question))
        return len(self.pages) > before

    async def _page(self, result: SearchHit) -> Page | None:
        try:
            return await self._context.web.read(result.url)
        except WebProblem as problem:
            self.evidence.failed.append(f"{result.url}: {one_line(problem.message, 160)}")
            return None

    def _assess(self) -> None:
        """Choose the best passages of each page, and note names from the question that no passage has."""
        there: set[str] = set()
        for place, read in enumerate(sorted(self.pages, key=lambda read: -read.best)):
            chosen = read.passages[: self._most - (place > 0)]
            self.quotes[read.page.url] = tuple(scored.passage for scored in chosen)
            there.update(stems_of(read.page.title), *(scored.stems for scored in chosen))
        missing = [name for name in self._terms.lacking(there) if not name.isdigit()]
        self.evidence.missing = missing[:_MOST_MISSING]

    def _missing_queries(self) -> Sequence[str]:
        """Return a query for each missing name: the name, then the words of the question."""
        if not any(read.passages for read in self.pages):
            return ()
        queries = []
        for name in self.evidence.missing:
            others = [word for word in words_of(self._wanted.aim).replace('"', "").split() if word not in name]
            queries.append(" ".join([f'"{name}"' if " " in name else name, *others[:3]]))
        return usable(queries)

    def conclude(self) -> None:
        """Fill the evidence from the pages read so far. Quotations that state the answer come first for each page."""
        if self.pages and not self.quotes:
            self._assess()
        self.evidence.hits, self.evidence.read = len(self._hits), len(self.pages)
        found = [
            (read.page, relevance_of(read.stems, self._terms, stems_of(read.page.title)), credibility_of(read.page.url))
            for read in self.pages
            if self.quotes.get(read.page.url)
        ]
        found.sort(key=lambda one: (LEVELS.index(one[1]), one[2].rank), reverse=True)
        numbers = {canonical(source["url"]): source["number"] for source in self._wanted.known}
        for page, relevance, credibility in found:  # a source that the run already knows keeps its number
            number = numbers.setdefault(canonical(page.url), max(numbers.values(), default=0) + 1)
            quotes = sorted(self.quotes[page.url], key=lambda quote: not has_words(quote.text, self.evidence.answer))
            self.evidence.sources.append(
                QuotedPage(
                    number, page.url, page.title, relevance, credibility, tuple(quotes), page.published, page.via
                )
            )


async def _all(*calls: Awaitable[T]) -> list[T]:
    """Return the results of concurrent calls in order. An error is raised only after all calls have ended."""
    results: list[T] = []
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results
