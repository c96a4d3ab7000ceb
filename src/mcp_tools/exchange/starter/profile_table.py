import csv
import io
import re
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
MISSING = ["NA", "N/A", "NaN", "null", "none", "-"]
INTEGER = re.compile("[+-]?(?:0|[1-9][0-9]*)")
BOOLEAN = re.compile("true|false|yes|no", re.IGNORECASE)
DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
DATETIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?")
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")


def profile_table(
    table: str,
    missing: list[str] | None = None,
    delimiter: Literal["auto", "comma", "semicolon", "tab", "pipe"] = "auto",
    encoding: str = "utf-8",
) -> dict:
    """Profiles the columns of a table file (CSV, TSV): type, missing and distinct values, smallest and largest value.

    Also known as: describe a table, data profiling, column statistics, summary statistics, data quality, schema of a CSV file, pandas describe

    Args:
        table: The table: the path of a CSV or TSV file, or the text of the table itself, with a line break in it. The
            first line is a header with the names of the columns, each name once.
        missing: The texts that stand for a missing value, in upper or lower case; null means "NA", "N/A", "NaN",
            "null", "none" and "-". An empty cell is always missing.
        delimiter: What separates the cells; "auto" takes the one of the four that is the most frequent in the header
            (comma if none is there).
        encoding: The character encoding of a file, such as "utf-8" (with or without a byte order mark) or "cp1252".

    Returns:
        A dict with "rows" (the number of rows below the header), "duplicate_rows" (how many rows are the same as an
        earlier one in all cells) and "columns", a list of dicts in the order of the table with
        "name",
        "type": the first of these that fits all values that are not missing: "empty" (there are none), "integer"
        (digits with an optional sign and without leading zeros, so 007 is text), "number" (also with a decimal point or
        an exponent of one or two digits),
        "boolean" (true, false, yes, no in upper or lower case), "date" (YYYY-MM-DD), "datetime" (YYYY-MM-DD, "T" or a
        blank, HH:MM, optionally :SS and up to six digits of a fraction; no time zone), "text",
        "missing": how many cells have no value, and "distinct": how many different values the others have (numbers are
        the same if they are equal, so 1.0 is 1, booleans if they are the same word; others are compared as text),
        "most_frequent": the value that occurs most often, as text, the first one of those that occur equally often
        (null if empty), and
        "count" how often,
        "min", "max": the smallest and largest value: numbers as such (a float unless whole), dates and datetimes by
        time, text by code point, as they stand in the table; null for "empty" and "boolean",
        "mean": the mean of a column of integers or numbers as a float rounded to 6 digits, else null.
        White space around cells does not count.

    Raises:
        ValueError: If the file cannot be read, is empty, has a column name twice, or a row longer than its header; if
            the encoding is unknown or wrong.

    Examples:
        >>> profile_table("id,when,ok\\n1,2026-03-01,yes\\n2.5,2026-02-28,NO\\n,NA,yes\\n1.0,2026-03-01,yes")
        {'rows': 4, 'duplicate_rows': 0, 'columns': [{'name': 'id', 'missing': 1, 'type': 'number', 'distinct': 2, 'most_frequent': '1', 'count': 2, 'min': 1, 'max': 2.5, 'mean': 1.5}, {'name': 'when', 'missing': 1, 'type': 'date', 'distinct': 2, 'most_frequent': '2026-03-01', 'count': 2, 'min': '2026-02-28', 'max': '2026-03-01', 'mean': None}, {'name': 'ok', 'missing': 0, 'type': 'boolean', 'distinct': 2, 'most_frequent': 'yes', 'count': 3, 'min': None, 'max': None, 'mean': None}]}
        >>> profile_table("code;at;x\\n007;2026-03-01 10:00;\\nB;2026-03-01T09:30:15.5;\\n007;2026-03-01 10:00;")
        {'rows': 3, 'duplicate_rows': 1, 'columns': [{'name': 'code', 'missing': 0, 'type': 'text', 'distinct': 2, 'most_frequent': '007', 'count': 2, 'min': '007', 'max': 'B', 'mean': None}, {'name': 'at', 'missing': 0, 'type': 'datetime', 'distinct': 2, 'most_frequent': '2026-03-01 10:00', 'count': 2, 'min': '2026-03-01T09:30:15.5', 'max': '2026-03-01 10:00', 'mean': None}, {'name': 'x', 'missing': 3, 'type': 'empty', 'distinct': 0, 'most_frequent': None, 'count': 0, 'min': None, 'max': None, 'mean': None}]}
        >>> profile_table("n\\n-2\\n+3\\n10")
        {'rows': 3, 'duplicate_rows': 0, 'columns': [{'name': 'n', 'missing': 0, 'type': 'integer', 'distinct': 3, 'most_frequent': '-2', 'count': 1, 'min': -2, 'max': 10, 'mean': 3.666667}]}
        >>> profile_table("n\\n1\\n?\\n-", missing=["?"])
        {'rows': 3, 'duplicate_rows': 0, 'columns': [{'name': 'n', 'missing': 1, 'type': 'text', 'distinct': 2, 'most_frequent': '1', 'count': 1, 'min': '-', 'max': '1', 'mean': None}]}
        >>> profile_table("day\\n2026-02-29\\n", delimiter="tab")
        {'rows': 1, 'duplicate_rows': 0, 'columns': [{'name': 'day', 'missing': 0, 'type': 'text', 'distinct': 1, 'most_frequent': '2026-02-29', 'count': 1, 'min': '2026-02-29', 'max': '2026-02-29', 'mean': None}]}
        >>> profile_table("a,a\\n1,2")
        Traceback (most recent call last):
        ...
        ValueError: the table has a column name twice: a, a
        >>> profile_table("a,b\\n1,2,3")
        Traceback (most recent call last):
        ...
        ValueError: line 2 of the table has more cells than the header
    """
    header, rows = _read_table(table, delimiter, encoding)
    absent = {text.strip().lower() for text in (MISSING if missing is None else missing)} | {""}
    stripped = [tuple(cell.strip() for cell in row) for row in rows]
    columns = []
    for place, name in enumerate(header):
        values = [row[place] for row in stripped if row[place].lower() not in absent]
        columns.append({"name": name, "missing": len(rows) - len(values)} | _describe(values))
    return {"rows": len(rows), "duplicate_rows": len(rows) - len(set(stripped)), "columns": columns}


