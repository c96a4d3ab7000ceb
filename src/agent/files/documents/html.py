"""Web pages as Markdown: headings, tables, links; scripts and styles left out and told."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agent.files.contents import Contents, ReadLimits, Source, TextContents
from agent.files.documents.drawings import Drawn
from agent.files.documents.markdown import in_sections
from agent.files.problem import FileProblem, beginning, name_of, without_package
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_MOST_BYTES = 32 * 2**20
_DROPPED = ("script", "style", "noscript", "template", "iframe", "object", "embed", "canvas", "svg")
_BLOCKS = frozenset(
    ("nav", "main", "header", "footer", "aside", "menu", "form", "fieldset", "details", "summary", "dialog", "hgroup")
)
_HELD = re.compile(r"data:image/(png|jpeg|jpg|gif|webp|bmp);base64,(.*)", re.DOTALL)
_BLANK_LINES = re.compile(r"\n{3,}")
_DEEPEST = 200
"""Elements inside each other: more is no layout that anybody made by hand."""


class HtmlReader:
    """Reads html."""

    kinds = frozenset({"html"})

    def open(self, source: Source, limits: ReadLimits) -> Contents:
        """Reads a page.

        Raises:
            FileProblem: It is empty, binary, or larger than 32 MiB.
        """
        head = beginning(source, 4096)
        size = source.path.stat().st_size
        if size > _MOST_BYTES:
            raise FileProblem(
                "too_large",
                f"{name_of(source)} has {size:,} bytes; pages of at most {_MOST_BYTES:,} are read.",
                remedy="Read it in a program with lxml.",
            )
        if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise FileProblem("mismatch", f"{name_of(source)} is no html: it is binary.", remedy="Check its kind.")
        drawn = Drawn()
        page = Page(source.path.read_bytes(), drawn, in_address)
        facts: dict[str, Json] = {"title": page.title, "encoding": page.encoding, "links": page.links}
        facts["tables"] = page.tables
        summary = f"Web page “{page.title}”." if page.title else "Web page without a title."
        summary += f" {page.tables} tables, {page.links} links."
        blocks = page.markdown.split("\n\n")
        return TextContents(
            "html", summary, in_sections(blocks, limits.section), facts, [*page.lost, *drawn.lost], drawn.pictures
        )


class Page:
    """A page as Markdown.

    Args:
        content: Its bytes, in whatever encoding it says or has.
        drawn: Where its pictures are kept; without, an address says where each is.
        find: The content of a picture, and its kind, by its address; empty where it cannot be had.
    """

    def __init__(
        self, content: bytes | str, drawn: Drawn | None = None, find: Callable[[str], tuple[bytes, str]] | None = None
    ) -> None:
        try:
            from bs4 import BeautifulSoup
        except ImportError:
            raise without_package("beautifulsoup4", "files", "web pages cannot be read") from None
        soup = BeautifulSoup(content, "lxml")
        self.lost: list[str] = []
        self.encoding = str(soup.original_encoding or "utf-8")
        self.title = one_line(soup.title.get_text(), 300) if soup.title else ""
        if drawn is not None and find is not None:
            for picture in soup.find_all("img", src=True):
                content, kind = find(str(picture["src"]))
                if content:
                    alt = one_line(str(picture.get("alt", "")), 300)
                    picture.replace_with(drawn.kept(content, kind, alt, "picture"))
        self._drop(soup)
        self.headings = [one_line(h.get_text(" "), 100) for h in soup.find_all(["h1", "h2", "h3"])]
        self.tables = len(soup.find_all("table"))
        self.links = len(soup.find_all("a", href=True))
        self._merged(soup)
        self.markdown = _BLANK_LINES.sub("\n\n", self._converted(soup)).strip()

    def _drop(self, soup: BeautifulSoup) -> None:
        """Takes out what is no text; the words that a picture or a field has go in its place."""
        from bs4 import Comment

        counts = {name: len(soup.find_all(name)) for name in _DROPPED}
        shown = {name: count for name, count in counts.items() if count}
        if shown:
            named = ", ".join(f"{count} {name}" for name, count in shown.items())
            self.lost.append(f"Left out: {named}. What scripts would have written is missing.")
        frames = [str(one["src"]) for one in soup.find_all("iframe", src=True)]
        if frames:
            self.lost.append(f"Framed pages were not opened: {', '.join(one_line(one) for one in frames[:5])}.")
        for element in soup.find_all("svg"):
            element.replace_with(" ".join(t.get_text(" ") for t in element.find_all(["text", "title"])))
        for element in soup.find_all([*_DROPPED, "head"]):
            element.extract()
        found = soup.find_all(string=lambda text: isinstance(text, Comment))
        comments = [one for one in found if not one.startswith(("?xml", "[if"))]
        if comments:
            self.lost.append(f"Left out: {len(comments)} comments in the source.")
        for comment in found:
            comment.extract()
        self._fields(soup)

    def _fields(self, soup: BeautifulSoup) -> None:
        hidden = soup.select("[hidden], [style*='display:none'], [style*='display: none']")
        if hidden:
            self.lost.append(f"{len(hidden)} hidden elements are shown like the rest.")
        for field in soup.find_all("input", value=True):
            if field.get("type") not in ("hidden", "submit", "button"):
                field.replace_with(f"[field {field.get('name', '')}: {field['value']}]")
        for picture in soup.find_all("img", src=re.compile("^data:")):
            picture["src"] = "inline"

    def _merged(self, soup: BeautifulSoup) -> None:
        """Cells over several rows or columns: empty ones stand for the rest, so that columns stay columns."""
        spanning = soup.find_all(["td", "th"], rowspan=True)
        if spanning or soup.find_all(["td", "th"], colspan=True):
            self.lost.append("Some table cells are merged: their text stands in the first of them.")
        for table in {id(t): t for cell in spanning if (t := cell.find_parent("table"))}.values():
            _fill(soup, table)

    def _converted(self, soup: BeautifulSoup) -> str:
        from markdownify import ATX

        if not _is_deep(soup):
            try:
                return str(_converter()(heading_style=ATX, escape_misc=False, bullets="-").convert_soup(soup))
            except RecursionError:
                pass
        self.lost.append("The page is nested too deeply: its words are shown without headings, tables and links.")
        return _words(soup)


def in_address(address: str) -> tuple[bytes, str]:
    """A picture that an address holds itself, and its kind; empty for any other address."""
    held = _HELD.match(address)
    try:
        return (base64.b64decode(held[2]), held[1]) if held else (b"", "")
    except ValueError:
        return b"", ""


def _converter() -> Any:
    from markdownify import MarkdownConverter

    class Converter(MarkdownConverter):
        """Knows newer elements as blocks, and keeps a bar inside a cell from dividing it."""

        def get_conv_fn(self, tag_name: str) -> Any:
            """What converts an element."""
            return super().get_conv_fn("div" if tag_name.lower() in _BLOCKS else tag_name)  # type: ignore[misc]  # it has no types

        def process_text(self, el: Any, parent_tags: Any = None) -> str:
            """The text of an element."""
            text = str(super().process_text(el, parent_tags))  # type: ignore[misc]  # it has no types
            return text.replace("|", "\\|") if parent_tags and parent_tags & {"td", "th"} else text

    return Converter


def _fill(soup: BeautifulSoup, table: Any) -> None:
    """Puts empty cells below those that reach over several rows."""
    waiting: dict[int, int] = {}
    for row in [one for one in table.find_all("tr") if one.find_parent("table") is table][:10_000]:
        cells, place = row.find_all(["td", "th"], recursive=False), 0
        for cell in cells:
            while waiting.get(place, 0) > 0:
                waiting[place] -= 1
                cell.insert_before(soup.new_tag("td"))
                place += 1
            width = _number(cell.get("colspan"))
            for column in range(place, place + width):
                waiting[column] = _number(cell.get("rowspan")) - 1
            place += width
        while waiting.get(place, 0) > 0:
            waiting[place] -= 1
            row.append(soup.new_tag("td"))
            place += 1


def _number(value: Any) -> int:
    text = str(value or 1).strip()
    return min(max(int(text), 1), 1000) if text.isdecimal() else 1


def _is_deep(soup: BeautifulSoup) -> bool:
    depth, node = 0, soup.next_element
    level = {id(soup): 0}
    while node is not None:
        depth = level.get(id(node.parent), 0) + 1
        if depth > _DEEPEST:
            return True
        if getattr(node, "contents", None) is not None:
            level[id(node)] = depth
        node = node.next_element
    return False


def _words(soup: BeautifulSoup) -> str:
    """All strings in order, without recursion."""
    return "\n".join(text for one in soup.descendants if isinstance(one, str) and (text := one.strip()))
