"""Comma- and tab-separated text of any size: its dialect, its columns, and its rows in pages."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from agent.files.contents import ReadLimits, Section, Source
from agent.files.problem import FileProblem
from agent.files.tables import as_table, rows_per_page
from agent.files.text import text_encoding
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from mcp_tools.tool import Json

COUNTED = 256 << 20
"""Bytes up to which the rows are counted."""
_SAMPLE = 64 * 1024
_SAMPLE_ROWS = 200
_FIELD = 16 << 20
"""Characters of one field: an unclosed quote must not take the whole file for one."""
_BLOCK = 1 << 20
_QUOTED = re.compile(rb'"[^"]*"')
_DELIMITERS = {"csv": ",;\t|", "tsv": "\t,;|"}
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_DECIMAL_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})*,\d+|[+-]?\d+,\d+")
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?([eE][+-]?\d+)?%?")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the fields of a file are told apart."""

    delimiter: str
    has_header: bool
    decimal: Literal[".", ","]


class DelimitedReader:
    """Reads csv and tsv files."""

    kinds = frozenset({"csv", "tsv"})

    def open(self, source: Source, limits: ReadLimits) -> DelimitedFile:
        """Opens a file.

        Raises:
            FileProblem: It is no text, or has no rows.
        """
        return DelimitedFile(source, limits)


