"""What an index is made of: the files of a folder, or what a list of pages names, and their text."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from agent.files.contents import READERS, ReadLimits
from agent.files.kinds import encoding_of, kind_of
from agent.files.problem import FileProblem
from agent.files.reader_process import ReadingProcesses
from agent.files.reading import read as reading_of
from agent.web.engines.index_store import Entry, Place
from agent.web.reading.source import number_links
from mcp_tools.text import one_line, printable

MOST_PLACES = 50_000
"""Pages of an index."""
_MOST_BYTES = 64 << 20
"""Of one file; larger ones are known by their names only."""
_PLAIN_BYTES = 4 << 20
"""Of a text that is read in this process, and of a web page; larger ones are read in parts, as other kinds are."""
_MOST_TEXT = 400_000
"""Characters of a file that can be found."""
_UNREAD = ("audio", "video", "image")
"""Modules whose readers take minutes for what is no text; such files are known by their names only."""
_HEADING = re.compile(r"^#{1,3}\s+(.+)$", re.M)
_ADDRESS = re.compile(r"https?://", re.I)


def places_in(source: Path, without: Path) -> Iterator[Place]:
    """The files of a folder, or the entries of a list of pages.

    Hidden files and folders, and links that lead out of the folder, are left out.

    Args:
        source: The folder or the list.
        without: A folder that is none of the pages: the index's own.

    Raises:
        OSError: The folder or the list cannot be read.
    """
    yield from _listed(source) if source.is_file() else _in_folder(source, without.resolve())


def path_of(url: str) -> Path:
    """The file behind a `file:` address."""
    return Path(os.fsdecode(unquote_to_bytes(urlsplit(url).path)))


async def read_place(place: Place, path: Path, parsers: ReadingProcesses) -> Entry:
    """A file with its text; what cannot be read keeps its name, and a note why.

    Args:
        place: Where it is listed.
        path: The file.
        parsers: Read web pages.

    Raises:
        OSError: The file is gone.
    """
    facts = await asyncio.to_thread(path.stat)
    modified = datetime.fromtimestamp(facts.st_mtime, UTC).isoformat(timespec="seconds")
    digest = await asyncio.to_thread(digest_of, path, place.title)
    text = await _text_of(path, place.url, facts.st_size, parsers)
    heading = _HEADING.search(text.body[:4000])
    return Entry(
        url=place.url,
        stamp=place.stamp,
        hash=digest,
        kind=text.kind,
        title=place.title or text.title or (one_line(heading[1], 200) if heading else "") or path.name,
        body=text.body,
        name=place.name,
        links="\n".join(text.links),
        dated=text.published or modified[:10],
        published=text.published,
        fetched=modified,
        note=text.note,
    )


@dataclass(frozen=True, slots=True)
class _Text:
    """What was read of a file."""

    kind: str
    body: str = ""
    title: str = ""
    links: tuple[str, ...] = ()
    note: str = ""
    published: str = ""


async def _text_of(path: Path, url: str, size: int, parsers: ReadingProcesses) -> _Text:
    kind = ""
    try:
        kind = await asyncio.to_thread(kind_of, path)
        if size > _MOST_BYTES:
            return _Text(kind, note=f"Its content is not in the index: it has more than {_MOST_BYTES >> 20} MiB.")
        if _module(kind) in _UNREAD or kind not in READERS:
            return _Text(kind, note=f"Its content is not in the index: it is {kind}.")
        if kind == "html" and size <= _PLAIN_BYTES:
            arguments = {"page": base64.b64encode(await asyncio.to_thread(path.read_bytes)).decode(), "url": url}
            request = {"name": path.name, "kind": kind, "call": "agent.web.engines.index_files:read_web_page"}
            told = await parsers.ask({**request, "arguments": arguments}, ReadLimits(seconds=30))
            return _Text(**{**told, "links": tuple(told["links"])})
        if _module(kind) == "text" and size <= _PLAIN_BYTES:
            return await asyncio.to_thread(_plain_text, path, kind, url)
        reading = await reading_of(path, to=1_000_000, limit=_MOST_TEXT)
    except (FileProblem, OSError) as problem:
        return _Text(kind, note=one_line(str(problem), 300))
    lost = [*reading.lost, *(["Only its beginning can be found."] if reading.more else [])]
    return _Text(kind, reading.text, note=" ".join(lost))


def digest_of(path: Path, title: str) -> str:
    """The hash of a file's content and given title; of a very large one, of its beginning and size."""
    digest = hashlib.blake2b(title.encode(errors="replace"), digest_size=16)
    with path.open("rb") as file:
        for _ in range(_MOST_BYTES >> 20):
            if not (block := file.read(1 << 20)):
                break
            digest.update(block)
    digest.update(str(path.stat().st_size).encode())
    return digest.hexdigest()


