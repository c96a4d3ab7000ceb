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
from typing import Literal

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}


def join_tables(
    left: str,
    right: str,
    left_keys: list[str],
    right_keys: list[str] | None = None,
    how: Literal["inner", "left", "right", "outer"] = "inner",
    output_name: str = "joined.csv",
    delimiter: Literal["auto", "comma", "semicolon", "tab", "pipe"] = "auto",
    encoding: str = "utf-8",
) -> dict:
    """Joins two table files (CSV, TSV) on key columns, writes a CSV file, and counts the rows without a partner.

    Keys are compared as text, exactly, except for white space around them; a row with an empty key matches nothing. If
    a key occurs in several rows, each row of the left table is joined with each of the right one.

    Also known as: merge tables, VLOOKUP, SQL join, inner join, left join, outer join, combine CSV files, lookup by ID

    Args:
        left: The left table: the path of a CSV or TSV file, or the text of the table itself, with a line break in it.
            The first line is a header with the names of the columns, each name once.
        right: The right table, given in the same way.
        left_keys: The names of one or more columns of the left table.
        right_keys: The columns of the right table that they are compared with, in the same order; null if the names are
            the same.
        how: "inner" keeps rows that have a partner; "left" also the other rows of the left table, "right" those of the
            right table, "outer" both. Cells without a value are empty.
        output_name: The name of the file that is written: a plain name that ends in ".csv".
        delimiter: What separates the cells of both tables; "auto" takes for each table the one of the four that is the
            most frequent in its header (comma if none is there).
        encoding: The character encoding of files, such as "utf-8" (with or without a byte order mark) or "cp1252".

    Returns:
        A dict with "file" (the name of the written file: UTF-8, comma-separated, lines end with LF), "columns" (its
        header: the columns of the left table, then those of the right one without its keys, with "_right" added to
        names that the left one has, too), "rows" (how many rows were written: those of the left table in order, each
        with its partners in order, then rows of the right table alone, whose keys stand in the columns of the left keys), "left_rows" and
        "right_rows" (how many the tables have), "left_unmatched" and "right_unmatched" (how many of them have no
        partner, whether written or not), and "first_rows" (up to 10 of the written rows as lists of texts).

    Raises:
        ValueError: If a file cannot be read, is empty, has a column name twice, or a row longer than its header; if the
            encoding is unknown or wrong; if a key column is missing, the keys are empty or differ in number; if a
            result column would occur twice; if the output name is not plain.

    Examples:
        >>> join_tables("id,name\\n1,Ann\\n2,Bo\\n,Cy\\n1,Di", "id;city\\n1;Rome\\n3;Oslo\\n1;Bern", ["id"])
        {'file': 'joined.csv', 'columns': ['id', 'name', 'city'], 'rows': 4, 'left_rows': 4, 'right_rows': 3, 'left_unmatched': 2, 'right_unmatched': 1, 'first_rows': [['1', 'Ann', 'Rome'], ['1', 'Ann', 'Bern'], ['1', 'Di', 'Rome'], ['1', 'Di', 'Bern']]}
        >>> join_tables("id,name\\n1,Ann\\n2,Bo\\n,Cy\\n1,Di", "id;city\\n1;Rome\\n3;Oslo\\n1;Bern", ["id"], how="left")
        {'file': 'joined.csv', 'columns': ['id', 'name', 'city'], 'rows': 6, 'left_rows': 4, 'right_rows': 3, 'left_unmatched': 2, 'right_unmatched': 1, 'first_rows': [['1', 'Ann', 'Rome'], ['1', 'Ann', 'Bern'], ['2', 'Bo', ''], ['', 'Cy', ''], ['1', 'Di', 'Rome'], ['1', 'Di', 'Bern']]}
        >>> join_tables("id,name\\n1,Ann\\n2,Bo\\n,Cy\\n1,Di", "id;city\\n1;Rome\\n3;Oslo\\n1;Bern", ["id"], how="right")
        {'file': 'joined.csv', 'columns': ['id', 'name', 'city'], 'rows': 5, 'left_rows': 4, 'right_rows': 3, 'left_unmatched': 2, 'right_unmatched': 1, 'first_rows': [['1', 'Ann', 'Rome'], ['1', 'Ann', 'Bern'], ['1', 'Di', 'Rome'], ['1', 'Di', 'Bern'], ['3', '', 'Oslo']]}
        >>> join_tables("id,name\\n1,Ann\\n2,Bo\\n,Cy\\n1,Di", "id;city\\n1;Rome\\n3;Oslo\\n1;Bern", ["id"], how="outer")
        {'file': 'joined.csv', 'columns': ['id', 'name', 'city'], 'rows': 7, 'left_rows': 4, 'right_rows': 3, 'left_unmatched': 2, 'right_unmatched': 1, 'first_rows': [['1', 'Ann', 'Rome'], ['1', 'Ann', 'Bern'], ['2', 'Bo', ''], ['', 'Cy', ''], ['1', 'Di', 'Rome'], ['1', 'Di', 'Bern'], ['3', '', 'Oslo']]}
        >>> join_tables("a,x\\n 1,p", "k,x\\n1,q", ["a"], ["k"])
        {'file': 'joined.csv', 'columns': ['a', 'x', 'x_right'], 'rows': 1, 'left_rows': 1, 'right_rows': 1, 'left_unmatched': 0, 'right_unmatched': 0, 'first_rows': [[' 1', 'p', 'q']]}
        >>> join_tables("a,b,v\\n1,2,x\\n1,3,y", "b,a,w\\n3,1,z", ["a", "b"])
        {'file': 'joined.csv', 'columns': ['a', 'b', 'v', 'w'], 'rows': 1, 'left_rows': 2, 'right_rows': 1, 'left_unmatched': 1, 'right_unmatched': 0, 'first_rows': [['1', '3', 'y', 'z']]}
        >>> join_tables("a\\n1", "b\\n1", [])
        Traceback (most recent call last):
        ...
        ValueError: left_keys is empty
        >>> join_tables("a\\n1", "b,c\\n1,2", ["a"], ["b", "c"])
        Traceback (most recent call last):
        ...
        ValueError: left_keys has 1 columns, right_keys 2
        >>> join_tables("a\\n1", "b\\n1", ["a"])
        Traceback (most recent call last):
        ...
        ValueError: the right table has no column 'a'; it has b
        >>> join_tables("a,x,x_right\\n1,2,3", "a,x\\n1,2", ["a"])
        Traceback (most recent call last):
        ...
        ValueError: a column of the result would occur twice: rename the columns that end in _right
        >>> join_tables("a\\n1", "a\\n1", ["a"], output_name="../x.csv")
        Traceback (most recent call last):
        ...
        ValueError: output_name must be a plain name that ends in .csv, not '../x.csv'
    """
    right_keys = left_keys if right_keys is None else right_keys
    if not left_keys:
        raise ValueError("left_keys is empty")
    if len(left_keys) != len(right_keys):
        raise ValueError(f"left_keys has {len(left_keys)} columns, right_keys {len(right_keys)}")
    if not re.fullmatch(r"[^/\\\x00-\x1f]+\.csv", output_name) or output_name.startswith("."):
        raise ValueError(f"output_name must be a plain name that ends in .csv, not {output_name!r}")
    left_header, left_table = _read_table(left, delimiter, encoding)
    right_header, right_table = _read_table(right, delimiter, encoding)
    left_places, right_places = _places("left", left_header, left_keys), _places("right", right_header, right_keys)
    extra = [i for i in range(len(right_header)) if i not in right_places]
    added = [right_header[i] + "_right" * (right_header[i] in left_header) for i in extra]
    columns = left_header + added
    if len(set(columns)) < len(columns):
        raise ValueError("a column of the result would occur twice: rename the columns that end in _right")
    partners: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(right_table):
        partners.setdefault(_key(row, right_places), []).append(number)
    result: list[list[str]] = []
    matched: set[int] = set()
    left_unmatched = 0
    for row in left_table:
        key = _key(row, left_places)
        found = partners.get(key, []) if all(key) else []
        matched.update(found)
        left_unmatched += not found
        result += [row + [right_table[number][i] for i in extra] for number in found]
        if not found and how in ("left", "outer"):
            result.append(row + [""] * len(extra))
    if how in ("right", "outer"):
        for number, row in enumerate(right_table):
            if number not in matched:
                alone = [""] * len(left_header)
                for left_place, right_place in zip(left_places, right_places):
                    alone[left_place] = row[right_place]
                result.append(alone + [row[i] for i in extra])
    with open(output_name, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *result])
    return {
        "file": output_name,
        "columns": columns,
        "rows": len(result),
        "left_rows": len(left_table),
        "right_rows": len(right_table),
        "left_unmatched": left_unmatched,
        "right_unmatched": len(right_table) - len(matched),
        "first_rows": result[:10],
    }


def _places(side: str, header: list[str], keys: list[str]) -> list[int]:
    for key in keys:
        if key not in header:
            raise ValueError(f"the {side} table has no column {key!r}; it has {', '.join(header)}")
    return [header.index(key) for key in keys]


def _key(row: list[str], places: list[int]) -> tuple[str, ...]:
    return tuple(row[place].strip() for place in places)


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
