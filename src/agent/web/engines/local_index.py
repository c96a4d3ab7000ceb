"""An index of one's own pages: a folder, or a list of pages, searched offline."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from agent.events import Event, Note
from agent.files.reader_process import ReadingProcesses
from agent.web.engines.index_files import MOST_PLACES, digest_of, path_of, places_in, read_place
from agent.web.engines.index_store import Entry, IndexStore, Place, is_damage
from agent.web.engines.query import oldest, parse_query
from agent.web.page import Page, PageReader, Result, WebProblem
from mcp_tools.text import one_line

T = TypeVar("T")

_FRESH = 60.0
"""Seconds for which the folder is taken as it was seen."""
_PAGE_HOURS = 24
"""Age at which a listed page of the web is read again."""
_BATCH = 50
"""Pages that are written at once: what a killed process had not written is read again."""
_AT_ONCE = 4
_TELL_AFTER = 3
"""Seconds of work, or of waiting, after which it is told."""


class OwnIndex:
    """A search engine over one's own pages, and a reader of them.

    The index is a file in the cache folder that processes share: one brings it up to date, the others wait for it.

    Args:
        source: A folder, or a list of pages: an address or a path on each line.
        cache: Folder for the index.
        reader: Reads listed pages of the web.
        tell: Told how far making the index has come.
        share: Of the words of a query that a page has at least. Higher where other engines stand behind: what has
            little to do with these pages is better asked there.
    """

    def __init__(
        self,
        source: Path,
        cache: Path,
        *,
        reader: PageReader | None = None,
        tell: Callable[[Event], None] = lambda event: None,
        share: float = 0.4,
    ) -> None:
        self.name = "index"
        self._source = source.absolute()
        self._file = cache / f"{hashlib.blake2b(str(self._source).encode(), digest_size=10).hexdigest()}.sqlite"
        self._store = IndexStore(self._file)
        self._reader = reader
        self._parsers = ReadingProcesses("agent.web.engines.index_files", "agent.files.documents.html")
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
        entry = await self._in_store(lambda: self._store.page(url)) if await self._is_made() else None
        if entry is None:
            await self._refresh()
            entry = await self._in_store(lambda: self._store.page(url))
        if entry is None:
            raise WebProblem(
                "refused_address",
                f"{url} is not in the index of {self._source}.",
                remedy="Search, and read what was found.",
            )
        return _page(entry)

    async def aclose(self) -> None:
        """Nothing is open between calls."""

    async def _is_made(self) -> bool:
        return await asyncio.to_thread(self._file.is_file)

    async def _refresh(self, *, anew: bool = False) -> None:
        """Brings the index up to date, if that was not done just now."""
        async with self._refreshing:
            if not anew and self._seen and time.monotonic() - self._seen < _FRESH:
                return
            try:
                async with self._alone():
                    await asyncio.to_thread(self._store.prepare, anew=anew)
                    await self._update()
            except OSError as error:
                raise self._unusable(f"{error.strerror or error}") from None
            except sqlite3.Error as error:
                raise self._unusable(str(error)) from None
            self._seen = time.monotonic()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Holds the lock between processes; it ends with its holder."""
        from filelock import FileLock, Timeout

        await asyncio.to_thread(self._file.parent.mkdir, parents=True, exist_ok=True)
        lock = FileLock(self._file.with_suffix(".lock"), thread_local=False)
        waiting = 0
        while True:
            try:
                lock.acquire(timeout=0)
                break
            except Timeout:
                await asyncio.sleep(0.05)
            waiting += 1
            if waiting == _TELL_AFTER * 20:
                self._tell(Note(f"waiting for another process that is indexing {self._source.name}"))
        try:
            yield
        finally:
            lock.release()

    async def _update(self) -> None:
        listed = await asyncio.to_thread(lambda: list(places_in(self._source, self._file.parent)))
        places = {place.url: place for place in listed}
        if len(listed) == MOST_PLACES:
            self._tell(Note(f"only the first {MOST_PLACES:,} pages of {self._source} are in the index"))
        known = await asyncio.to_thread(self._store.stamps)
        if gone := known.keys() - places.keys():
            await asyncio.to_thread(self._store.drop, gone)
        due = [place for url, place in places.items() if self._is_due(place, known.get(url))]
        told = time.monotonic()
        try:
            for done in range(0, len(due), _BATCH):
                if time.monotonic() - told > _TELL_AFTER:
                    self._tell(Note(f"indexing {self._source.name}: {done:,} of {len(due):,} pages"))
                    told = time.monotonic()
                await self._take(due[done : done + _BATCH], known)
        finally:
            await self._parsers.aclose()

    def _is_due(self, place: Place, known: tuple[str, str] | None) -> bool:
        """Whether a page may be another than the index has."""
        if place.path is None:
            oldest_good = datetime.now(UTC) - timedelta(hours=_PAGE_HOURS)
            stale = known is None or known[0] < oldest_good.isoformat(timespec="seconds")
            return self._reader is not None and place.url not in self._failed and stale
        return known is None or known[0] != place.stamp

    async def _take(self, batch: list[Place], known: dict[str, tuple[str, str]]) -> None:
        """Reads pages, some at once, and writes them together."""
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(place: Place) -> Entry | Place | None:
            async with slots:
                return await self._entry(place, known.get(place.url))

        found = await asyncio.gather(*(one(place) for place in batch))
        entries = [one for one in found if isinstance(one, Entry)]
        unchanged = [one for one in found if isinstance(one, Place)]
        await asyncio.to_thread(self._store.put, entries, unchanged)

    async def _entry(self, place: Place, known: tuple[str, str] | None) -> Entry | Place | None:
        """The page as it is now, or its place where it is what it was; None where it cannot be had."""
        if place.path is None:
            return await self._listed(place)
        try:
            if known and known[1] == await asyncio.to_thread(digest_of, place.path, place.title):
                return place
            return await read_place(place, place.path, self._parsers)
        except OSError:
            return None

    async def _listed(self, place: Place) -> Entry | None:
        """A page of the web that the list names."""
        if self._reader is None:
            return None
        try:
            page = await self._reader.read(place.url)
        except WebProblem as problem:
            self._failed.add(place.url)
            self._tell(Note(f"{place.url} is not read into the index: {one_line(problem.message, 200)}"))
            return None
        now = datetime.now(UTC)
        return Entry(
            url=place.url,
            stamp=now.isoformat(timespec="seconds"),
            hash=hashlib.blake2b(page.markdown.encode(errors="replace"), digest_size=16).hexdigest(),
            kind=page.kind,
            title=place.title or page.title,
            body=page.markdown,
            name=place.name,
            links="\n".join(page.links),
            dated=page.published or now.date().isoformat(),
            published=page.published,
            fetched=page.fetched or now.isoformat(timespec="seconds"),
            note=" ".join((*page.notes, *page.remarks)),
        )

    async def _in_store(self, call: Callable[[], T]) -> T:
        """Asks the index; one that proves to be damaged is made anew, once."""
        try:
            return await asyncio.to_thread(call)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise self._unusable(str(error)) from None
        await self._refresh(anew=True)
        try:
            return await asyncio.to_thread(call)
        except sqlite3.Error as error:
            raise self._unusable(str(error)) from None

    def _unusable(self, why: str) -> WebProblem:
        return WebProblem(
            "no_result",
            f"The index of {self._source} cannot be used: {why}.",
            remedy="Check that the folder of ALITA_WEB_INDEX is there and that the cache folder can be written.",
        )


def _page(entry: Entry) -> Page:
    return Page(
        url=entry.url,
        title=entry.title,
        markdown=entry.body,
        links=tuple(entry.links.splitlines()),
        kind=entry.kind,
        via="index",
        fetched=entry.fetched,
        published=entry.published,
        path=path_of(entry.url) if entry.url.startswith("file:") else None,
        notes=(entry.note,) if entry.note else (),
    )
