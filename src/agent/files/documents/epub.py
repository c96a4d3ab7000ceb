"""Books in EPUB, chapter by chapter."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from agent.files.contents import Contents, ReadLimits, Section, Source, TextContents
from agent.files.documents.drawings import Drawn
from agent.files.documents.html import Page, in_address
from agent.files.documents.markdown import in_sections
from agent.files.documents.package import damage_told, open_package, read_member
from agent.files.problem import FileProblem, damaged, name_of
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_CONTAINER = "META-INF/container.xml"
_PAGES = ("application/xhtml+xml", "text/html")
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Ways of garbling that concern fonts alone."""
_MOST_BYTES = 32 * 2**20
"""Of one chapter."""


class EpubReader:
    """Reads epub."""

    kinds = frozenset({"epub"})

    def open(self, source: Source, limits: ReadLimits) -> Contents:
        """Reads a book.

        Raises:
            FileProblem: It is empty, damaged, cut off, copy-protected, a bomb, or no book.
        """
        with open_package(source, limits, _CONTAINER) as archive:
            _refuse_protected(archive, source)
            with damage_told(source, "a book"):
                return _Book(archive, source).contents(limits)


@dataclass(frozen=True, slots=True)
class _Item:
    path: str
    kind: str
    properties: str


class _Book:
    """An open book: its list of files, the order of its chapters, and their names."""

    def __init__(self, archive: ZipFile, source: Source) -> None:
        self._archive, self._source, self._drawn = archive, source, Drawn()
        container = self._xml(_CONTAINER)
        place = next((one.get("full-path") for one in _all(container, "rootfile")), None)
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
        for item in self._spine(lost):
            page = self._page(item, lost)
            if page is None or not page.markdown:
                continue
            lost.update(dict.fromkeys(page.lost))
            title = names.get(item.path) or next(iter(page.headings), "") or page.title
            chapters.append(title)
            name = f"chapter {len(chapters)}{f': {title}' if title else ''}"
            sections += in_sections(page.markdown.split("\n\n"), limits.section, name)
        if not sections:
            raise damaged(self._source, "a book", "it has no chapter with text")
        facts: dict[str, Json] = {**self._told(), "chapters": list(chapters)}
        return TextContents(
            "epub", _summary(facts, chapters), sections, facts, [*lost, *self._drawn.lost], self._drawn.pictures
        )

    def _spine(self, lost: dict[str, None]) -> list[_Item]:
        found = []
        for one in _all(self._root, "itemref"):
            item = self._items.get(one.get("idref", ""))
            if item is None:
                lost["The book names a chapter that is not in its list of files."] = None
            elif item.kind in _PAGES:
                found.append(item)
            else:
                lost[f"Not read: {item.path} ({item.kind})."] = None
        return found

    def _page(self, item: _Item, lost: dict[str, None]) -> Page | None:
        if item.path not in self._archive.namelist():
            lost[f"The chapter {item.path} is missing."] = None
            return None
        if self._archive.getinfo(item.path).file_size > _MOST_BYTES:
            lost[f"The chapter {item.path} is larger than {_MOST_BYTES:,} bytes and was not read."] = None
            return None

        def find(address: str) -> tuple[bytes, str]:
            path = _joined(posixpath.dirname(item.path), address)
            kind = next((one.kind for one in self._items.values() if one.path == path), "")
            if not kind.startswith("image/") or path not in self._archive.namelist():
                return in_address(address)
            return read_member(self._archive, self._source, path), posixpath.splitext(path)[1][1:].lower()

        return Page(read_member(self._archive, self._source, item.path), self._drawn, find)

    def _names(self) -> dict[str, str]:
        """Names of chapters by path, from the table of contents of either format."""
        found: dict[str, str] = {}
        for item in self._items.values():
            if item.path not in self._archive.namelist():
                continue
            if "nav" in item.properties.split():
                places = ((a.get("href"), " ".join(a.itertext())) for a in _all(self._xml(item.path), "a"))
            elif item.kind == "application/x-dtbncx+xml":
                places = (_ncx(point) for point in _all(self._xml(item.path), "navPoint"))
            else:
                continue
            for target, name in places:
                path = _joined(posixpath.dirname(item.path), target or "")
                found.setdefault(path, one_line(name, 120))
        return found

    def _told(self) -> dict[str, Json]:
        facts: dict[str, Json] = {}
        for name in ("title", "creator", "language", "publisher", "date", "identifier"):
            values = [one_line("".join(one.itertext()), 300) for one in _all(self._root, name)]
            if any(values):
                facts["author" if name == "creator" else name] = ", ".join(filter(None, values))
        return facts

    def _xml(self, name: str) -> Any:
        from lxml import etree  # type: ignore[import-untyped]  # it has no stubs

        content = read_member(self._archive, self._source, name)
        try:
            root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, recover=True))
        except etree.LxmlError as error:
            raise damaged(self._source, "a book", error) from None
        if root is None:
            raise damaged(self._source, "a book", f"{name} is no XML")
        return root


def _refuse_protected(archive: ZipFile, source: Source) -> None:
    if "META-INF/encryption.xml" not in archive.namelist():
        return
    text = read_member(archive, source, "META-INF/encryption.xml").decode("utf-8", "replace")
    if text.count("EncryptionMethod") > sum(text.count(f'"{font}"') for font in _FONTS):
        raise FileProblem("encrypted", f"{name_of(source)} is copy-protected.")


def _ncx(point: Any) -> tuple[str, str]:
    target = next((one.get("src", "") for one in _all(point, "content")), "")
    return target, next((one.text or "" for one in _all(point, "text")), "")


def _all(root: Any, name: str) -> list[Any]:
    return list(root.iter(f"{{*}}{name}"))


def _joined(base: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(base, unquote(target.partition("#")[0])))


def _summary(facts: dict[str, Json], chapters: list[str]) -> str:
    title = f" “{facts['title']}”" if facts.get("title") else ""
    author = f" by {facts['author']}" if facts.get("author") else ""
    named = "; ".join(name for name in chapters[:20] if name)
    return f"Book{title}{author} of {len(chapters)} chapters." + (f"\nChapters: {named}" if named else "")
