"""Load the saved pages of `benchmarks/pages/`, and find which of their marked facts a text still contains."""

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
    """A saved page with its marked facts."""

    name: str
    split: str
    """`dev` pages may be used to improve the reader; `test` pages may not."""
    content_type: str
    body: bytes
    facts: list[str]
    """Texts that must be complete in the Markdown."""
    rows: list[list[str]]
    """Cells that must be in one line, in this order."""
    boilerplate: list[str]
    """Texts that do not belong to the page's content."""


class Kept(NamedTuple):
    """The facts of a page that a text contains."""

    facts: dict[str, bool]
    boilerplate: int


def load_pages() -> list[SavedPage]:
    """Return all pages, sorted by name."""
    return [_page(path) for path in sorted(FOLDER.glob("*.json"))]


def _page(path: Path) -> SavedPage:
    told = json.loads(path.read_text(encoding="utf-8"))
    body = path.with_suffix(".html").read_bytes()
    return SavedPage(
        path.stem, told["split"], told["content_type"], body, told["facts"], told["rows"], told["boilerplate"]
    )


def kept(page: SavedPage, markdown: str) -> Kept:
    """Return the facts that a text contains. Markdown syntax and whitespace are ignored."""
    lines = [bared(line) for line in markdown.splitlines()]
    whole = "".join(lines)
    facts = {fact: bared(fact) in whole for fact in page.facts}
    facts |= {" | ".join(row): any(_in_order(row, line) for line in lines) for row in page.rows}
    return Kept(facts, sum(bared(phrase) in whole for phrase in page.boilerplate))


def bared(text: str) -> str:
    """Return a text without Markdown syntax, link targets and whitespace, and with straight quotes."""
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