class DelimitedFile:
    """A table in a text file. Rows are numbered as records: 1 is the first line that is not empty.

    Args:
        source: The file.
        limits: How long a page may be.
    """

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        csv.field_size_limit(_FIELD)
        self.kind = source.kind
        self._name = source.name or source.path.name
        self._path = source.path
        self._encoding = text_encoding(source)
        self.lost = self._encoding.lost
        with self._encoding.open(source.path, newline="") as stream:
            beginning = stream.read(_SAMPLE)
        self._dialect, sample = sniffed(beginning, source.kind)
        self._slow = self._encoding.is_wide or ("\r" in beginning and "\n" not in beginning)
        if not sample:
            raise FileProblem("empty", f"{self._name} holds no rows.")
        self._columns = max(len(row) for row in sample)
        first = sample[0] if self._dialect.has_header else []
        self._header = [*first, *("" for _ in range(self._columns - len(first)))]
        self._skipped = int(self._dialect.has_header)
        self._characters = limits.section
        self._per_page = rows_per_page(sample[self._skipped :], limits.section)
        self._rows = self._counted() if source.path.stat().st_size <= COUNTED else None
        self._describe(sample)

    @property
    def count(self) -> int | None:
        """The number of pages; None where counting rows would take long."""
        return None if self._rows is None else max(1, -(-self._rows // self._per_page))

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The pages from that number on, each with the header."""
        passed = self._skipped + (first - 1) * self._per_page
        with self._after(passed) as stream:
            rows = self._records(stream)
            start = (first - 1) * self._per_page + self._skipped + 1
            while (page := list(islice(rows, self._per_page))) or (start == 1 + self._skipped and first == 1):
                yield self._page(start, page)
                start += len(page)
                if len(page) < self._per_page:
                    break

    def save_data(self, folder: Path) -> list[Path]:
        """Nothing: the file itself is best."""
        return []

    def close(self) -> None:
        """Nothing is open."""

    def _page(self, start: int, rows: list[list[str]]) -> Section:
        width = max([self._columns, *(len(row) for row in rows)])
        header = [*self._header, *("" for _ in range(width - len(self._header)))]
        padded = [(number, _padded(row, width)) for number, row in enumerate(rows, start)]
        text, cut = as_table(header, padded, self._characters)
        uneven = sum(len(row) != self._columns for row in rows)
        end = start + max(0, len(rows) - 1)
        if uneven:
            self.lost.append(f"Rows {start}-{end}: {uneven} of them do not have {self._columns} fields.")
        if cut:
            self.lost.append(f"Rows {start}-{end}: {cut} long cells were shortened.")
        return Section(f"rows {start:,}-{end:,}", text)

    def _records(self, stream: IO[str]) -> Iterator[list[str]]:
        rows = csv.reader(self._lines(stream), delimiter=self._dialect.delimiter)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                raise FileProblem("damaged", f"{self._name}, near row {rows.line_num:,}: {error}.") from error
            if row:
                yield row

    def _lines(self, stream: IO[str]) -> Iterator[str]:
        while line := stream.readline(_FIELD):
            if len(line) == _FIELD:
                raise FileProblem(
                    "too_large",
                    f"{self._name} has a line of more than {_FIELD:,} characters: that is no table.",
                    remedy="Read it in a program (run_code) in parts.",
                )
            yield line

    def _after(self, records: int) -> IO[str]:
        """The file as text, behind so many records."""
        if self._slow:
            stream = self._encoding.open(self._path, newline="")
            skip_lines(stream, records)
            return stream
        with self._path.open("rb") as file:
            file.seek(self._encoding.mark)
            skip_records(file, records)
            return self._encoding.open(self._path, newline="", start=file.tell())

    def _counted(self) -> int:
        if self._slow:
            with self._encoding.open(self._path, newline="") as stream:
                return skip_lines(stream, None) - self._skipped
        with self._path.open("rb") as file:
            file.seek(self._encoding.mark)
            return skip_records(file, None) - self._skipped

    def _describe(self, sample: list[list[str]]) -> None:
        dialect, encoding = self._dialect, self._encoding
        rows = "rows not counted" if self._rows is None else f"{self._rows:,} rows"
        said = [f"{rows} × {self._columns} columns", f"{_NAMES[dialect.delimiter]}-separated", encoding.name]
        if dialect.decimal == ",":
            said.append("decimal comma")
        self.summary = f"Table: {', '.join(said)}\n"
        self.summary += f"Header: {one_line(' | '.join(self._header), 500)}" if dialect.has_header else "No header"
        self.facts: dict[str, Json] = {
            "rows": self._rows,
            "columns": self._columns,
            "header": self._header[:1000] if dialect.has_header else None,
            "delimiter": dialect.delimiter,
            "decimal": dialect.decimal,
            **encoding.facts,
        }
        if len({len(row) for row in sample}) > 1:
            self.facts["uneven"] = True


def sniffed(text: str, kind: str) -> tuple[Dialect, list[list[str]]]:
    """The dialect of the beginning of a table, and its first rows."""
    if len(text) >= _SAMPLE:
        text = text[: text.rfind("\n") + 1] or text
    splits = {mark: _split(text, mark) for mark in _DELIMITERS[kind]}
    best = max(splits, key=lambda mark: _evenness(splits[mark]))  # the first of those that are equal
    rows = splits[best]
    return Dialect(best, _has_header(rows), _decimal(rows)), rows


def _split(text: str, delimiter: str) -> list[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return list(islice((row for row in rows if row), _SAMPLE_ROWS))
    except csv.Error:
        return []


def _evenness(rows: list[list[str]]) -> float:
    """How much the rows look like those of one table: share of the commonest width, if it is more than one."""
    widths = [len(row) for row in rows]
    if not widths:
        return 0.0
    common = max(set(widths), key=lambda width: (widths.count(width), width))
    return widths.count(common) / len(widths) * (1 + min(common, 50) / 1000) if common > 1 else 0.0


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: all text, and different from what stands below."""
    if len(rows) < 2:
        return bool(rows) and not any(_is_number(cell) for cell in rows[0])
    first = rows[0]
    if any(_is_number(cell) for cell in first if cell.strip()):
        below = [row for row in rows[1:21] if len(row) == len(first)]
        years = all(_is_year(cell) or not _is_number(cell) for cell in first)
        return (
            years
            and bool(below)
            and not all(_is_year(row[i]) for row in below for i, c in enumerate(first) if _is_year(c))
        )
    return len({cell for cell in first if cell.strip()}) == sum(bool(cell.strip()) for cell in first)


def _is_number(cell: str) -> bool:
    cell = cell.strip()
    return bool(cell) and bool(_NUMBER.fullmatch(cell) or _DECIMAL_COMMA.fullmatch(cell))


def _is_year(cell: str) -> bool:
    return bool(re.fullmatch(r"(1[5-9]|20)\d\d", cell.strip()))


def _decimal(rows: list[list[str]]) -> Literal[".", ","]:
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    points = sum(bool(re.fullmatch(r"[+-]?\d+\.\d+", cell)) for cell in cells)
    thousands = sum(bool(re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", cell)) for cell in commas)
    return "," if len(commas) > points and len(commas) > thousands else "."


def _padded(row: list[str], width: int) -> list[str]:
    return row if len(row) == width else [*row, *[""] * (width - len(row))]


def skip_records(file: IO[bytes], wanted: int | None) -> int:
    """Passes over records without taking them apart; all of them where None is wanted.

    A record ends at a line feed outside of quotes; empty lines are none. Takes a second for a few hundred megabytes.

    Returns:
        How many were passed over.
    """
    passed = 0
    while wanted is None or passed < wanted:
        block = _block(file)
        if not block:
            return passed
        here = _records_in(block)
        if wanted is not None and passed + here > wanted:
            lines = io.BytesIO(block)
            skip_lines(lines, wanted - passed)
            file.seek(lines.tell() - len(block), io.SEEK_CUR)
            return wanted
        passed += here
    return passed


def _records_in(block: bytes) -> int:
    """The records of a block that begins and ends with one."""
    blank = block.startswith((b"\n", b"\r\n")) or b"\n\n" in block or b"\n\r\n" in block
    if not blank:
        parts = block.split(b'"')
        quoted = b"".join(parts[1::2]).count(b"\n")
        is_open = len(parts) % 2 == 0 or not block.endswith(b"\n")
        return block.count(b"\n") - quoted + is_open
    # what is in quotes does not count, but it is something
    bare = _QUOTED.sub(b"q", block)
    return sum(line not in (b"", b"\r") for line in bare.split(b"\n"))


def _block(file: IO[bytes]) -> bytes:
    """A megabyte, or a few, that end with a record."""
    block = bytearray()
    quotes = 0
    while len(block) < _FIELD:
        more = file.read(_BLOCK) + file.readline(_BLOCK)
        block += more
        quotes += more.count(b'"')
        if not more or not quotes % 2:
            break
    return bytes(block)


def skip_lines(stream: IO[Any], wanted: int | None) -> int:
    """The same line by line, for text and for bytes."""
    passed, quotes, blank = 0, 0, True
    while wanted is None or passed < wanted:
        line = stream.readline(_BLOCK)
        if not line:
            return passed + (not blank)
        quote, ends = (b'"', b"\r\n") if isinstance(line, bytes) else ('"', "\r\n")
        blank = blank and not line.strip(ends)
        quotes += line.count(quote)
        if not quotes % 2 and line[-1:] in ends:
            passed += not blank
            blank = True
    return passed