def _describe(values: list[str]) -> dict:
    kind, read = _kind(values)
    keys = [read(value) for value in values]
    counts = Counter(keys)
    top, times = counts.most_common(1)[0] if counts else (None, 0)
    found: dict = {
        "type": kind,
        "distinct": len(counts),
        "most_frequent": values[keys.index(top)] if keys else None,
        "count": times,
        "min": None,
        "max": None,
        "mean": None,
    }
    if kind in ("integer", "number"):
        mean = sum(keys, Decimal(0)) / len(keys)
        found |= {"min": _plain(min(keys)), "max": _plain(max(keys)), "mean": round(float(mean), 6)}
    elif kind not in ("empty", "boolean"):
        found |= {"min": values[keys.index(min(keys))], "max": values[keys.index(max(keys))]}
    return found


def _kind(values: list[str]) -> tuple[str, Callable]:
    """Finds the first type that fits all values, and the function that turns a value into what is compared."""
    if not values:
        return "empty", str
    for kind, pattern, read in (
        ("integer", INTEGER, Decimal),
        ("number", NUMBER, Decimal),
        ("boolean", BOOLEAN, str.lower),
        ("date", DATE, date.fromisoformat),
        ("datetime", DATETIME, datetime.fromisoformat),
    ):
        if all(pattern.fullmatch(value) for value in values) and _all_read(values, read):
            return kind, read
    return "text", str


def _all_read(values: list[str], read: Callable) -> bool:
    try:
        for value in values:
            read(value)
    except ValueError:
        return False
    return True


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _read_table(source: str, delimiter: str, encoding: str) -> tuple[list[str], list[list[str]]]:
    """Reads the header and the rows of a table; blank lines are skipped, short rows filled with empty cells."""
    text, name = (source, "the table") if "\n" in source else (_file_text(source, encoding), source)
    lines = list(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    separator = SEPARATORS.get(delimiter) or _guess_separator(lines)
    header: list[str] = []
    rows: list[list[str]] = []
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        for row in reader:
            if row and not header:
                header = [cell.strip() for cell in row]
            elif len(row) > len(header):
                raise ValueError(f"line {reader.line_num} of {name} has more cells than the header")
            elif row:
                rows.append(row + [""] * (len(header) - len(row)))
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of {name} cannot be read: {error}") from None
    if not header:
        raise ValueError(f"{name} is empty")
    if len(set(header)) < len(header):
        raise ValueError(f"{name} has a column name twice: {', '.join(header)}")
    return header, rows


def _file_text(path: str, encoding: str) -> str:
    try:
        with open(path, encoding=encoding, newline="") as file:
            return file.read()
    except OSError as error:
        raise ValueError(f"cannot read the file {path}: {error.strerror}") from None
    except LookupError:
        raise ValueError(f"unknown encoding: {encoding!r}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in {encoding}: byte {error.start} does not fit") from None


def _guess_separator(lines: list[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    unquoted = re.sub('"[^"]*"', "", first)
    return max(SEPARATORS.values(), key=unquoted.count)
