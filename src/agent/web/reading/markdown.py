"""A page of HTML as Markdown: its content, and apart from it menus, head and foot; tables as tables, links numbered."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from lxml import html  # type: ignore[import-untyped]  # it has no stubs

from agent.web.page import WebProblem
from agent.web.reading.block_pages import look_for_wall
from agent.web.reading.source import (
    absolute,
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
from agent.web.response import decoded
from mcp_tools.text import one_line, printable

LONGEST = 6_000_000
"""Characters of a page that are looked at."""
_ESCAPED = re.compile(r"(?s:```.*?```)|`[^`\n]*`|\\([][().*_#+!>~`-])")
"""Signs that were escaped, outside code: quotations must match what the page shows."""
_SHORT = 120
"""Characters below which a page with scripts may have more to show."""
_SCRIPTS = "//script[not(@type) or contains(@type, 'javascript') or @type='module']"
_WANTS_SCRIPTS = re.compile(
    r"(enable|turn on|requires?|need|without) (\w+ ){0,3}javascript|javascript (\w+ ){0,3}(disabled|required)", re.I
)
_LIKE_LINKS = re.compile(r"\]\[(\d{1,6})\]")
"""What a page itself writes as we write links: `[11][12]` of footnotes."""
_LINKED = "\x00"
"""Marks our links while a page's own text that looks like one is changed; no page contains it."""
_MOST_CHOICES = 30
_SHORT_WARNING = 600
"""Characters of a page that says little more than that it wants scripts."""
_MOUNTS = "//*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @ng-version][not(normalize-space())]"
"""Where scripts put a page, still empty."""
_MOST_FORMS = 10
_MOST_FIELDS = 30
_MOST_OPTIONS = 30
_LONGEST_VALUE = 60
"""Characters of a value or an option."""
_LONGEST_FORM = 800
_BUTTONS = frozenset({"submit", "button", "reset", "image"})
_AROUND_TAGS = frozenset(("nav", "footer", "aside", "header", "menu"))
_AROUND_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav|navigation|navbar|menu|foot|footer|header|masthead|topbar|\w*sidebar|share|social|related"
    r"|recommend\w*|cookies?|consent|breadcrumbs?|advert\w*|ads?|promo|newsletter|feedback|toolbar|skip)(?:$|[\s_-])",
    re.I,
)
_ENDS = re.compile(r"(?:^|[\s_-])(?:foot|footer|header)(?:$|[\s_-])", re.I)
"""Within an article its own head and foot: who wrote it and when."""
_ARTICLE = ("main", "article", "h1")
_OF_TABLES = frozenset(("tr", "th", "thead", "tbody", "tfoot", "caption", "colgroup", "h2", "h3", "h4", "h5", "h6"))
_MOST_AROUND = 0.4
"""Largest share of a page's text that a menu may have: some pages are named `with-sidebar` as a whole."""
_LEAST_CONTENT = 0.1
"""Share of a page's text that its content has at least; else nothing is set apart."""
_FEWEST_LINKS = 4
_LINK_TEXT = 0.85
"""Share of its text that a menu has in links."""
_TURNS = re.compile(
    r"[«»‹›←→<>\s]*(?:(?:older|newer|next|prev(?:ious)?|earlier|later|more)(?: \w+){0,2}|page \d+|\d{1,4}|[«»‹›←→])"
    r"[«»‹›←→<>\s]*",
    re.I,
)
"""What links to other parts of a list say."""
_TURN_NAMES = re.compile(r"(?:^|[\s_-])(?:pag(?:er|ing|inat\w+)|page-?numbers?|next|prev(?:ious)?)(?:$|[\s_-])", re.I)


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
    """Characters that were left out because a browser does not show them."""
    forms: tuple[str, ...] = ()
    around: str = ""
    """Menus, head and foot."""

    @property
    def size(self) -> int:
        """Characters of all that there is to read."""
        return len(self.markdown) + len(self.around)


def read_page(body: str, charset: str, url: str, asked: str, status: int) -> dict[str, Any]:
    """What a page says, and the `wall` that keeps its content back, as JSON.

    It is carried out in a process of its own, since no parser is safe from what sites send.

    Args:
        body: Its bytes in base64.
        charset: Their encoding.
        url: Where it was.
        asked: The address that led there.
        status: With which it came.
    """
    html = decoded(base64.b64decode(body), charset)
    found = extract(html, url)
    wall = None
    try:
        look_for_wall(html, found.markdown, url, asked=asked, status=status)
    except WebProblem as problem:
        wall = {"reason": problem.reason, "message": problem.message, "remedy": problem.remedy}
    return {**asdict(found), "wall": wall}


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


