"""What pages say about a question: quotable passages, the best of them, and who states the same."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agent.web.evidence import Quote, Wanted
from agent.web.page import Page
from agent.web.queries import Terms, stems_of, usable, words_of

_LONGEST = 360
"""Characters of a passage."""
# A page may be written to stop who reads it: what repeats in these patterns ends at a mark, or somewhere.
_HEADING = re.compile(r"#{1,6}\s+(\S.*)")
_PICTURE = re.compile(r"!\[[^\[\]]*\](?:\[\d+\]|\([^)\s]{0,500}\))")
_LINK = re.compile(r"\[([^\[\]]*)\](?:\[\d+\]|\([^)\s]{0,500}\))")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.{1,400}?)(?<=\S)\1|(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])")
_SENTENCE = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"”’)]))\s+(?=[\"“‘(\[]?[A-ZÀ-ÖØ-Þ0-9])")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Ft|No|vol|vs|ca|approx|e\.g|i\.e|etc|Jr|Sr|Gen|Col|Capt|Lt|Rev|Inc|Ltd|Co|Fig)"
    r"|\b[A-Z])\.$"
)
_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+|^\s*>\s?")


@dataclass(frozen=True, slots=True)
class Passage(Quote):
    """A part of a page."""

    heading: str
    """The one above it; empty at the beginning."""


def passages_of(markdown: str) -> list[Passage]:
    """The passages of a page in order.

    Args:
        markdown: The page as it was read; links and emphasis are no part of what it says.
    """
    heading, found = "", []
    paragraph = row = 0
    for block in _blocks(markdown):
        if (head := _HEADING.match(block[0])) and len(block) == 1:
            heading, paragraph, row = spoken(head[1].rstrip().rstrip("#")), 0, 0
            continue
        if block[0].lstrip().startswith("|"):
            for text, first, last in _rows(block):
                rows = f"row {row + first}" if first == last else f"rows {row + first} to {row + last}"
                found.append(Passage(text, _where("table", heading, rows), heading))
            row += len(block)
            continue
        paragraph += 1
        written = " ".join(_MARK.sub("", line).strip() for line in block)
        text = spoken(written) if _LINK.sub("", written).strip() else written  # a link alone stays one
        found += [
            Passage(piece, _where("under", heading, f"paragraph {paragraph}"), heading) for piece in _pieces(text)
        ]
    return found


def spoken(text: str) -> str:
    """The text without the marks of Markdown, and without pictures: their names are no part of what a page says."""
    text = _LINK.sub(r"\1", _PICTURE.sub(" ", text))
    text = _EMPHASIS.sub(lambda match: match[2] or match[3], text)
    return " ".join(text.replace("`", "").split())


def _where(what: str, heading: str, place: str) -> str:
    if not heading:
        return place
    return f'{what} "{heading[:80]}", {place}'


def _blocks(markdown: str) -> Iterator[list[str]]:
    """Runs of lines that belong together: a paragraph, a list item, a table, a heading."""
    block: list[str] = []
    for line in markdown.splitlines():
        starts = bool(_HEADING.match(line) or _MARK.match(line))
        is_row = line.lstrip().startswith("|")
        was_row = bool(block) and block[0].lstrip().startswith("|")
        if block and (not line.strip() or starts or is_row != was_row or _HEADING.match(block[0])):
            yield block
            block = []
        if line.strip():
            block.append(line)
    if block:
        yield block


def _rows(table: list[str]) -> Iterator[tuple[str, int, int]]:
    """A table in parts, each with the head, and the rows that it has, from 1 on."""
    lines = [_cells(line) for line in table]
    ruled = len(table) > 1 and set(table[1]) <= set(" \t:|-") and "--" in table[1]
    head = [lines[0]] if ruled else []
    body = lines[2:] if ruled else lines
    start = 0
    while start < len(body):
        end = start + 1
        while end < len(body) and sum(map(len, head + body[start : end + 1])) < _LONGEST:
            end += 1
        text = "\n".join(head + body[start:end])
        if text.strip(" |\n"):
            yield text, start + 1, end
        start = end


def _cells(row: str) -> str:
    return " | ".join(spoken(cell) for cell in row.strip().strip("|").split("|"))


def _pieces(text: str) -> Iterator[str]:
    """A paragraph as it is, or a long one by whole sentences, each piece as long as it may be."""
    piece = ""
    for sentence in _sentences(text):
        if piece and len(piece) + len(sentence) + 1 > _LONGEST:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}".strip()
        while len(piece) > 2 * _LONGEST:  # no sentence is that long: a list, or a text without stops
            cut = piece.rfind(" ", 0, _LONGEST)
            cut = cut if cut > 0 else _LONGEST
            yield piece[:cut]
            piece = piece[cut:].strip()
    if piece:
        yield piece


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph; an abbreviation ends none."""
    held = ""
    for part in _SENTENCE.split(text):
        held = f"{held} {part}".strip()
        if not _ABBREVIATED.search(part):
            yield held
            held = ""
    if held:
        yield held


_ABOVE = 0.6
"""Weight of a word that is in the heading or the paragraph before, and not in the passage."""
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
MOST_MISSING = 3


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage and how relevant it is to the question; higher is better."""

    passage: Passage
    score: float
    stems: frozenset[str]
    """Of the passage and what is above it."""


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
    """What a passage's words weigh; nothing when none of the question's words is in the passage itself."""
    score, in_itself = 0.0, False
    for stem, weight in terms.weights.items():
        if stem in own:
            score, in_itself = score + weight * rarity[stem], True
        elif stem in above:
            score += weight * rarity[stem] * _ABOVE
        elif stem in title:
            score += weight * rarity[stem] * _IN_TITLE
    return score if in_itself else 0.0


@dataclass(slots=True)
class Assessment:
    """What was made of the pages."""

    quotes: dict[str, tuple[Quote, ...]] = field(default_factory=dict)
    """By the page's address; the most telling first."""
    missing: list[str] = field(default_factory=list)
    queries: tuple[str, ...] = ()
    """What would find what is missing."""


def by_rule(wanted: Wanted, pages: Sequence[ReadPage], terms: Terms, *, most: int = 3) -> Assessment:
    """The best passages of each page; what is named in the question and in none of them is missing.

    Args:
        wanted: What is to be found out.
        pages: What was read.
        terms: What is looked for in them.
        most: Quotations of the best page; of each other page one less.
    """
    ordered = sorted(pages, key=lambda read: -best_score(read))
    quotes: dict[str, tuple[Quote, ...]] = {
        read.page.url: tuple(scored.passage for scored in read.passages[: most - (place > 0)])
        for place, read in enumerate(ordered)
    }
    there: set[str] = set()
    for read in pages:
        texts = {quote.text for quote in quotes[read.page.url]}
        there.update(stems_of(read.page.title))
        there.update(*(scored.stems for scored in read.passages if scored.passage.text in texts))
    missing = [name for name in terms.lacking(there) if not name.isdigit()][:MOST_MISSING]
    queries = []  # the name first, then what is asked of it
    for name in missing:
        others = [word for word in words_of(wanted.aim).replace('"', "").split() if word not in name]
        queries.append(" ".join([f'"{name}"' if " " in name else name, *others[:3]]))
    return Assessment(quotes, missing=missing, queries=usable(queries))


def best_score(read: ReadPage) -> float:
    """The score of a page's best passage."""
    return read.passages[0].score if read.passages else 0.0
