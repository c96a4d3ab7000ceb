"""Reader of EPUB books, in which each chapter is a web page."""

from __future__ import annotations

import posixpath
import re
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from agent.files.contents import (
    Contents,
    FileProblem,
    ReadLimits,
    Section,
    Source,
    TextContents,
    damaged,
    first_of,
    in_sections,
)
from agent.files.documents.html import MAX_PAGE_BYTES, HtmlPage, picture_in
from agent.files.documents.package import Drawings, open_package, parse_xml
from mcp_tools.text import one_line

_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Encryption methods that apply only to fonts."""
_SILENT = re.compile(
    r"mimetype|META-INF/.*|.*/|.*\.(css|opf|ncx|otf|ttf|woff2?|js|xpgt)|iTunesMetadata.*\.plist", re.IGNORECASE
)
"""Names of members without text."""


def open_epub(source: Source, limits: ReadLimits) -> Contents:
    """Read an EPUB book."""
    with open_package(source, limits) as archive:
        there = frozenset(archive.namelist())
        if _ENCRYPTION in there:
            text = archive.read(_ENCRYPTION).decode("utf-8", "replace")
            if text.count("EncryptionMethod") > sum(text.count(f'"{font}"') for font in _FONTS):
                raise FileProblem("encrypted", f"{source.name} is copy-protected.")
        place = _all(parse_xml(archive.read("META-INF/container.xml")), "rootfile")[0].get("full-path")
        root = parse_xml(archive.read(place))
        base = posixpath.dirname(place)
        items = {one.get("id"): (_joined(base, one.get("href", "")), one) for one in _all(root, "item")}
        names = _names(archive, [(path, one) for path, one in items.values() if path in there])
        drawings, lost, chapters, sections = Drawings(), list[str](), list[str](), list[Section]()
        read = {path for path, item in items.values() if "nav" in item.get("properties", "").split()}
        for one in _all(root, "itemref"):
            path, _ = items.get(one.get("idref"), ("that the book names", None))
            if path not in there or archive.getinfo(path).file_size > MAX_PAGE_BYTES:
                lost.append(f"The chapter {path} is {'too large to read' if path in there else 'missing'}.")
                continue

            read.add(path)

            def find(address: str, chapter: str = path) -> tuple[bytes, str]:
                place = _joined(posixpath.dirname(chapter), address)
                suffix = posixpath.splitext(place)[1][1:].lower()
                read.add(place)
                return (archive.read(place), suffix) if place in there else picture_in(address)

            page = HtmlPage(archive.read(path), drawings, find)
            if page.markdown:
                lost += [sentence for sentence in page.lost if sentence not in lost]
                chapters.append(names.get(path) or next(iter(page.headings), "") or page.title)
                name = f"chapter {len(chapters)}{f': {chapters[-1]}' if chapters[-1] else ''}"
                name += " (outside the reading order)" if one.get("linear") == "no" else ""
                sections += in_sections(page.markdown.split("\n\n"), limits.section, name)
    if unread := sorted(name for name in there - read if not _SILENT.fullmatch(name)):
        lost.append(f"Not read: {first_of(unread)}.")
    if not sections:
        raise damaged(source.name, "epub", "no chapter contains text")
    title, author = (
        ", ".join(one_line("".join(one.itertext()), 300) for one in _all(root, key)) for key in ("title", "creator")
    )
    summary = f"Book{f' “{title}”' if title else ''}{f' by {author}' if author else ''} of {len(chapters)} chapters."
    if named := "; ".join(name for name in chapters[:20] if name):
        summary += f"\nChapters: {named}"
    return TextContents("epub", summary, sections, lost=[*lost, *drawings.lost], data=drawings.pictures)


def _names(archive: ZipFile, items: list[tuple[str, Any]]) -> dict[str, str]:
    """Return the chapter names by path, from a table of contents in either format."""
    found: dict[str, str] = {}
    for path, item in items:
        places: list[tuple[str, str]] = []
        if "nav" in item.get("properties", "").split():
            places = [(a.get("href", ""), " ".join(a.itertext())) for a in _all(parse_xml(archive.read(path)), "a")]
        elif item.get("media-type") == "application/x-dtbncx+xml":
            for point in _all(parse_xml(archive.read(path)), "navPoint"):
                target = next((one.get("src", "") for one in _all(point, "content")), "")
                places.append((target, next((one.text or "" for one in _all(point, "text")), "")))
        for target, name in places:
            found.setdefault(_joined(posixpath.dirname(path), target), one_line(name, 120))
    return found


def _all(root: Any, name: str) -> list[Any]:
    return list(root.iter(f"{{*}}{name}"))


def _joined(base: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(base, unquote(target.partition("#")[0])))
