"""Helpers for rows of tables: detect the dialect of delimited text, render rows, describe columns."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from mcp_tools.text import count_of

MIN_PAGE_ROWS = 10
MAX_CELL_CHARS = 2_000
"""Maximum length of a cell on a page. Longer cells are shortened."""
_ROUND = (500, 250, 200, 100, 50, 25, 20, MIN_PAGE_ROWS)
_MAX_DISTINCT = 12  # distinct values that are all listed
_MAX_INSPECTED_CELLS = 300_000
_BATCH_ROWS = 1000
_MAX_DESCRIBED_COLUMNS = 60
_MAX_VALUE_CHARS = 40
_EXAMPLES = 4
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?(?:(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?|,\d+)")
_DATE = re.compile(r"[12]\d{3}-[01]\d-[0-3]\d(?:[ T][0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
SAMPLE = 64 * 1024
"""Number of characters from which the dialect is detected."""
_SNIFFED_ROWS = 200
_DELIMITERS = {"csv": ",;\t|", "tsv": "\t,;|"}
_NAMED_DELIMITER = re.compile(r'"?sep=(.)"?[\r\n]', re.IGNORECASE)
_MAX_ROWS_ABOVE = 30
_YEAR = re.compile(r"(1[5-9]|20)\d\d")
_CELL_WITH_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})*,\d+|[+-]?\d+,\d+")
_CELL_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?([eE][+-]?\d+)?%?")


def rows_per_page(sample: Sequence[Sequence[str]], characters: int) -> int:
    """Return the number of rows that fit on a page of this many characters, estimated from some rows."""
    sizes = [sum(min(len(cell), MAX_CELL_CHARS) + 3 for cell in row) + 8 for row in sample] or [1]
    fitting = 0.8 * characters / max(sum(sizes) / len(sizes), max(sizes) / 4)
    return next((rows for rows in _ROUND if rows <= fitting), MIN_PAGE_ROWS)


def as_table(header: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]], characters: int) -> tuple[str, int]:
    """Return a Markdown table with row numbers, and the number of cells that were shortened to make it fit."""
    for most in (MAX_CELL_CHARS, 400, 100, 30):
        lines = [line_of("", header, most), "|---" * (len(header) + 1) + "|"]
        lines += [line_of(number, row, most) for number, row in rows]
        text = "\n".join(lines)
        if len(text) <= characters:
            break
    return text, sum(len(cell) > most for _, row in rows for cell in row)


def column_letters(number: int) -> str:
    """Return the letters of a column; column 1 is `A`."""
    name = ""
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(65 + rest) + name
    return name


def as_text(value: Any) -> str:
    """Return a cell's value as text: whole numbers without a decimal point, dates in ISO 8601."""
    if type(value) is str:  # most cells, and this function dominates the time of a preview
        return value
    if isinstance(value, float):
        text = f"{value:.15g}"
        is_long = "e+" in text and abs(value) < 1e18
        return str(int(value)) if is_long or text == "-0" else text
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dt.datetime):
        midnight = value.time() == dt.time()
        return value.date().isoformat() if midnight else value.isoformat(sep=" ", timespec="auto")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return str(value)


def line_of(number: int | str, row: Sequence[str], most: int) -> str:
    """Return a row of a Markdown table. Cells are cut at `most` characters."""
    joined = " | ".join(row)
    plain = len(joined) <= most and joined.count("|") == len(row) - 1 and "\n" not in joined and "\r" not in joined
    return f"| {number} | {joined if plain else ' | '.join([_cell(cell, most) for cell in row])} |"


def _cell(text: str, most: int) -> str:
    if len(text) > most:
        text = f"{text[:most]}… ({len(text):,} characters)"
    if "\n" in text or "\r" in text:
        text = "<br>".join(text.splitlines())
    return text.replace("|", "\\|") if "|" in text else text


