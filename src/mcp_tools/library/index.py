"""The search over a library: a SQLite FTS5 file derived from the tools' files. Deleting it loses nothing."""

from __future__ import annotations

import contextlib
import heapq
import math
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from mcp_tools.database import open_database
from mcp_tools.errors import LibraryError
from mcp_tools.library import tool_files
from mcp_tools.library.folder import PENDING, note_owner, writing
from mcp_tools.library.tool_files import Flaw, Stamps
from mcp_tools.particulars import FUNCTION_WORDS
from mcp_tools.text import words
from mcp_tools.tool import Tool

_WORD = re.compile(r"[^\W_]+")
_MOST = 24
"""Words of a query that count: a long question says what it wants early and often."""

_VAGUE_WORDS = words(
    """
    answer compute calculate calculates computes determine determines find finds get return returns
    tell result results number numbers function tool question
    """
)
"""Words that most tools have: dropped when anything else is left."""


def search_words(text: str) -> list[str]:
    """The words of a text that are worth searching for, each once, in order."""
    found = list(dict.fromkeys(word.lower() for word in _WORD.findall(text[:20_000])))
    kept = [word for word in found if word not in FUNCTION_WORDS]
    telling = [word for word in kept if word not in _VAGUE_WORDS and not word.isdigit() and len(word) > 1]
    return (telling or kept)[:_MOST]


_SCHEMA_VERSION = 3
_MOST_CHOICES = 50  # of one parameter, that are searched for
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS tools (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, stamp TEXT NOT NULL,
    flaw_kind TEXT, flaw_message TEXT, flaw_remedy TEXT
);
CREATE INDEX IF NOT EXISTS flawed ON tools (name) WHERE flaw_kind IS NOT NULL;
CREATE VIRTUAL TABLE IF NOT EXISTS words
    USING fts5(name, description, parameters, tokenize = 'porter unicode61 remove_diacritics 2');
