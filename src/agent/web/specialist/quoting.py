"""What the pages say, by rule: the passages that bear on a question, what is missing, and who says the same."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.web.address import source_of
from agent.web.page import Page
from agent.web.specialist.evidence import Quote, Wanted
from agent.web.specialist.passages import Passage, passages_of
from agent.web.specialist.planning import usable, words_of
from agent.web.specialist.terms import Terms, stem_of, stems_of

_ABOVE = 0.6
"""What a word counts that stands in the heading or the paragraph before, and not in the passage."""
_IN_TITLE = 0.35
_FIT = 1.5
"""What it counts that a passage holds the kind of thing that is asked for: a number, a date, a person."""
_LONGEST_PAGE = 4_000
"""Passages of one page that are looked at."""
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b|\b\d{1,2}[./ ](?:\d{1,2}|[A-Z][a-z]{2,8})\b")
_PERSON = re.compile(r"[A-ZÀ-ÖØ-Þ][\w'’-]+\s+(?:[A-Z]\.\s*|(?:van|von|de|der|da|di|al)\s+)*[A-ZÀ-ÖØ-Þ][\w'’-]+")
_KINDS = (
    (re.compile(r"\bwhen\b|\b(?:what|which|in what|in which) (?:year|date|day|month|century)\b", re.IGNORECASE), _YEAR),
    (
        re.compile(
            r"\bhow (?:many|much|high|tall|long|old|far|deep|large|big|fast|heavy|wide|often)\b"
            r"|\bwhat (?:is|was|are) the (?:number|price|cost|height|length|area|population|depth|weight|speed|distance"
            r"|age|rate|version|size)\b",
            re.IGNORECASE,
        ),
        _DIGIT,
    ),
    (re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE), _PERSON),
)
_SHARE = 0.4
"""Of the question's weight, what must stand around a value for it to be the one that is meant."""
_NUMBER = re.compile(r"[-+−]?\d[\d.,:]*\d|\d")
_MOST_WORDS = 6
"""An answer with more words is no single fact that two sources would state alike."""
MOST_MISSING = 3


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage and how much it bears on the question; higher is better."""

    passage: Passage
    score: float
    stems: frozenset[str]
    """Of the passage and what stands above it."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page with its passages, the most telling first."""

    page: Page
    passages: tuple[Scored, ...]
    stems: frozenset[str]
    """Of the whole page."""


def read_closely(page: Page, terms: Terms, question: str) -> ReadPage:
    """The passages of a page by what they say about a question; those that say nothing are left out."""
    kept = passages_of(page.markdown)[:_LONGEST_PAGE]
    stems = [frozenset(stems_of(passage.text)) for passage in kept]
    frequency = Counter(stem for found in stems for stem in found)
    rarity = {stem: math.log(1 + len(kept) / (1 + frequency[stem])) for stem in terms.weights}
    title = frozenset(stems_of(page.title))
    kind = next((holds for asks, holds in _KINDS if asks.search(question)), None)
    scored: list[Scored] = []
    before: frozenset[str] = frozenset()
    for passage, own in zip(kept, stems, strict=True):
        above = frozenset(stems_of(passage.heading)) | before
        score = _score(own, above, title, terms, rarity)
        if score and kind is not None and kind.search(passage.text):
            score += _FIT
        if score:
            scored.append(Scored(passage, score, own | above | title))
        before = own
    best = sorted(scored, key=lambda found: -found.score)
    whole = title.union(*stems) if stems else title
    return ReadPage(page, tuple(best), whole)


def _score(
    own: frozenset[str], above: frozenset[str], title: frozenset[str], terms: Terms, rarity: dict[str, float]
) -> float:
    """What a passage's words weigh; nothing when none of the question's words stands in the passage itself."""
    score, in_itself = 0.0, False
    for stem, weight in terms.weights.items():
        if stem in own:
            score, in_itself = score + weight * rarity[stem], True
        elif stem in above:
            score += weight * rarity[stem] * _ABOVE
        elif stem in title:
            score += weight * rarity[stem] * _IN_TITLE
    return score if in_itself else 0.0


def normal(text: str) -> str:
    """Letters, digits and the points between them, so that layout and marks do not matter; thousands without commas."""
    words = re.findall(r"\w+(?:[.,:]\w+)*", text.casefold())
    return " ".join(stem_of(word) if word[:1].isdigit() else word for word in words)


def value_in(answer: str) -> str:
    """What two sources that agree would both have: of a quantity its number; empty where it is no single fact."""
    text = answer.strip(" .\"'“”")
    if text.casefold() in {"yes", "no", ""} or len(text.split()) > _MOST_WORDS:
        return ""
    number = _NUMBER.search(text)
    if number and number.start() <= 1 and len(text.split()) <= 2:
        return number[0]
    return text


def stating(pages: Sequence[ReadPage], value: str, terms: Terms) -> list[tuple[ReadPage, Scored]]:
    """One page for each independent source that states a value: the one that says most about the question.

    Pages of one registered domain are one source, and so are pages with the same words: one of them is the copy.
    """
    wanted = re.compile(rf"(?<!\w){re.escape(normal(value))}(?!\w)")
    having: list[tuple[ReadPage, Scored]] = []
    for read in pages:
        if there := [scored for scored in read.passages if wanted.search(normal(scored.passage.text))]:
            having.append((read, max(there, key=lambda scored: terms.share(scored.stems))))
    having.sort(key=lambda pair: -terms.share(pair[1].stems))
    found: list[tuple[ReadPage, Scored]] = []
    sources: set[str] = set()
    texts: set[str] = set()
    for read, scored in having:
        source, text = source_of(read.page.url), normal(scored.passage.text)
        if terms.share(scored.stems) >= _SHARE and source not in sources and text not in texts:
            found.append((read, scored))
            sources.add(source)
            texts.add(text)
    return found


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
