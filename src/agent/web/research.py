"""One search: plan, search, read the best pages, quote, ask for what is missing, check."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from agent.consent.permission import may_be_done
from agent.consent.provenance import of_query
from agent.context import Context
from agent.errors import StoppedError
from agent.store.journaled_web import JournaledWeb
from agent.web.address import canonical, source_of
from agent.web.evidence import Evidence, Quote, Source, Wanted, credibility_of, rank, relevance_of, words_of_hit
from agent.web.page import Page, Result, WebProblem
from agent.web.queries import Plan, Terms, broader, freshness_of, terms_of, usable, words_of
from agent.web.quoting import MOST_MISSING, Assessment, ReadPage, by_rule, read_closely, stating, value_in
from mcp_tools.text import one_line

_LATE = 8
"""How slowly a place further down in an engine's list loses weight."""
_BELIEVED = 0.15
"""What a level of credibility is worth beside the question's words, which weigh 1 together."""
_OF_ONE_SOURCE = 2
"""Pages of one source that are read together, while there are others."""


@dataclass(slots=True)
class _Hit:
    result: Result
    place: float
    """What its places in the lists are worth; higher is better."""
    words: float
    """The share of the question's words that it shows, and what its source is worth."""
    tried: bool = False


class Hits:
    """The pages that were named, without those that were tried."""

    def __init__(self) -> None:
        self._hits: dict[str, _Hit] = {}

    def __len__(self) -> int:
        return len(self._hits)

    def add(self, results: Sequence[Result], terms: Terms) -> None:
        """Takes the hits of one search; a page that is named again rises.

        Args:
            results: The hits, best first.
            terms: Those of what was searched for.
        """
        for place, result in enumerate(results):
            worth = _LATE / (_LATE + place)
            key = canonical(result.url)
            if key in self._hits:
                self._hits[key].place += worth
                continue
            words = terms.share(words_of_hit(result.title, result.snippet, result.url))
            believed = _BELIEVED * rank(credibility_of(result.url, terms).level)
            self._hits[key] = _Hit(result, worth, words + believed)

    def take(self, count: int, *, apart_from: Collection[str] = ()) -> list[Result]:
        """The best pages that were not tried yet, which then are.

        Args:
            count: How many at most.
            apart_from: Sources (`address.source_of`) of which none is wanted.
        """
        left = [hit for hit in self._hits.values() if not hit.tried and source_of(hit.result.url) not in apart_from]
        left.sort(key=lambda hit: -(0.5 * hit.place + hit.words))
        of_source: Counter[str] = Counter()
        first: list[_Hit] = []
        later: list[_Hit] = []
        for hit in left:
            source = source_of(hit.result.url)
            of_source[source] += 1
            (first if of_source[source] <= _OF_ONE_SOURCE else later).append(hit)
        taken = (first + later)[:count]
        for hit in taken:
            hit.tried = True
        return [hit.result for hit in taken]

    def mark(self, url: str) -> None:
        """Counts a page as tried: another address led to it."""
        if (hit := self._hits.get(canonical(url))) is not None:
            hit.tried = True


T = TypeVar("T")

HITS = 8
"""Of one search."""
FOLLOW_UPS = 2
"""Further queries where something named is missing."""
_PAGES = {"targeted": 3, "broader": 4, "verification": 4}
"""Pages that are read at first, by strategy."""
_MORE_PAGES = 2
"""Pages that are read after a follow-up, and for a second source."""
_QUOTED = 8
"""Passages of the best page that are quoted for a model that reads them all."""
_BATCHES = 2
"""Of pages, where some cannot be read."""


class Researcher(Protocol):
    """The model's part of a search."""

    async def plan(self, wanted: Wanted, context: Context) -> Plan:
        """How the search begins."""
        ...

    async def assess(self, wanted: Wanted, pages: Sequence[ReadPage], terms: Terms, context: Context) -> Assessment:
        """What the pages say, and what is missing; at least one of them has a passage."""
        ...

    async def conclude(
        self, wanted: Wanted, pages: Sequence[ReadPage], assessment: Assessment, context: Context
    ) -> Assessment:
        """The assessment after the last page was read."""
        ...