def forms_of(tree: Any, url: str) -> list[str]:
    """Each form on a line: `GET https://a.example/search: q (text); lang (one of en=English, de=Deutsch)`.

    Args:
        tree: The page.
        url: Where it was.
    """
    base = next((absolute(url, href) for href in tree.xpath("//base/@href")), "") or url
    found = []
    for form in tree.xpath("//form")[:_MOST_FORMS]:
        if target := absolute(base, form.get("action") or url):
            fields = "; ".join(list(_fields(form))[:_MOST_FIELDS]) or "no fields"
            found.append(one_line(f"{(form.get('method') or 'get').upper()} {target}: {fields}", _LONGEST_FORM))
    return found


def _fields(form: Any) -> Iterator[str]:
    chosen: dict[str, list[str]] = {}
    for field in form.iter("input", "select", "textarea", "button"):
        name, kind = field.get("name"), (field.get("type") or field.tag).lower()
        if not name:
            continue
        if kind == "radio":
            if name not in chosen:
                chosen[name] = [
                    _short(one.get("value") or "on") for one in form.iter("input") if one.get("name") == name
                ]
                yield f"{name} (one of {_listed(chosen[name])})"
        elif field.tag == "select":
            several = "some" if field.get("multiple") is not None else "one"
            yield f"{name} ({several} of {_listed([_option(one) for one in field.iter('option')])})"
        else:
            value = field.get("value") or ""
            what = {"input": "text", "textarea": "long text"}.get(kind, "button" if kind in _BUTTONS else kind)
            yield f"{name} ({what}{f', {_short(value)}' if value else ''})"


def _option(option: Any) -> str:
    text = _short(option.text_content())
    value = option.get("value")
    return text if value is None or value == text else f"{_short(value)}={text}"


def _listed(options: list[str]) -> str:
    more = f" and {len(options) - _MOST_OPTIONS} more" if len(options) > _MOST_OPTIONS else ""
    return ", ".join(options[:_MOST_OPTIONS]) + more


def _short(text: str) -> str:
    return one_line(text, _LONGEST_VALUE)


def set_apart(tree: Any, mark: str) -> None:
    """Moves menus, head and foot of a page behind its content; links that turn its pages get a line before them.

    Args:
        tree: The page, without scripts; it changes.
        mark: Divides the two, as a paragraph of its own.
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
        if one.getparent() in inside or one in inside:
            inside.add(one)
        elif _stands_around(one, size, before_article):
            found.append(one)
            inside.add(one)
    if sum(len(one.text_content()) for one in found) > size * (1 - _LEAST_CONTENT):
        return
    turns = [link for one in found for link in one.iterfind(".//a[@href]") if _turns_pages(link)]
    if turns:
        body.append(_line_of(turns))
    divider = html.Element("p")
    divider.text = mark
    body.append(divider)
    for one in found:
        one.drop_tree()
        one.tag = "div" if one.tag == "td" else one.tag
        body.append(one)


def _stands_around(one: Any, size: int, before_article: bool) -> bool:
    if one.tag in _OF_TABLES or next(one.iter(*_ARTICLE), None) is not None:
        return False
    name = f"{one.get('class', '')} {one.get('id', '')}"
    is_in_article = next(one.iterancestors("main", "article"), None) is not None
    if one.tag in _AROUND_TAGS:
        return not (is_in_article and one.tag in ("header", "footer"))
    is_named = _AROUND_NAMES.search(name) and not (is_in_article and _ENDS.search(name))
    if not (is_named or (before_article and _is_menu(one))):
        return False
    return len(one.text_content()) <= _MOST_AROUND * size


def _is_menu(one: Any) -> bool:
    """Whether it is a list of links and nothing else."""
    if one.tag not in ("ul", "ol"):
        return False
    links = one.findall(".//a[@href]")
    shown = len("".join(one.text_content().split()))
    linked = sum(len("".join(link.text_content().split())) for link in links)
    return len(links) >= _FEWEST_LINKS and linked >= _LINK_TEXT * shown


def _turns_pages(link: Any) -> bool:
    """Whether a link leads to the next or an earlier part of what the page shows."""
    names = " ".join(
        one.get(key, "") for one in (link, *islice(link.iterancestors(), 3)) for key in ("class", "id", "rel")
    )
    if _TURN_NAMES.search(names):
        return True
    said = " ".join(link.text_content().split()) or link.get("aria-label", "") or link.get("title", "")
    return len(said) <= 40 and _TURNS.fullmatch(said) is not None


def _line_of(links: list[Any]) -> Any:
    line = html.Element("p")
    line.text = "Turn pages: "
    for link in links:
        copy = html.Element("a", href=link.get("href"))
        copy.text = " ".join(link.text_content().split()) or link.get("aria-label", "") or link.get("title", "") or "…"
        copy.tail = " "
        line.append(copy)
    return line
