"""A page cut into passages that can be quoted: each short, as it stands there, with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.web.specialist.evidence import Quote

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
class Passage:
    """A part of a page."""

    text: str
    heading: str
    """What stands above it; empty at the beginning."""
    place: str

    @property
    def quote(self) -> Quote:
        """The passage as a quotation."""
        return Quote(self.text, self.place)


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
                found.append(Passage(text, heading, _where("table", heading, _numbers("row", row + first, row + last))))
            row += len(block)
            continue
        paragraph += 1
        written = " ".join(_MARK.sub("", line).strip() for line in block)
        text = spoken(written) if _LINK.sub("", written).strip() else written  # a link alone stays one
        found += [
            Passage(piece, heading, _where("under", heading, f"paragraph {paragraph}")) for piece in _pieces(text)
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


def _numbers(what: str, first: int, last: int) -> str:
    return f"{what} {first}" if first == last else f"{what}s {first} to {last}"


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
