"""The index on disk: pages and their words in one SQLite file, shared by processes, rebuilt when damaged."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from agent.web.page import Result
from agent.web.queries import Query, match_of, spaced, unspaced

_VERSION = 3
"""Of the schema and of how text gets into it: an index of another version is rebuilt."""
_BUSY = 60.0
"""Seconds to wait for another process's transaction."""
_SNIPPET = 48
"""Words of a snippet."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of the index."""

    url: str
    stamp: str
    """Changes when the page may have: size and time of a file."""
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
    """ISO date, where the page itself has it."""
    fetched: str = ""
    """ISO time."""
    note: str = ""
    """What of it could not be read."""


_NAMES = tuple(one.name for one in fields(Entry))
_COLUMNS = ", ".join(_NAMES)
_SCHEMA = f"""
CREATE TABLE pages (id INTEGER PRIMARY KEY, {" TEXT NOT NULL, ".join(_NAMES)} TEXT NOT NULL, UNIQUE (url));
CREATE VIRTUAL TABLE words USING fts5(
    title, name, body, content='pages', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER added AFTER INSERT ON pages BEGIN
    INSERT INTO words(rowid, title, name, body) VALUES (new.id, new.title, new.name, new.body);
END;
CREATE TRIGGER removed AFTER DELETE ON pages BEGIN
    INSERT INTO words(words, rowid, title, name, body) VALUES ('delete', old.id, old.title, old.name, old.body);
END;
"""  # noqa: S608 - names of ours


class IndexStore:
    """One index.

    Args:
        path: Its file; made when it is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def prepare(self, *, anew: bool = False) -> None:
        """Makes the file when it is missing, damaged or of another version. Only with the lock.

        Args:
            anew: In any case.

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

    def stamps(self) -> dict[str, str]:
        """The stamp of each page by its address."""
        with self._open() as db:
            return dict(db.execute("SELECT url, stamp FROM pages"))

    def put(self, entries: Iterable[Entry], gone: Iterable[str] = ()) -> None:
        """Adds pages, or replaces them, and removes those at some addresses, in one transaction."""
        places = ", ".join("?" for _ in _NAMES)
        with self._open() as db, db:
            db.executemany("DELETE FROM pages WHERE url = ?", [(url,) for url in gone])
            for entry in entries:
                db.execute("DELETE FROM pages WHERE url = ?", (entry.url,))
                db.execute(f"INSERT INTO pages ({_COLUMNS}) VALUES ({places})", _row(entry))  # noqa: S608 - names of ours

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
        enough, given = _has_enough(query, math.ceil(share * len(query.words)))
        ranked = (
            "SELECT words.rowid, pages.url FROM words JOIN pages ON pages.id = words.rowid"  # noqa: S608 - a condition of ours
            f" WHERE words MATCH ? AND pages.dated >= ? {enough} ORDER BY bm25(words, 5.0, 3.0, 1.0), pages.url"
        )
        # A snippet takes a millisecond: only those that are shown are made.
        shown = (
            f"SELECT pages.url, pages.title, snippet(words, 2, '', '', ' … ', {_SNIPPET}), pages.published"  # noqa: S608 - a number of ours
            " FROM words JOIN pages ON pages.id = words.rowid WHERE words MATCH ? AND words.rowid = ?"
        )
        results = []
        with self._open() as db:
            rows = db.execute(ranked, (query.expression, since, *given))
            fitting = (page for page, url in rows if not query.site or _is_of(url, query.site))
            for page in islice(fitting, limit):
                url, title, snippet, published = db.execute(shown, (query.expression, page)).fetchone()
                results.append(Result(url, unspaced(title), unspaced(snippet), "index", published))
        return results

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
            if not is_damage(error):
                raise
            return False
        return bool(version == _VERSION and whole == "ok")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=_BUSY)) as db:
            yield db


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error means that the file is no whole index, and not that another process is writing it."""
    is_busy = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return isinstance(error, sqlite3.DatabaseError) and not is_busy


def _has_enough(query: Query, needed: int) -> tuple[str, Sequence[str | int]]:
    """The condition that a page has so many of the words."""
    if needed < 2:
        return "", ()
    each = " UNION ALL ".join("SELECT rowid AS page FROM words WHERE words MATCH ?" for _ in query.words)
    # The plus keeps SQLite from searching the index of words again for each page.
    condition = f"AND +words.rowid IN (SELECT page FROM ({each}) GROUP BY page HAVING COUNT(*) >= ?)"  # noqa: S608 - nothing of the query is in it
    return condition, (*(match_of(word) for word in query.words), needed)


def _row(entry: Entry) -> tuple[str, ...]:
    texts = replace(entry, name=spaced(entry.name), title=spaced(entry.title), body=spaced(entry.body))
    # Names of files and bytes of pages need not be text that SQLite takes.
    return tuple(text.replace("\0", " ").encode(errors="replace").decode() for text in astuple(texts))


def _is_of(url: str, site: str) -> bool:
    host = (urlsplit(url).netloc or "").lower()
    return site in (host, host.partition(":")[0]) or host.partition(":")[0].endswith("." + site)
