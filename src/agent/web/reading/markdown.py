"""A page of HTML as Markdown: what it says, apart from it what stands around that; tables as tables, links numbered."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agent.web.fetching.charsets import decoded
from agent.web.protocol import WebProblem
from agent.web.reading.forms import forms_of
from agent.web.reading.source import (
    add_turns,
    date_of,
    drop_hidden,
    frames_of,
    mark_links,
    new_mark,
    parse,
    put_in_order,
    texts_of,
    title_of,
    words_only,
)
from agent.web.reading.surroundings import set_apart
from agent.web.reading.walls import look_for_login, look_for_wall
from mcp_tools.text import printable

LONGEST = 6_000_000
"""Characters of a page that are looked at."""
_ESCAPED = re.compile(r"(?s:```.*?```)|`[^`\n]*`|\\([][().*_#+!>~`-])")
"""Signs that were escaped, outside code: whoever quotes the page quotes what stands there."""
_SHORT = 120
"""Characters below which a page with scripts may have more to show."""
_SCRIPTS = "//script[not(@type) or contains(@type, 'javascript') or @type='module']"
_WANTS_SCRIPTS = re.compile(
    r"(enable|turn on|requires?|need|without) (\w+ ){0,3}javascript|javascript (\w+ ){0,3}(disabled|required)", re.I
)
_LIKE_LINKS = re.compile(r"\]\[(\d{1,6})\]")
"""What a page itself writes as we write links: `[11][12]` of footnotes."""
_LINKED = "\x00"
"""Stands in a link while the others are told from it; no page has it."""
_MOST_CHOICES = 30
_SHORT_WARNING = 600
"""Characters of a page that says little more than that it wants scripts."""
_MOUNTS = "//*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @ng-version][not(normalize-space())]"
"""Where scripts put a page, still empty."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a page says."""

    title: str
    markdown: str
    """Its content, whole."""
    links: tuple[str, ...]
    published: str
    """ISO date, or empty."""
    notes: tuple[str, ...]
    """What was left out, in our own words alone."""
    wants_scripts: bool
    """There is little to read here, and scripts would write the rest."""
    hidden: int = 0
    """Characters that were left out because nobody sees them."""
    forms: tuple[str, ...] = ()
    around: str = ""
    """What stands around the content: menus, head, foot."""

    @property
    def size(self) -> int:
        """Characters of all that there is to read."""
        return len(self.markdown) + len(self.around)


def read_page(body: str, charset: str, url: str, asked: str, status: int) -> dict[str, Any]:
    """What a page says, as JSON; carried out in a process of its own, since no parser is safe from what sites send.

    Args:
        body: Its bytes in base64.
        charset: Their encoding.
        url: Where it was.
        asked: The address that led there.
        status: With which it came.
    """
    html = decoded(base64.b64decode(body), charset)
    found = extract(html, url)
    try:
        look_for_login(asked, url, html)
        look_for_wall(html, found.markdown, url, status=status)
    except WebProblem as wall:
        return {"wall": {"reason": wall.reason, "message": wall.message, "remedy": wall.remedy}}
    return asdict(found)


def extract(html: str, url: str) -> Extracted:
    """Reads a page.

    Args:
        html: Its source.
        url: Where it was, for links that are relative.
    """
    tree = parse(html[:LONGEST])
    if tree is None:
        return Extracted("", "", (), "", (), False)
    title, published, wants_scripts = title_of(tree), date_of(tree), _wants_scripts(tree)
    notes = [f"Only the first {LONGEST:,} characters of its source were read."] if len(html) > LONGEST else []
    if hidden := drop_hidden(tree):
        notes.append(f"Hidden text of {hidden:,} characters was left out.")
    frames, forms = frames_of(tree, url), forms_of(tree, url)
    mark = new_mark()
    add_turns(tree)
    targets = mark_links(tree, url, mark)
    put_in_order(tree)
    divider = f"{mark}around"
    set_apart(tree, divider)
    (markdown, around), links = _numbered(_converted(tree).partition(divider)[::2], targets, mark)
    if not markdown and (markdown := printable(words_only(html[:LONGEST]))):
        notes.append("The page is nested too deeply: its words are shown without headings, tables and links.")
        around = ""
    for title_of_frame, target in dict.fromkeys(frames):
        links = links if target in links else (*links, target)
        markdown += f"\n\n[framed page: {title_of_frame}][{links.index(target) + 1}]"
    return Extracted(
        title, markdown.strip(), links, published, tuple(notes), wants_scripts, hidden, tuple(forms), around
    )


def _wants_scripts(tree: Any) -> bool:
    if not tree.xpath(_SCRIPTS):
        return False
    visible = " ".join(" ".join(texts_of(tree)).split())
    if len(visible) < _SHORT or tree.xpath(_MOUNTS):
        return True
    warning = f"{visible} {' '.join(tree.xpath('//noscript//text()'))}"
    return len(visible) < _SHORT_WARNING and bool(_WANTS_SCRIPTS.search(warning))


def _converted(tree: Any) -> str:
    from lxml import html  # type: ignore[import-untyped]  # it has no stubs

    from agent.files.documents.html import Page

    for field in tree.xpath(".//select"):
        choices = [" ".join(one.text_content().split()) for one in field.iter("option")]
        text, tail = f" [choice {field.get('name') or ''}: {' / '.join(choices[:_MOST_CHOICES])}] ", field.tail
        field.clear()
        field.tag, field.text, field.tail = "span", text, tail
    return Page(html.tostring(tree, encoding="unicode")).markdown


def _numbered(texts: Sequence[str], targets: list[str], mark: str) -> tuple[list[str], tuple[str, ...]]:
    """Numbers links in the order in which they come."""
    marked = re.compile(rf"\]\({re.escape(mark)}(\d+)(?:\s+\"[^\"]*\")?\)")
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        target = targets[int(match[1])]
        return f"]{_LINKED}[{numbers.setdefault(target, len(numbers) + 1)}]"

    def apart(match: re.Match[str]) -> str:
        return f"] [{match[1]}]" if 1 <= int(match[1]) <= len(numbers) else match[0]

    texts = [re.sub(rf"{re.escape(mark)}\d+", "", marked.sub(number, text.replace(_LINKED, ""))) for text in texts]
    texts = [_ESCAPED.sub(lambda match: match[1] or match[0], text) for text in texts]
    return [printable(_LIKE_LINKS.sub(apart, text).replace(_LINKED, "")).strip() for text in texts], tuple(numbers)
