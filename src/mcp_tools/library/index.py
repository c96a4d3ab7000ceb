"""The search over a library: a SQLite FTS5 file derived from the tools' files. Deleting it loses nothing."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from mcp_tools.database import open_database
from mcp_tools.errors import LibraryError
from mcp_tools.library import tool_files
from mcp_tools.library.folder import PENDING, note_owner, writing
from mcp_tools.library.meaning import packed, signs, word_vectors
from mcp_tools.library.ranking import OF_A_PART, RANKED, RANKED_OF_A_PART, Found, Search
from mcp_tools.library.tool_files import Flaw, Stamps
from mcp_tools.library.vocabulary import (
    acronyms,
    also_known_as,
    joined,
    parts_of,
    plain_words,
    stems,
)
from mcp_tools.tool import Tool

_SCHEMA_VERSION = 5
_MOST_CHOICES = 50  # of one parameter, that are searched for
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS tools (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, stamp TEXT NOT NULL,
    flaw_kind TEXT, flaw_message TEXT, flaw_remedy TEXT
);
CREATE INDEX IF NOT EXISTS flawed ON tools (name) WHERE flaw_kind IS NOT NULL;
CREATE VIRTUAL TABLE IF NOT EXISTS words
    USING fts5(name, other, description, parameters, tokenize = 'unicode61');
CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5vocab(words, row);
CREATE VIRTUAL TABLE IF NOT EXISTS short
    USING fts5(acronyms, whole, tokenize = "unicode61 tokenchars '_'", detail = column);
CREATE TABLE IF NOT EXISTS signs (id INTEGER PRIMARY KEY, bits BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL);
PRAGMA user_version = {_SCHEMA_VERSION};
COMMIT;
"""
_BUSY_SECONDS = 10.0
_MOST_OF_A_SENTENCE = 16
_LETTERS_OF_A_SENTENCE = 4
_FIRST_SENTENCE = re.compile(r"\.\s|\n\s*\n")
Read = Callable[[str], Tool | Flaw | None]


