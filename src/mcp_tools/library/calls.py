"""How often each tool was called, and how it went: beside the tools' files, and apart from the index."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

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
    """By kind."""
    last: float | None = None
    """When it was last called, in seconds since 1970."""


class Calls:
    """The counts of one library, in a file that several processes share.

    Counting never fails a call: where nothing can be written, nothing is counted. A damaged file is put aside.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def record(self, name: str, ok: bool, kind: str | None = None) -> None:
        """Counts one call: a success, or a failure of a kind."""
        with contextlib.suppress(OSError, sqlite3.OperationalError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._database() as database:
                database.execute(
                    "INSERT INTO calls VALUES (?, ?, 1, ?)"
                    " ON CONFLICT DO UPDATE SET count = count + 1, last = max(last, excluded.last)",
                    (name, "" if ok else kind or "unknown", time.time()),
                )

    def stats(self, name: str) -> Stats:
        """The counts of one tool; all zero for one that was never called."""
        rows: list[tuple[str, int, float]] = []
        if self.path.exists():
            with contextlib.suppress(sqlite3.OperationalError), self._database() as database:
                rows = database.execute("SELECT kind, count, last FROM calls WHERE name = ?", (name,)).fetchall()
        failures = {kind: count for kind, count, _ in rows if kind}
        successes = sum(count for kind, count, _ in rows if not kind)
        last = max((last for _, _, last in rows), default=None)
        return Stats(successes + sum(failures.values()), successes, failures, last)

    @contextlib.contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        try:
            database = self._opened()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self.path.replace(self.path.with_suffix(f".damaged-{time.time_ns()}"))
            database = self._opened()
        with contextlib.closing(database):
            yield database

    def _opened(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute(_SCHEMA)
        except BaseException:
            database.close()
            raise
        return database
