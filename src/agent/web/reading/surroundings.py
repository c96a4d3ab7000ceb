"""What stands around the content of a page: navigation, foot, advertisements, boxes."""

from __future__ import annotations

import re
from typing import Any

from agent.web.reading.source import texts_of
from mcp_tools.text import one_line

_TAGS = frozenset(("nav", "footer", "aside", "header", "form", "button", "select", "menu", "dialog"))
_ASKING = frozenset(("header", "form", "button", "select"))
"""They stand around an article, and are the content of a page without one."""
_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|menu|foot|footer|header|topbar|sidebar|share|social|related|cookie|consent|breadcrumbs?"
    r"|advert|ads?|promo|toolbar|skip)(?:$|[\s_-])",
    re.I,
)
_CONTENT = ("main", "article", "h1")
_LARGE = 0.4
"""Share of a page's text that nothing has which only stands around: pages are named `with-sidebar` as a whole."""
_HEADING = re.compile(r"^#", re.M)
_ROW = re.compile(r"^\|", re.M)
_MOST_OTHERS = 20


class Surroundings:
    """The elements of a page that stand around its content, by their tags and names.

    Args:
        tree: The page.
    """

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self._body = tree.find("body")
        self._whole = len(tree.text_content())
        self._elements = {one for one in tree.iterfind("body//*") if one.tag in _TAGS or self._is_named(one)}

    def words(self) -> list[str]:
        """The words of the content."""
        if self._body is None:
            return []
        return " ".join(texts_of(self._body, self._elements.__contains__)).split()

    def lost_links(self, markdown: str) -> bool:
        """Whether most links of the content whose text was kept are links no more."""
        texts = [(" ".join(one.text_content().split()), one.get("href")) for one in self._links(self._tree)]
        there = [href for text, href in texts if len(text) > 2 and text in markdown]
        return len(there) > 2 and sum(f"]({href})" in markdown for href in there) * 2 < len(there)

    def lost_structure(self, markdown: str) -> bool:
        """Whether the content has headings or tables, and its Markdown none of them: it is bare text then."""
        headings, cells = (map(self._is_content, self._tree.iter(*tags)) for tags in (("h1", "h2", "h3"), ("td",)))
        return (not _HEADING.search(markdown) and any(headings)) or (not _ROW.search(markdown) and any(cells))

    def other_links(self, markdown: str) -> list[tuple[str, str]]:
        """Text and address of links of the content that are not in its Markdown: `next page`, mostly."""
        roots = self._tree.xpath("//main | //*[@role='main'] | //article")[:1] or [self._tree]
        texts = [(one_line(one.text_content(), 80), one.get("href")) for root in roots for one in self._links(root)]
        found = dict.fromkeys(one for one in texts if one[0] and f"]({one[1]})" not in markdown)
        return list(found)[:_MOST_OTHERS]

    def drop(self) -> None:
        """Takes them out of the page; forms and heads stay."""
        for one in self._elements:
            if one.tag not in _ASKING and one.getparent() is not None:
                one.drop_tree()

    def _links(self, root: Any) -> list[Any]:
        return [one for one in root.iterfind(".//a[@href]") if self._is_content(one)]

    def _is_content(self, one: Any) -> bool:
        return not any(up in self._elements for up in one.iterancestors())

    def _is_named(self, one: Any) -> bool:
        if not _NAMES.search(f"{one.get('class', '')} {one.get('id', '')}"):
            return False
        return next(one.iter(*_CONTENT), None) is None and len(one.text_content()) <= _LARGE * self._whole
