"""What the pages say: which passages are quoted, what they answer, and what is still missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.web.specialist.evidence import Quote, Wanted
from agent.web.specialist.planning import usable, words_of
from agent.web.specialist.quoting import ReadPage
from agent.web.specialist.terms import Terms, stems_of

MOST_MISSING = 3


@dataclass(slots=True)
class Assessment:
    """What was made of the pages."""

    quotes: dict[str, tuple[Quote, ...]] = field(default_factory=dict)
    """By the page's address; the most telling first."""
    answer: str = ""
    """Copied from a quotation; empty where none states it."""
    missing: list[str] = field(default_factory=list)
    queries: tuple[str, ...] = ()
    """What would find what is missing."""
    differ: str = ""
    """Where sources contradict each other, in a sentence."""


def by_rule(wanted: Wanted, pages: Sequence[ReadPage], terms: Terms, *, most: int = 3) -> Assessment:
    """The best passages of each page; what is named in the question and in none of them is missing.

    Args:
        wanted: What is to be found out.
        pages: What was read.
        terms: What is looked for in them.
        most: Quotations of the best page; of each other page one less.
    """
    ordered = sorted(pages, key=lambda read: -best_score(read))
    quotes = {
        read.page.url: tuple(scored.passage.quote for scored in read.passages[: most - (place > 0)])
        for place, read in enumerate(ordered)
    }
    there = {stem for read in pages for stem in _stems_quoted(read, quotes[read.page.url])}
    missing = [name for name in terms.lacking(there) if not name.isdigit()][:MOST_MISSING]
    return Assessment(quotes, missing=missing, queries=usable([_query_for(name, wanted.aim) for name in missing]))


def best_score(read: ReadPage) -> float:
    """The score of a page's best passage."""
    return read.passages[0].score if read.passages else 0.0


def _stems_quoted(read: ReadPage, quotes: Sequence[Quote]) -> set[str]:
    """The words of what is quoted of a page, and of what stands above it."""
    texts = {quote.text for quote in quotes}
    return {stem for scored in read.passages if scored.passage.text in texts for stem in scored.stems} | set(
        stems_of(read.page.title)
    )


def _query_for(name: str, aim: str) -> str:
    """A query for something that was found nowhere: its name first, then what is asked of it."""
    others = [word for word in words_of(aim).replace('"', "").split() if word not in name]
    return " ".join([f'"{name}"' if " " in name else name, *others[:3]])
