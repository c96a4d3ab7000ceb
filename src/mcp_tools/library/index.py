"""The search index of a library: a SQLite FTS5 file. It is built from the tools' files, so it may be deleted."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from mcp_tools.data_files import open_database
from mcp_tools.errors import LibraryError
from mcp_tools.library import tool_files
from mcp_tools.library.folder import PENDING, note_owner, writing
from mcp_tools.library.meaning import packed, signs, word_vectors
from mcp_tools.library.ranking import MAX_RANKED, MAX_RANKED_PER_PART, SHOWN_PER_PART, Match, RankedSearch
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
_MAX_CHOICES = 50
"""Maximum number of searchable choices for one parameter."""
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
_MAX_SENTENCE_WORDS = 16
_MAX_SENTENCE_ACRONYM_CHARS = 4
_FIRST_SENTENCE = re.compile(r"\.\s|\n\s*\n")
Read = Callable[[str], Tool | Flaw | None]


class Index:
    """An index of tools, in a file that several processes share, or in memory.

    Args:
        path: The file; None keeps the index in memory.

    Raises:
        OSError: The file cannot be created.
        sqlite3.Error: The file is damaged, belongs to another version, or cannot be written.
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
        """Version of the database from which `_signs` was read."""

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def refresh(self, current: Stamps, read: Read) -> None:
        """Update the index from the files. Only files with new stamps are read."""
        if self._differing(current)[1:] == ([], []):
            return
        self._database.execute("BEGIN IMMEDIATE")
        with self._database:
            known, gone, changed = self._differing(current)  # another process may have refreshed it meanwhile
            for name in [*gone, *(known.keys() & changed)]:
                _remove(self._database, name)
            for name in changed:
                _put(self._database, name, current[name], read(name))
        self._signs_of = -1

    def _current_signs(self) -> dict[int, int]:
        version = self._database.execute("PRAGMA data_version").fetchone()[0]  # changes if other processes write
        if self._signs_of != version:
            rows = self._database.execute("SELECT id, bits FROM signs") if word_vectors() else ()
            self._signs = {row: int.from_bytes(bits, "big") for row, bits in rows}
            self._signs_of = version
        return self._signs

    def _differing(self, current: Stamps) -> tuple[dict[str, str], list[str], list[str]]:
        """Return the indexed names with their stamps, the removed names, and the new or changed names."""
        known = dict(self._database.execute("SELECT name, stamp FROM tools"))
        changed = [name for name, stamp in current.items() if known.get(name) != stamp]
        return known, [name for name in known if name not in current], changed

    def names(self) -> list[str]:
        """Return the names of all tools without a flaw."""
        rows = self._database.execute("SELECT name FROM tools WHERE flaw_kind IS NULL ORDER BY name")
        return [name for (name,) in rows]

    def count(self) -> int:
        """Return the number of tools without a flaw."""
        return int(self._database.execute("SELECT count(*) FROM tools WHERE flaw_kind IS NULL").fetchone()[0])

    def having(self, name: str) -> list[str]:
        """Return the names of tools that have this name or alias."""
        sql = "SELECT tools.name FROM short JOIN tools ON tools.id = short.rowid WHERE short MATCH ? LIMIT 20"
        return [found for (found,) in self._database.execute(sql, (f'whole : "{name}"',))]

    def flaws(self) -> list[Flaw]:
        """Return the flaws of all damaged tools."""
        rows = self._database.execute(
            "SELECT name, flaw_kind, flaw_message, flaw_remedy FROM tools WHERE flaw_kind IS NOT NULL ORDER BY name"
        )
        return [Flaw(*row) for row in rows]

    def search(self, query: str, limit: int, *, with_unlikely: bool = False) -> list[Match]:
        """Return the tools that match a query best, best first.

        A shared word counts more if few tools have it, and more in a name than in a description. The similarity of
        meaning is added. The best tools for each part of a question come first. SQLite's bm25 is not used, because it
        is twice as slow with 10,000 tools.

        Args:
            query: A question or a purpose.
            limit: Maximum number of results.
            with_unlikely: Include tools with a low score, or far below the best.
        """
        if limit < 1:
            return []
        search = RankedSearch(self._database, self._current_signs())
        whole = search.ranked(query, max(MAX_RANKED, limit))
        rows = [[one for one in search.ranked(part, MAX_RANKED_PER_PART) if one.fits] for part in parts_of(query)]
        best, more = (
            _sorted(one for row in rows for one in row[start:end]) for start, end in ((0, 1), (1, SHOWN_PER_PART))
        )
        fitting = [one for one in whole if one.fits]
        first = {one.name: one for one in [*fitting[:1], *best, *fitting[:3], *more, *fitting]}
        others = [one for one in whole if one.name not in first] if with_unlikely else []
        return [*first.values(), *others][:limit]


