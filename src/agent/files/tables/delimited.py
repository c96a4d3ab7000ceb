"""Delimited text of any size (CSV, TSV): its dialect, its columns, and its rows in pages."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO

from agent.files.contents import Contents, FileProblem, ReadLimits, Section, Source
from agent.files.previews import CELL, DATA, ListPreview, PreviewText, preview_of_lists
from agent.files.tables.rows import SAMPLE, as_table, describe_columns, rows_per_page, rows_to_inspect, sniff
from agent.files.text import text_encoding
from mcp_tools.tool import Json

COUNTED = 256 << 20
"""Bytes up to which the rows are counted."""
_FIELD = 16 << 20  # characters of one field: an unclosed quote must not take the whole file for one
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


class DelimitedFile(Contents):
    """A table in a text file. Rows are numbered as records: 1 is the first line that is not empty."""

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        csv.field_size_limit(_FIELD)
        self._name, self._path = source.name, source.path
        self._encoding = text_encoding(source)
        with self._encoding.open(source.path, newline="") as stream:
            self._dialect, sample = sniff(stream.read(SAMPLE), source.kind)
        if not sample:
            raise FileProblem("empty", f"{self._name} has no rows.")
        self._columns = max(len(row) for row in sample)
        first = sample[0] if self._dialect.has_header else []
        self._header = [*first, *("" for _ in range(self._columns - len(first)))]
        self._skipped = int(self._dialect.has_header)
        self._characters = limits.section
        self._per_page = rows_per_page(sample[self._skipped :], limits.section)
        self._rows: int | None = None
        if source.path.stat().st_size <= COUNTED:
            with self._encoding.open(source.path, newline="") as stream:
                self._rows = sum(1 for _ in self._records(stream)) - self._skipped
        dialect, encoding = self._dialect, self._encoding
        counted = "rows not counted" if self._rows is None else f"{self._rows:,} rows"
        said = [f"{counted} × {self._columns} columns", f"{_NAMES[dialect.delimiter]}-separated", encoding.told]
        said += ["decimal comma"] if dialect.decimal == "," else []
        said.append("the first row is the header" if dialect.has_header else "no header")
        facts: dict[str, Json] = {
            "rows": self._rows,
            "header": self._header[:1000] if dialect.has_header else None,
            "delimiter": dialect.delimiter,
            "decimal": dialect.decimal,
            "encoding": encoding.name,
        }
        count = None if self._rows is None else max(1, -(-self._rows // self._per_page))
        lost = [encoding.lost] if encoding.lost else []
        super().__init__(source.kind, f"Table: {', '.join(said)}", lost, facts=facts, count=count)

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The pages from that number on, each with the header."""
        if self.count is not None and first > self.count:
            return
        wanted = self._skipped + (first - 1) * self._per_page
        with self._encoding.open(self._path, newline="") as stream:
            rows = islice(self._records(stream), wanted, None)
            start = wanted + 1
            while (page := list(islice(rows, self._per_page))) or (start == 1 + self._skipped and first == 1):
                yield self._page(start, page)
                start += len(page)
                if len(page) < self._per_page:
                    break

    def preview(self) -> PreviewText:
        """The whole text if it is short, else the first rows, unchanged, and a description of the columns."""
        with self._encoding.open(self._path) as stream:
            text = stream.read(DATA + 1)
        if len(text) <= DATA:
            return PreviewText([text.rstrip("\n")], "complete")
        with self._encoding.open(self._path, newline="") as stream:
            rows = islice(self._records(stream), self._skipped, None)
            first = list(islice(rows, DATA))
            more = islice(rows, max(0, rows_to_inspect(self._columns) - len(first)))
            told = describe_columns(self._header, chain(first, more), total=self._rows, decimal=self._dialect.decimal)
        head = self._line(self._header) if self._skipped else ""
        return preview_of_lists([ListPreview(map(self._line, first), self._rows, head=head, columns=told)])

    def _page(self, start: int, rows: list[list[str]]) -> Section:
        width = max([self._columns, *(len(row) for row in rows)])
        header = [*self._header, *("" for _ in range(width - len(self._header)))]
        padded = [(number, [*row, *[""] * (width - len(row))]) for number, row in enumerate(rows, start)]
        text, cut = as_table(header, padded, self._characters)
        uneven = sum(len(row) != self._columns for row in rows)
        end = start + len(rows) - 1
        if uneven:
            self.lost.append(f"Rows {start}-{end}: {uneven} of them do not have {self._columns} fields.")
        if cut:
            self.lost.append(f"Rows {start}-{end}: {cut} long cells were shortened.")
        return Section(f"rows {start:,}-{end:,}" if rows else "no rows", text)

    def _line(self, row: list[str]) -> str:
        """A row as it is in the file, with long cells cut."""
        out = io.StringIO(newline="")
        cells = [cell if len(cell) <= CELL else f"{cell[:CELL]}… ({len(cell):,} characters)" for cell in row]
        csv.writer(out, delimiter=self._dialect.delimiter, lineterminator="").writerow(cells)
        return out.getvalue()

    def _records(self, stream: IO[str]) -> Iterator[list[str]]:
        rows = csv.reader(self._lines(stream), delimiter=self._dialect.delimiter)
        try:
            yield from (row for row in rows if row)
        except csv.Error as error:
            raise FileProblem("damaged", f"{self._name}, near row {rows.line_num:,}: {error}.") from error

    def _lines(self, stream: IO[str]) -> Iterator[str]:
        while line := stream.readline(_FIELD):
            if len(line) == _FIELD:
                said = f"{self._name} has a line of more than {_FIELD:,} characters: that is no table."
                raise FileProblem("too_large", said)
            yield line
