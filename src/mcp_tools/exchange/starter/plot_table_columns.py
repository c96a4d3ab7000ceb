# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.alita]
# write = true
# tools = ["draw_chart"]
# ///

import csv
import io
import re
from typing import Literal

from draw_chart import draw_chart

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
MISSING = ["NA", "N/A", "NaN", "null", "none", "-"]
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")


def plot_table_columns(
    table: str,
    x_column: str,
    y_columns: list[str],
    kind: Literal["line", "bar", "scatter"] = "line",
    title: str = "",
    y_label: str = "",
    missing: list[str] | None = None,
    output_name: str = "chart.png",
    delimiter: Literal["auto", "comma", "semicolon", "tab", "pipe"] = "auto",
    encoding: str = "utf-8",
) -> dict:
    """Draws columns of a table file (CSV, TSV) as a line, bar or scatter chart over another column, as PNG or SVG.

    Also known as: plot a CSV file, chart from a spreadsheet, graph columns, time series plot, visualize a table

    Args:
        table: The table: the path of a CSV or TSV file, or the text of the table itself, with a line break in it. The
            first line is a header with the names of the columns, each name once.
        x_column: The column for the horizontal axis, whose name becomes its label. If all its cells are numbers, it has
            a scale of numbers; else its cells, such as names and dates, are put side by side in the order of the table.
            A bar chart puts numbers side by side, too.
        y_columns: One or more columns of numbers (digits with an optional sign, decimal point and exponent), each drawn
            as a series.
        kind: "line", "bar" or "scatter".
        title: The title above the chart; "" for none.
        y_label: The label of the vertical axis, with its unit; "" takes the name of the column if there is only one,
            else none.
        missing: The texts in `y_columns` that stand for a missing value, which is not drawn; null means "NA", "N/A",
            "NaN", "null", "none" and "-", in upper or lower case. An empty cell is always missing.
        output_name: The name of the file that is written: a plain name that ends in ".png" or ".svg".
        delimiter: What separates the cells; "auto" takes the one of the four that is the most frequent in the header
            (comma if none is there).
        encoding: The character encoding of a file, such as "utf-8" (with or without a byte order mark) or "cp1252".

    Returns:
        A dict with "file" (the name of the written file), "points" (a dict from each column to how many of its values
        were drawn), "x_texts" (the texts under the horizontal axis, empty if it has a scale of numbers), "y_min" and
        "y_max" (the smallest and largest drawn value), "labels" (the title and the labels of the horizontal and
        vertical axis).

    Raises:
        ValueError: If the file cannot be read, is empty, has a column name twice, or a row longer than its header; if
            the encoding is unknown or wrong; if `y_columns` is empty or names a column twice; if a column is missing or
            has no value; if a cell to be drawn is no number; if the output name is not plain.

    Examples:
        >>> plot_table_columns("day,rain_mm\\n2026-03-01,4.5\\n2026-03-02,NA\\n2026-03-03,0", "day", ["rain_mm"], title="March")
        {'file': 'chart.png', 'points': {'rain_mm': 2}, 'x_texts': ['2026-03-01', '2026-03-02', '2026-03-03'], 'y_min': 0, 'y_max': 4.5, 'labels': ['March', 'day', 'rain_mm']}
        >>> plot_table_columns("t;a;b\\n0;1;?\\n1.5;-2;7\\n3;;8", "t", ["a", "b"], "scatter", y_label="m", missing=["?"], output_name="ab.svg")
        {'file': 'ab.svg', 'points': {'a': 2, 'b': 2}, 'x_texts': [], 'y_min': -2, 'y_max': 8, 'labels': ['', 't', 'm']}
        >>> plot_table_columns("t,a,b\\n1,1,2\\nx,3,4", "t", ["a", "b"], "bar")
        {'file': 'chart.png', 'points': {'a': 2, 'b': 2}, 'x_texts': ['1', 'x'], 'y_min': 1, 'y_max': 4, 'labels': ['', 't', '']}
        >>> plot_table_columns("t,a\\n1,x", "t", ["a"])
        Traceback (most recent call last):
        ...
        ValueError: the cell 'x' of the column 'a' is no number
        >>> plot_table_columns("t,a\\n1,2", "t", ["b"])
        Traceback (most recent call last):
        ...
        ValueError: there is no column 'b'; the table has t, a
        >>> plot_table_columns("t,a\\n1,2", "t", [])
        Traceback (most recent call last):
        ...
        ValueError: y_columns is empty or has a name twice
    """
    if not y_columns or len(set(y_columns)) < len(y_columns):
        raise ValueError("y_columns is empty or has a name twice")
    header, rows = _read_table(table, delimiter, encoding)
    for name in [x_column, *y_columns]:
        if name not in header:
            raise ValueError(f"there is no column {name!r}; the table has {', '.join(header)}")
    if not rows:
        raise ValueError("the table has no rows")
    absent = {text.strip().lower() for text in (MISSING if missing is None else missing)} | {""}
    shown = [row[header.index(x_column)].strip() for row in rows]
    numeric = all(NUMBER.fullmatch(text) for text in shown)
    series = {}
    for name in y_columns:
        cells = [row[header.index(name)].strip() for row in rows]
        series[name] = [None if cell.lower() in absent else _number(cell, name) for cell in cells]
    chart = draw_chart(
        x=[float(text) for text in shown] if numeric else shown,
        series=series,
        kind=kind,
        title=title,
        x_label=x_column,
        y_label=y_label or (y_columns[0] if len(y_columns) == 1 else ""),
        output_name=output_name,
    )
    return {name: chart[name] for name in ("file", "points", "x_texts", "y_min", "y_max", "labels")}


def _number(cell: str, column: str) -> float:
    if not NUMBER.fullmatch(cell):
        raise ValueError(f"the cell {cell[:40]!r} of the column {column!r} is no number")
    return float(cell)


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
