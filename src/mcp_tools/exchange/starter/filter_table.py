# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.alita]
# write = true
# ///

import csv
import io
import re
from decimal import Decimal
from typing import Literal

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
OPERATORS = (
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "contains",
    "not contains",
    "starts with",
    "ends with",
    "is empty",
    "is not empty",
)


def filter_table(
    table: str,
    conditions: list[dict[str, str]] | None = None,
    match: Literal["all", "any"] = "all",
    sort_by: list[str] | None = None,
    columns: list[str] | None = None,
    max_rows: int | None = None,
    output_name: str = "filtered.csv",
    delimiter: Literal["auto", "comma", "semicolon", "tab", "pipe"] = "auto",
    encoding: str = "utf-8",
) -> dict:
    """Filters, sorts and selects the rows and columns of a table file (CSV, TSV), and writes the result as a CSV file.

    Also known as: query a CSV file, select where order by, top N rows, sort a spreadsheet, search rows, keep columns

    Args:
        table: The table: the path of a CSV or TSV file, or the text of the table itself, with a line break in it. The
            first line is a header with the names of the columns, each name once.
        conditions: Dicts with "column", "operator" and "value" (text, which the last two operators do not need); null
            keeps all rows. The operators are =, !=, <, <=, >, >=, "contains", "not contains", "starts with", "ends
            with", "is empty" and "is not empty". White space around cells and values does not count; capital and small
            letters differ. The first six compare numbers if the cell and the value are numbers (digits with an optional
            sign, decimal point and exponent), so 2.50 = 2.5; else they compare texts by code point, but < <= > >= hold
            for no cell that is empty, and for no text if the value is a number, nor the other way round. So dates as
            YYYY-MM-DD compare as dates.
        match: Whether a row needs "all" conditions or "any" of them.
        sort_by: The columns to sort by, the most important first, each with "-" before its name for descending order. A
            column is sorted by number if all its kept cells that are not empty are numbers, else as text without regard
            to case. Empty cells come last in either order; rows that are equal stay in their order. Null keeps the
            order.
        columns: The columns to write, in this order; null writes all.
        max_rows: The largest number of rows to write, 1 or more, after sorting; null writes all.
        output_name: The name of the file that is written: a plain name that ends in ".csv".
        delimiter: What separates the cells; "auto" takes the one of the four that is the most frequent in the header
            (comma if none is there).
        encoding: The character encoding of a file, such as "utf-8" (with or without a byte order mark) or "cp1252".

    Returns:
        A dict with "file" (the name of the written file: UTF-8, comma-separated, lines end with LF, cells unchanged),
        "columns" (its header), "rows_read", "rows_matched" (before `max_rows`), "rows_written", and "first_rows", up to
        10 of the written rows as lists of texts.

    Raises:
        ValueError: If the file cannot be read, is empty, has a column name twice, or a row longer than its header; if
            the encoding is unknown or wrong; if a condition lacks "column" or "operator", or "value" where it is
            needed, has another entry or an unknown operator; if a column is missing; if `columns` is empty or has a
            name twice; if `max_rows` is below 1; if the output name is not plain.

    Examples:
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", [{"column": "n", "operator": "=", "value": "2"}], columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 2, 'rows_written': 2, 'first_rows': [['Bo'], ['Cy']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", [{"column": "n", "operator": "!=", "value": "2"}], columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 2, 'rows_written': 2, 'first_rows': [['al'], ['Al']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", [{"column": "n", "operator": "<", "value": "10"}], columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 2, 'rows_written': 2, 'first_rows': [['Bo'], ['Cy']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", [{"column": "n", "operator": "<=", "value": "10"}], columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 3, 'rows_written': 3, 'first_rows': [['Bo'], ['al'], ['Cy']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", [{"column": "n", "operator": ">", "value": "2"}], columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 1, 'rows_written': 1, 'first_rows': [['al']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", [{"column": "d", "operator": ">=", "value": "2026-02-01"}], columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 2, 'rows_written': 2, 'first_rows': [['al'], ['Al']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", [{"column": "name", "operator": "contains", "value": "l"}, {"column": "name", "operator": "starts with", "value": "A"}], columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 1, 'rows_written': 1, 'first_rows': [['Al']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", [{"column": "name", "operator": "not contains", "value": "l"}, {"column": "name", "operator": "ends with", "value": "o"}], "any", columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 2, 'rows_written': 2, 'first_rows': [['Bo'], ['Cy']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", [{"column": "n", "operator": "is empty"}, {"column": "name", "operator": "=", "value": "Bo"}], "any", columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 2, 'rows_written': 2, 'first_rows': [['Bo'], ['Al']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", [{"column": "d", "operator": "is not empty"}], sort_by=["name"], columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 3, 'rows_written': 3, 'first_rows': [['al'], ['Al'], ['Bo']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", sort_by=["n", "-name"], columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 4, 'rows_written': 4, 'first_rows': [['Cy'], ['Bo'], ['al'], ['Al']]}
        >>> filter_table("n,name,d\\n2,Bo,2026-01-05\\n10,al,2026-03-01\\n2.0,Cy,\\n,Al,2026-02-01", sort_by=["-n"], max_rows=3, columns=["name"])
        {'file': 'filtered.csv', 'columns': ['name'], 'rows_read': 4, 'rows_matched': 4, 'rows_written': 3, 'first_rows': [['al'], ['Bo'], ['Cy']]}
        >>> filter_table("n\\n1", max_rows=0)
        Traceback (most recent call last):
        ...
        ValueError: max_rows must be 1 or more, not 0
        >>> filter_table("n\\n1", [{"column": "units", "operator": "~", "value": "3"}])
        Traceback (most recent call last):
        ...
        ValueError: unknown operator '~'; use =, !=, <, <=, >, >=, contains, not contains, starts with, ends with, is empty, is not empty
        >>> filter_table("n\\n1", [{"column": "units", "operator": "="}])
        Traceback (most recent call last):
        ...
        ValueError: the condition on 'units' has no value
        >>> filter_table("n\\n1", [{"operator": "=", "value": "1"}])
        Traceback (most recent call last):
        ...
        ValueError: a condition needs column, operator and value, and nothing else: {'operator': '=', 'value': '1'}
        >>> filter_table("n\\n1", output_name="out/x.csv")
        Traceback (most recent call last):
        ...
        ValueError: output_name must be a plain name that ends in .csv, not 'out/x.csv'
        >>> filter_table("n\\n1", [{"column": "m", "operator": "is empty"}])
        Traceback (most recent call last):
        ...
        ValueError: there is no column 'm'; the table has n
        >>> filter_table("n\\n1", columns=["n", "n"])
        Traceback (most recent call last):
        ...
        ValueError: columns is empty or has a name twice
    """
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows must be 1 or more, not {max_rows}")
    if not re.fullmatch(r"[^/\\\x00-\x1f]+\.csv", output_name) or output_name.startswith("."):
        raise ValueError(f"output_name must be a plain name that ends in .csv, not {output_name!r}")
    wanted = conditions or []
    for condition in wanted:
        _require_condition(condition)
    header, rows = _read_table(table, delimiter, encoding)
    order = [
        (name.removeprefix("-"), True) if name not in header and name.startswith("-") else (name, False)
        for name in sort_by or []
    ]
    kept_columns = header if columns is None else columns
    for name in [condition["column"] for condition in wanted] + [name for name, _ in order] + kept_columns:
        if name not in header:
            raise ValueError(f"there is no column {name!r}; the table has {', '.join(header)}")
    if not kept_columns or len(set(kept_columns)) < len(kept_columns):
        raise ValueError("columns is empty or has a name twice")
    tests = [(header.index(condition["column"]), condition) for condition in wanted]
    combine = all if match == "all" or not tests else any
    kept = [row for row in rows if combine(_holds(row[place].strip(), condition) for place, condition in tests)]
    for name, descending in reversed(order):
        kept = _sorted(kept, header.index(name), descending)
    places = [header.index(name) for name in kept_columns]
    written = [[row[place] for place in places] for row in kept[:max_rows]]
    with open(output_name, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([kept_columns, *written])
    return {
        "file": output_name,
        "columns": kept_columns,
        "rows_read": len(rows),
        "rows_matched": len(kept),
        "rows_written": len(written),
        "first_rows": written[:10],
    }


def _require_condition(condition: dict[str, str]) -> None:
    if not {"column", "operator"} <= set(condition) <= {"column", "operator", "value"}:
        raise ValueError(f"a condition needs column, operator and value, and nothing else: {condition}")
    if condition["operator"] not in OPERATORS:
        raise ValueError(f"unknown operator {condition['operator']!r}; use {', '.join(OPERATORS)}")
    if "value" not in condition and not condition["operator"].endswith("empty"):
        raise ValueError(f"the condition on {condition['column']!r} has no value")


def _holds(cell: str, condition: dict[str, str]) -> bool:
    operator, value = condition["operator"], condition.get("value", "").strip()
    simple = {
        "contains": value in cell,
        "not contains": value not in cell,
        "starts with": cell.startswith(value),
        "ends with": cell.endswith(value),
        "is empty": not cell,
        "is not empty": bool(cell),
    }
    if operator in simple:
        return simple[operator]
    left, right = _number(cell), _number(value)
    if operator in ("=", "!="):
        same = cell == value if left is None or right is None else left == right
        return same == (operator == "=")
    if not cell or (left is None) != (right is None):
        return False
    if left is not None and right is not None:
        less, equal = left < right, left == right
    else:
        less, equal = cell < value, cell == value
    return {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}[operator]


def _number(text: str) -> Decimal | None:
    return Decimal(text) if NUMBER.fullmatch(text) else None


def _sorted(rows: list[list[str]], place: int, descending: bool) -> list[list[str]]:
    filled = [row for row in rows if row[place].strip()]
    empty = [row for row in rows if not row[place].strip()]
    if all(_number(row[place].strip()) is not None for row in filled):
        return sorted(filled, key=lambda row: Decimal(row[place].strip()), reverse=descending) + empty
    return sorted(filled, key=lambda row: row[place].strip().casefold(), reverse=descending) + empty


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
