"""Finds the passages of a page that are most relevant to a question."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from agent.web.evidence import Quote
from agent.web.page import Page
from agent.web.queries import Terms, stems_of

_MAX_PASSAGE_CHARS = 360
# A hostile page could make regexes slow, so every repetition in these patterns is bounded.
_HEADING = re.compile(r"#{1,6}\s+(\S.*)")
_PICTURE = re.compile(r"!\[[^\[\]]*\]\((?:link \d+|[^)\s]{0,500})\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:link \d+|[^)\s]{0,500})\)")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.{1,400}?)(?<=\S)\1|(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])")
_SENTENCE = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"”’)]))\s+(?=[\"“‘(\[]?[A-ZÀ-ÖØ-Þ0-9])")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Ft|No|vol|vs|ca|approx|e\.g|i\.e|etc|Jr|Sr|Gen|Col|Capt|Lt|Rev|Inc|Ltd|Co|Fig)"
    r"|\b[A-Z])\.$"
)
_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+|^\s*>\s?")


def passages_of(markdown: str) -> list[Quote]:
    """Return the passages of a page in order, without links and emphasis.

    Args:
        markdown: The page as Markdown.
    """
    heading, found = "", list[Quote]()
    paragraph = row = 0
    for block in _blocks(markdown):
        if (head := _HEADING.match(block[0])) and len(block) == 1:
            heading, paragraph, row = spoken(head[1].rstrip().rstrip("#")), 0, 0
            continue
        if block[0].lstrip().startswith("|"):
            for text, first, last in _rows(block):
                rows = f"row {row + first}" if first == last else f"rows {row + first} to {row + last}"
                found.append(Quote(text, f'table "{heading[:80]}", {rows}' if heading else rows, heading))
            row += len(block)
            continue
        paragraph += 1
        written = " ".join(_MARK.sub("", line).strip() for line in block)
        unpictured = _PICTURE.sub(" ", written)
        is_links = bool(_LINK.search(unpictured)) and not re.search(r"\w", _LINK.sub("", unpictured))
        text = written if is_links else spoken(written)
        place = f'under "{heading[:80]}", paragraph {paragraph}' if heading else f"paragraph {paragraph}"
        found += [Quote(piece, place, heading) for piece in _pieces(text)]
    return found


def spoken(text: str) -> str:
    """Return Markdown as plain text, without images and their names."""
    text = _LINK.sub(r"\1", _PICTURE.sub(" ", text))
    text = _EMPHASIS.sub(lambda match: match[2] or match[3], text)
    return " ".join(text.replace("`", "").split())


def _blocks(markdown: str) -> Iterator[list[str]]:
    """Yield the lines of each paragraph, list item, table and heading."""
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
    """Yield parts of a table, each with the header, and with its first and last row, counted from 1."""
    lines = [" | ".join(spoken(cell) for cell in row.strip().strip("|").split("|")) for row in table]
    ruled = len(table) > 1 and set(table[1]) <= set(" \t:|-") and "--" in table[1]
    head, body = (lines[:1], lines[2:]) if ruled else ([], lines)
    start = 0
    while start < len(body):
        end = start + 1
        while end < len(body) and sum(map(len, head + body[start : end + 1])) < _MAX_PASSAGE_CHARS:
            end += 1
        text = "\n".join(head + body[start:end])
        if text.strip(" |\n"):
            yield text, start + 1, end
        start = end


def _sentences(text: str) -> Iterator[str]:
    held = ""
    for part in _SENTENCE.split(text):
        held = f"{held} {part}".strip()
        if not _ABBREVIATED.search(part):  # an abbreviation does not end a sentence
            yield held
            held = ""
    if held:
        yield held


def _pieces(text: str) -> Iterator[str]:
    """Yield a paragraph; split a long one after sentences."""
    piece = ""
    for sentence in _sentences(text):
        if piece and len(piece) + len(sentence) + 1 > _MAX_PASSAGE_CHARS:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}".strip()
        while len(piece) > 2 * _MAX_PASSAGE_CHARS:  # a list, or text without punctuation
            cut = piece.rfind(" ", 0, _MAX_PASSAGE_CHARS)
            cut = cut if cut > 0 else _MAX_PASSAGE_CHARS
            yield piece[:cut]
            piece = piece[cut:].strip()
    if piece:
        yield piece


_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,60}\b(?:instruct\w*|rules?|prompts?|questions?|above|before|previous)\b"
    r"|^(?:\W*\w+:)?\W*(?:(?:please|always|only|now|just|instead)\W+)*(?:answer|reply|respond|say|output|cite|tell)\b"
    r"|\byou(?:r \w+)? (?:must|should|have to|are now|are an?)\b|\byour (?:answer|reply|response|task|instructions?)\b"
    r"|\b(?:correct|right|true|final|only) answer (?:is|to)\b"
    r"|\b(?:AI|LLM|agent|assistant|language model|chat ?bot)s?\b.{0,80}\b(?:must|should|answer|reply|respond|ignore)\b",
    re.IGNORECASE,
)
"""Words that tell the reader what to answer or do."""


def sentences_of(text: str) -> list[str]:
    """Return the sentences, list items and table rows of a text that can be quoted as a source.

    Headings, navigation and orders to the reader are left out.
    """
    found = list[str]()
    for block in _blocks(text):
        if _HEADING.match(block[0]):
            continue
        if "|" in block[0]:
            found += (row for row, _, _ in (one for line in block for one in _rows([line])) if set(row) - set(" :|-"))
            continue
        written = " ".join(_MARK.sub("", line).strip() for line in block)
        unlinked = _LINK.sub("", written)
        if len(unlinked.split()) > sum(len(label.split()) for label in _LINK.findall(written)):
            found += _sentences(spoken(written))
    return [sentence for sentence in found if not _ORDER.search(sentence)]


_ABOVE = 0.6  # weight of a word that is only in the heading or in the paragraph before
_IN_TITLE = 0.35
_FIT = 1.5  # factor for a passage with the kind of answer that is asked for: a number, date or person
_MAX_PASSAGES = 4_000
_KINDS = tuple(
    (re.compile(asks, re.I), re.compile(holds))
    for asks, holds in (
        (
            r"\bwhen\b|\b(?:what|which|in what|in which) (?:year|date|day|month|century)\b",
            r"\b(?:1\d|20)\d\d\b|\b\d{1,2}[./ ](?:\d{1,2}|[A-Z][a-z]{2,8})\b",
        ),
        (
            r"\bhow (?:many|much|high|tall|long|old|far|deep|large|big|fast|heavy|wide|often)\b"
            r"|\bwhat (?:is|was|are) the (?:number|price|cost|height|length|area|population|depth|weight|speed|distance"
            r"|age|rate|version|size)\b",
            r"\d",
        ),
        (
            r"\bwho(?:m|se)?\b",
            r"[A-ZÀ-ÖØ-Þ][\w'’-]+\s+(?:[A-Z]\.\s*|(?:van|von|de|der|da|di|al)\s+)*[A-ZÀ-ÖØ-Þ][\w'’-]+",
        ),
    )
)
"""Patterns of questions for a date, number or person, and of passages that contain one."""


class Scored(NamedTuple):
    """A passage with its relevance to the question; higher is better."""

    passage: Quote
    score: float
    stems: frozenset[str]  # of the passage and its heading


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page with its passages, most relevant first."""

    page: Page
    passages: tuple[Scored, ...]
    stems: frozenset[str]  # of all passages, without title and headings

    @property
    def best(self) -> float:
        """Score of the best passage."""
        return self.passages[0].score if self.passages else 0.0