PRAGMA user_version = {_SCHEMA_VERSION};
COMMIT;
"""
_BUSY_SECONDS = 10.0
Read = Callable[[str], Tool | Flaw | None]


class Found(NamedTuple):
    """One match of a search."""

    name: str
    score: float


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

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def refresh(self, current: Stamps, read: Read) -> None:
        """Makes the index say what the files say, reading only those whose stamps differ."""
        known = dict(self._database.execute("SELECT name, stamp FROM tools"))
        gone = known.keys() - current.keys()
        changed = [name for name, stamp in current.items() if known.get(name) != stamp]
        if not gone and not changed:
            return
        self._database.execute("BEGIN IMMEDIATE")
        with self._database:
            for name in gone:
                _remove(self._database, name)
            for name in changed:
                _put(self._database, name, current[name], read(name))

    def names(self) -> list[str]:
        """The names of all tools that have no flaw."""
        rows = self._database.execute("SELECT name FROM tools WHERE flaw_kind IS NULL ORDER BY name")
        return [name for (name,) in rows]

    def flaws(self) -> list[Flaw]:
        """What is wrong in the folder."""
        rows = self._database.execute(
            "SELECT name, flaw_kind, flaw_message, flaw_remedy FROM tools WHERE flaw_kind IS NOT NULL ORDER BY name"
        )
        return [Flaw(*row) for row in rows]

    def search(self, query: str, limit: int, *, with_unlikely: bool = False) -> list[Found]:
        """The usable tools that share most with the query, best first; a higher score is better.

        Each shared word counts the more, the fewer tools have it, and half as much again in the name; of two that
        share as much the shorter description wins. What shares neither a word of its name nor a fair part of the
        query is left out, and what comes far behind the best, except `with_unlikely`.

        SQLite's own bm25 first counts every word's rows again and takes twice as long as all of this at 10,000 tools.
        """
        wanted = search_words(query)
        if not wanted or limit < 1:
            return []
        lists = sorted(((self._rows_with(word), word) for word in wanted), key=lambda pair: len(pair[0]))
        total = 1 + sum(len(rows) for rows, _ in lists)
        weights = {word: math.log(1 + total / (1 + len(rows))) for rows, word in lists}
        shared = _weighed([(rows, weights[word]) for rows, word in lists], max(_RANKED, limit))
        places = ", ".join("?" * len(shared))
        sql = f"SELECT rowid, name, description FROM words WHERE rowid IN ({places})"  # noqa: S608 - question marks
        stems = [(_stem(word), _NAME_WEIGHT * weight) for word, weight in weights.items()]
        found = []
        for row, name, description in self._database.execute(sql, list(shared)):
            in_name = sum(weight for stem, weight in stems if stem in f"_{name}_")
            likeness = shared[row] + in_name
            if with_unlikely or in_name or likeness >= _FAIR_PART * sum(weights.values()):
                found.append((likeness, Found(name, likeness - len(description) * _LENGTH_WEIGHT)))
        least = 0.0 if with_unlikely else _NEAR_BEST * max((likeness for likeness, _ in found), default=0.0)
        near = [match for likeness, match in found if likeness >= least]
        return sorted(near, key=lambda match: (-match.score, match.name))[:limit]

    def _rows_with(self, word: str) -> list[int]:
        rows = self._database.execute("SELECT rowid FROM words WHERE words MATCH ?", (f'"{word}"',))
        return [row for (row,) in rows]


_RANKED = 25
_FREQUENT = 1500
"""A word that so many tools have adds no further candidates once there are enough."""
_NAME_WEIGHT = 0.5
_LENGTH_WEIGHT = 0.001
"""Per character: it only decides between equals."""
_FAIR_PART = 0.25
"""Of the weight of all words of a query, those that no tool has too."""
_NEAR_BEST = 0.5


def _weighed(lists: list[tuple[list[int], float]], most: int) -> dict[int, float]:
    """The rows that share the most telling words, with the sum of the weights. The rarest word comes first."""
    weights: dict[int, float] = {}
    for rows, weight in lists:
        is_telling = len(rows) <= _FREQUENT or len(weights) < most
        for row in rows if is_telling else weights.keys() & rows:
            weights[row] = weights.get(row, 0.0) + weight
    return {row: weights[row] for row in heapq.nlargest(most, weights, key=weights.__getitem__)}


def _stem(word: str) -> str:
    """How a part of a name starts that means the same: primes and prime, converting and convert."""
    return f"_{word[: max(4, len(word) - 3)]}" if len(word) > 2 else f"_{word}_"


def _remove(database: sqlite3.Connection, name: str) -> None:
    database.execute("DELETE FROM words WHERE rowid = (SELECT id FROM tools WHERE name = ?)", (name,))
    database.execute("DELETE FROM tools WHERE name = ?", (name,))


def _put(database: sqlite3.Connection, name: str, stamp: str, tool: Tool | Flaw | None) -> None:
    _remove(database, name)
    if tool is None:
        return
    flaw = (tool.kind, tool.message, tool.remedy) if isinstance(tool, Flaw) else (None, None, None)
    row = database.execute(
        "INSERT INTO tools (name, stamp, flaw_kind, flaw_message, flaw_remedy) VALUES (?, ?, ?, ?, ?)",
        (name, stamp, *flaw),
    ).lastrowid
    if isinstance(tool, Tool):
        parameters = " ".join(_parameter_words(tool))
        database.execute(
            "INSERT INTO words (rowid, name, description, parameters) VALUES (?, ?, ?, ?)",
            (row, tool.name, tool.description, parameters),
        )


def _parameter_words(tool: Tool) -> Iterator[str]:
    properties = tool.input_schema.get("properties", {})
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        yield str(name)
        if isinstance(schema, dict):
            yield str(schema.get("description", ""))
            choices = schema.get("enum")  # what a question may say: `Friday`, `EUR`
            yield from map(str, choices[:_MOST_CHOICES] if isinstance(choices, list) else ())


_LOOK_AGAIN_SECONDS = 2.0
"""How long an edit inside a file may go unseen; new, replaced and deleted files are seen at once."""
_SCAN_SHARE = 100
"""Looking at every file takes at most this part of the time."""
_SETTLED_NS = 50_000_000
"""A folder changed so recently may change again within one tick of its clock."""

T = TypeVar("T")


class CurrentIndex:
    """The index of one folder, which says what the files say: looked after before each question, built anew if damaged.

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
        """Whether there was a folder when the index was opened."""
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
        """Asks the index. Damage is answered by building it anew, then in memory.

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
        """Whether the stamps must be taken again before they can be told."""
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
