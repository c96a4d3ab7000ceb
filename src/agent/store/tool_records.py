"""Tool approvals and call counts that several machines with the same library can share.

On a single machine, they are files in the user's data folder. If `database_url` is set, they are in PostgreSQL, keyed
by the path of the library's folder, which must be the same on all machines. Each machine's files are imported once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import socket
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import SettingsError, StorageError
from agent.store.databases import Database, Row, Values, open_store, place_of
from mcp_tools.errors import LibraryError
from mcp_tools.library.approvals import ApprovalsFile, Entries
from mcp_tools.library.calls import BUG, RECENT_CALLS, Stats, key_of, names_of, stats_of
from mcp_tools.library.folder import derived_folder
from mcp_tools.library.library import Library
from mcp_tools.serving.client_call import MAX_MARKERS, Markers
from mcp_tools.small_files import json_of
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_COUNT = """
INSERT INTO tool_calls VALUES (:library, :name, :kind, :count, :last) ON CONFLICT (library, name, kind) DO UPDATE
SET count = tool_calls.count + excluded.count, last = greatest(tool_calls.last, excluded.last)
"""
_QUESTION = "INSERT INTO tool_questions VALUES (:library, :name, :question) ON CONFLICT DO NOTHING"
_LATELY = "INSERT INTO tool_lately (library, name, kind, call) VALUES (:library, :name, :kind, :call)"
_SHORTEN = """
DELETE FROM tool_lately WHERE library = :library AND name = :name AND number NOT IN (
    SELECT number FROM tool_lately WHERE library = :library AND name = :name ORDER BY number DESC LIMIT :most
)
"""
_COUNTED = {
    _COUNT: "name, kind, count, last FROM calls",
    _QUESTION: "name, question FROM questions",
    _LATELY: "name, kind, call FROM lately ORDER BY number",
}
"""Maps each import statement to the query that reads its rows from the file of counts."""
_TABLES = ("tool_approvals", "tool_drafts")
"""The tables for the parts of `Entries`, in order."""
_NOTE = "INSERT INTO places VALUES (:place, :until) ON CONFLICT (place) DO UPDATE SET seen = excluded.seen"
_KEEP_NOTES = """
DELETE FROM places WHERE starts_with(place, :all) AND (seen <= :now OR place NOT IN (
    SELECT place FROM places WHERE starts_with(place, :all) ORDER BY seen DESC LIMIT :most
))
"""
_BUGS = """
SELECT count(DISTINCT CASE call WHEN '' THEN CAST(number AS TEXT) ELSE call END) FROM tool_lately
WHERE library = :library AND name = :name AND kind = :kind
"""

_OF_TOOL = "WHERE library = :library AND (name = :name OR starts_with(name, :first))"
"""Condition that selects the rows of a tool and all its versions."""


def open_library(settings: Settings) -> Library:
    """Open the library named in the settings.

    Raises:
        LibraryError: The library's folder is a link that leads out of the parent folder.
    """
    if settings.database_url is None:
        return Library(settings.tools_dir, settings.data_dir)
    records = _Records(settings)
    return Library(
        settings.tools_dir, settings.data_dir, approvals=StoredApprovals(records), calls=StoredCalls(records)
    )


def open_markers(settings: Settings) -> Markers | None:
    """Return the markers shared by all replicas; None if there is no shared database (`ALITA_DATABASE_URL`)."""
    return None if settings.database_url is None else StoredMarkers(_Records(settings))


class _Records:
    """The rows of one library in the store."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.library = str(settings.tools_dir.resolve())
        self.stamp_name = f"approvals:{self.library}"
        """Name of the row in `places` that counts changes to approvals."""
        self._is_taken = False

    @contextlib.contextmanager
    def open(self) -> Iterator[Database]:
        """Open the store in one transaction, and import this machine's files.

        Raises:
            OSError: The store cannot be used.
        """
        try:
            with open_store(self.settings) as database, database.change():
                if not self._is_taken:
                    self._take(database)
                yield database
            self._is_taken = True
        except (StorageError, SettingsError) as problem:
            raise OSError(problem.message) from None

    def bump(self, database: Database) -> None:
        """Increment the count of changes to approvals."""
        database.rows(
            "INSERT INTO places VALUES (:place, 1) ON CONFLICT (place) DO UPDATE SET seen = places.seen + 1",
            {"place": self.stamp_name},
        )

    def _take(self, database: Database) -> None:
        """Import this machine's files once, without changing existing rows."""
        settings = self.settings
        approvals = settings.data_dir / "approvals.json"
        counts = derived_folder(settings.tools_dir, settings.data_dir) / "calls.sqlite"
        if not approvals.exists() and not counts.exists():
            return
        place = {"place": f"taken:{socket.gethostname()}:{settings.data_dir}:{self.library}"}
        if database.rows("SELECT 1 FROM places WHERE place = :place", place):
            return
        all_entries, counted = self._approved_in(approvals), _counted_in(counts)
        if not database.rows("INSERT INTO places VALUES (:place, 1) ON CONFLICT DO NOTHING RETURNING seen", place):
            return  # another process has imported them
        for table, entries in zip(_TABLES, all_entries, strict=True):
            if entries:
                database.rows(f"{_put(table)} DO NOTHING", _rows(self.library, entries))
                self.bump(database)
        for statement, rows in counted.items():
            if rows:
                database.rows(statement, [{"library": self.library, **row} for row in rows])

    def _approved_in(self, file: Path) -> Entries:
        """Return the entries in this machine's file.

        Raises:
            OSError: The file is damaged or unreadable, so it must not count as imported.
        """
        try:
            return ApprovalsFile(self.settings.tools_dir, file).read()
        except ValueError as error:
            reason = f"{file} is corrupt, so its approvals cannot be imported into the store"
            remedy = "Restore an intact copy of the file, or move it away and approve the tools again"
            raise OSError(f"{reason}: {one_line(str(error), 200).rstrip('.')}. {remedy}.") from None


