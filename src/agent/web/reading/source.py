"""Prepares HTML for conversion: removes hidden text and repairs what converters misread. Also numbers links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from agent.web.address import route_of
from mcp_tools.text import one_line, printable

_UNSEEN = frozenset(
    ("script", "style", "template", "noscript", "head", "svg", "canvas", "iframe", "object", "embed", "title")
)
_IN_HEAD = frozenset(("title", "meta", "link", "base", "script", "style", "template", "noscript", "object", "bgsound"))
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])", re.I
)
_TITLES = ("//meta[@property='og:title']/@content", "//title//text()", "//h1//text()")
_DATES = (
    "//meta[@property='article:published_time']/@content",
    "//*[@itemprop='datePublished']/@*[name()='content' or name()='datetime']",
    "//meta[@name='date' or @name='dc.date' or @name='DC.date.issued' or @name='citation_publication_date']/@content",
    "//meta[@name='citation_date' or @name='pubdate' or @name='publish-date' or @name='parsely-pub-date']/@content",
    "//script[@type='application/ld+json']/text()",
    "//time[@pubdate]/@datetime",
    "//article//time/@datetime",
)
_DATE = re.compile(r"(?:\A|\"datePublished\"\s*:\s*\")\s*(\d{4})[-/](\d\d)[-/](\d\d)")
# A hostile page could make regexes slow, so every repetition is bounded.
_TEXT = r"(?:\\.|[^\[\]\\]|\[[^\[\]]{0,400}\]){0,800}"
_TO = r"<[^<>\n]{0,2000}>|[^\s()]{0,2000}(?:\([^\s()]{0,400}\)[^\s()]{0,400}){0,20}"
_TITLE = r"\s{1,20}(?:\"[^\"]{0,400}\"|'[^']{0,400}')"
LIKE_LINKS = re.compile(r"\]\(link (\d{1,7})\)")
"""Text of a page that imitates our links: `[text](link 3)`."""
_LINK = re.compile(rf"(?P<picture>!?)(?<!\\)\[(?P<text>{_TEXT})\]\(\s{{0,20}}(?P<to>{_TO})(?:{_TITLE})?\s{{0,20}}\)")


def parse(source: str) -> Any:
    """Parse HTML; return None for text without elements."""
    from lxml import etree, html  # type: ignore[import-untyped]  # it has no stubs

    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        tree = html.document_fromstring(source.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        return None
    # The parser puts elements that it does not know into the head.
    strays = [one for head in tree.iterfind("head") for one in head if one.tag not in _IN_HEAD]
    body = tree.find("body")
    if strays and body is None:
        tree.append(body := html.Element("body"))
    for place, one in enumerate(strays):
        body.insert(place, one)
    return tree


def title_of(tree: Any) -> str:
    """Return the page's title."""
    found = (one_line(" ".join(tree.xpath(path)), 300) for path in _TITLES)
    return next((title for title in found if title), "")


def date_of(tree: Any) -> str:
    """Return the publication date in the page's metadata as an ISO date, or an empty string."""
    dates = (_DATE.search(value) for path in _DATES for value in tree.xpath(path)[:3])
    return next(("-".join(found.groups()) for found in dates if found), "")


def drop_hidden(tree: Any) -> int:
    """Remove text that a browser does not show, since instructions for models are hidden there.

    Text that a button opens is kept.

    Returns:
        Number of removed characters.
    """
    opened = {one for value in tree.xpath("//@aria-controls") for one in value.split()}
    hidden = [
        one
        for one in tree.xpath("//body//*[@hidden or @style]")
        if (one.get("hidden") is not None or _HIDDEN.search(one.get("style") or "")) and one.get("id") not in opened
    ]
    size = sum(len(" ".join(one.text_content().split())) for one in hidden)
    for one in hidden:
        if one.getparent() is not None:
            one.drop_tree()
    return size


def put_in_order(tree: Any) -> None:
    """Rearrange elements that a converter misreads: captions, floating boxes and options.

    Scripts are removed, since their text is invisible. Styles move to the front, since they mark struck-through text.
    """
    from lxml import etree, html

    etree.strip_elements(tree, "script", "template", "noscript", with_tail=False)
    for style in tree.xpath(".//style"):
        style.drop_tree()  # keeps the text after it
        style.tail = None
        tree.insert(0, style)
    for caption in tree.xpath("//table/caption"):
        table, line = caption.getparent(), html.Element("p")
        line.text = " ".join(caption.text_content().split())
        caption.drop_tree()
        if line.text and table.getparent() is not None:
            table.addprevious(line)
    for path, tag in (
        ("//figure", "div"),
        ("//figcaption", "p"),
        ("//address", "p"),
        ("//time[not(ancestor::p or ancestor::li or ancestor::td)]", "p"),
        ("//article//aside | //main//aside", "div"),
    ):
        for element in tree.xpath(path):
            element.tag = tag
    for field in tree.xpath(".//select"):
        choices = " / ".join([" ".join(one.text_content().split()) for one in field.iter("option")][:30])
        text, tail = f" [choice {field.get('name') or ''}: {choices}] ", field.tail
        field.clear()
        field.tag, field.text, field.tail = "span", text, tail


def texts_of(root: Any) -> Iterator[str]:
    """Yield the visible texts in order. Not recursive, since pages can be nested to any depth."""
    waiting: list[Any] = [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
            continue
        waiting += [one.tail] if one.tail and one is not root else []
        if one.tag not in _UNSEEN:
            waiting += reversed(one)
            waiting += [one.text] if one.text else []


def absolute(base: str, href: str) -> str:
    """Return the absolute address of a link; empty if it is not http or https."""
    try:
        target = urljoin(base, printable(href).strip().replace("\n", ""))
        parts = urlsplit(target)
        return target if parts.scheme in ("http", "https") and parts.hostname else ""
    except ValueError:
        return ""


def number_links(markdown: str, base: str) -> tuple[str, tuple[str, ...]]:
    """Return the text with links as `[text](link n)`, and the absolute addresses. Link n has index n - 1.

    Equal addresses get the same number. Images become their alternative text. Links within the page, and those that do
    not lead to a page, become plain text.

    Args:
        markdown: Markdown with links as `[text](address)`.
        base: Address of the page.

    Example:
        >>> number_links("The [Elbe](/elbe).", "https://a.example/")
        ('The [Elbe](link 1).', ('https://a.example/elbe',))
    """
    numbers: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        text = match["text"].strip()
        if match["picture"]:
            return text
        to = match["to"].strip("<>")
        url = "" if not to or (to.startswith("#") and not route_of(to)) else absolute(base, to)
        if not url:
            return text
        return f"[{_LINK.sub(numbered, text)}](link {numbers.setdefault(url, len(numbers) + 1)})"

    text = _LINK.sub(numbered, LIKE_LINKS.sub(r"] (link \1)", markdown))
    return text, tuple(numbers)
