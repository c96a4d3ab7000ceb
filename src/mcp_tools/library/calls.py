"""How often each tool was called, and how it went."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_tools.database import open_database

REFUSED = "refused"
"""The class of calls that did not succeed and are no failures."""
_BUSY_SECONDS = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    name TEXT NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL, last REAL NOT NULL, PRIMARY KEY (name, kind)
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Stats:
    """How the calls of a tool went."""

    calls: int = 0
    successes: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    """By the class of their outcome; calls of earlier versions by the kind of their problem."""
    refused: int = 0
    """Calls whose arguments the tool refused as its docstring says."""
    last: float | None = None


class Calls:
    """The counts of one library, in a file that several processes share; it holds each count once it is made.

    Counting never fails a call: where nothing can be written, nothing is counted. A damaged file is put aside.
    The file stays open between calls: opening it takes as long as a call in the sandbox.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None
        self._threads = threading.Lock()

    def record(self, name: str, ok: bool, kind: str | None = None, count: int = 1) -> None:
        """Counts calls: successes, or failures of a kind."""
        self._execute(
            "INSERT INTO calls VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)",
            (name, "" if ok else kind or "unknown", count, time.time()),
        )

    def stats(self, name: str) -> Stats:
        """The counts of one tool; all zero for one that was never called."""
        rows: list[tuple[str, int, float]] = []
        if os.path.exists(self._path):  # noqa: PTH110 - false as well where the folder cannot be entered
            rows = self._execute("SELECT kind, count, last FROM calls WHERE name = ?", (name,))
        failures = {kind: count for kind, count, _ in rows if kind}
        successes = sum(count for kind, count, _ in rows if not kind)
        last, calls = max((last for _, _, last in rows), default=None), successes + sum(failures.values())
        refused = failures.pop(REFUSED, 0)
        return Stats(calls, successes, failures, refused, last)

    def close(self) -> None:
        """Closes the file. It is opened again when needed."""
        if self._database is not None:
            self._database.close()
        self._database = None

    def _execute(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        with self._threads, contextlib.suppress(OSError, sqlite3.Error):
            try:
                return self._opened().execute(statement, values).fetchall()
            except sqlite3.DatabaseError as error:
                self.close()
                if not isinstance(error, sqlite3.OperationalError):
                    self._path.replace(self._path.with_suffix(f".damaged-{time.time_ns()}"))
                return self._opened().execute(statement, values).fetchall()
        return []

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            database = open_database(self._path, busy=_BUSY_SECONDS, journal="TRUNCATE", is_derived=True)
            database.execute(_SCHEMA)
            self._database = database
        return self._database
