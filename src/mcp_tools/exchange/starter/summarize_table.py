import csv
import io
import re
from collections import Counter
from decimal import Decimal
from typing import Literal

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def summarize_table(
    table: str,
    group_by: list[str],
    function: Literal["count", "sum", "mean", "median", "min", "max", "distinct"] = "count",
    value_column: str = "",
    pivot_column: str = "",
    delimiter: Literal["auto", "comma", "semicolon", "tab", "pipe"] = "auto",
    encoding: str = "utf-8",
) -> dict:
    """Summarizes a table file (CSV, TSV) by groups, also as a pivot table: count, sum, mean, median, min, max.

    Also known as: group by, pivot table, cross tabulation, crosstab, aggregate, totals per category, subtotal, SUMIF, COUNTIF

    Args:
        table: The table: the path of a CSV or TSV file, or the text of the table itself, with a line break in it. The
            first line is a header with the names of the columns, each name once.
        group_by: The columns whose values make a group, in the order wanted; an empty list makes one group of all rows.
            Values are compared as text without white space around them; empty cells make a group of their own.
        function: The value for each group. "count" counts its rows or, with a `value_column`, the cells there that are
            not empty; "distinct" counts the different texts there; the others take them as numbers.
        value_column: The column whose cells are summarized; "" only for "count". Empty cells are left out.
        pivot_column: A column each of whose values becomes a column of the result; "" for none.
        delimiter: What separates the cells; "auto" takes the one of the four that is the most frequent in the header
            (comma if none is there).
        encoding: The character encoding of a file, such as "utf-8" (with or without a byte order mark) or "cp1252".

    Returns:
        A dict with "columns", the header of the result, and "rows", a list of lists of cells in this order, one for
        each group, sorted by the values of the group: numbers by size before other texts by code point. The columns are
        those of `group_by` (cells are text) and "value" or, with a `pivot_column`, each of its values, sorted in the
        same way. Counts are whole numbers. Sums, means and medians are worked out in decimal numbers (28 digits) and
        then given as the nearest float, or as whole numbers if they are whole, and so are min and max. A group without
        any value to summarize, or a pair that does not occur, has 0 for "count", "distinct" and "sum", else null.

    Raises:
        ValueError: If the file cannot be read, is empty, has a column name twice, or a row longer than its header; if
            the encoding is unknown or wrong; if a column is missing or named twice in `group_by` and `pivot_column`; if
            `value_column` is needed but empty; if a cell to be summarized is no number (digits with an optional sign,
            decimal point and exponent of at most 3 digits).

    Examples:
        >>> summarize_table("region,units\\nN,3\\nS,\\nN,2.5\\nN,8\\nN,4.5", ["region"], "count", "units")
        {'columns': ['region', 'value'], 'rows': [['N', 4], ['S', 0]]}
        >>> summarize_table("region,units\\nN,3\\nS,\\nN,2.5\\nN,8\\nN,4.5", ["region"], "sum", "units")
        {'columns': ['region', 'value'], 'rows': [['N', 18], ['S', 0]]}
        >>> summarize_table("region,units\\nN,3\\nS,\\nN,2.5\\nN,8\\nN,4.5", ["region"], "mean", "units")
        {'columns': ['region', 'value'], 'rows': [['N', 4.5], ['S', None]]}
        >>> summarize_table("region,units\\nN,3\\nS,\\nN,2.5\\nN,8\\nN,4.5", ["region"], "median", "units")
        {'columns': ['region', 'value'], 'rows': [['N', 3.75], ['S', None]]}
        >>> summarize_table("region,units\\nN,3\\nS,\\nN,2.5\\nN,8\\nN,4.5", ["region"], "min", "units")
        {'columns': ['region', 'value'], 'rows': [['N', 2.5], ['S', None]]}
        >>> summarize_table("region,units\\nN,3\\nS,\\nN,2.5\\nN,8\\nN,4.5", ["region"], "max", "units")
        {'columns': ['region', 'value'], 'rows': [['N', 8], ['S', None]]}
        >>> summarize_table("region,units\\nN,3\\nS,\\nN,2.5\\nN,8\\nN,4.5", ["region"], "distinct", "units")
        {'columns': ['region', 'value'], 'rows': [['N', 4], ['S', 0]]}
        >>> summarize_table("region,units\\nN,3\\nS,\\nN,2.5\\nN,8\\nN,4.5", ["region"])
        {'columns': ['region', 'value'], 'rows': [['N', 4], ['S', 1]]}
        >>> summarize_table("region,units\\nN,3\\nS,\\nN,2.5\\nN,8\\nN,4.5", [], "median", "units")
        {'columns': ['value'], 'rows': [[3.75]]}
        >>> summarize_table("n\\n3\\n1\\n8", [], "median", "n")
        {'columns': ['value'], 'rows': [[3]]}
        >>> summarize_table('item,year,n\\npen,10,3\\n"ink, red",9,1\\npen,10,2', ["item"], "sum", "n", "year")
        {'columns': ['item', '9', '10'], 'rows': [['ink, red', 1, 0], ['pen', 0, 5]]}
        >>> summarize_table("y;n\\n10;a\\nx;a\\n9;b\\n;b", ["y"])
        {'columns': ['y', 'value'], 'rows': [['9', 1], ['10', 1], ['', 1], ['x', 1]]}
        >>> summarize_table("a,b\\nx,n/a", ["a"], "sum", "b")
        Traceback (most recent call last):
        ...
        ValueError: the cell 'n/a' is no number
        >>> summarize_table("a,b\\nx,1", ["c"])
        Traceback (most recent call last):
        ...
        ValueError: there is no column 'c'; the table has a, b
        >>> summarize_table("a,b\\nx,1", ["a"], "sum")
        Traceback (most recent call last):
        ...
        ValueError: function sum needs a value_column
        >>> summarize_table("a,b\\nx,1", ["a"], pivot_column="a")
        Traceback (most recent call last):
        ...
        ValueError: the column 'a' is named twice
        >>> summarize_table("a,b\\nx,1,2", ["a"])
        Traceback (most recent call last):
        ...
        ValueError: line 2 of the table has more cells than the header
    """
    if function != "count" and not value_column:
        raise ValueError(f"function {function} needs a value_column")
    keys = group_by + [pivot_column] * bool(pivot_column)
    for name, times in Counter(keys).items():
        if times > 1:
            raise ValueError(f"the column {name!r} is named twice")
    header, rows = _read_table(table, delimiter, encoding)
    for name in keys + [value_column] * bool(value_column):
        if name not in header:
            raise ValueError(f"there is no column {name!r}; the table has {', '.join(header)}")
    places = [header.index(name) for name in group_by]
    groups: dict[tuple[str, ...], dict[str, list[str]]] = {}
    pivots: set[str] = set()
    for row in rows:
        pivot = row[header.index(pivot_column)].strip() if pivot_column else "value"
        pivots.add(pivot)
        cells = groups.setdefault(tuple(row[place].strip() for place in places), {}).setdefault(pivot, [])
        value = row[header.index(value_column)].strip() if value_column else "row"
        if value:
            cells.append(value)
    columns = sorted(pivots, key=_rank)
    if not pivot_column:
        columns = ["value"]
    ordered = sorted(groups, key=lambda key: [_rank(text) for text in key])
    return {
        "columns": group_by + columns,
        "rows": [[*key, *(_summary(groups[key].get(column, []), function) for column in columns)] for key in ordered],
    }


def _rank(text: str) -> tuple[int, Decimal, str]:
    return (0, Decimal(text), text) if NUMBER.fullmatch(text) else (1, Decimal(0), text)


def _summary(texts: list[str], function: str) -> int | float | None:
    if function == "count":
        return len(texts)
    if function == "distinct":
        return len(set(texts))
    numbers = sorted(_number(text) for text in texts)
    if function == "sum":
        return _plain(sum(numbers, Decimal(0)))
    if not numbers:
        return None
    if function == "mean":
        return _plain(sum(numbers, Decimal(0)) / len(numbers))
    if function == "median":
        middle = len(numbers) // 2
        return _plain(numbers[middle] if len(numbers) % 2 else (numbers[middle - 1] + numbers[middle]) / 2)
    return _plain(numbers[0] if function == "min" else numbers[-1])


def _number(text: str) -> Decimal:
    if not NUMBER.fullmatch(text):
        raise ValueError(f"the cell {text[:40]!r} is no number")
    number = Decimal(text)
    if number.adjusted() > 300:
        raise ValueError(f"the cell {text[:40]!r} is too large a number")
    return number


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