class Index:
    """An index of tools, in a file that several processes share, or in memory.

    Without a path it is in memory.

    Raises:
        OSError: The file cannot be made.
            sqlite3.Error: The file is damaged, of another version, or cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self._database = open_database(path, busy=_BUSY_SECONDS, journal="WAL", is_derived=True)
        try:
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
            if version not in {0, _SCHEMA_VERSION}:
                raise sqlite3.DatabaseError("it was written by another version of alita")
            if not version:
                self._database.executescript(_SCHEMA)
        except BaseException:
            self._database.close()
            raise
        self._signs: dict[int, int] = {}
        self._signs_of = -1
        """The version of the database that has these signs."""

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def refresh(self, current: Stamps, read: Read) -> None:
        """Update the index from the files, reading only files with new stamps."""
        if self._differing(current)[1:] == ([], []):
            return
        self._database.execute("BEGIN IMMEDIATE")
        with self._database:
            known, gone, changed = self._differing(current)  # another process may have been first
            for name in [*gone, *(known.keys() & changed)]:
                _remove(self._database, name)
            for name in changed:
                _put(self._database, name, current[name], read(name))
        self._signs_of = -1

    def _current_signs(self) -> dict[int, int]:
        version = self._database.execute("PRAGMA data_version").fetchone()[0]  # changes with what others write
        if self._signs_of != version:
            rows = self._database.execute("SELECT id, bits FROM signs") if word_vectors() else ()
            self._signs = {row: int.from_bytes(bits, "big") for row, bits in rows}
            self._signs_of = version
        return self._signs

    def _differing(self, current: Stamps) -> tuple[dict[str, str], list[str], list[str]]:
        """Return the indexed names, the removed names, and the new or changed names."""
        known = dict(self._database.execute("SELECT name, stamp FROM tools"))
        changed = [name for name, stamp in current.items() if known.get(name) != stamp]
        return known, [name for name in known if name not in current], changed

    def names(self) -> list[str]:
        """The names of all tools that have no flaw."""
        rows = self._database.execute("SELECT name FROM tools WHERE flaw_kind IS NULL ORDER BY name")
        return [name for (name,) in rows]

    def count(self) -> int:
        """The number of tools that have no flaw."""
        return int(self._database.execute("SELECT count(*) FROM tools WHERE flaw_kind IS NULL").fetchone()[0])

    def having(self, name: str) -> list[str]:
        """The tools that have a word, such as another name, in one piece."""
        sql = "SELECT tools.name FROM short JOIN tools ON tools.id = short.rowid WHERE short MATCH ? LIMIT 20"
        return [found for (found,) in self._database.execute(sql, (f'whole : "{name}"',))]

    def flaws(self) -> list[Flaw]:
        """Return the flaws of the folder."""
        rows = self._database.execute(
            "SELECT name, flaw_kind, flaw_message, flaw_remedy FROM tools WHERE flaw_kind IS NOT NULL ORDER BY name"
        )
        return [Flaw(*row) for row in rows]

    def search(self, query: str, limit: int, *, with_unlikely: bool = False) -> list[Found]:
        """The usable tools that share most with the query, best first; a higher score is better.

        Each shared word counts the more, the fewer tools have it, and more in a name than in a description; to this the
        likeness of the meanings is added. Tools that share too little are left out, and tools far behind the best,
        except `with_unlikely`. The best of each part of a question is among the first.

        SQLite's own bm25 first counts every word's rows again and takes twice as long as all of this at 10,000 tools.
        """
        if limit < 1:
            return []
        search = Search(self._database, self._current_signs())
        whole = search.ranked(query, max(RANKED, limit))
        rows = [[one for one in search.ranked(part, RANKED_OF_A_PART) if one.fits] for part in parts_of(query)]
        best, more = (_sorted(one for row in rows for one in row[start:end]) for start, end in ((0, 1), (1, OF_A_PART)))
        fitting = [one for one in whole if one.fits]
        first = {one.name: one for one in [*fitting[:1], *best, *fitting[:3], *more, *fitting]}
        others = [one for one in whole if one.name not in first] if with_unlikely else []
        return [*first.values(), *others][:limit]


def _sorted(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda one: -one.score)


def _remove(database: sqlite3.Connection, name: str) -> None:
    database.execute("DELETE FROM words WHERE rowid = (SELECT id FROM tools WHERE name = ?)", (name,))
    database.execute("DELETE FROM short WHERE rowid = (SELECT id FROM tools WHERE name = ?)", (name,))
    for table in ("signs", "vectors"):
        database.execute(f"DELETE FROM {table} WHERE id = (SELECT id FROM tools WHERE name = ?)", (name,))  # noqa: S608
    database.execute("DELETE FROM tools WHERE name = ?", (name,))


def _put(database: sqlite3.Connection, name: str, stamp: str, tool: Tool | Flaw | None) -> None:
    if tool is None:
        return
    flaw = (tool.kind, tool.message, tool.remedy) if isinstance(tool, Flaw) else (None, None, None)
    row = database.execute(
        "INSERT INTO tools (name, stamp, flaw_kind, flaw_message, flaw_remedy) VALUES (?, ?, ?, ?, ?)",
        (name, stamp, *flaw),
    ).lastrowid
    if isinstance(tool, Tool):
        parameters = " ".join(_parameter_words(tool))
        texts = (
            tool.name.replace("_", " "),
            " ".join(_other_names(tool)).replace("_", " "),
            tool.description,
            parameters,
        )
        columns = [" ".join(dict.fromkeys(stems(text))) for text in texts]
        database.execute(
            "INSERT INTO words (rowid, name, other, description, parameters) VALUES (?, ?, ?, ?, ?)", (row, *columns)
        )
        database.execute("INSERT INTO short (rowid, acronyms, whole) VALUES (?, ?, ?)", (row, *_short_names(tool)))
        if vectors := word_vectors():
            vector = vectors.of(". ".join((texts[0], texts[1], _FIRST_SENTENCE.split(tool.description, maxsplit=1)[0])))
            bits = signs(vector).to_bytes(len(vector) // 8, "big")
            database.execute("INSERT INTO signs (id, bits) VALUES (?, ?)", (row, bits))
            database.execute("INSERT INTO vectors (id, vector) VALUES (?, ?)", (row, packed(vector)))


def _other_names(tool: Tool) -> list[str]:
    """Return the names in its docstring, and the names of merged tools."""
    return [*also_known_as(tool.description), *tool.aliases]


def _short_names(tool: Tool) -> tuple[str, str]:
    """Acronyms of the name, of its other names and of the first sentence; words in one that may be in a question."""
    name = plain_words(tool.name)
    sentence = plain_words(tool.description.partition(". ")[0])[:_MOST_OF_A_SENTENCE]
    found = acronyms(sentence, most=_LETTERS_OF_A_SENTENCE)
    for row in (name, *map(plain_words, _other_names(tool))):
        found += acronyms(row)
    return " ".join(dict.fromkeys(found)), " ".join(dict.fromkeys([*name, *joined(name), *tool.aliases]))


def _parameter_words(tool: Tool) -> Iterator[str]:
    properties = tool.input_schema.get("properties", {})
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        yield str(name)
        if isinstance(schema, dict):
            yield str(schema.get("description", ""))
            choices = schema.get("enum")  # what a question may say: `Friday`, `EUR`
            yield from map(str, choices[:_MOST_CHOICES] if isinstance(choices, list) else ())


_LOOK_AGAIN_SECONDS = 2.0
"""Seconds for which an edit inside a file may go unseen; new, replaced and deleted files are seen immediately."""
_SCAN_SHARE = 100
"""Looking at every file takes at most this part of the time."""
_SETTLED_NS = 50_000_000
"""A folder changed so recently may change again within one tick of its clock."""

T = TypeVar("T")


class CurrentIndex:
    """The index of one folder: updated from the files before each query, rebuilt if damaged.

    Args:
        folder: The folder, which need not exist.
        path: The file of the index, outside of the folder.
        read: Reads a tool by its name.
    """

    def __init__(self, folder: Path, path: Path, read: Read) -> None:
        self._folder = folder
        self._path = path
        self._read = read
        self._index: Index | None = None
        self._existed = False
        """True if there was a folder when the index was opened."""
        self._stamps: Stamps = {}
        self._indexed: Stamps | None = None
        self._seen = -1
        self._due = 0.0
        self._threads = threading.RLock()

    def close(self) -> None:
        """Closes the index; the next question opens it again."""
        with self._threads:
            if self._index is not None:
                self._index.close()
            self._index, self._indexed = None, None

    def asked(self, ask: Callable[[Index], T]) -> T:
        """Asks the index. If it is damaged, it is rebuilt, then kept in memory.

        Raises:
            LibraryError: The folder cannot be read.
        """
        with self._threads:
            stamps = self.stamps()
            for anew in (False, True):
                with contextlib.suppress(OSError, sqlite3.Error):
                    return ask(self._current(self._opened(anew=anew), stamps))
            self.close()
            self._index = Index(None)
            return ask(self._current(self._index, stamps))

    def _current(self, index: Index, stamps: Stamps) -> Index:
        if self._indexed is not stamps:
            index.refresh(stamps, self._read)
            self._indexed = stamps
        return index

    def _opened(self, *, anew: bool) -> Index:
        exists = self._folder.is_dir()
        if anew or self._index is None or exists != self._existed:
            self.close()
            for suffix in ("", "-wal", "-shm") if anew and exists else ():
                with contextlib.suppress(OSError):
                    Path(f"{self._path}{suffix}").unlink()
            if exists:
                note_owner(self._path.parent, self._folder)
            self._index, self._existed = Index(self._path if exists else None), exists
        return self._index

    def is_due(self) -> bool:
        """Return True if the stamps must be taken again."""
        return self._changed() != self._seen or time.monotonic() >= self._due

    def _changed(self) -> int:
        try:
            return self._folder.stat().st_mtime_ns
        except OSError:
            return 0

    def stamps(self) -> Stamps:
        """The stamps of all files, the same object while they are the same.

        Raises:
            LibraryError: The folder cannot be read.
        """
        with self._threads:
            if not self.is_due():
                return self._stamps
            changed, started = self._changed(), time.monotonic()
            pending = self._folder.joinpath(*PENDING)
            try:
                if pending.is_dir() and any(pending.iterdir()):
                    with contextlib.suppress(LibraryError), writing(self._folder):
                        pass  # a writer was killed: taking the lock settles what it left
                stamps = tool_files.stamps(self._folder)
            except OSError as error:
                raise LibraryError(
                    f"the tool library {self._folder} cannot be read: {error.strerror or error}",
                    remedy="make the folder readable, or choose another with --tools-dir",
                ) from error
            if stamps != self._stamps:
                self._stamps = stamps
            now = time.monotonic()
            self._due = now + max(_LOOK_AGAIN_SECONDS, _SCAN_SHARE * (now - started))
            self._seen = changed if time.time_ns() - changed > _SETTLED_NS else -1
            return self._stamps