def _sorted(found: Iterable[Match]) -> list[Match]:
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
    """Return the other names in a tool's docstring, and its aliases."""
    return [*also_known_as(tool.description), *tool.aliases]


def _short_names(tool: Tool) -> tuple[str, str]:
    """Return two texts for the table `short`: the tool's acronyms; and its names, with joined words."""
    name = plain_words(tool.name)
    sentence = plain_words(tool.description.partition(". ")[0])[:_MAX_SENTENCE_WORDS]
    found = acronyms(sentence, most=_MAX_SENTENCE_ACRONYM_CHARS)
    for row in (name, *map(plain_words, _other_names(tool))):
        found += acronyms(row)
    return " ".join(dict.fromkeys(found)), " ".join(dict.fromkeys([*name, *joined(name), *tool.aliases]))


def _parameter_words(tool: Tool) -> Iterator[str]:
    properties = tool.input_schema.get("properties", {})
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        yield str(name)
        if isinstance(schema, dict):
            yield str(schema.get("description", ""))
            choices = schema.get("enum")  # questions may contain them: `Friday`, `EUR`
            yield from map(str, choices[:_MAX_CHOICES] if isinstance(choices, list) else ())


_RESCAN_SECONDS = 2.0
"""Seconds for which an edit inside a file may go unnoticed. New, replaced and deleted files are noticed immediately."""
_SCAN_INTERVALS = 100
"""Pause after a scan, as a multiple of its duration, so that scanning takes at most 1 % of the time."""
_CLOCK_TICK_NS = 50_000_000
"""Time within which a folder may change again without getting a new modification time."""

T = TypeVar("T")


class CurrentIndex:
    """The index of one folder. It is updated from the files before each query, and rebuilt if it is damaged.

    Args:
        folder: The folder, which may not exist yet.
        path: The index file, outside the folder.
        read: Reads a tool by name.
    """

    def __init__(self, folder: Path, path: Path, read: Read) -> None:
        self._folder = folder
        self._path = path
        self._read = read
        self._index: Index | None = None
        self._existed = False
        """True if the folder existed when the index was opened."""
        self._stamps: Stamps = {}
        self._indexed: Stamps | None = None
        self._seen = -1
        self._due = 0.0
        self._threads = threading.RLock()

    def close(self) -> None:
        """Close the index. The next query opens it again."""
        with self._threads:
            if self._index is not None:
                self._index.close()
            self._index, self._indexed = None, None

    def query(self, ask: Callable[[Index], T]) -> T:
        """Run a query on the current index. A damaged index is rebuilt; if that fails, in memory.

        Raises:
            LibraryError: The folder cannot be read.
        """
        with self._threads:
            stamps = self.stamps()
            for rebuild in (False, True):
                with contextlib.suppress(OSError, sqlite3.Error):
                    return ask(self._refreshed(self._open(rebuild=rebuild), stamps))
            self.close()
            self._index = Index(None)
            return ask(self._refreshed(self._index, stamps))

    def _refreshed(self, index: Index, stamps: Stamps) -> Index:
        if self._indexed is not stamps:
            index.refresh(stamps, self._read)
            self._indexed = stamps
        return index

    def _open(self, *, rebuild: bool) -> Index:
        exists = self._folder.is_dir()
        if rebuild or self._index is None or exists != self._existed:
            self.close()
            for suffix in ("", "-wal", "-shm") if rebuild and exists else ():
                with contextlib.suppress(OSError):
                    Path(f"{self._path}{suffix}").unlink()
            if exists:
                note_owner(self._path.parent, self._folder)
            self._index, self._existed = Index(self._path if exists else None), exists
        return self._index

    def is_due(self) -> bool:
        """Return True if the folder must be scanned again."""
        return self._changed() != self._seen or time.monotonic() >= self._due

    def _changed(self) -> int:
        try:
            return self._folder.stat().st_mtime_ns
        except OSError:
            return 0

    def stamps(self) -> Stamps:
        """Return the stamps of all tools. The same object is returned while nothing changes.

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
                        pass  # a writer was killed; taking the lock cleans up after it
                stamps = tool_files.stamps(self._folder)
            except OSError as error:
                raise LibraryError(
                    f"the tool library {self._folder} cannot be read: {error.strerror or error}",
                    remedy="make the folder readable, or choose another one with --tools-dir",
                ) from error
            if stamps != self._stamps:
                self._stamps = stamps
            now = time.monotonic()
            self._due = now + max(_RESCAN_SECONDS, _SCAN_INTERVALS * (now - started))
            self._seen = changed if time.time_ns() - changed > _CLOCK_TICK_NS else -1
            return self._stamps