def read_closely(page: Page, terms: Terms, question: str) -> ReadPage:
    """Rank the passages of a page by relevance. Passages with none of the question's words are left out."""
    kept = passages_of(page.markdown)[:_MAX_PASSAGES]
    stems = [frozenset(stems_of(passage.text)) for passage in kept]
    frequency = Counter(stem for found in stems for stem in found)
    rarity = {stem: math.log(1 + len(kept) / (1 + frequency[stem])) for stem in terms.weights}
    title = frozenset(stems_of(page.title))
    kind = next((holds for asks, holds in _KINDS if asks.search(question)), None)
    scored: list[Scored] = []
    before: frozenset[str] = frozenset()
    for passage, own in zip(kept, stems, strict=True):
        above = frozenset(stems_of(passage.heading)) | before
        if not own.isdisjoint(terms.weights):
            score = _FIT if kind is not None and kind.search(passage.text) else 0.0
            for stem, weight in terms.weights.items():
                where = 1.0 if stem in own else _ABOVE if stem in above else _IN_TITLE if stem in title else 0.0
                score += weight * rarity[stem] * where
            scored.append(Scored(passage, score, own | above | title))
        before = own
    best = sorted(scored, key=lambda found: -found.score)
    return ReadPage(page, tuple(best), frozenset[str]().union(*stems))