def rows_to_inspect(columns: int) -> int:
    """Return the number of rows that are inspected in a table with this many columns."""
    return max(1000, _MAX_INSPECTED_CELLS // max(1, columns))


def describe_columns(
    names: Sequence[str], rows: Iterable[Sequence[str]], *, total: int | None, decimal: str = "."
) -> list[str]:
    """Describe each column on one line. The first line says how many rows were inspected.

    Args:
        names: Names of the columns.
        rows: The rows without a header, at most `rows_to_inspect`.
        total: Number of rows in the table; None if unknown.
        decimal: The decimal mark.
    """
    columns: list[Counter[str]] = [Counter() for _ in names]
    count, each = 0, iter(rows)
    while some := list(islice(each, _BATCH_ROWS)):
        count += len(some)
        for values, column in zip(columns, zip_longest(*some, fillvalue=""), strict=False):
            values.update(column)
    if not count or not names:
        return []
    over = "" if count == total else f" (in the first {count:,} rows)"
    lines = [
        f"- {_short(name) or f'column {number}'}: {describe_values(values, decimal)}"
        for number, (name, values) in enumerate(zip(names[:_MAX_DESCRIBED_COLUMNS], columns, strict=False), 1)
    ]
    more = [f"- and {len(names) - _MAX_DESCRIBED_COLUMNS} more columns"] if len(names) > _MAX_DESCRIBED_COLUMNS else []
    return [f"Columns{over}:", *lines, *more]


def describe_values(values: Mapping[str, int], decimal: str = ".") -> str:
    """Describe counted values: kinds and ranges; all values if there are few; else examples of the rarer kinds."""
    there = {value: count for value, count in values.items() if value and not value.isspace()}
    if not there:
        return "empty"
    empty = sum(values.values()) - sum(there.values())
    by_kind = defaultdict[str, Counter[str]](Counter)
    is_number, is_date = (_WITH_COMMA if decimal == "," else _NUMBER).fullmatch, _DATE.fullmatch
    for value, count in there.items():
        plain = value.strip()
        by_kind["number" if is_number(plain) else "date" if is_date(plain) else "text"][value] = count
    usual, *others = sorted(by_kind.items(), key=lambda kind: -kind[1].total())
    description = " and ".join(
        f"{kind}{_range(kind, list(found), decimal)}{f' ({found.total():,})' if others else ''}"
        for kind, found in (usual, *others)
    )
    total = sum(there.values())
    if len(there) <= _MAX_DISTINCT and len(there) < total:
        counted = ", ".join(
            f"{_short(value)} ({count:,})" for value, count in sorted(there.items(), key=lambda one: (-one[1], one[0]))
        )
        description += f"; {count_of(len(there), 'value')}: {counted}"
    else:
        description += "; all different" if len(there) == total > 1 else f"; {len(there):,} different"
        if odd := sum((found for _, found in others), Counter[str]()):
            named = [f"{_short(value)}{f' ({n:,})' if n > 1 else ''}" for value, n in odd.most_common(_EXAMPLES)]
            description += f"; not {usual[0]}: {', '.join(named)}{', …' if len(odd) > _EXAMPLES else ''}"
    return description + (f"; {empty:,} empty" if empty else "")


def _range(kind: str, values: Sequence[str], decimal: str) -> str:
    if kind == "text" or len(values) < 2:
        return ""
    if kind == "date":
        return f" {min(values).strip()} to {max(values).strip()}"
    thousands = "." if decimal == "," else ","
    marked = thousands in "".join(values) or decimal == ","
    numbers = (
        [float(value.replace(thousands, "").replace(",", ".")) for value in values] if marked else map(float, values)
    )
    named = dict(zip(numbers, values, strict=True))
    return f" {named[min(named)].strip()} to {named[max(named)].strip()}"


def _short(value: str) -> str:
    """Return a value on one line, shortened, in quotes if it begins or ends with white space."""
    plain = " ".join(value.split())
    plain = plain if len(plain) <= _MAX_VALUE_CHARS else f"{plain[: _MAX_VALUE_CHARS - 1]}…"
    before, after = " " * (value[:1].isspace()), " " * (value[-1:].isspace())
    return f'"{before}{plain}{after}"' if before or after else plain


class DelimitedDialect(NamedTuple):
    """The form of a delimited text."""

    delimiter: str
    has_header: bool
    decimal: str
    above: int = 0
    """Number of rows above the table, such as `sep=;`, a title or the fields of a report."""


def sniff(text: str, kind: str) -> tuple[DelimitedDialect, list[list[str]]]:
    """Detect the dialect from the beginning of a table. Return it with the first rows."""
    if len(text) >= SAMPLE:
        text = text[: text.rfind("\n") + 1] or text
    named = _NAMED_DELIMITER.match(text)
    splits = {mark: _split(text, mark) for mark in ([named[1]] if named else _DELIMITERS[kind])}
    above = {mark: max(_rows_above(rows), bool(named)) for mark, rows in splits.items()}
    shares = {mark: _evenness(rows, above[mark]) for mark, rows in splits.items()}
    best = max(shares, key=shares.__getitem__)  # of equal shares, the first one wins
    for mark in splits if best == "," else ():
        left = [cell for row in splits[mark] for cell in row if "," in cell]
        if left and all(map(_is_number, left)) and int(shares[mark]) >= int(shares[","]):  # 1,5;2,5
            best = mark
            break
    cells = [cell.strip() for row in splits[best] for cell in row]
    commas = [cell for cell in cells if _CELL_WITH_COMMA.fullmatch(cell)]
    points = sum(bool(re.fullmatch(r"[+-]?\d+\.\d+", cell)) for cell in cells)
    thousands = sum(bool(re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", cell)) for cell in commas)
    decimal = "," if len(commas) > max(points, thousands) else "."
    return DelimitedDialect(best, has_header(splits[best][above[best] :]), decimal, above[best]), splits[best]


def _split(text: str, delimiter: str) -> list[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return list(islice((row for row in rows if row), _SNIFFED_ROWS))
    except csv.Error:
        return []


def _rows_above(rows: list[list[str]]) -> int:
    """Return the number of rows at the top that are much narrower than the table below."""
    widths = [max((at for at, cell in enumerate(row, 1) if cell.strip()), default=0) for row in rows]
    for above in range(min(_MAX_ROWS_ABOVE, len(rows) - 2) + 1):
        usual, count = max(Counter(map(len, rows[above:])).items(), key=lambda width: (width[1], width[0]))
        if widths[above] > max(1, usual // 2) and usual > 1 and count > 1:
            return above
    return 0


def _evenness(rows: list[list[str]], above: int) -> float:
    """Return a score: the percentage of rows with the most common width, plus that width as hundredths."""
    common, count = max(Counter(map(len, rows[above:])).items(), key=lambda width: (width[1], width[0]), default=(0, 0))
    return 100 * count // len(rows) + min(common, 50) / 100 if common > 1 else 0.0


def has_header(rows: list[list[str]]) -> bool:
    """Return True if the first row names the columns.

    A header is all text, or contains years that do not continue below. Its names are distinct, unless a column below
    it contains only numbers.
    """
    if not rows:
        return False
    first = [cell.strip() for cell in rows[0] if cell.strip()]
    if numbers := [cell for cell in first if _is_number(cell)]:
        below = [row for row in rows[1:21] if len(row) == len(rows[0])]
        columns = [index for index, cell in enumerate(rows[0]) if _YEAR.fullmatch(cell.strip())]
        goes_on = all(_YEAR.fullmatch(row[index].strip()) for row in below for index in columns)
        return all(map(_YEAR.fullmatch, numbers)) and bool(below) and not goes_on
    below = [row for row in rows[1:21] if len(row) == len(rows[0])]
    has_numbers = any(all(map(_is_number, column)) for column in zip(*below, strict=True))
    return len(set(first)) == len(first) or has_numbers


def _is_number(cell: str) -> bool:
    cell = cell.strip()
    return bool(cell) and bool(_CELL_NUMBER.fullmatch(cell) or _CELL_WITH_COMMA.fullmatch(cell))
