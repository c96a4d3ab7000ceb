"""SQLite databases, opened so that nothing of them can change: their schema, then the rows of each table in pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from agent.files.contents import Contents, ReadLimits, Section, Source
from agent.files.previews import CELL, Part, part_of
from agent.files.tables.rows import as_table, columns_told, line_of, looked_at, rows_per_page
from mcp_tools.text import one_line

_SAMPLE_ROWS = 100
_BLOB = 16
"""Bytes of a blob that are shown."""
_LISTED = 40
"""Tables that are named and previewed."""
_SQL = 1_000
"""Characters of a statement."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, with how it is shown."""

    name: str
    columns: list[str]
    rows: int
    per_page: int

    @property
    def pages(self) -> int:
        """Pages that show its rows."""
        return max(1, -(-self.rows // self.per_page))


class Database(Contents):
    """A database, opened so that nothing of it can change.

    Args:
        source: The file.
        limits: How long a page may be.
    """

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        self.kind, self.lost, self.facts = source.kind, [], {}
        self._section = limits.section
        if source.path.with_name(source.path.name + "-wal").exists():
            self.lost.append("Changes in the write-ahead log beside the database (-wal) are not read.")
        self._connection = sqlite3.connect(f"file:{quote(str(source.path))}?mode=ro&immutable=1", uri=True)
        self._connection.text_factory = lambda data: data.decode("utf-8", "replace")
        self._connection.execute("PRAGMA trusted_schema = OFF")
        self._schema = self._connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND sql IS NOT NULL"
        ).fetchall()
        names = [name for kind, name, _ in self._schema if kind == "table"]
        self._tables = [table for name in names if (table := self._table(name))]
        views = [name for kind, name, _ in self._schema if kind == "view"]
        if views:
            self.lost.append(f"Rows of views are not shown: {', '.join(views)}. Query them in a program.")
        self.count = 1 + sum(table.pages for table in self._tables)
        shown = ", ".join(f"{table.name} ({table.rows:,} rows)" for table in self._tables[:_LISTED])
        more = f", and {len(self._tables) - _LISTED} more tables" if len(self._tables) > _LISTED else ""
        self.summary = f"SQLite database, {len(self._tables)} tables, {len(views)} views: {shown}{more}"

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The schema, then the tables' pages, from that number on."""
        if first == 1:
            text = ";\n\n".join(sql.strip() for _, _, sql in self._schema) + ";" if self._schema else "(no tables)"
            if len(text) > self._section:
                self.lost.append("The schema is too long to be shown whole: query sqlite_master in a program.")
            yield Section("schema", text[: self._section])
        before = 1
        for table in self._tables:
            for page in range(max(0, first - 1 - before), table.pages):
                yield self._page(table, page)
            before += table.pages

    def preview(self) -> list[Part]:
        """How each table was made, how it begins, and what its columns hold; then what else the schema has."""
        parts, made = list[Part](), {name: sql for kind, name, sql in self._schema if kind == "table"}
        for table in self._tables[:_LISTED]:
            names = table.columns
            rows = [_texts(row) for row in self._select(table.name, looked_at(len(names)), 0)]
            parts.append(
                part_of(
                    (line_of(number, row, CELL) for number, row in enumerate(rows, 1)),
                    table.rows,
                    name=f"table {table.name}",
                    head=f"{one_line(made[table.name], _SQL)}\n{line_of('', names, CELL)}",
                    columns=columns_told(names, rows, total=table.rows),
                )
            )
        others = [one_line(sql, _SQL) for kind, _, sql in self._schema if kind != "table"]
        return [*parts, part_of(others, len(others), "entries", name="the rest of the schema")] if others else parts

    def close(self) -> None:
        """Lets go of the file."""
        self._connection.close()

    def _table(self, name: str) -> Table | None:
        """A table; None where only a missing extension could read it."""
        quoted = _quoted(name)
        try:
            columns = [row[1] for row in self._connection.execute(f"PRAGMA table_info({quoted})")]
            rows = self._connection.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0]  # noqa: S608 - quoted
            sample = [_texts(row) for row in self._select(name, _SAMPLE_ROWS, 0)]
        except sqlite3.OperationalError as error:
            self.lost.append(f"Table {name} cannot be read: {error}.")
            return None
        return Table(name, columns, rows, rows_per_page(sample, self._section))

    def _select(self, name: str, rows: int, start: int) -> list[tuple[Any, ...]]:
        found = self._connection.execute(f"SELECT * FROM {_quoted(name)} LIMIT ? OFFSET ?", (rows, start))  # noqa: S608
        return found.fetchall()

    def _page(self, table: Table, page: int) -> Section:
        start = page * table.per_page
        rows = self._select(table.name, table.per_page, start)
        numbered = [(number, _texts(row)) for number, row in enumerate(rows, start + 1)]
        text, cut = as_table(table.columns, numbered, self._section)
        where = (
            f"table {table.name}, rows {start + 1:,}-{start + len(rows):,}" if rows else f"table {table.name}, empty"
        )
        if cut:
            self.lost.append(f"{where}: {cut} long cells were shortened.")
        if any(isinstance(value, bytes) and len(value) > _BLOB for row in rows for value in row):
            self.lost.append(f"{where}: of blobs only the first {_BLOB} bytes are shown.")
        return Section(where, text)


def _texts(row: tuple[Any, ...]) -> list[str]:
    return [_text(value) for value in row]


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        more = f"… ({len(value):,} bytes)" if len(value) > _BLOB else ""
        return f"x'{value[:_BLOB].hex()}'{more}"
    return str(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
