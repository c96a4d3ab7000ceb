"""What stands around the content of a page: navigation, head, foot, advertisements, boxes."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from lxml import html  # type: ignore[import-untyped]  # it has no stubs

_TAGS = frozenset(("nav", "footer", "aside", "header", "menu"))
_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav|navigation|navbar|menu|foot|footer|header|masthead|topbar|\w*sidebar|share|social|related"
    r"|recommend\w*|cookies?|consent|breadcrumbs?|advert\w*|ads?|promo|newsletter|feedback|toolbar|skip)(?:$|[\s_-])",
    re.I,
)
_ENDS = re.compile(r"(?:^|[\s_-])(?:foot|footer|header)(?:$|[\s_-])", re.I)
"""Within an article its own head and foot: who wrote it and when."""
_ARTICLE = ("main", "article", "h1")
_OF_TABLES = frozenset(("tr", "th", "thead", "tbody", "tfoot", "caption", "colgroup", "h2", "h3", "h4", "h5", "h6"))
_LARGE = 0.4
"""Share of a page's text that nothing has which only stands around: pages are named `with-sidebar` as a whole."""
_LEAST = 0.1
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


def set_apart(tree: Any, mark: str) -> None:
    """Puts what stands around the content of a page behind it; links that turn its pages get a line before that.

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
    if sum(len(one.text_content()) for one in found) > size * (1 - _LEAST):
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
    if one.tag in _TAGS:
        return not (is_in_article and one.tag in ("header", "footer"))
    is_named = _NAMES.search(name) and not (is_in_article and _ENDS.search(name))
    if not (is_named or (before_article and _is_menu(one))):
        return False
    return len(one.text_content()) <= _LARGE * size


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
