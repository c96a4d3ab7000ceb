"""Reader of SQLite databases: the schema, then the rows of each table in pages."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from agent.files.contents import FileProblem, ReadLimits, Section, Source, first_of
from agent.files.encoding import FALLBACK
from agent.files.previews import ListPreview
from agent.files.tables.sheets import Sheet, SheetsContents
from mcp_tools.text import count_of, one_line

_MAX_BLOB_BYTES = 16  # shown of a blob
_MAX_TABLES = 40
_MAX_CHECKED_ROWS = 100_000  # larger tables are not checked for values of an undeclared type
_NUMERIC = re.compile("INT|REAL|FLOA|DOUB|NUM|DEC", re.IGNORECASE)
_MAX_SQL_CHARS = 1_000


class DatabaseContents(SheetsContents):
    """A database, opened read-only."""

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        lost = []
        if source.path.with_name(source.path.name + "-wal").exists():
            lost.append("Changes in the write-ahead log next to the database (-wal) are not read.")
        if source.path.with_name(source.path.name + "-journal").exists():
            lost.append("A transaction was not finished, and the journal next to the database was not applied.")
        with source.path.open("rb") as file:
            header = file.read(100).ljust(100, b"\0")
        page = int.from_bytes(header[16:18]) if header[16:18] != b"\0\1" else 1 << 16
        pages, there = int.from_bytes(header[28:32]), source.path.stat().st_size // max(page, 1)
        is_cut = header[24:28] == header[92:96] and pages > there
        self._connection = sqlite3.connect(f"file:{quote(str(source.path))}?mode=ro&immutable=1", uri=True)
        self._encoding: list[str] = []
        self._connection.text_factory = self._decoded
        self._connection.execute("PRAGMA trusted_schema = OFF")
        try:
            schema = self._connection.execute(
                r"SELECT type, name, sql FROM sqlite_master"
                r" WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' AND sql IS NOT NULL"
            ).fetchall()
        except sqlite3.DatabaseError as error:
            if is_cut:
                raise FileProblem("truncated", f"{source.name} is truncated: its end is missing ({error}).") from None
            raise
        if is_cut:
            lost.append(f"The file has {there:,} of the {pages:,} pages that its header declares: rows may be missing.")
        tables = list[_Table]()
        for kind, name, sql in schema:
            try:
                tables += [_Table(self._connection, name, sql)] if kind == "table" else []
            except sqlite3.Error as error:  # damaged, or it needs an extension
                lost.append(f"Table {one_line(name)} cannot be read: {error}.")
        if not tables and is_cut and schema:
            raise FileProblem("truncated", f"{source.name} is truncated: its end is missing.")
        views = [name for kind, name, _ in schema if kind == "view"]
        if views:
            lost.append(f"Rows of views are not shown: {', '.join(views)}. Query them in a program.")
        self._others = [one_line(sql, _MAX_SQL_CHARS) for kind, _, sql in schema if kind != "table"]
        named = [f"{table.title.removeprefix('table ')} ({table.row_count:,} rows)" for table in tables]
        text = ";\n\n".join(sql.strip() for _, _, sql in schema) + ";" if schema else "(no tables)"
        if len(text) > limits.section:
            lost.append("The schema is too long to show in full: query sqlite_master in a program.")
        super().__init__(
            source.kind,
            f"SQLite database, {len(tables)} tables, {len(views)} views: {first_of(named, _MAX_TABLES)}",
            tables,
            lost,
            limits.section,
            before=[Section("schema", text[: limits.section])],
        )
        self.notes = self._encoding  # the list grows while rows are read

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            self._encoding[:] = ["Some texts are not valid UTF-8: invalid bytes were read as Windows-1252."]
            return data.decode("utf-8", FALLBACK)

    def lists(self) -> list[ListPreview]:
        """Return the tables with their schema and rows, then the rest of the schema."""
        rest = ListPreview(self._others, len(self._others), "entry", "the rest of the schema")
        return [*super().lists(), *([rest] if self._others else [])]

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


class _Table(Sheet):
    def __init__(self, connection: sqlite3.Connection, name: str, sql: str) -> None:
        self._connection = connection
        self._name = '"' + name.replace('"', '""') + '"'
        self.title, self.create_statement = f"table {one_line(name)}", one_line(sql, _MAX_SQL_CHARS)
        there = connection.execute(f"SELECT * FROM {self._name} LIMIT 0").description  # noqa: S608 - quoted
        self.column_names = [one_line(column[0]) for column in there]
        self._declared = [
            (name, declared)
            for _, name, declared, _, _, _, hidden in connection.execute(f"PRAGMA table_xinfo({self._name})")
            if hidden != 1 and _NUMERIC.search(declared)
        ]
        self.row_count = connection.execute(f"SELECT count(*) FROM {self._name}").fetchone()[0]  # noqa: S608 - quoted

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows from index `start`."""
        found = self._connection.execute(f"SELECT * FROM {self._name} LIMIT -1 OFFSET ?", (start,))  # noqa: S608 - quoted
        yield from ((number, [_sql_text(value) for value in row]) for number, row in enumerate(found, start + 1))

    def notes(self, first: int, last: int, *, brief: bool = False) -> list[str]:
        """Return the columns that are declared as numbers but contain texts or blobs."""
        columns = self._declared[:_MAX_TABLES] if brief and self.row_count <= _MAX_CHECKED_ROWS else []
        if not columns:
            return []
        quoted = ['"' + name.replace('"', '""') + '"' for name, _ in columns]
        sums = ", ".join(f"sum(typeof({name}) IN ('text', 'blob'))" for name in quoted)
        counts = self._connection.execute(f"SELECT {sums} FROM {self._name}").fetchone()  # noqa: S608 - quoted
        return [
            f"- {one_line(name)} is declared {one_line(declared)}, but holds other values in {count_of(count, 'row')}"
            for (name, declared), count in zip(columns, counts, strict=True)
            if count
        ]


def _sql_text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        more = f"… ({len(value):,} bytes)" if len(value) > _MAX_BLOB_BYTES else ""
        return f"x'{value[:_MAX_BLOB_BYTES].hex()}'{more}"
    return str(value)
