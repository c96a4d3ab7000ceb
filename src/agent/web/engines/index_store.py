"""The index on disk: pages and their words in one SQLite file, shared by processes, rebuilt when damaged."""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from agent.records import as_plain, from_plain
from agent.web.page import Page, Result
from agent.web.queries import Query, match_of, spaced, unspaced

_VERSION = 4  # of the schema and of how text gets into it: an index of another version is rebuilt
_BUSY = 60.0  # seconds to wait for another process's transaction
_SNIPPET = 48  # words of a snippet
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
                texts = (spaced(text).replace("\0", " ") for text in (page.title, entry.name, page.whole))
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
        # A snippet takes a millisecond: only those that are shown are made.
        shown = (
            f"SELECT pages.page, snippet(words, 2, '', '', ' … ', {_SNIPPET})"  # noqa: S608 - a number of ours
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
                text, snippet = db.execute(shown, (query.expression, key)).fetchone()
                page = from_plain(Page, json.loads(text))
                results.append(Result(page.url, page.title, unspaced(snippet), "index", page.published))
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

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=_BUSY)) as db:
            yield db


def _remove(db: sqlite3.Connection, url: str) -> None:
    db.execute("DELETE FROM words WHERE rowid = (SELECT id FROM pages WHERE url = ?)", (url,))
    db.execute("DELETE FROM pages WHERE url = ?", (url,))


def _is_of(url: str, site: str) -> bool:
    host = (urlsplit(url).netloc or "").lower()
    return site in (host, host.partition(":")[0]) or host.partition(":")[0].endswith("." + site)
