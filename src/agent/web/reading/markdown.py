"""Converts HTML to Markdown with numbered links, and separates the content from menus, header and footer."""

from __future__ import annotations

import base64
import re
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from urllib.parse import urldefrag

from lxml import etree, html  # type: ignore[import-untyped]  # it has no stubs

from agent.web.address import route_of
from agent.web.page import Page
from agent.web.reading.block_pages import wall_of
from agent.web.reading.source import (
    LIKE_LINKS,
    absolute,
    date_of,
    drop_hidden,
    parse,
    put_in_order,
    texts_of,
    title_of,
)
from agent.web.response import decoded
from mcp_tools.text import one_line, printable

MAX_HTML_CHARS = 6_000_000
_ESCAPED = re.compile(r"(?s:```.*?```)|`[^`\n]*`|\\([][().*_#+!>~`-])")
"""Escaped characters outside code. They are unescaped, so that quotations match the page."""
_SHORT = 120  # a page with scripts and fewer characters may need rendering
_SCRIPTS = "//script[not(@type) or contains(@type, 'javascript') or @type='module']"
_WANTS_SCRIPTS = re.compile(
    r"(enable|turn on|requires?|need|without) (\w+ ){0,3}javascript|javascript (\w+ ){0,3}(disabled|required)", re.I
)
_SHORT_WARNING = 600  # maximum length of a page that only asks for JavaScript
_MOUNTS = "//*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @ng-version][not(normalize-space())]"
"""Empty elements that scripts fill with the page."""
_LINKED = "\x00"  # marks our links while text that imitates them is escaped; no page contains it
_MAX_FORMS, _MAX_FIELDS, _MAX_OPTIONS = 10, 30, 30
_MAX_CHARS_OF_FORM, _MAX_CHARS_OF_VALUE = 800, 60
_AROUND_TAGS = frozenset(("nav", "footer", "aside", "header", "menu"))
_AROUND_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav|navigation|navbar|menu|foot|footer|header|masthead|topbar|\w*sidebar|share|social|related"
    r"|recommend\w*|cookies?|consent|breadcrumbs?|advert\w*|ads?|promo|newsletter|feedback|toolbar|skip)(?:$|[\s_-])",
    re.I,
)
_ENDS = re.compile(r"(?:^|[\s_-])(?:foot|footer|header)(?:$|[\s_-])", re.I)
"""Names of headers and footers. Inside an article, these contain its author and date."""
_ARTICLE = ("main", "article", "h1")
_OF_TABLES = frozenset(("tr", "th", "thead", "tbody", "tfoot", "caption", "colgroup", "h2", "h3", "h4", "h5", "h6"))
_MAX_AROUND = 0.4
"""Maximum share of a page's text in a menu. It is limited because a whole page may have a class like `with-sidebar`."""
_LEAST_CONTENT = 0.1  # minimum share of a page's text in its content; below it, nothing is separated
_FEWEST_LINKS = 4
_LINK_TEXT = 0.85  # minimum share of a menu's text in links
_TURNS = re.compile(
    r"[«»‹›←→<>\s]*(?:(?:older|newer|next|prev(?:ious)?|earlier|later|more)(?: \w+){0,2}|page \d+|\d{1,4}|[«»‹›←→])"
    r"[«»‹›←→<>\s]*",
    re.I,
)
"""Link texts that lead to other parts of a list."""
_TURN_NAMES = re.compile(r"(?:^|[\s_-])(?:pag(?:er|ing|inat\w+)|page-?numbers?|next|prev(?:ious)?)(?:$|[\s_-])", re.I)


@dataclass(frozen=True, slots=True)
class Extracted:
    """The content of a page."""

    page: Page
    wants_scripts: bool = False  # the page has little text and needs scripts
    hidden: int = 0  # number of characters left out because a browser does not show them
    wall: dict[str, Any] | None = None  # arguments of the WebProblem that blocks the content

    @property
    def size(self) -> int:
        """Number of characters of text."""
        return len(self.page.markdown) + len(self.page.around)


def read_page(body: str, charset: str, url: str, asked: str, status: int) -> dict[str, Any]:
    """Return a page's content as JSON; see `extract`.

    It runs in a separate process, since sites may send anything to a parser.

    Args:
        body: Bytes of the page in base64.
        charset: Encoding of the page.
        url: Address of the page.
        asked: The requested address, if it redirected to `url`.
        status: HTTP status.
    """
    return asdict(extract(decoded(base64.b64decode(body), charset), url, asked=asked, status=status))


