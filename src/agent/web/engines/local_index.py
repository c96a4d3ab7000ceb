"""An index of one's own pages: a folder, or a list of pages, searched offline."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote_to_bytes, urlsplit

from agent.events import Event, Note
from agent.files.contents import FileProblem, module_of
from agent.files.kinds import encoding_of, kind_of
from agent.files.reader_process import ReadingProcesses
from agent.files.reading import read as reading_of
from agent.web.engines.index_store import Entry, IndexStore, is_damage
from agent.web.page import Page, PageReader, Result, Search, WebProblem
from agent.web.queries import oldest, parse_query
from agent.web.reading.source import number_links
from agent.web.response import charset_of
from mcp_tools.text import one_line, printable

T = TypeVar("T")

_FRESH = 60.0
"""Seconds for which the folder is taken as it was seen."""
_PAGE_HOURS = 24
"""Age at which a listed page of the web is read again."""
_BATCH = 50
"""Pages that are written together: what a killed process had not written is read again."""
_AT_ONCE = 4
_TELL_AFTER = 3
"""Seconds of work after which it is reported."""
_MOST_PLACES = 50_000
"""Pages of an index."""
_MOST_BYTES = 64 << 20
"""Of one file; larger ones are known by their names only."""
_PLAIN_BYTES = 4 << 20
"""Of a text that is read in this process; larger ones are read in parts, as other kinds are."""
_MOST_TEXT = 400_000
"""Characters of a file that can be found."""
_UNREAD = ("audio", "video", "image")
"""Modules whose readers take minutes for what is no text; such files are known by their names only."""
_HEADING = re.compile(r"^#{1,3}\s+(.+)$", re.M)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page of the index comes from."""

    url: str
    stamp: str
    path: Path | None
    """The file; None for an address of the web."""
    name: str
    """Words of its path, by which it is found too."""
    title: str = ""
    """As a list calls it."""