def _counted_in(path: Path) -> dict[str, list[dict[str, object]]]:
    """Return the counts in one of this machine's files, by import statement; an empty dict if the file is damaged.

    Raises:
        OSError: Another process has locked the file.
    """
    counted: dict[str, list[dict[str, object]]] = {}
    if not path.exists():
        return counted
    with contextlib.closing(sqlite3.connect(path)) as file:
        for statement, columns in _COUNTED.items():
            names = columns.partition(" FROM ")[0].split(", ")
            try:
                found = file.execute(f"SELECT {columns}").fetchall()
            except sqlite3.DatabaseError as error:
                if "locked" in str(error):
                    raise OSError(f"{path} cannot be read now: {error}") from None
                continue
            counted[statement] = [dict(zip(names, row, strict=True)) for row in found]
    return counted


class StoredApprovals:
    """The approvals of one library (`ApprovalEntries`)."""

    waits = True

    def __init__(self, records: _Records) -> None:
        self._records = records
        self.path = Path(place_of(records.settings))

    def stamp(self) -> tuple[int, ...]:
        """Return the number of changes so far.

        Raises:
            OSError: The store cannot be used.
        """
        with self._records.open() as database:
            found = database.rows("SELECT seen FROM places WHERE place = :place", {"place": self._records.stamp_name})
        return (int(found[0][0]),) if found else ()

    def read(self) -> Entries:
        """See `ApprovalEntries`.

        Raises:
            OSError: The store cannot be used.
        """
        with self._records.open() as database:
            return self._entries(database)

    @contextlib.contextmanager
    def changing(self) -> Iterator[Entries]:
        """Yield the entries, which may be changed in the `with` block. Other processes wait until it ends.

        Raises:
            OSError: The store cannot be used.
        """
        library = self._records.library
        with self._records.open() as database:
            self._records.bump(database)  # locks the row until the transaction ends
            before, entries = self._entries(database), self._entries(database)
            yield entries
            for table, old, new in zip(_TABLES, before, entries, strict=True):
                if gone := [{"library": library, "name": name} for name in old.keys() - new.keys()]:
                    database.rows(f"DELETE FROM {table} WHERE library = :library AND name = :name", gone)  # noqa: S608
                if changed := {name: entry for name, entry in new.items() if old.get(name) != entry}:
                    overwrite = f"{_put(table)} (library, name) DO UPDATE SET entry = excluded.entry"
                    database.rows(overwrite, _rows(library, changed))

    def _entries(self, database: Database) -> Entries:
        def of(table: str) -> dict[str, Any]:
            of_library = f"SELECT name, entry FROM {table} WHERE library = :library"  # noqa: S608
            found = database.rows(of_library, {"library": self._records.library})
            return {name: json_of(entry.encode()) for name, entry in found}

        return Entries(*map(of, _TABLES))


