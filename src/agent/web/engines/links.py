"""The links of a Markdown text, numbered."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from agent.web.address import route_of

# A page may be written to stop who reads it: whatever repeats here has an end.
_TEXT = r"(?:\\.|[^\[\]\\]|\[[^\[\]]{0,400}\]){0,800}"
_TO = r"<[^<>\n]{0,2000}>|[^\s()]{0,2000}(?:\([^\s()]{0,400}\)[^\s()]{0,400}){0,20}"
_TITLE = r"\s{1,20}(?:\"[^\"]{0,400}\"|'[^']{0,400}')"
_LINK = re.compile(rf"(?P<picture>!?)(?<!\\)\[(?P<text>{_TEXT})\]\(\s{{0,20}}(?P<to>{_TO})(?:{_TITLE})?\s{{0,20}}\)")


def number_links(markdown: str, base: str) -> tuple[str, tuple[str, ...]]:
    """The text with `[text][n]` for each link, and the absolute addresses: link n is at n - 1.

    The same address has one number. A picture keeps its words; a link within the page, and one that no page is
    behind, keeps its text.

    Args:
        markdown: With links as `[text](address)`.
        base: The address of the page.
    """
    numbers: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        text = match["text"].strip()
        if match["picture"]:
            return text
        url = _absolute(match["to"].strip("<>"), base)
        if not url:
            return text
        return f"[{_LINK.sub(numbered, text)}][{numbers.setdefault(url, len(numbers) + 1)}]"

    text = _LINK.sub(numbered, markdown)
    return text, tuple(numbers)


def _absolute(to: str, base: str) -> str:
    """The address, or nothing where it leads to no page."""
    if not to or (to.startswith("#") and not route_of(to)):
        return ""
    try:
        url = urljoin(base, to)
        return url if urlsplit(url).scheme in ("http", "https", "file") else ""
    except ValueError:
        return ""