def extract(source: str, url: str, *, asked: str = "", status: int = 200) -> Extracted:
    """Convert a page.

    Args:
        source: The HTML.
        url: Address of the page, for relative links.
        asked: The requested address, if it redirected to `url`.
        status: HTTP status.
    """
    from agent.files.documents.html import HtmlPage

    tree = parse(source[:MAX_HTML_CHARS])
    if tree is None:
        return Extracted(Page(url, "", ""))
    title, published, wants_scripts = title_of(tree), date_of(tree), _wants_scripts(tree)
    remarks = (
        [f"Only the first {MAX_HTML_CHARS:,} characters of its source were read."]
        if len(source) > MAX_HTML_CHARS
        else []
    )
    if hidden := drop_hidden(tree):
        remarks.append(f"Hidden text of {hidden:,} characters was left out.")
    base = next((absolute(url, href) for href in tree.xpath("//base/@href")), "") or url
    forms = forms_of(tree, base, url)
    put_in_order(tree)
    # Replaces links during conversion, since addresses may contain brackets. It is random, so that pages cannot contain
    # it.
    mark = f"https://link.invalid/{secrets.token_hex(8)}/"
    set_apart(tree, f"{mark}around")
    links = _mark_links(tree, base, url, mark)
    converted = HtmlPage(etree.tostring(tree, encoding="unicode", method="html"))
    remarks += [lost for lost in converted.lost if lost.startswith("The page is nested too deeply")]
    markdown, _, around = map(str.strip, _numbered(converted.markdown, len(links), mark).partition(f"{mark}around"))
    page = Page(
        url,
        title,
        markdown,
        tuple(links),
        fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        published=published,
        remarks=tuple(remarks),
        forms=tuple(forms),
        around=around,
    )
    wall = wall_of(markdown, url, html=source, asked=asked, status=status)
    problem = {"reason": wall.reason, "message": wall.message, "remedy": wall.remedy} if wall else None
    return Extracted(page, wants_scripts, hidden, problem)


def _wants_scripts(tree: Any) -> bool:
    if not tree.xpath(_SCRIPTS):
        return False
    visible = " ".join(" ".join(texts_of(tree)).split())
    if len(visible) < _SHORT or tree.xpath(_MOUNTS):
        return True
    warning = f"{visible} {' '.join(tree.xpath('//noscript//text()'))}"
    return len(visible) < _SHORT_WARNING and bool(_WANTS_SCRIPTS.search(warning))


def _mark_links(tree: Any, base: str, url: str, mark: str) -> list[str]:
    """Replace link targets by numbers and return the absolute addresses. Links within the page are ignored."""
    here = urldefrag(url).url
    numbers: dict[str, int] = {}
    for anchor in tree.xpath("//a[@href]"):
        href = anchor.get("href").strip()
        target = "" if href.startswith("#") and not route_of(href) else absolute(base, href)
        if not target or ("#" in target and urldefrag(target).url == here and not route_of(target)):
            anchor.tag = "span"
        else:
            anchor.set("href", f"{mark}{numbers.setdefault(target, len(numbers) + 1)}")
    return list(numbers)


def _numbered(text: str, count: int, mark: str) -> str:
    """Write links as `[text](link n)` and escape text that imitates them."""

    def apart(match: re.Match[str]) -> str:
        return f"] (link {match[1]})" if 1 <= int(match[1]) <= count else match[0]

    text = re.sub(
        rf"\]\({re.escape(mark)}(\d+)(?:\s+\"[^\"]*\")?\)", rf"](link{_LINKED} \1)", text.replace(_LINKED, "")
    )
    text = re.sub(rf"{re.escape(mark)}\d+", "", text)
    text = _ESCAPED.sub(lambda match: match[1] or match[0], text)
    return printable(LIKE_LINKS.sub(apart, text).replace(_LINKED, ""))