def _in_folder(folder: Path, without: Path) -> Iterator[Place]:
    root = folder.resolve()
    found = 0
    os.scandir(root).close()  # a folder that cannot be read is an error; one inside it is left out
    for where, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and Path(where, name) != without)
        for name in sorted(names):
            path = Path(where, name)
            if name.startswith(".") or (place := _place(path, root)) is None:
                continue
            yield place
            found += 1
            if found >= MOST_PLACES:
                return


def _place(path: Path, root: Path) -> Place | None:
    """A regular file inside the folder; None for everything else."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode) or (path.is_symlink() and not path.resolve().is_relative_to(root)):
            return None
        url = path.as_uri()
    except (OSError, ValueError):
        return None
    stamp = f"{facts.st_size} {facts.st_mtime_ns}"
    return Place(url, stamp, path, " ".join(re.split(r"[\W_]+", str(path.relative_to(root)))))


def _listed(source: Path) -> Iterator[Place]:
    """One entry a line: an address or a path, and its title behind a blank; `#` begins a remark."""
    data = source.read_bytes()[:_PLAIN_BYTES]
    found = encoding_of(data)
    root = source.resolve().parent
    seen: set[str] = set()
    lines = printable(found.decode(data)).splitlines() if found else []
    for line in lines[:MOST_PLACES]:
        entry, _, title = line.strip().partition(" ")
        if not entry or entry.startswith("#"):
            continue
        place = _entry(entry, one_line(title, 200), root)
        if place is not None and place.url not in seen:
            seen.add(place.url)
            yield place


def _entry(entry: str, title: str, root: Path) -> Place | None:
    try:
        if _ADDRESS.match(entry):
            return Place(entry, "", None, " ".join(re.split(r"[\W_]+", urlsplit(entry).path)), title)
        path = path_of(entry) if entry.startswith("file:") else root / entry
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            return None
        stamp = f"{facts.st_size} {facts.st_mtime_ns} {title}".strip()
        return Place(path.resolve().as_uri(), stamp, path, " ".join(re.split(r"[\W_]+", entry)), title)
    except (OSError, ValueError):
        return None


def _plain_text(path: Path, kind: str, url: str) -> _Text:
    """The text of a file that is text, and its links."""
    with path.open("rb") as file:
        data = file.read(_PLAIN_BYTES)
    encoding = encoding_of(data)
    text = encoding.decode(data)[:_MOST_TEXT] if encoding else ""
    return _linked(text, url) if kind == "md" else _Text(kind, text)


def read_web_page(page: str, url: str) -> dict[str, Any]:
    """A page whole, without what is hidden in it, as JSON; carried out in a process of its own.

    Args:
        page: Its bytes in base64.
        url: Where it is.
    """
    from lxml import html  # type: ignore[import-untyped]  # it has no stubs

    from agent.files.documents.html import Page
    from agent.web.reading.source import date_of, drop_hidden, parse, title_of
    from agent.web.response import charset_of

    data = base64.b64decode(page)
    tree = parse(data.decode(charset_of(data) or "utf-8", "replace"))
    if tree is None:
        return asdict(_Text("html", note="The page is empty."))
    title, published = title_of(tree), date_of(tree)
    hidden = drop_hidden(tree)
    text, links = number_links(Page(html.tostring(tree, encoding="unicode")).markdown, url)
    note = f"Hidden text of {hidden:,} characters was left out." if hidden else ""
    return asdict(_Text("html", text[:_MOST_TEXT], title, links, note, published))


def _linked(text: str, url: str) -> _Text:
    body, links = number_links(text, url)
    return _Text("md", body, links=links)


def _module(kind: str) -> str:
    """The reader's module."""
    return READERS.get(kind, "").partition(":")[0].rpartition(".")[2]