class OwnIndex(Search):
    """A search engine over one's own pages, and a reader of them.

    The index is a file in the cache folder that processes share: one brings it up to date, the others wait for it.

    Args:
        source: A folder, or a list of pages: an address or a path on each line.
        cache: Folder for the index.
        reader: Reads listed pages of the web.
        tell: Gets notes on the progress of indexing.
        share: Of the words of a query that a page has at least. Higher where other engines follow: what has little to
            do with these pages is better asked there.
    """

    name = "index"

    def __init__(
        self,
        source: Path,
        cache: Path,
        *,
        reader: PageReader | None = None,
        tell: Callable[[Event], None] = lambda event: None,
        share: float = 0.4,
    ) -> None:
        self._source = source.absolute()
        self._file = cache / f"{hashlib.blake2b(str(self._source).encode(), digest_size=10).hexdigest()}.sqlite"
        self._store = IndexStore(self._file)
        self._reader = reader
        self._parsers = ReadingProcesses("agent.web.reading.markdown", "agent.files.documents.html")
        self._tell = tell
        self._share = share
        self._seen = 0.0
        self._failed: set[str] = set()
        self._refreshing = asyncio.Lock()

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[Result]:
        """The pages that fit best, best first.

        Raises:
            WebProblem: The folder or list, or the index, cannot be used.
        """
        await self._refresh()
        age = oldest(freshness)
        since = age.date().isoformat() if age else ""
        asked = parse_query(query)
        found = await self._in_store(lambda: self._store.find(asked, limit, since, self._share))
        if not found and asked.phrases:
            found = await self._in_store(lambda: self._store.find(asked.loosened, limit, since, self._share))
        return found

    async def read(self, url: str) -> Page:
        """A page as the index has it.

        Raises:
            WebProblem: It is not in the index.
        """
        # What was found a moment ago is there: looking through the folder again would take longer than reading.
        is_made = await asyncio.to_thread(self._file.is_file)
        entry = await self._in_store(lambda: self._store.page(url)) if is_made else None
        if entry is None:
            await self._refresh()
            entry = await self._in_store(lambda: self._store.page(url))
        if entry is None:
            raise WebProblem(
                "refused_address",
                f"{url} is not in the index of {self._source}.",
                remedy="Search, and read what was found.",
            )
        return Page(
            url=entry.url,
            title=entry.title,
            markdown=entry.body,
            links=tuple(entry.links.splitlines()),
            kind=entry.kind,
            via="index",
            fetched=entry.fetched,
            published=entry.published,
            path=_path_of(entry.url) if entry.url.startswith("file:") else None,
            notes=(entry.note,) if entry.note else (),
        )

    async def _refresh(self, *, anew: bool = False) -> None:
        """Brings the index up to date, if that was not done just now; one process at a time."""
        from filelock import AsyncFileLock

        async with self._refreshing:
            if not anew and self._seen and time.monotonic() - self._seen < _FRESH:
                return
            try:
                await asyncio.to_thread(self._file.parent.mkdir, parents=True, exist_ok=True)
                async with AsyncFileLock(self._file.with_suffix(".lock"), thread_local=False, run_in_executor=False):
                    await asyncio.to_thread(self._store.prepare, anew=anew)
                    await self._update()
            except OSError as error:
                raise self._unusable(f"{error.strerror or error}") from None
            except sqlite3.Error as error:
                raise self._unusable(str(error)) from None
            self._seen = time.monotonic()

    async def _update(self) -> None:
        listed = await asyncio.to_thread(lambda: list(_places_in(self._source, self._file.parent)))
        places = {place.url: place for place in listed}
        if len(listed) == _MOST_PLACES:
            self._tell(Note(f"only the first {_MOST_PLACES:,} pages of {self._source} are in the index"))
        known = await asyncio.to_thread(self._store.stamps)
        await asyncio.to_thread(self._store.put, (), known.keys() - places.keys())
        due = [place for url, place in places.items() if self._is_due(place, known.get(url))]
        slots = asyncio.Semaphore(_AT_ONCE)

        async def entry_of(place: _Place) -> Entry | None:
            async with slots:
                return await (self._page_entry(place) if place.path is None else self._file_entry(place, place.path))

        told = time.monotonic()
        try:
            for done in range(0, len(due), _BATCH):
                if time.monotonic() - told > _TELL_AFTER:
                    self._tell(Note(f"indexing {self._source.name}: {done:,} of {len(due):,} pages"))
                    told = time.monotonic()
                found = await asyncio.gather(*map(entry_of, due[done : done + _BATCH]))
                await asyncio.to_thread(self._store.put, [one for one in found if one is not None])
        finally:
            await self._parsers.aclose()

    def _is_due(self, place: _Place, known: str | None) -> bool:
        """Whether a page may differ from what the index has."""
        if place.path is not None:
            return known != place.stamp
        oldest_good = datetime.now(UTC) - timedelta(hours=_PAGE_HOURS)
        is_stale = known is None or known < oldest_good.isoformat(timespec="seconds")
        return self._reader is not None and place.url not in self._failed and is_stale

    async def _page_entry(self, place: _Place) -> Entry | None:
        """A page of the web that the list names; None where it cannot be had."""
        assert self._reader is not None
        try:
            page = await self._reader.read(place.url)
        except WebProblem as problem:
            self._failed.add(place.url)
            self._tell(Note(f"{place.url} is not read into the index: {one_line(problem.message, 200)}"))
            return None
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return Entry(
            url=place.url,
            stamp=now,
            kind=page.kind,
            title=place.title or page.title,
            body=page.markdown,
            name=place.name,
            links="\n".join(page.links),
            dated=page.published or now[:10],
            published=page.published,
            fetched=page.fetched or now,
            note=" ".join((*page.notes, *page.remarks)),
        )

    async def _file_entry(self, place: _Place, path: Path) -> Entry | None:
        """A file with its text; what cannot be read keeps its name, and a note why. None where it is gone."""
        kind = ""
        try:
            facts = await asyncio.to_thread(path.stat)
            kind = await asyncio.to_thread(kind_of, path)
            page = await self._read_file(path, place.url, kind, facts.st_size)
        except FileProblem as problem:
            page = Page(place.url, "", "", kind=kind, notes=(one_line(str(problem), 300),))
        except OSError:
            return None
        modified = datetime.fromtimestamp(facts.st_mtime, UTC).isoformat(timespec="seconds")
        heading = _HEADING.search(page.markdown[:4000])
        return Entry(
            url=place.url,
            stamp=place.stamp,
            kind=page.kind,
            title=place.title or page.title or (one_line(heading[1], 200) if heading else "") or path.name,
            body=page.whole[:_MOST_TEXT],
            name=place.name,
            links="\n".join(page.links),
            dated=page.published or modified[:10],
            published=page.published,
            fetched=modified,
            note=" ".join(page.notes),
        )

    async def _read_file(self, path: Path, url: str, kind: str, size: int) -> Page:
        """The text of a file.

        Raises:
            FileProblem: It cannot be read.
            OSError: It is gone.
        """
        from agent.web.reading.reader import extracted

        module = module_of(kind)
        if size > _MOST_BYTES:
            note = f"Its content is not in the index: it has more than {_MOST_BYTES >> 20} MiB."
            return Page(url, "", "", kind=kind, notes=(note,))
        if module in _UNREAD or not module:
            return Page(url, "", "", kind=kind, notes=(f"Its content is not in the index: it is {kind}.",))
        if kind == "html":
            data = await asyncio.to_thread(path.read_bytes)
            charset = await asyncio.to_thread(charset_of, data)
            found, _ = await extracted(self._parsers, data, charset, url)
            return Page(
                url,
                found.title,
                found.markdown,
                found.links,
                published=found.published,
                notes=found.notes,
                around=found.around,
            )
        if module == "text" and size <= _PLAIN_BYTES:
            data = await asyncio.to_thread(path.read_bytes)
            encoding = encoding_of(data)
            text = encoding.decode(data)[:_MOST_TEXT] if encoding else ""
            text, links = number_links(text, url) if kind == "md" else (text, ())
            return Page(url, "", text, links, kind=kind)
        reading = await reading_of(path, to=1_000_000, limit=_MOST_TEXT)
        more = ["Only its beginning can be found."] if reading.more else []
        return Page(url, "", reading.text, kind=kind, notes=(*reading.lost, *more))

    async def _in_store(self, call: Callable[[], T]) -> T:
        """Asks the index; one that proves to be damaged is rebuilt, once."""
        for is_last in (False, True):
            try:
                return await asyncio.to_thread(call)
            except sqlite3.Error as error:
                if is_last or not is_damage(error):
                    raise self._unusable(str(error)) from None
            await self._refresh(anew=True)
        raise AssertionError("the last call returns or raises")

    def _unusable(self, why: str) -> WebProblem:
        return WebProblem(
            "no_result",
            f"The index of {self._source} cannot be used: {why}.",
            remedy="Check that the folder of ALITA_WEB_INDEX is there and that the cache folder can be written.",
        )


