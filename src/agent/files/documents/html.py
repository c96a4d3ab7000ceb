"""Web pages as Markdown, and books in EPUB, whose chapters are web pages."""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote
from zipfile import ZipFile

from agent.files.contents import (
    Contents,
    FileProblem,
    ReadLimits,
    Section,
    Source,
    TextContents,
    beginning,
    damaged,
    in_sections,
    name_of,
    without_package,
)
from agent.files.documents.package import Drawn, damage_told, open_package
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_MOST_BYTES = 32 * 2**20
"""Of a page, or a chapter of a book."""
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Ways of garbling that concern fonts alone."""
_DROPPED = ("script", "style", "noscript", "template", "iframe", "object", "embed", "canvas", "svg")
_BLOCKS = frozenset(
    ("nav", "main", "header", "footer", "aside", "menu", "form", "fieldset", "details", "summary", "dialog", "hgroup")
)
_HELD = re.compile(r"data:image/(png|jpeg|jpg|gif|webp|bmp);base64,(.*)", re.DOTALL)
_BLANK_LINES = re.compile(r"\n{3,}")


def open_html(source: Source, limits: ReadLimits) -> Contents:
    """Reads a web page.

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
    page = Page(source.path.read_bytes(), drawn, _in_address)
    facts: dict[str, Json] = {"title": page.title, "encoding": page.encoding, "links": page.links}
    facts["tables"] = page.tables
    summary = f"Web page “{page.title}”." if page.title else "Web page without a title."
    summary += f" {page.tables} tables, {page.links} links."
    sections = in_sections(page.markdown.split("\n\n"), limits.section)
    return TextContents("html", summary, sections, facts, [*page.lost, *drawn.lost], drawn.pictures)


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
        spanning = soup.find_all(["td", "th"], rowspan=True)
        if spanning or soup.find_all(["td", "th"], colspan=True):
            self.lost.append("Some table cells are merged: their text stands in the first of them.")
        for table in {id(t): t for cell in spanning if (t := cell.find_parent("table"))}.values():
            _fill(soup, table)
        self.markdown = _BLANK_LINES.sub("\n\n", self._converted(soup)).strip()

    def _drop(self, soup: BeautifulSoup) -> None:
        """Takes out what is no text; the words that a picture or a field has go in its place."""
        from bs4 import Comment

        counts = {name: len(soup.find_all(name)) for name in _DROPPED}
        if named := ", ".join(f"{count} {name}" for name, count in counts.items() if count):
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
        hidden = soup.select("[hidden], [style*='display:none'], [style*='display: none']")
        if hidden:
            self.lost.append(f"{len(hidden)} hidden elements are shown like the rest.")
        for field in soup.find_all("input", value=True):
            if field.get("type") not in ("hidden", "submit", "button"):
                field.replace_with(f"[field {field.get('name', '')}: {field['value']}]")
        for picture in soup.find_all("img", src=re.compile("^data:")):
            picture["src"] = "inline"

    def _converted(self, soup: BeautifulSoup) -> str:
        from markdownify import ATX

        try:
            return str(_converter()(heading_style=ATX, escape_misc=False, bullets="-").convert_soup(soup))
        except RecursionError:
            self.lost.append("The page is nested too deeply: its words are shown without headings, tables and links.")
            return "\n".join(text for one in soup.descendants if isinstance(one, str) and (text := one.strip()))


def _in_address(address: str) -> tuple[bytes, str]:
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


def open_epub(source: Source, limits: ReadLimits) -> Contents:
    """Reads a book in EPUB.

    Raises:
        FileProblem: It is empty, damaged, cut off, copy-protected, a bomb, or no book.
    """
    with open_package(source, limits, _CONTAINER) as archive, damage_told(source, "a book"):
        if _ENCRYPTION in archive.namelist():
            text = archive.read(_ENCRYPTION).decode("utf-8", "replace")
            if text.count("EncryptionMethod") > sum(text.count(f'"{font}"') for font in _FONTS):
                raise FileProblem("encrypted", f"{name_of(source)} is copy-protected.")
        return _Book(archive, source).contents(limits)


class _Item(NamedTuple):
    path: str
    kind: str
    properties: str


