"""How the fields of a table in a text file are told apart, judged by its beginning."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal

SAMPLE = 64 * 1024
"""Characters that a dialect is judged by."""
_ROWS = 200
_DELIMITERS = {"csv": ",;\t|", "tsv": "\t,;|"}
_DECIMAL_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})*,\d+|[+-]?\d+,\d+")
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?([eE][+-]?\d+)?%?")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the fields of a file are told apart."""

    delimiter: str
    has_header: bool
    decimal: Literal[".", ","]


def sniffed(text: str, kind: str) -> tuple[Dialect, list[list[str]]]:
    """The dialect of the beginning of a table, and its first rows."""
    if len(text) >= SAMPLE:
        text = text[: text.rfind("\n") + 1] or text
    splits = {mark: _split(text, mark) for mark in _DELIMITERS[kind]}
    best = max(splits, key=lambda mark: _evenness(splits[mark]))  # the first of those that are equal
    if best == ",":
        best = next((mark for mark in splits if mark != "," and _has_decimals(splits[mark], splits[","])), best)
    rows = splits[best]
    return Dialect(best, has_header(rows), _decimal(rows)), rows


def _split(text: str, delimiter: str) -> list[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return list(islice((row for row in rows if row), _ROWS))
    except csv.Error:
        return []


def _has_decimals(rows: list[list[str]], by_comma: list[list[str]]) -> bool:
    """Whether the rows are as even as those split by comma, and every comma that is left in them is one of a number."""
    cells = [cell.strip() for row in rows for cell in row if "," in cell]
    return (
        all(_is_number(cell) for cell in cells)
        and any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
        and _common(rows)[1] >= _common(by_comma)[1]
    )


def _evenness(rows: list[list[str]]) -> float:
    """How much the rows look like those of one table: share of the commonest width, if it is more than one."""
    common, share = _common(rows)
    return share * (1 + min(common, 50) / 1000)


def _common(rows: list[list[str]]) -> tuple[int, float]:
    """The commonest width of rows, and its share; 0 where it is one cell."""
    widths = [len(row) for row in rows]
    common = max(set(widths), key=lambda width: (widths.count(width), width), default=0)
    return common, widths.count(common) / len(widths) if common > 1 else 0.0


def has_header(rows: list[list[str]]) -> bool:
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