def _path_of(url: str) -> Path:
    """The file behind a `file:` address."""
    return Path(os.fsdecode(unquote_to_bytes(urlsplit(url).path)))


def _places_in(source: Path, cache: Path) -> Iterator[_Place]:
    """The files of a folder, or the entries of a list: an address or a path, and its title after a blank.

    Hidden files and folders, the index's own, and links that lead out of the folder, are left out.

    Raises:
        OSError: The folder or the list cannot be read.
    """
    places: dict[str, _Place] = {}
    if source.is_file():
        data = source.read_bytes()[:_PLAIN_BYTES]
        found = encoding_of(data)
        for line in printable(found.decode(data)).splitlines() if found else []:
            entry, _, title = line.strip().partition(" ")
            if entry and not entry.startswith("#") and (place := _listed(entry, one_line(title, 200), source)):
                places.setdefault(place.url, place)
                if len(places) == _MOST_PLACES:
                    break
        yield from places.values()
        return
    root, cache = source.resolve(), cache.resolve()
    os.scandir(root).close()  # a folder that cannot be read is an error; one inside it is left out
    found_files = 0
    for where, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and Path(where, name) != cache)
        for name in sorted(names):
            path = Path(where, name)
            if name.startswith(".") or (place := _file(path, str(path.relative_to(root)))) is None:
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                continue
            yield place
            found_files += 1
            if found_files == _MOST_PLACES:
                return


def _listed(entry: str, title: str, source: Path) -> _Place | None:
    """What an entry of a list names; None where it does not exist."""
    try:
        if re.match(r"https?://", entry, re.I):
            return _Place(entry, "", None, _words(urlsplit(entry).path), title)
        path = _path_of(entry) if entry.startswith("file:") else source.resolve().parent / entry
        return _file(path.resolve(), entry, title)
    except (OSError, ValueError):
        return None


def _file(path: Path, name: str, title: str = "") -> _Place | None:
    """A regular file; None for everything else."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            return None
        stamp = f"{facts.st_size} {facts.st_mtime_ns} {title}"
        return _Place(path.as_uri(), stamp, path, _words(name), title)
    except (OSError, ValueError):
        return None


def _words(path: str) -> str:
    return " ".join(re.split(r"[\W_]+", path))