class StoredCalls:
    """The call counts of one library (`Calls`)."""

    def __init__(self, records: _Records) -> None:
        self._records = records

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
        key = key_of(name, version)
        row = {"library": self._records.library, "name": key, "kind": "" if ok else kind or "unknown"}
        with contextlib.suppress(OSError), self._records.open() as database:
            database.rows(_COUNT, row | {"count": count, "last": time.time()})
            if ok and question:
                database.rows(_QUESTION, row | {"question": question})
            database.rows(_LATELY, row | {"call": call})
            database.rows(_SHORTEN, row | {"most": RECENT_CALLS})

    def renew(self, name: str) -> None:
        """See `Calls`."""
        row = {"library": self._records.library, **names_of(name)}
        with contextlib.suppress(OSError), self._records.open() as database:
            database.rows(f"DELETE FROM tool_questions {_OF_TOOL}", row)  # noqa: S608
            database.rows(f"DELETE FROM tool_lately {_OF_TOOL}", row)  # noqa: S608
            bare = "WHERE library = :library AND name = :name"
            for kind, count, last in database.rows(f"SELECT kind, count, last FROM tool_calls {bare}", row):  # noqa: S608
                database.rows(_COUNT, row | {"name": row["first"], "kind": kind, "count": count, "last": last})
            database.rows(f"DELETE FROM tool_calls {bare}", row)  # noqa: S608

    def stats(self, name: str, version: str) -> Stats:
        """See `Calls`."""
        row = {"library": self._records.library, **names_of(name, version)}
        with contextlib.suppress(OSError), self._records.open() as database:
            kinds = database.rows(f"SELECT name, kind, count, last FROM tool_calls {_OF_TOOL}", row)  # noqa: S608
            questions = database.rows(
                "SELECT count(DISTINCT question) FROM tool_questions"
                " WHERE library = :library AND name IN (:name, :key)",
                row,
            )
            bugs = database.rows(_BUGS, row | {"name": row["key"], "kind": BUG})
            found = [(key, kind, count, last) for key, kind, count, last in kinds]
            return stats_of(name, version, found, questions[0][0], bugs[0][0])
        return Stats()

    def close(self) -> None:
        """Do nothing, because connections belong to the process."""


class StoredMarkers:
    """The markers of one library in the shared database (`Markers`). In `places`, `seen` holds the expiry time."""

    def __init__(self, records: _Records) -> None:
        self._records = records

    async def put(self, marker: str, seconds: float) -> None:
        """See `Markers`."""
        until = math.ceil(time.time() + seconds)
        keep = {"all": self._place(""), "now": int(time.time()), "most": MAX_MARKERS}
        await self._rows((_NOTE, {"place": self._place(marker), "until": until}), (_KEEP_NOTES, keep))

    async def has(self, marker: str) -> bool:
        """See `Markers`."""
        found = "SELECT 1 FROM places WHERE place = :place AND seen > :now"
        return bool(await self._rows((found, {"place": self._place(marker), "now": int(time.time())})))

    async def take(self, marker: str) -> bool:
        """See `Markers`."""
        taken = "DELETE FROM places WHERE place = :place AND seen > :now RETURNING seen"
        return bool(await self._rows((taken, {"place": self._place(marker), "now": int(time.time())})))

    def _place(self, marker: str) -> str:
        return f"note:{self._records.library}:{marker}"

    async def _rows(self, *statements: tuple[str, Values]) -> Sequence[Row]:
        """Execute statements in one transaction, and return the rows of the last one.

        Raises:
            LibraryError: The store cannot be used.
        """

        def execute() -> Sequence[Row]:
            with self._records.open() as database:
                return [database.rows(*one) for one in statements][-1]

        try:
            return await asyncio.to_thread(execute)
        except OSError as problem:
            raise LibraryError(str(problem)) from None


def _put(table: str) -> str:
    return f"INSERT INTO {table} VALUES (:library, :name, :entry) ON CONFLICT"  # noqa: S608


def _rows(library: str, entries: dict[str, Any]) -> list[dict[str, object]]:
    return [{"library": library, "name": name, "entry": json.dumps(entry)} for name, entry in entries.items()]
