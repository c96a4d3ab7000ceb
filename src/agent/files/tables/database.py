"""SQLite databases, opened so that nothing of them can change: their schema, then the rows of each table in pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from agent.files.contents import ReadLimits, Section, Source, first_of
from agent.files.previews import ListPreview
from agent.files.tables.sheets import Sheet, SheetsContents
from mcp_tools.text import one_line

_BLOB = 16  # bytes of a blob that are shown
_LISTED = 40
_SQL = 1_000  # characters of a statement


class Database(SheetsContents):
    """A database, opened so that nothing of it can change."""

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        lost = []
        if source.path.with_name(source.path.name + "-wal").exists():
            lost.append("Changes in the write-ahead log beside the database (-wal) are not read.")
        self._connection = sqlite3.connect(f"file:{quote(str(source.path))}?mode=ro&immutable=1", uri=True)
        self._connection.text_factory = lambda data: data.decode("utf-8", "replace")
        self._connection.execute("PRAGMA trusted_schema = OFF")
        schema = self._connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND sql IS NOT NULL"
        ).fetchall()
        tables = list[_Table]()
        for kind, name, sql in schema:
            try:
                tables += [_Table(self._connection, name, sql)] if kind == "table" else []
            except sqlite3.OperationalError as error:  # only a missing extension could read it
                lost.append(f"Table {name} cannot be read: {error}.")
        views = [name for kind, name, _ in schema if kind == "view"]
        if views:
            lost.append(f"Rows of views are not shown: {', '.join(views)}. Query them in a program.")
        self._others = [one_line(sql, _SQL) for kind, _, sql in schema if kind != "table"]
        named = [f"{table.title.removeprefix('table ')} ({table.row_count:,} rows)" for table in tables]
        text = ";\n\n".join(sql.strip() for _, _, sql in schema) + ";" if schema else "(no tables)"
        if len(text) > limits.section:
            lost.append("The schema is too long to be shown whole: query sqlite_master in a program.")
        super().__init__(
            source.kind,
            f"SQLite database, {len(tables)} tables, {len(views)} views: {first_of(named, _LISTED)}",
            tables,
            lost,
            limits.section,
            before=[Section("schema", text[: limits.section])],
        )

    def lists(self) -> list[ListPreview]:
        """The tables with their schema, rows and columns, then the rest of the schema."""
        rest = ListPreview(self._others, len(self._others), "entry", "the rest of the schema")
        return [*super().lists(), *([rest] if self._others else [])]

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()


class _Table(Sheet):
    def __init__(self, connection: sqlite3.Connection, name: str, sql: str) -> None:
        self._connection = connection
        self._name = '"' + name.replace('"', '""') + '"'
        self.title, self.create_statement = f"table {name}", one_line(sql, _SQL)
        self.column_names = [row[1] for row in connection.execute(f"PRAGMA table_info({self._name})")]
        self.row_count = connection.execute(f"SELECT count(*) FROM {self._name}").fetchone()[0]  # noqa: S608 - quoted

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """The rows from the one at that index on."""
        found = self._connection.execute(f"SELECT * FROM {self._name} LIMIT -1 OFFSET ?", (start,))  # noqa: S608 - quoted
        yield from ((number, [_text(value) for value in row]) for number, row in enumerate(found, start + 1))


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        more = f"… ({len(value):,} bytes)" if len(value) > _BLOB else ""
        return f"x'{value[:_BLOB].hex()}'{more}"
    return str(value)
