"""Reader of delimited text (CSV, TSV) of any size: dialect, columns, and rows in pages."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO

from agent.files.contents import Contents, FileProblem, ReadLimits, Section, Source, first_of
from agent.files.previews import CELL, ROOM, ListPreview, PreviewText, preview_of_lists
from agent.files.tables.rows import SAMPLE, as_table, describe_columns, rows_per_page, rows_to_inspect, sniff
from agent.files.text import text_encoding
from mcp_tools.text import count_of, one_line
from mcp_tools.tool import Json

MAX_COUNTED_BYTES = 256 << 20
"""Maximum size of a file whose rows are counted."""
_MAX_FIELD_CHARS = 16 << 20  # without a limit, an unclosed quote makes the whole file one field
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


class DelimitedFile(Contents):
    """A table in a text file. Row 1 is the first line that is not empty."""

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        csv.field_size_limit(_MAX_FIELD_CHARS)
        self._name, self._path = source.name, source.path
        self._encoding = text_encoding(source)
        with self._encoding.open(source.path, newline="") as stream:
            self._dialect, sample = sniff(stream.read(SAMPLE), source.kind)
        if not sample:
            raise FileProblem("empty", f"{self._name} has no rows.")
        self._above = sample[: self._dialect.above]
        rows = sample[self._dialect.above :]
        self._columns = max((len(row) for row in rows), default=1)
        first = rows[0] if self._dialect.has_header else []
        self._header = [*first, *("" for _ in range(self._columns - len(first)))]
        self._skipped = self._dialect.above + self._dialect.has_header
        self._characters = limits.section
        self._per_page = rows_per_page(sample[self._skipped :], limits.section)
        self._rows: int | None = None
        widths = Counter[int]()
        if source.path.stat().st_size <= MAX_COUNTED_BYTES:
            with self._encoding.open(source.path, newline="") as stream:
                widths.update(map(len, islice(self._records(stream), self._skipped, None)))
            self._rows = widths.total()
        dialect, encoding = self._dialect, self._encoding
        counted = "rows not counted" if self._rows is None else f"{self._rows:,} rows"
        summary = [
            f"{counted} × {self._columns} columns",
            f"{_NAMES.get(dialect.delimiter, dialect.delimiter)}-separated",
            encoding.codec_name,
        ]
        summary += ["decimal comma"] if dialect.decimal == "," else []
        header = "the first row is the header" if not dialect.above else f"row {self._skipped} is the header"
        summary.append(header if dialect.has_header else "no header")
        facts: dict[str, Json] = {
            "rows": self._rows,
            "header": self._header[:1000] if dialect.has_header else None,
            "delimiter": dialect.delimiter,
            "decimal": dialect.decimal,
            "encoding": encoding.name,
        }
        if self._above:
            with self._encoding.open(source.path, newline="") as stream:
                facts["lines_above"] = self._lines_above(stream)
        count = None if self._rows is None else max(1, -(-self._rows // self._per_page))
        super().__init__(source.kind, f"Table: {', '.join(summary)}", facts=facts, count=count)
        self.notes = [*encoding.notes, *self._oddities(widths, len(first))]

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yield the pages from number `first`, each with the header."""
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
        """Return the whole text if it is short, else the first rows and a description of the columns."""
        with self._encoding.open(self._path) as stream:
            text = stream.read(ROOM + 1)
        if len(text) <= ROOM:
            return PreviewText([text.rstrip("\n")], "complete")
        with self._encoding.open(self._path, newline="") as stream:
            rows = islice(self._records(stream), self._skipped, None)
            first = list(islice(rows, ROOM))
            more = islice(rows, max(0, rows_to_inspect(self._columns) - len(first)))
            columns = describe_columns(
                self._header, chain(first, more), total=self._rows, decimal=self._dialect.decimal
            )
        head = "\n".join(map(self._line, [*self._above, *([self._header] if self._dialect.has_header else [])]))
        return preview_of_lists([ListPreview(map(self._line, first), self._rows, head=head, columns=columns)])

    def _oddities(self, widths: Counter[int], names_in_header: int) -> list[str]:
        """Return warnings for a program that reads the rows as a table."""
        notes = []
        if self._above:
            beginning = "; ".join(one_line(self._line(row), 80) for row in self._above[:3])
            notes.append(f"{count_of(len(self._above), 'row')} above the table: {beginning}.")
        names = Counter(name.strip() for name in self._header) if self._dialect.has_header else Counter[str]()
        if twice := [name for name, count in names.items() if name and count > 1]:
            notes.append(f"Several columns have the same name: {first_of(twice)}.")
        if names[""] and self._dialect.has_header:
            notes.append(f"{count_of(names[''], 'column')} without a name.")
        usual = names_in_header or max(widths, key=widths.__getitem__, default=0)
        if uneven := widths.total() - widths[usual]:
            notes.append(f"{count_of(uneven, 'row')} with more or fewer than {usual} cells.")
        return notes

    def _page(self, start: int, rows: list[list[str]]) -> Section:
        width = max([self._columns, *(len(row) for row in rows)])
        header = [*self._header, *("" for _ in range(width - len(self._header)))]
        padded = [(number, [*row, *[""] * (width - len(row))]) for number, row in enumerate(rows, start)]
        text, cut = as_table(header, padded, self._characters)
        uneven = sum(len(row) != self._columns for row in rows)
        end = start + len(rows) - 1
        if uneven:
            self.lost.append(f"Rows {start}-{end}: {uneven} rows do not have {self._columns} fields.")
        if cut:
            self.lost.append(f"Rows {start}-{end}: {cut} long cells were shortened.")
        return Section(f"rows {start:,}-{end:,}" if rows else "no rows", text)

    def _line(self, row: list[str]) -> str:
        """Return a row unchanged, with long cells cut."""
        out = io.StringIO(newline="")
        cells = [cell if len(cell) <= CELL else f"{cell[:CELL]}… ({len(cell):,} characters)" for cell in row]
        csv.writer(out, delimiter=self._dialect.delimiter, lineterminator="").writerow(cells)
        return out.getvalue()

    def _lines_above(self, stream: IO[str]) -> int:
        """Return the number of lines above the table, including blank lines."""
        rows = csv.reader(self._lines(stream), delimiter=self._dialect.delimiter)
        left = len(self._above)
        while left:
            left -= bool(next(rows))
        return rows.line_num

    def _records(self, stream: IO[str]) -> Iterator[list[str]]:
        rows = csv.reader(self._lines(stream), delimiter=self._dialect.delimiter)
        try:
            yield from (row for row in rows if row)
        except csv.Error as error:
            raise FileProblem("damaged", f"{self._name}, near row {rows.line_num:,}: {error}.") from error

    def _lines(self, stream: IO[str]) -> Iterator[str]:
        while line := stream.readline(_MAX_FIELD_CHARS):
            if len(line) == _MAX_FIELD_CHARS:
                message = f"{self._name} has a line of more than {_MAX_FIELD_CHARS:,} characters, so it is not a table."
                raise FileProblem("too_large", message)
            yield line
