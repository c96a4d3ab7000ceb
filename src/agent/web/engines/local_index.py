"""An index of one's own pages: a folder, or a list of pages, searched offline."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import re
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import unquote_to_bytes, urlsplit

from agent.events import Event, Note
from agent.files.contents import FileProblem, module_of
from agent.files.encoding import encoding_of
from agent.files.kinds import kind_of
from agent.files.reader_process import ReadingProcesses
from agent.files.reading import read as reading_of
from agent.records import as_plain, from_plain
from agent.web.page import Page, PageReader, Result, Search, WebProblem
from agent.web.queries import Query, match_of, oldest, parse_query, spaced, unspaced
from agent.web.reading.source import LIKE_LINKS, number_links
from agent.web.response import charset_of
from mcp_tools.text import one_line, printable

T = TypeVar("T")

_FRESH = 60.0  # seconds for which the folder is taken as it was seen
_PAGE_HOURS = 24  # age at which a listed page of the web is read again
_BATCH = 8  # pages that are read and written together: what a killed process had not written is read again
_TELL_AFTER = 3  # seconds of work after which it is reported
_MOST_PLACES = 50_000  # pages of an index
_MOST_BYTES = 64 << 20  # of one file; larger ones are known by their names only
_PLAIN_BYTES = 4 << 20  # of a text that is read in this process; larger ones are read in parts, as other kinds are
_MOST_TEXT = 400_000  # characters of a file that can be found
_CUT = "Only its beginning can be found."
_UNREAD = ("audio", "video", "image", "")
"""Modules whose readers take minutes for what is no text; such files are known by their names only."""
_HEADING = re.compile(r"^#{1,3}\s+(.+)$", re.M)


_VERSION = 5  # of the schema and of how text gets into it: an index of another version is rebuilt
_BUSY = 60.0  # seconds to wait for another process's transaction
_SNIPPET = 48  # words of a snippet
_BEFORE = 6  # of them, before the first that was asked for
_SCHEMA = """
CREATE TABLE pages (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, dated TEXT NOT NULL, page TEXT NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5(title, name, body, tokenize='porter unicode61 remove_diacritics 2');
"""


class Entry(NamedTuple):
    """A page of the index."""

    page: Page
    stamp: str  # changes when the page may have: size and time of a file
    dated: str = ""  # ISO date for questions about its age
    name: str = ""  # words of its path


class IndexStore:
    """One index.

    Args:
        path: Its file; made when it is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def prepare(self) -> None:
        """Makes the file when it is missing, damaged or of another version. Only with the lock.

        Raises:
            OSError: The folder cannot be written.
            sqlite3.Error: The file cannot be made.
        """
        if self._is_sound():
            return
        for suffix in ("", "-journal", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        with self._open() as db:
            db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")

    def stamps(self) -> dict[str, str]:
        """The stamp of each page by its address."""
        with self._open() as db:
            return dict(db.execute("SELECT url, stamp FROM pages"))

    def put(self, entries: Iterable[Entry], gone: Iterable[str] = ()) -> None:
        """Adds pages, or replaces them, and removes those at some addresses, in one transaction."""
        with self._open() as db, db:
            for url in gone:
                _remove(db, url)
            for entry in entries:
                page = entry.page
                _remove(db, page.url)
                row = (page.url, entry.stamp, entry.dated, json.dumps(as_plain(page)))
                sql = "INSERT INTO pages (url, stamp, dated, page) VALUES (?, ?, ?, ?)"
                key = db.execute(sql, row).lastrowid
                # Names of files and bytes of pages need not be text that SQLite takes.
                texts = (
                    spaced(text).replace("\0", " ")
                    for text in (page.title, entry.name, LIKE_LINKS.sub("]", page.whole))
                )
                words = (text.encode(errors="replace").decode() for text in texts)
                db.execute("INSERT INTO words (rowid, title, name, body) VALUES (?, ?, ?, ?)", (key, *words))

    def page(self, url: str) -> Page | None:
        """The page at an address."""
        with self._open() as db:
            row = db.execute("SELECT page FROM pages WHERE url = ?", (url,)).fetchone()
        return from_plain(Page, json.loads(row[0])) if row else None

    def find(self, query: Query, limit: int, since: str = "", share: float = 0.4) -> list[Result]:
        """The pages that fit best, best first.

        Args:
            query: What to look for; with neither words nor phrases nothing is found.
            limit: How many at most.
            since: ISO date; nothing older.
            share: Of the words that a page has at least.
        """
        if not query.expression or not (query.words or query.phrases):
            return []
        needed = math.ceil(share * len(query.words))
        ranked = (
            "SELECT pages.id, pages.url FROM words JOIN pages ON pages.id = words.rowid"
            " WHERE words MATCH ? AND pages.dated >= ? ORDER BY bm25(words, 5.0, 3.0, 1.0), pages.url"
        )
        # Not FTS5's own `snippet`: it takes half a minute where a long text has the word at each place.
        shown = (
            "SELECT pages.page, highlight(words, 2, char(2), char(3))"
            " FROM words JOIN pages ON pages.id = words.rowid WHERE words MATCH ? AND words.rowid = ?"
        )
        results = []
        with self._open() as db:
            shared = Counter[int]()
            for word in query.words if needed > 1 else ():
                rows = db.execute("SELECT rowid FROM words WHERE words MATCH ?", [match_of(word)])
                shared.update(key for (key,) in rows)
            fitting = (
                key
                for key, url in db.execute(ranked, (query.expression, since))
                if (needed < 2 or shared[key] >= needed) and (not query.site or _is_of(url, query.site))
            )
            for key in islice(fitting, limit):
                text, marked = db.execute(shown, (query.expression, key)).fetchone()
                page = from_plain(Page, json.loads(text))
                results.append(Result(page.url, page.title, unspaced(_snippet(marked)), "index", page.published))
        return results

    def _is_sound(self) -> bool:
        """Whether it opens, is of this version, and both of its halves answer."""
        try:
            with self._open() as db:
                version = db.execute("PRAGMA user_version").fetchone()[0]
                whole = db.execute("PRAGMA quick_check(1)").fetchone()[0]
                db.execute("SELECT rowid FROM words WHERE words MATCH '\"a\"' LIMIT 1").fetchall()
        except sqlite3.DatabaseError:
            return False
        return bool(version == _VERSION and whole == "ok")

    def _open(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self._path, timeout=_BUSY))


def _remove(db: sqlite3.Connection, url: str) -> None:
    db.execute("DELETE FROM words WHERE rowid = (SELECT id FROM pages WHERE url = ?)", (url,))
    db.execute("DELETE FROM pages WHERE url = ?", (url,))


def _snippet(marked: str) -> str:
    """The part of a text that has the most different words of a query, which are marked by the characters 2 and 3."""
    words = marked.split()
    places = [place for place, word in enumerate(words) if "\2" in word]
    count = Counter[str]()
    best, start, first = 0, 0, 0
    for place in places:
        count[words[place].lower()] += 1
        while place - places[first] >= _SNIPPET - _BEFORE:
            count[words[places[first]].lower()] -= 1
            first += 1
        if (found := len(+count)) > best:
            best, start = found, max(0, places[first] - _BEFORE)
    end = start + _SNIPPET
    part = " ".join(words[start:end]).replace("\2", "").replace("\3", "")
    return f"{'… ' if start else ''}{part}{' …' if end < len(words) else ''}"


def _is_of(url: str, site: str) -> bool:
    host = (urlsplit(url).netloc or "").lower()
    return site in (host, host.partition(":")[0]) or host.partition(":")[0].endswith("." + site)


class _Place(NamedTuple):
    """Where a page of the index comes from."""

    url: str
    stamp: str
    path: Path | None  # the file; None for an address of the web
    name: str  # words of its path, by which it is found too


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
        """The pages that fit best; see `Search`.

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
        """A page as the index has it; see `PageReader`."""
        # What was found a moment ago is there: looking through the folder again would take longer than reading.
        is_made = await asyncio.to_thread(self._file.is_file)
        page = await self._in_store(lambda: self._store.page(url)) if is_made else None
        if page is None:
            await self._refresh()
            page = await self._in_store(lambda: self._store.page(url))
        if page is None:
            said = f"{url} is not in the index of {self._source}."
            raise WebProblem("refused_address", said, remedy="Search, and read what was found.")
        return page

    async def _refresh(self) -> None:
        """Brings the index up to date, if that was not done just now; one process at a time."""
        from filelock import AsyncFileLock

        async with self._refreshing:
            if self._seen and time.monotonic() - self._seen < _FRESH:
                return
            try:
                await asyncio.to_thread(self._file.parent.mkdir, parents=True, exist_ok=True)
                async with AsyncFileLock(self._file.with_suffix(".lock"), thread_local=False, run_in_executor=False):
                    await asyncio.to_thread(self._store.prepare)
                    await self._update()
            except (OSError, sqlite3.Error) as error:
                raise self._unusable(error) from None
            self._seen = time.monotonic()

    async def _update(self) -> None:
        places = await asyncio.to_thread(lambda: _places_in(self._source, self._file.parent))
        if len(places) == _MOST_PLACES:
            self._tell(Note(f"only the first {_MOST_PLACES:,} pages of {self._source} are in the index"))
        known = await asyncio.to_thread(self._store.stamps)
        await asyncio.to_thread(self._store.put, (), known.keys() - places.keys())
        due = [place for url, place in places.items() if self._is_due(place, known.get(url))]
        told = time.monotonic()
        try:
            for done in range(0, len(due), _BATCH):
                if time.monotonic() - told > _TELL_AFTER:
                    self._tell(Note(f"indexing {self._source.name}: {done:,} of {len(due):,} pages"))
                    told = time.monotonic()
                found = await asyncio.gather(*map(self._entry, due[done : done + _BATCH]))
                await asyncio.to_thread(self._store.put, [one for one in found if one is not None])
        finally:
            await self._parsers.aclose()

    def _is_due(self, place: _Place, known: str | None) -> bool:
        if place.path is not None:
            return known != place.stamp
        oldest_good = datetime.now(UTC) - timedelta(hours=_PAGE_HOURS)
        is_stale = known is None or known < oldest_good.isoformat(timespec="seconds")
        return self._reader is not None and place.url not in self._failed and is_stale

    async def _entry(self, place: _Place) -> Entry | None:
        """A page with its text; an unreadable file keeps its name, and a note why. None for what is not there."""
        kind = ""
        try:
            if place.path is None:
                assert self._reader is not None
                page, when = await self._reader.read(place.url), datetime.now(UTC)
            else:
                facts = await asyncio.to_thread(place.path.stat)
                when = datetime.fromtimestamp(facts.st_mtime, UTC)
                kind = await asyncio.to_thread(kind_of, place.path)
                page = await self._read_file(place.path, place.url, kind, facts.st_size)
        except (FileProblem, WebProblem) as problem:
            if place.path is None:
                self._failed.add(place.url)
                self._tell(Note(f"{place.url} was not indexed: {one_line(problem.message, 200)}"))
                return None
            page = Page(place.url, "", "", kind=kind, notes=(one_line(str(problem), 300),))
        except OSError:
            return None
        heading = _HEADING.search(page.markdown[:4000])
        title = page.title or (one_line(heading[1], 200) if heading else "") or (place.path.name if place.path else "")
        now = when.isoformat(timespec="seconds")
        page = replace(page, url=place.url, title=title, via=self.name, fetched=now, path=place.path)
        return Entry(page, place.stamp or now, page.published or now[:10], place.name)

    async def _read_file(self, path: Path, url: str, kind: str, size: int) -> Page:
        from agent.web.reading.reader import extracted, page_of

        module = module_of(kind)
        if size > _MOST_BYTES or module in _UNREAD:
            why = f"it has more than {_MOST_BYTES >> 20} MiB" if size > _MOST_BYTES else f"it is {kind}"
            return Page(url, "", "", kind=kind, notes=(f"Its content is not in the index: {why}.",))
        if kind == "html":
            data = await asyncio.to_thread(path.read_bytes)
            charset = await asyncio.to_thread(charset_of, data)
            return page_of(await extracted(self._parsers, data, charset, url))
        if module == "text" and size <= _PLAIN_BYTES:
            data = await asyncio.to_thread(path.read_bytes)
            encoding = encoding_of(data)
            whole = encoding.decode(data) if encoding else ""
            text = whole[:_MOST_TEXT]
            notes = (_CUT,) if text != whole else ()
            text, links = number_links(text, url) if kind == "md" else (text, ())
            return Page(url, "", text, links, kind=kind, notes=notes)
        reading = await reading_of(path, to=1_000_000, limit=_MOST_TEXT)
        more = [_CUT] if reading.more else []
        return Page(url, "", reading.text, kind=kind, notes=(*reading.lost, *reading.notes, *more))

    async def _in_store(self, call: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(call)
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError | sqlite3.Error) -> WebProblem:
        why = (isinstance(error, OSError) and error.strerror) or error
        return WebProblem(
            "no_result",
            f"The index of {self._source} cannot be used: {why}.",
            remedy="Check that the folder of ALITA_WEB_INDEX is there and that the cache folder can be written.",
        )


def _places_in(source: Path, cache: Path) -> dict[str, _Place]:
    """The files of a folder, or the entries of a list: an address or a path.

    Hidden files and folders, the index's own, and links that lead out of the folder, are left out.
    """
    found = _listed_in(source) if source.is_file() else _files_in(source.resolve(), cache.resolve())
    return {place.url: place for place in islice(found, _MOST_PLACES)}


def _listed_in(source: Path) -> Iterator[_Place]:
    with source.open("rb") as file:
        data = file.read(_PLAIN_BYTES)
    encoding = encoding_of(data)
    for entry in map(str.strip, printable(encoding.decode(data)).splitlines() if encoding else []):
        with suppress(OSError, ValueError):  # what is no address, or does not exist
            if re.match(r"https?://", entry, re.I):
                yield _Place(entry, "", None, _words(urlsplit(entry).path))
            elif entry and not entry.startswith("#"):
                is_url = entry.startswith("file:")
                path = Path(os.fsdecode(unquote_to_bytes(urlsplit(entry).path))) if is_url else source.parent / entry
                yield from _file(Path(os.path.realpath(path)), entry)


def _files_in(root: Path, cache: Path) -> Iterator[_Place]:
    os.scandir(root).close()  # a folder that cannot be read is an error; one inside it is left out
    for where, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and Path(where, name) != cache)
        for path in (Path(where, name) for name in sorted(names) if not name.startswith(".")):
            if not path.is_symlink() or path.resolve().is_relative_to(root):
                with suppress(OSError, ValueError):
                    yield from _file(path, str(path.relative_to(root)))


def _file(path: Path, name: str) -> Iterator[_Place]:
    """A regular file; nothing else."""
    facts = path.stat()
    if stat.S_ISREG(facts.st_mode):
        yield _Place(path.as_uri(), f"{facts.st_size} {facts.st_mtime_ns}", path, _words(name))


def _words(path: str) -> str:
    return " ".join(re.split(r"[\W_]+", path))