class _Book:
    """An open book: its list of files, the order of its chapters, and their names."""

    def __init__(self, archive: ZipFile, source: Source) -> None:
        self._archive, self._source, self._drawn = archive, source, Drawn()
        self._there = frozenset(archive.namelist())
        place = next((one.get("full-path") for one in _all(self._xml(_CONTAINER), "rootfile")), None)
        if not place:
            raise damaged(source, "a book", "it does not say where its contents are")
        self._root = self._xml(place)
        base = posixpath.dirname(place)
        self._items = {
            one.get("id", ""): _Item(
                _joined(base, one.get("href", "")), one.get("media-type", ""), one.get("properties", "")
            )
            for one in _all(self._root, "item")
        }

    def contents(self, limits: ReadLimits) -> Contents:
        names = self._names()
        lost: dict[str, None] = {}
        sections: list[Section] = []
        chapters: list[str] = []
        for one in _all(self._root, "itemref"):
            item = self._items.get(one.get("idref", ""))
            if item is None or (why := self._why_unread(item)):
                lost["The book names a chapter that is not in its list of files." if item is None else why] = None
                continue
            page = Page(self._archive.read(item.path), self._drawn, partial(self._picture, item.path))
            if not page.markdown:
                continue
            lost.update(dict.fromkeys(page.lost))
            title = names.get(item.path) or next(iter(page.headings), "") or page.title
            chapters.append(title)
            name = f"chapter {len(chapters)}{f': {title}' if title else ''}"
            sections += in_sections(page.markdown.split("\n\n"), limits.section, name)
        if not sections:
            raise damaged(self._source, "a book", "it has no chapter with text")
        facts: dict[str, Json] = {}
        for key in ("title", "creator", "language", "publisher", "date", "identifier"):
            values = [one_line("".join(one.itertext()), 300) for one in _all(self._root, key)]
            if any(values):
                facts["author" if key == "creator" else key] = ", ".join(filter(None, values))
        title = f" “{facts['title']}”" if "title" in facts else ""
        author = f" by {facts['author']}" if "author" in facts else ""
        summary = f"Book{title}{author} of {len(chapters)} chapters."
        if named := "; ".join(name for name in chapters[:20] if name):
            summary += f"\nChapters: {named}"
        facts["chapters"] = list(chapters)
        return TextContents("epub", summary, sections, facts, [*lost, *self._drawn.lost], self._drawn.pictures)

    def _why_unread(self, item: _Item) -> str:
        """Why a chapter is not read; empty where it can be."""
        if item.kind not in ("application/xhtml+xml", "text/html"):
            return f"Not read: {item.path} ({item.kind})."
        if item.path not in self._there:
            return f"The chapter {item.path} is missing."
        is_large = self._archive.getinfo(item.path).file_size > _MOST_BYTES
        return f"The chapter {item.path} is larger than {_MOST_BYTES:,} bytes and was not read." if is_large else ""

    def _picture(self, chapter: str, address: str) -> tuple[bytes, str]:
        path = _joined(posixpath.dirname(chapter), address)
        kind = next((one.kind for one in self._items.values() if one.path == path), "")
        if not kind.startswith("image/") or path not in self._there:
            return _in_address(address)
        return self._archive.read(path), posixpath.splitext(path)[1][1:].lower()

    def _names(self) -> dict[str, str]:
        """Names of chapters by path, from the table of contents of either format."""
        found: dict[str, str] = {}
        for item in self._items.values():
            if item.path not in self._there:
                continue
            places: list[tuple[str, str]] = []
            if "nav" in item.properties.split():
                places = [(a.get("href", ""), " ".join(a.itertext())) for a in _all(self._xml(item.path), "a")]
            elif item.kind == "application/x-dtbncx+xml":
                for point in _all(self._xml(item.path), "navPoint"):
                    target = next((one.get("src", "") for one in _all(point, "content")), "")
                    places.append((target, next((one.text or "" for one in _all(point, "text")), "")))
            for target, name in places:
                found.setdefault(_joined(posixpath.dirname(item.path), target), one_line(name, 120))
        return found

    def _xml(self, name: str) -> Any:
        from lxml import etree  # type: ignore[import-untyped]  # it has no stubs

        parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
        root = etree.fromstring(self._archive.read(name), parser)
        if root is None:
            raise damaged(self._source, "a book", f"{name} is no XML")
        return root


def _all(root: Any, name: str) -> list[Any]:
    return list(root.iter(f"{{*}}{name}"))


def _joined(base: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(base, unquote(target.partition("#")[0])))