class AsAsked:
    """The query is searched for as it is written, and rules quote: the model that asked reads, and asks on itself."""

    async def plan(self, wanted: Wanted, context: Context) -> Plan:
        """One query."""
        return Plan("targeted", usable([wanted.aim]), freshness_of(wanted.aim))

    async def assess(self, wanted: Wanted, pages: Sequence[ReadPage], terms: Terms, context: Context) -> Assessment:
        """Many quotations, and no further search."""
        return replace(by_rule(wanted, pages, terms, most=_QUOTED), queries=())

    async def conclude(
        self, wanted: Wanted, pages: Sequence[ReadPage], assessment: Assessment, context: Context
    ) -> Assessment:
        """The assessment as it is."""
        return assessment


async def research(wanted: Wanted, context: Context, web: JournaledWeb, researcher: Researcher) -> Evidence:
    """What the web says about it; what a limit of the run ended is given as far as it came.

    Args:
        wanted: What is to be found out.
        context: The models that are asked, and the run's budget.
        web: Searches and reads.
        researcher: The model's part.
    """
    inquiry = _Inquiry(wanted, context, web, researcher)
    try:
        await inquiry.run()
    except StoppedError as stopped:
        inquiry.evidence.failed.append(stopped.message)
    inquiry.conclude()
    return inquiry.evidence