def forms_of(tree: Any, base: str, url: str) -> list[str]:
    """Return each form as a line: `GET https://a.example/search: q (text); lang (one of en=English, de=Deutsch)`.

    Args:
        tree: The page.
        base: Base of relative addresses.
        url: Address of the page.
    """
    found = []
    for form in tree.xpath("//form")[:_MAX_FORMS]:
        if target := absolute(base, form.get("action") or url):
            fields = dict.fromkeys(_field(one, form) for one in form.iter("input", "select", "textarea", "button"))
            inputs = "; ".join(list(filter(None, fields))[:_MAX_FIELDS]) or "no fields"
            found.append(one_line(f"{(form.get('method') or 'get').upper()} {target}: {inputs}", _MAX_CHARS_OF_FORM))
    return found


def _field(field: Any, form: Any) -> str:
    """Return a field with its type or options; empty if it has no name. Radio buttons of a group give equal texts."""
    name, kind, value = field.get("name"), (field.get("type") or field.tag).lower(), field.get("value")
    if not name:
        return ""
    options = []
    if kind == "radio":
        options = [_short(one.get("value") or "on") for one in form.iter("input") if one.get("name") == name]
    for option in field.iter("option"):
        text, sent = _short(option.text_content()), option.get("value")
        options.append(text if sent is None or sent == text else f"{_short(sent)}={text}")
    if options:
        more = f" and {len(options) - _MAX_OPTIONS} more" if len(options) > _MAX_OPTIONS else ""
        return f"{name} (one of {', '.join(options[:_MAX_OPTIONS])}{more})"
    what = {"input": "text", "textarea": "long text", "submit": "button", "image": "button"}.get(kind, kind)
    return f"{name} ({what}{f', {_short(value)}' if value else ''})"


def _short(text: str) -> str:
    return one_line(text, _MAX_CHARS_OF_VALUE)


def set_apart(tree: Any, mark: str) -> None:
    """Move menus, header and footer after the content, except links to the next or previous page.

    Args:
        tree: The page without scripts. It is modified.
        mark: Paragraph that separates the two.
    """
    body = tree.find("body")
    if body is None:
        return
    size = len(body.text_content())
    found = list[Any]()
    inside = set[Any]()
    before_article = True
    for one in body.iterdescendants():
        before_article = before_article and one.tag not in _ARTICLE
        if one.getparent() in inside:
            inside.add(one)
        elif _is_around(one, size, before_article) and not _turns_pages(one):
            found.append(one)
            inside.add(one)
    if sum(len(one.text_content()) for one in found) > size * (1 - _LEAST_CONTENT):
        return
    divider = html.Element("p")
    divider.text = mark
    body.append(divider)
    for one in found:
        one.drop_tree()
        one.tag = "div" if one.tag == "td" else one.tag
        body.append(one)


def _is_around(one: Any, size: int, before_article: bool) -> bool:
    if one.tag in _OF_TABLES or next(one.iter(*_ARTICLE), None) is not None:
        return False
    is_in_article = next(one.iterancestors("main", "article"), None) is not None
    if one.tag in _AROUND_TAGS:
        return not (is_in_article and one.tag in ("header", "footer"))
    name = f"{one.get('class', '')} {one.get('id', '')}"
    is_named = _AROUND_NAMES.search(name) and not (is_in_article and _ENDS.search(name))
    return bool(is_named or (before_article and _is_menu(one))) and len(one.text_content()) <= _MAX_AROUND * size


def _is_menu(one: Any) -> bool:
    """Return True for an element with nothing but a list of links."""
    links = one.findall(".//a[@href]") if one.tag in ("ul", "ol") else []
    shown = len("".join(one.text_content().split()))
    linked = sum(len("".join(link.text_content().split())) for link in links)
    return len(links) >= _FEWEST_LINKS and linked >= _LINK_TEXT * shown


def _turns_pages(one: Any) -> bool:
    """Return True for an element with few links besides those to the next or previous page."""
    links = one.findall(".//a[@href]")
    turns = 0
    for link in links:
        label = " ".join(link.text_content().split()) or link.get("aria-label", "") or link.get("title", "")
        near = (link, *islice(link.iterancestors(), 3))
        names = " ".join(place.get(key, "") for place in near for key in ("class", "id", "rel"))
        turns += bool(_TURN_NAMES.search(names) or (len(label) <= 40 and _TURNS.fullmatch(label)))
    return 2 * turns >= max(len(links), 1)
