"""Counts of each tool's calls and their outcomes."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mcp_tools.data_files import open_database

REFUSED = "refused"
"""Outcome of a call with arguments that the tool rejects as documented."""
BUG = "bug"
"""Outcome of a call that failed because of a bug in the tool."""
_BUSY_SECONDS = 5.0
_HASH_DIGITS = 12
"""Length of a version's hash in the database."""
RECENT_CALLS = 5
"""Number of recent calls that are stored individually for each version. The trigger below has the same number."""
_QUESTIONS_FOR_TRUST = 3
"""Number of different questions in which a tool must succeed to be trusted."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    name TEXT NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL, last REAL NOT NULL, PRIMARY KEY (name, kind)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS questions (
    name TEXT NOT NULL, question TEXT NOT NULL, PRIMARY KEY (name, question)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lately (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, call TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS lately_by_name ON lately (name);
CREATE TRIGGER IF NOT EXISTS lately_is_short AFTER INSERT ON lately BEGIN
    DELETE FROM lately WHERE name = new.name AND number NOT IN (
        SELECT number FROM lately WHERE name = new.name ORDER BY number DESC LIMIT 5
    );
END;
"""
_STATS = """
SELECT name, kind, count, last FROM calls WHERE name = :name OR (name >= :first AND name < :after)
UNION ALL SELECT '', '', count(DISTINCT question), NULL FROM questions WHERE name IN (:name, :key)
UNION ALL SELECT '', '', count(DISTINCT CASE call WHEN '' THEN number ELSE call END), NULL FROM lately
    WHERE name = :key AND kind = :bug
"""
_FORGET = "DELETE FROM {} WHERE name = :name OR (name >= :first AND name < :after)"
_SET_APART = (
    "INSERT INTO calls SELECT :first, kind, count, last FROM calls WHERE name = :name"
    " ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)"
)
"""SQL that turns counts without a version into counts of earlier versions."""
_Statement = tuple[str, Mapping[str, object] | tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a tool's calls. Unless stated otherwise, they cover only the present version."""

    calls: int = 0
    successes: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    """Number of failed calls by kind of failure."""
    refused: int = 0
    """Calls with arguments that the tool rejected as documented. They are not failures."""
    last: float | None = None
    """Time of the last call of any version, in seconds since 1970."""
    questions: int = 0
    """Number of different questions in which the tool succeeded."""
    bugs_lately: int = 0
    """Number of different recent calls that failed because of a bug in the tool."""
    earlier: int = 0
    """Number of calls of earlier versions."""

    @property
    def is_trusted(self) -> bool:
        """True if the tool succeeded in several questions and had no bug recently."""
        return self.questions >= _QUESTIONS_FOR_TRUST and not self.bugs_lately


class Calls(Protocol):
    """Counts the calls of one library's tools. If a count cannot be written, it is dropped without an error."""

    def record(
        self,
        name: str,
        ok: bool,
        kind: str | None = None,
        count: int = 1,
        *,
        version: str = "",
        question: str = "",
        call: str = "",
    ) -> None:
        """Count calls with the same outcome.

        Args:
            name: The tool.
            ok: True for successful calls.
            kind: The kind of failure.
            count: Number of calls.
            version: Source hash of the version that was called.
            question: Digest of the question.
            call: Digest of the arguments.
        """
        ...

    def renew(self, name: str) -> None:
        """Forget a tool's questions and recent calls, because it was replaced or a person approved it."""
        ...

    def stats(self, name: str, version: str) -> Stats:
        """Return the counts of a tool. `version` is the source hash of its current version."""
        ...

    def close(self) -> None:
        """Close open files. They are opened again when needed."""
        ...


def key_of(name: str, version: str) -> str:
    """Return the database key for the calls of a version; the tool's name if there is no version."""
    return f"{name}@{version[:_HASH_DIGITS]}" if version else name


def names_of(name: str, version: str = "") -> dict[str, object]:
    """Return SQL parameters: the tool's name, the key of a version, and the range of keys of all versions."""
    return {"name": name, "key": key_of(name, version), "first": f"{name}@", "after": f"{name}A"}


def stats_of(name: str, version: str, kinds: Iterable[tuple[str, str, int, float]], questions: int, bugs: int) -> Stats:
    """Build the counts of a tool from database rows of key, kind, count and time of the last call."""
    now, earlier, moments, found = {name, key_of(name, version)}, 0, list[float](), Counter[str]()
    for key, kind, count, last in kinds:
        moments.append(last)
        if key in now:
            found[kind] += count
        else:
            earlier += count
    successes, refused = found.pop("", 0), found.pop(REFUSED, 0)
    calls = successes + refused + found.total()
    return Stats(calls, successes, dict(found), refused, max(moments, default=None), questions, bugs, earlier)


class CallsFile:
    """Counts calls in a file that several processes share.

    A damaged file is moved aside. The file stays open between calls, because opening it takes as long as a call in the
    sandbox.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None
        self._threads = threading.Lock()

    def record(
        self,
        name: str,
        ok: bool,
        kind: str | None = None,
        count: int = 1,
        *,
        version: str = "",
        question: str = "",
        call: str = "",
    ) -> None:
        """See `Calls`."""
        outcome, key = "" if ok else kind or "unknown", key_of(name, version)
        work: list[_Statement] = [
            (
                "INSERT INTO calls VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)",
                (key, outcome, count, time.time()),
            )
        ]
        if ok and question:
            work.append(("INSERT OR IGNORE INTO questions VALUES (?, ?)", (key, question)))
        work.append(("INSERT INTO lately (name, kind, call) VALUES (?, ?, ?)", (key, outcome, call)))
        self._execute(*work)

    def renew(self, name: str) -> None:
        """See `Calls`."""
        if os.path.exists(self._path):  # noqa: PTH110 - see below
            forgotten = [_FORGET.format("questions"), _FORGET.format("lately")]
            apart = [_SET_APART, "DELETE FROM calls WHERE name = :name"]
            self._execute(*((statement, names_of(name)) for statement in (*forgotten, *apart)))

    def stats(self, name: str, version: str) -> Stats:
        """See `Calls`."""
        rows: list[tuple[str, str, int, float | None]] = []
        if os.path.exists(self._path):  # noqa: PTH110 - also false if the folder cannot be entered
            rows = self._execute((_STATS, names_of(name, version) | {"bug": BUG}))
        *counted, questions, bugs = rows or [("", "", 0, None)] * 2
        kinds = [(key, kind, count, last or 0.0) for key, kind, count, last in counted]
        return stats_of(name, version, kinds, questions[2], bugs[2])

    def close(self) -> None:
        """See `Calls`."""
        if self._database is not None:
            self._database.close()
        self._database = None

    def _execute(self, *statements: _Statement) -> list[Any]:
        """Execute one statement and return its rows, or execute several in one transaction."""
        with self._threads, contextlib.suppress(OSError, sqlite3.Error):
            try:
                return self._executed(statements)
            except sqlite3.DatabaseError as error:
                self.close()
                if not isinstance(error, sqlite3.OperationalError):
                    self._path.replace(self._path.with_suffix(f".damaged-{time.time_ns()}"))
                return self._executed(statements)
        return []

    def _executed(self, statements: tuple[_Statement, ...]) -> list[Any]:
        database = self._opened()
        if len(statements) == 1:
            return database.execute(*statements[0]).fetchall()
        database.execute("BEGIN IMMEDIATE")
        for statement in statements:
            database.execute(*statement)
        database.execute("COMMIT")
        return []

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            database = open_database(self._path, busy=_BUSY_SECONDS, journal="TRUNCATE", is_derived=True)
            database.executescript(_SCHEMA)
            self._database = database
        return self._database