class _Inquiry:
    """One search under way."""

    def __init__(self, wanted: Wanted, context: Context, web: JournaledWeb, researcher: Researcher) -> None:
        self.evidence = Evidence()
        self._wanted = wanted
        self._context = context
        self._web = web
        self._researcher = researcher
        self._terms = terms_of(wanted.aim)
        self._hits = Hits()
        self._pages: list[ReadPage] = []
        self._assessment = Assessment()
        self._is_assessed = False
        self._checked: dict[str, Quote] = {}
        """By address, the quotation in which each source states the answer."""

    async def run(self) -> None:
        """From the plan to the second source."""
        plan = await self._researcher.plan(self._wanted, self._context)
        self.evidence.strategy = plan.strategy
        await self._round(plan.queries, _PAGES[plan.strategy], plan.freshness)
        if not any(read.passages for read in self._pages):
            wider = [broader(query, self._terms) for query in plan.queries]
            await self._round([query for query in wider if query], _PAGES["broader"])
        self._assessment = await self._assessed()
        self._is_assessed = True
        await self._follow_up()
        await self._confirm()

    async def _round(self, queries: Sequence[str], pages: int, freshness: str = "") -> bool:
        """Searches and reads; whether anything new was read."""
        new = [query for query in queries if query not in self.evidence.queries]
        self.evidence.queries += new
        terms = terms_of(" ".join([self._wanted.aim, *new])) if self._pages else self._terms
        for results in await _all(*(self._search(query, freshness) for query in new)):
            self._hits.add(results, terms)
        return await self._read(pages, terms)

    async def _search(self, query: str, freshness: str) -> list[Result]:
        origins = self._wanted.origins
        is_ruled = query == self._wanted.query
        if not is_ruled and not await may_be_done(
            of_query(query, origins), "search", f"search {query}", origins.wanted, self._context
        ):
            return []
        try:
            return await self._web.search(query, limit=HITS, freshness=freshness)
        except WebProblem as problem:
            self.evidence.failed.append(f"search {query!r}: {one_line(problem.message, 160)}")
            return []

    async def _read(self, count: int, terms: Terms, apart_from: Collection[str] = ()) -> bool:
        """Reads so many of the best pages, others in place of those that cannot be read.

        Args:
            count: How many.
            terms: What is looked for in them.
            apart_from: Sources of which none is wanted.
        """
        before = len(self._pages)
        summaries: list[Result] = []
        for _ in range(_BATCHES):
            batch = self._hits.take(count - (len(self._pages) - before), apart_from=apart_from)
            for result, page in zip(batch, await _all(*map(self._page, batch)), strict=True):
                if page is None:
                    summaries.append(result)
                elif canonical(page.url) not in {canonical(read.page.url) for read in self._pages}:
                    self._hits.mark(page.url)
                    self._pages.append(read_closely(page, terms, self._wanted.question))
        if len(self._pages) == before:  # what the engines say of pages is better than nothing
            self._pages += [self._summary(result, terms) for result in summaries if result.snippet.strip()]
        return len(self._pages) > before

    async def _page(self, result: Result) -> Page | None:
        try:
            return await self._web.read(result.url)
        except WebProblem as problem:
            self.evidence.failed.append(f"{result.url}: {one_line(problem.message, 160)}")
            return None

    def _summary(self, result: Result, terms: Terms) -> ReadPage:
        page = Page(result.url, result.title, result.snippet, via="summary", published=result.published)
        return read_closely(page, terms, self._wanted.question)

    async def _follow_up(self) -> None:
        """Asks on while something named is missing, at most twice."""
        asked = 0
        while asked < FOLLOW_UPS and (queries := self._assessment.queries[: FOLLOW_UPS - asked]):
            asked += len(queries)
            if not await self._round(queries, _MORE_PAGES):
                break
            self._assessment = await self._assessed()
        self._assessment = await self._researcher.conclude(self._wanted, self._pages, self._assessment, self._context)

    async def _assessed(self) -> Assessment:
        if not any(read.passages for read in self._pages):
            return Assessment(missing=list(self._terms.names)[:MOST_MISSING])
        return await self._researcher.assess(self._wanted, self._pages, self._terms, self._context)

    async def _confirm(self) -> None:
        """Looks for a second source of the answer: among what was read, among the hits, by a search of its own."""
        value = value_in(self._assessment.answer)
        if not value:
            return
        for query in ("", f"{words_of(self._wanted.aim)} {value}"):
            if len(stating(self._pages, value, self._terms)) > 1:
                break
            if query:
                self.evidence.queries.append(query)
                self._hits.add(await self._search(query, ""), self._terms)
            await self._read(_MORE_PAGES, self._terms, {source_of(read.page.url) for read in self._pages})
        found = stating(self._pages, value, self._terms)
        self._checked = {read.page.url: scored.passage.quote for read, scored in found}

    def conclude(self) -> None:
        """Fills the evidence from what was read and assessed; rules choose where the search ended before."""
        if not self._is_assessed:
            self._assessment = by_rule(self._wanted, self._pages, self._terms)
        evidence, found = self.evidence, self._assessment
        evidence.hits, evidence.read = len(self._hits), len(self._pages)
        evidence.answer, evidence.missing, evidence.differ = found.answer, found.missing, found.differ
        evidence.sources = self._numbered([read for read in self._pages if self._quotes(read)])
        evidence.checked = self._told_of_check()

    def _quotes(self, read: ReadPage) -> tuple[Quote, ...]:
        """What is quoted of a page; where it states the answer, that comes first."""
        quotes = self._assessment.quotes.get(read.page.url, ())
        checked = self._checked.get(read.page.url)
        return quotes if checked is None else (checked, *(quote for quote in quotes if quote != checked))

    def _numbered(self, pages: Sequence[ReadPage]) -> list[Source]:
        """The sources, best first; one that the run knows already keeps its number."""
        numbers = {canonical(source["url"]): source["number"] for source in self._wanted.known}
        sources = sorted((self._source(read) for read in pages), key=_worth, reverse=True)
        for source in sources:
            numbers.setdefault(canonical(source.url), max(numbers.values(), default=0) + 1)
        return [replace(source, number=numbers[canonical(source.url)]) for source in sources]

    def _source(self, read: ReadPage) -> Source:
        page = read.page
        return Source(
            number=0,
            url=page.url,
            title=page.title,
            relevance=relevance_of(read.stems, self._terms),
            credibility=credibility_of(page.url, self._terms),
            quotes=self._quotes(read),
            published=page.published,
            via=page.via,
        )

    def _told_of_check(self) -> str:
        """Whether independent sources agree, in a sentence that cites them."""
        numbers = [source.number for source in self.evidence.sources if source.url in self._checked]
        cited = ", ".join(f"[{number}]" for number in sorted(numbers))
        if len(numbers) > 1:
            return f"Independent sources state {self.evidence.answer!r}: {cited}."
        if numbers:
            return f"Only {cited} states {self.evidence.answer!r}; a second, independent source was not found."
        return ""


def _worth(source: Source) -> tuple[int, int]:
    return rank(source.relevance.level), rank(source.credibility.level)


async def _all(*calls: Awaitable[T]) -> list[T]:
    """The results of concurrent calls in their order; all have ended when one raises."""
    done = await asyncio.gather(*calls, return_exceptions=True)
    results: list[T] = []
    for outcome in done:
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results
