"""The saved pages of `benchmarks/pages/`, their marked facts, and which of them a text still holds."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "pages"
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()]*\)")
_MARKS = re.compile(r"</?su[bp]>|[*_`~\\|#>]+|\s+")
_QUOTES = str.maketrans("‘’“”\u00a0", "''\"\" ")


@dataclass(frozen=True)
class SavedPage:
    """A page as a server would send it."""

    name: str
    split: str
    """`dev` may be looked at while the reader is mended, `test` may not."""
    content_type: str
    body: bytes
    facts: list[str]
    """Texts that must be there whole."""
    rows: list[list[str]]
    """Cells that must stand in one line, in this order."""
    boilerplate: list[str]
    """Texts that are no part of what the page says."""


class Kept(NamedTuple):
    """What a text holds of a page."""

    facts: dict[str, bool]
    boilerplate: int


def load_pages() -> list[SavedPage]:
    """All pages, by name."""
    return [_page(path) for path in sorted(FOLDER.glob("*.json"))]


def _page(path: Path) -> SavedPage:
    told = json.loads(path.read_text(encoding="utf-8"))
    body = path.with_suffix(".html").read_bytes()
    return SavedPage(
        path.stem, told["split"], told["content_type"], body, told["facts"], told["rows"], told["boilerplate"]
    )


def kept(page: SavedPage, markdown: str) -> Kept:
    """Compares without Markdown's marks and without white space: neither is a part of what is said."""
    lines = [bared(line) for line in markdown.splitlines()]
    whole = "".join(lines)
    facts = {fact: bared(fact) in whole for fact in page.facts}
    facts |= {" | ".join(row): any(_in_order(row, line) for line in lines) for row in page.rows}
    return Kept(facts, sum(bared(phrase) in whole for phrase in page.boilerplate))


def bared(text: str) -> str:
    """A text without marks, links' targets and white space; quotes as typed on a keyboard."""
    text = _LINK.sub(r"\1", html.unescape(text))
    return _MARKS.sub("", unicodedata.normalize("NFKC", text.translate(_QUOTES)))


def _in_order(cells: list[str], line: str) -> bool:
    place = 0
    for cell in map(bared, cells):
        found = line.find(cell, place)
        if found < 0:
            return False
        place = found + len(cell)
    return True
