"""The index on disk: pages and their words in one SQLite file, shared by processes, made anew when damaged."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from agent.web.engines.query import Query, match_of, spaced, unspaced
from agent.web.page import Result

_VERSION = 2
"""Of the schema and of how text gets into it: another one makes the index anew."""
_BUSY = 60.0
"""Seconds to wait for another process's transaction."""
_SNIPPET = 48
"""Words of a snippet."""
_RANKED = (
    "SELECT words.rowid, pages.url FROM words JOIN pages ON pages.id = words.rowid"
    " WHERE words MATCH ? AND pages.dated >= ?"
)
_SCHEMA = """
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    stamp TEXT NOT NULL,
    hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    dated TEXT NOT NULL,
    published TEXT NOT NULL,
    fetched TEXT NOT NULL,
    note TEXT NOT NULL,
    links TEXT NOT NULL,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5(
    title, name, body, content='pages', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER added AFTER INSERT ON pages BEGIN
    INSERT INTO words(rowid, title, name, body) VALUES (new.id, new.title, new.name, new.body);
END;
CREATE TRIGGER removed AFTER DELETE ON pages BEGIN
    INSERT INTO words(words, rowid, title, name, body) VALUES ('delete', old.id, old.title, old.name, old.body);
END;
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of the index comes from."""

    url: str
    stamp: str
    """Changes when the page may have: size and time of a file."""
    path: Path | None = None
    """The file; None for an address of the web."""
    name: str = ""
    """Words of its path, by which it is found too."""
    title: str = ""
    """As a list calls it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of the index."""

    url: str
    stamp: str
    """Changes when the page may have: size and time of a file."""
    hash: str
    """Of its content."""
    kind: str
    title: str
    body: str
    """Markdown with numbered links."""
    name: str = ""
    """Words of its path."""
    links: str = ""
    """One address a line."""
    dated: str = ""
    """ISO date for questions about its age."""
    published: str = ""
    """ISO date, where the page itself tells it."""
    fetched: str = ""
    """ISO time."""
    note: str = ""
    """What of it could not be read."""


_COLUMNS = ", ".join(one.name for one in fields(Entry))
_PLACES = ", ".join("?" for _ in fields(Entry))


class IndexStore:
    """One index.

    Args:
        path: Its file; made when it is not there, or is none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def prepare(self, *, anew: bool = False) -> None:
        """Makes the file when it is missing, damaged or of another version. Only with the lock.

        Args:
            anew: Whatever it is.

        Raises:
            OSError: The folder cannot be written.
            sqlite3.Error: The file cannot be made.
        """
        if not anew and self._is_sound():
            return
        for suffix in ("", "-journal", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        with self._open() as db:
            db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")

    def stamps(self) -> dict[str, tuple[str, str]]:
        """Stamp and hash of each page by its address."""
        with self._open() as db:
            return {url: (stamp, digest) for url, stamp, digest in db.execute("SELECT url, stamp, hash FROM pages")}

    def put(self, entries: Iterable[Entry], unchanged: Iterable[Place] = ()) -> None:
        """Adds pages, or replaces them, in one transaction.

        Args:
            entries: The pages.
            unchanged: Pages that are what they were, with their new stamps.
        """
        with self._open() as db, db:
            db.executemany("UPDATE pages SET stamp = ? WHERE url = ?", [(one.stamp, one.url) for one in unchanged])
            for entry in entries:
                db.execute("DELETE FROM pages WHERE url = ?", (entry.url,))
                db.execute(f"INSERT INTO pages ({_COLUMNS}) VALUES ({_PLACES})", _row(entry))  # noqa: S608 - names of ours

    def drop(self, urls: Iterable[str]) -> None:
        """Takes pages out."""
        with self._open() as db, db:
            db.executemany("DELETE FROM pages WHERE url = ?", [(url,) for url in urls])

    def page(self, url: str) -> Entry | None:
        """The page at an address."""
        with self._open() as db:
            row = db.execute(f"SELECT {_COLUMNS} FROM pages WHERE url = ?", (url,)).fetchone()  # noqa: S608 - names of ours
        if row is None:
            return None
        stored = Entry(*row)
        return replace(stored, title=unspaced(stored.title), body=unspaced(stored.body))

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
        covered, given = _covered(query, math.ceil(share * len(query.words)))
        ranked = f"{_RANKED} {covered} ORDER BY bm25(words, 5.0, 3.0, 1.0), pages.url"
        with self._open() as db:
            rows = db.execute(ranked, (query.expression, since, *given))
            fitting = (page for page, url in rows if not query.site or _is_of(url, query.site))
            return [_found(db, page, query.expression) for page in islice(fitting, limit)]

    def _is_sound(self) -> bool:
        """Whether it opens, is of this version, and both of its halves answer."""
        if not self._path.is_file():
            return False
        try:
            with self._open() as db:
                version = db.execute("PRAGMA user_version").fetchone()[0]
                whole = db.execute("PRAGMA quick_check(1)").fetchone()[0]
                db.execute("SELECT rowid FROM words WHERE words MATCH '\"a\"' LIMIT 1").fetchall()
        except sqlite3.DatabaseError as error:
            if _is_busy(error):
                raise
            return False
        return bool(version == _VERSION and whole == "ok")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=_BUSY)) as db:
            yield db


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is no whole index."""
    return not _is_busy(error) and isinstance(error, sqlite3.DatabaseError)


def _is_busy(error: sqlite3.Error) -> bool:
    """Whether another process has it, which says nothing of the file."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _found(db: sqlite3.Connection, page: int, expression: str) -> Result:
    """A page with its snippet, which is made for those alone that are shown: it takes a millisecond each."""
    sql = (
        f"SELECT pages.url, pages.title, snippet(words, 2, '', '', ' … ', {_SNIPPET}), pages.published"  # noqa: S608 - a number of ours
        " FROM words JOIN pages ON pages.id = words.rowid WHERE words MATCH ? AND words.rowid = ?"
    )
    url, title, snippet, published = db.execute(sql, (expression, page)).fetchone()
    return Result(url, unspaced(title), unspaced(snippet), "index", published)


def _covered(query: Query, needed: int) -> tuple[str, Sequence[str | int]]:
    """The condition that a page has enough of the words."""
    if needed < 2:
        return "", ()
    each = " UNION ALL ".join("SELECT rowid AS page FROM words WHERE words MATCH ?" for _ in query.words)
    # The plus keeps SQLite from asking the index of words anew for each page.
    condition = f"AND +words.rowid IN (SELECT page FROM ({each}) GROUP BY page HAVING COUNT(*) >= ?)"  # noqa: S608 - nothing of the query stands in it
    return condition, (*(match_of(word) for word in query.words), needed)


def _row(entry: Entry) -> tuple[str, ...]:
    texts = replace(entry, name=spaced(entry.name), title=spaced(entry.title), body=spaced(entry.body))
    # Names of files and bytes of pages need not be text that SQLite takes.
    return tuple(text.replace("\0", " ").encode(errors="replace").decode() for text in astuple(texts))


def _is_of(url: str, site: str) -> bool:
    host = (urlsplit(url).netloc or "").lower()
    return site in (host, host.partition(":")[0]) or host.partition(":")[0].endswith("." + site)
