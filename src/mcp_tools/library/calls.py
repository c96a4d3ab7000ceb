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

from mcp_tools.database import open_database

REFUSED = "refused"
"""The class of calls that did not succeed and are no failures."""
BUG = "bug"
"""The class of calls that failed through the tool's own fault."""
_BUSY_SECONDS = 5.0
_LABEL = 12
"""Digits of a version's hash that are kept."""
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
"""Counts of no version become those of earlier ones."""
_Statement = tuple[str, Mapping[str, object] | tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Stats:
    """How the calls of the present version of a tool went."""

    calls: int = 0
    successes: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    """By the class of their outcome."""
    refused: int = 0
    """Calls with arguments that the tool refused as documented."""
    last: float | None = None
    questions: int = 0
    """Distinct questions in which the present version succeeded."""
    bugs_lately: int = 0
    """Recent calls of the present version that failed through its own fault, each call once."""
    earlier: int = 0
    """Calls of earlier versions."""

    @property
    def is_trusted(self) -> bool:
        """True if it succeeded in several questions, and lately had no bug."""
        return self.questions >= _MANY_QUESTIONS and not self.bugs_lately


class Calls(Protocol):
    """The counts of one library. Counting never fails a call: where nothing can be written, nothing is counted."""

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
        """Counts calls of a version: successes, or failures of a kind; with digests of question and arguments."""
        ...

    def renew(self, name: str) -> None:
        """Forgets questions and last calls: another version takes the tool's place, or a person vouches for it."""
        ...

    def stats(self, name: str, version: str) -> Stats:
        """The counts of one tool whose present version has this hash; all zero for one that was never called."""
        ...

    def close(self) -> None:
        """Closes what is open. It is opened again when needed."""
        ...


def key_of(name: str, version: str) -> str:
    """The name under which calls of a version are counted; without a version, that of the tool."""
    return f"{name}@{version[:_LABEL]}" if version else name


def names_of(name: str, version: str = "") -> dict[str, object]:
    """The names under which a tool is counted: its own, that of a version, and the range of all versions."""
    return {"name": name, "key": key_of(name, version), "first": f"{name}@", "after": f"{name}A"}


def stats_of(name: str, version: str, kinds: Iterable[tuple[str, str, int, float]], questions: int, bugs: int) -> Stats:
    """The counts of a tool from what is kept: by name and kind the count, and the time of the last such call."""
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
    """The counts of one library, in a file that several processes share; it holds each count once it is made.

    Counting never fails a call: where nothing can be written, nothing is counted. A damaged file is put aside.
    The file stays open between calls: opening it takes as long as a call in the sandbox.
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
        told, key = "" if ok else kind or "unknown", key_of(name, version)
        work: list[_Statement] = [
            (
                "INSERT INTO calls VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)",
                (key, told, count, time.time()),
            )
        ]
        if ok and question:
            work.append(("INSERT OR IGNORE INTO questions VALUES (?, ?)", (key, question)))
        work.append(("INSERT INTO lately (name, kind, call) VALUES (?, ?, ?)", (key, told, call)))
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
        if os.path.exists(self._path):  # noqa: PTH110 - false as well where the folder cannot be entered
            rows = self._execute((_STATS, names_of(name, version) | {"bug": BUG}))
        *counted, questions, bugs = rows or [("", "", 0, None)] * 2
        kinds = [(key, kind, count, last or 0.0) for key, kind, count, last in counted]
        return stats_of(name, version, kinds, questions[2], bugs[2])

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
