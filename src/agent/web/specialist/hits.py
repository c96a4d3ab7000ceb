"""What the engines named: each page once, the most promising first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agent.web.address import canonical, source_of
from agent.web.page import Result
from agent.web.specialist.credibility import credibility_of, rank, words_of_hit
from agent.web.specialist.terms import Terms

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
