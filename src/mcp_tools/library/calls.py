"""Counts of each tool's calls and their outcomes."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mcp_tools.database import open_database

REFUSED = "refused"
"""The class of calls that did not succeed and are no failures."""
BUG = "bug"
"""The class of calls that failed through the tool's own fault."""
_BUSY_SECONDS = 5.0
LATELY = 5
"""Calls of a version of a tool that are remembered one by one, as the trigger has it."""
_MANY_QUESTIONS = 3
"""Distinct questions in which a tool succeeded, after which it is trusted."""
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
SELECT kind, count, last FROM calls WHERE name = ?
UNION ALL SELECT '', count(*), NULL FROM questions WHERE name = ?
UNION ALL SELECT '', count(DISTINCT CASE call WHEN '' THEN number ELSE call END), NULL FROM lately
    WHERE name = ? AND kind = ?
"""
_Statement = tuple[str, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a tool's calls."""

    calls: int = 0
    successes: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    """By the class of their outcome; calls of earlier versions by the kind of their problem."""
    refused: int = 0
    """Calls with arguments that the tool refused as documented."""
    last: float | None = None
    questions: int = 0
    """Distinct questions in which the present version succeeded."""
    bugs_lately: int = 0
    """Recent calls of the present version that failed through its own fault, each call once."""

    @property
    def is_trusted(self) -> bool:
        """True if it succeeded in several questions, and lately had no bug."""
        return self.questions >= _MANY_QUESTIONS and not self.bugs_lately


class Calls(Protocol):
    """The counts of one library. Counting never fails a call: where nothing can be written, nothing is counted."""

    def record(
        self, name: str, ok: bool, kind: str | None = None, count: int = 1, *, question: str = "", call: str = ""
    ) -> None:
        """Counts calls: successes, or failures of a kind; in a question, and of arguments, if digests are given."""
        ...

    def renew(self, name: str) -> None:
        """Forgets what is counted for a version only: another takes its place, or a person vouches for it."""
        ...

    def stats(self, name: str) -> Stats:
        """The counts of one tool; all zero for one that was never called."""
        ...

    def close(self) -> None:
        """Closes what is open. It is opened again when needed."""
        ...


def stats_of(kinds: Iterable[tuple[str, int, float]], questions: int, bugs: int) -> Stats:
    """The counts of a tool from what is kept: each kind with its count and the time of the last such call."""
    counted = [*kinds]
    failures = {kind: count for kind, count, _ in counted if kind}
    successes = sum(count for kind, count, _ in counted if not kind)
    calls = successes + sum(failures.values())
    refused = failures.pop(REFUSED, 0)
    last = max((last for _, _, last in counted), default=None)
    return Stats(calls, successes, failures, refused, last, questions, bugs)


class CallsFile:
    """The counts of one library, in a file that several processes share; it holds each count once it is made.

    Counting never fails a call: where nothing can be written, nothing is counted. A damaged file is put aside.
    The file stays open between calls: opening it takes as long as a call in the sandbox.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None
        self._threads = threading.Lock()

    def record(
        self, name: str, ok: bool, kind: str | None = None, count: int = 1, *, question: str = "", call: str = ""
    ) -> None:
        """Counts calls: successes, or failures of a kind; in a question, and of arguments, if digests are given."""
        told = "" if ok else kind or "unknown"
        work: list[_Statement] = [
            (
                "INSERT INTO calls VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)",
                (name, told, count, time.time()),
            )
        ]
        if ok and question:
            work.append(("INSERT OR IGNORE INTO questions VALUES (?, ?)", (name, question)))
        work.append(("INSERT INTO lately (name, kind, call) VALUES (?, ?, ?)", (name, told, call)))
        self._execute(*work)

    def renew(self, name: str) -> None:
        """Forgets what is counted for a version only: another takes its place, or a person vouches for it."""
        if os.path.exists(self._path):  # noqa: PTH110 - see below
            self._execute(
                ("DELETE FROM questions WHERE name = ?", (name,)), ("DELETE FROM lately WHERE name = ?", (name,))
            )

    def stats(self, name: str) -> Stats:
        """The counts of one tool; all zero for one that was never called."""
        rows: list[tuple[str, int, float | None]] = []
        if os.path.exists(self._path):  # noqa: PTH110 - false as well where the folder cannot be entered
            rows = self._execute((_STATS, (name, name, name, BUG)))
        *counted, questions, bugs = rows or [("", 0, None)] * 2
        kinds = [(kind, count, last or 0.0) for kind, count, last in counted]
        return stats_of(kinds, questions[1], bugs[1])

    def close(self) -> None:
        """Closes the file. It is opened again when needed."""
        if self._database is not None:
            self._database.close()
        self._database = None

    def _execute(self, *statements: _Statement) -> list[Any]:
        """Execute one statement and return its rows, or several as one change."""
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
