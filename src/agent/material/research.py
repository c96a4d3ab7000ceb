"""One search: read the best pages that the queries find, quote them, and search again for what is missing."""

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
from agent.web.evidence import LEVELS, Evidence, Quote, Source, credibility_of, relevance_of
from agent.web.page import Page, Result, WebProblem
from agent.web.queries import Terms, broader, freshness_of, stems_of, terms_of, usable, words_of
from agent.web.quoting import ReadPage, read_closely
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.context import Context

T = TypeVar("T")
Quotes: TypeAlias = Mapping[str, tuple[Quote, ...]]  # by the page's address; the most telling first

HITS = 8  # of one search
_PAGES = 3  # pages that are read at first; one more where nothing was found
_MORE_PAGES = 2  # pages that are read after a follow-up
_BATCHES = 2  # of pages, where some cannot be read
_LATE = 8  # how slowly a place further down in an engine's list loses weight
_BELIEVED = 0.15  # weight of a level of credibility; the question's words together weigh 1
_OF_ONE_SOURCE = 2  # pages of one source that are read together, while there are others
_MOST_MISSING = 3


@dataclass(slots=True)
class _Hit:
    result: Result
    words: float  # the share of the question's words that it shows, and what its source is worth
    place: float = 0.0  # what its places in the lists are worth; higher is better
    tried: bool = False


class Hits:
    """The pages that were named, by their canonical address."""

    def __init__(self) -> None:
        self._hits: dict[str, _Hit] = {}

    def __len__(self) -> int:
        return len(self._hits)

    def add(self, results: Sequence[Result], terms: Terms) -> None:
        """Add the results of one search, best first. A page that is found again ranks higher."""
        for place, result in enumerate(results):
            if (hit := self._hits.get(canonical(result.url))) is None:
                url = result.url.replace("/", " ").replace("-", " ").replace("_", " ")
                words = terms.share(stems_of(f"{result.title} {result.snippet} {url}"))
                hit = _Hit(result, words + _BELIEVED * credibility_of(result.url).rank)
                self._hits[canonical(result.url)] = hit
            hit.place += _LATE / (_LATE + place)

    def take(self, count: int) -> list[Result]:
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
        context: The run's web, consent and budget.
        queries: The first queries.
        quotes: Quotations of the best page; of each other page one less.
        follow_ups: Further queries where something named is missing.
        answer: Copies the answer from the quotations; empty where they do not state it.
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

    async def _search(self, query: str, freshness: str) -> list[Result]:
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
        """Read this many of the best pages, and others in place of unreadable ones; return True if one was read."""
        before = len(self.pages)
        summaries: list[Result] = []
        for _ in range(_BATCHES):
            batch = self._hits.take(count - (len(self.pages) - before))
            for result, page in zip(batch, await _all(*map(self._page, batch)), strict=True):
                if page is None:
                    summaries.append(result)
                elif canonical(page.url) not in {canonical(read.page.url) for read in self.pages}:
                    self._hits.mark(page.url)
                    self.pages.append(read_closely(page, terms, self._wanted.question))
        if len(self.pages) == before:  # what the engines say of pages is better than nothing
            for hit in summaries:
                if hit.snippet.strip():
                    page = Page(hit.url, hit.title, hit.snippet, via="summary", published=hit.published)
                    self.pages.append(read_closely(page, terms, self._wanted.question))
        return len(self.pages) > before

    async def _page(self, result: Result) -> Page | None:
        try:
            return await self._context.web.read(result.url)
        except WebProblem as problem:
            self.evidence.failed.append(f"{result.url}: {one_line(problem.message, 160)}")
            return None

    def _assess(self) -> None:
        """Take the best passages of each page; names of the question that no passage has are missing."""
        there: set[str] = set()
        for place, read in enumerate(sorted(self.pages, key=lambda read: -read.best)):
            chosen = read.passages[: self._most - (place > 0)]
            self.quotes[read.page.url] = tuple(scored.passage for scored in chosen)
            there.update(stems_of(read.page.title), *(scored.stems for scored in chosen))
        missing = [name for name in self._terms.lacking(there) if not name.isdigit()]
        self.evidence.missing = missing[:_MOST_MISSING]

    def _missing_queries(self) -> Sequence[str]:
        """Return queries for the missing names: the name first, then the words of the question."""
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
        for page, relevance, credibility in found:  # a source that the run knows already keeps its number
            number = numbers.setdefault(canonical(page.url), max(numbers.values(), default=0) + 1)
            quotes = sorted(self.quotes[page.url], key=lambda quote: not has_words(quote.text, self.evidence.answer))
            self.evidence.sources.append(
                Source(number, page.url, page.title, relevance, credibility, tuple(quotes), page.published, page.via)
            )


async def _all(*calls: Awaitable[T]) -> list[T]:
    """Return the results of concurrent calls in order. If one raises, the others have ended, too."""
    results: list[T] = []
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results
