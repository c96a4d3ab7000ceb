"""The passages of a page that bear on a question, the most telling first, by rule."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agent.web.protocol import Page
from agent.web.specialist.passages import Passage, passages_of
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


def holding(pages: Sequence[ReadPage], value: str, terms: Terms) -> list[tuple[ReadPage, Scored]]:
    """For each page the passage that has a value among the words of the question, best page first."""
    wanted = re.compile(rf"(?<!\w){re.escape(normal(value))}(?!\w)")
    found: list[tuple[ReadPage, Scored]] = []
    for read in pages:
        there = [scored for scored in read.passages if wanted.search(normal(scored.passage.text))]
        if there:
            best = max(there, key=lambda scored: terms.share(scored.stems))
            found.append((read, best))
    return sorted(found, key=lambda pair: -terms.share(pair[1].stems))


def normal(text: str) -> str:
    """Letters, digits and the points between them, so that layout and marks do not matter; thousands without commas."""
    words = re.findall(r"\w+(?:[.,:]\w+)*", text.casefold())
    return " ".join(stem_of(word) if word[:1].isdigit() else word for word in words)
