import csv
import io
import re
from typing import Literal

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}


def compare_tables(
    old: str,
    new: str,
    keys: list[str],
    max_listed: int = 100,
    delimiter: Literal["auto", "comma", "semicolon", "tab", "pipe"] = "auto",
    encoding: str = "utf-8",
) -> dict:
    """Compares two versions of a table file (CSV, TSV) by key columns: rows added and removed, and cells changed.

    Cells are compared as text, exactly, except for white space around them, so "1.0" differs from "1". The order of
    rows and columns does not matter.

    Also known as: CSV diff, table diff, compare spreadsheets, what changed between two CSV files, reconcile, data diff

    Args:
        old: The earlier table: the path of a CSV or TSV file, or the text of the table itself, with a line break in it.
            The first line is a header with the names of the columns, each name once.
        new: The later table, given in the same way.
        keys: The names of the columns, in both tables, that tell which row is which: one or more. Each row has other
            values there.
        max_listed: The largest number of added rows, of removed rows, and of changed cells that are listed, 0 or more;
            all are counted.
        delimiter: What separates the cells of both tables; "auto" takes for each table the one of the four that is the
            most frequent in its header (comma if none is there).
        encoding: The character encoding of files, such as "utf-8" (with or without a byte order mark) or "cp1252".

    Returns:
        A dict with
        "equal": whether rows, cells and the names of the columns are the same,
        "columns_added", "columns_removed": lists of the names that only the new or only the old table has (their cells
        are not compared),
        "rows_added", "rows_removed", "rows_changed", "rows_unchanged", "cells_changed": counts,
        "added", "removed": lists of rows that only the new or only the old table has, each a dict from column to text,
        in the order of their table,
        "changed": a list of dicts with "key" (a dict from key column to text), "column", "old" and "new", in the order
        of the rows and columns of the old table. All texts are without white space around them.

    Raises:
        ValueError: If a file cannot be read, is empty, has a column name twice, or a row longer than its header; if the
            encoding is unknown or wrong; if `keys` is empty or names a column that a table lacks; if two rows of a
            table have the same key; if `max_listed` is negative.

    Examples:
        >>> compare_tables("id,n,p\\n1,pen,2\\n2,ink,5\\n3,cap,1", "p,id,n,q\\n2,1,pen,x\\n6,2,Ink,y\\n4,4,box,z", ["id"])
        {'equal': False, 'columns_added': ['q'], 'columns_removed': [], 'rows_added': 1, 'rows_removed': 1, 'rows_changed': 1, 'rows_unchanged': 1, 'cells_changed': 2, 'added': [{'p': '4', 'id': '4', 'n': 'box', 'q': 'z'}], 'removed': [{'id': '3', 'n': 'cap', 'p': '1'}], 'changed': [{'key': {'id': '2'}, 'column': 'n', 'old': 'ink', 'new': 'Ink'}, {'key': {'id': '2'}, 'column': 'p', 'old': '5', 'new': '6'}]}
        >>> compare_tables("id;n\\n1; a\\n2;b", "n,id\\nb,2\\na,1", ["id"])
        {'equal': True, 'columns_added': [], 'columns_removed': [], 'rows_added': 0, 'rows_removed': 0, 'rows_changed': 0, 'rows_unchanged': 2, 'cells_changed': 0, 'added': [], 'removed': [], 'changed': []}
        >>> compare_tables("id,n,m\\n1,a,", "id,n\\n1,a", ["id", "n"])
        {'equal': False, 'columns_added': [], 'columns_removed': ['m'], 'rows_added': 0, 'rows_removed': 0, 'rows_changed': 0, 'rows_unchanged': 1, 'cells_changed': 0, 'added': [], 'removed': [], 'changed': []}
        >>> compare_tables("id,n\\n1,a\\n2,b\\n3,c\\n4,d", "id,n\\n1,x\\n2,y\\n5,e\\n6,f", ["id"], max_listed=1)
        {'equal': False, 'columns_added': [], 'columns_removed': [], 'rows_added': 2, 'rows_removed': 2, 'rows_changed': 2, 'rows_unchanged': 0, 'cells_changed': 2, 'added': [{'id': '5', 'n': 'e'}], 'removed': [{'id': '3', 'n': 'c'}], 'changed': [{'key': {'id': '1'}, 'column': 'n', 'old': 'a', 'new': 'x'}]}
        >>> compare_tables("id\\n1\\n", "id\\n2\\n", ["id"], max_listed=0)
        {'equal': False, 'columns_added': [], 'columns_removed': [], 'rows_added': 1, 'rows_removed': 1, 'rows_changed': 0, 'rows_unchanged': 0, 'cells_changed': 0, 'added': [], 'removed': [], 'changed': []}
        >>> compare_tables("a,b\\n1,2\\n1,2", "a,b\\n1,2", ["a", "b"])
        Traceback (most recent call last):
        ...
        ValueError: the old table has two rows with the key 1, 2
        >>> compare_tables("a\\n1", "b\\n1", ["a"])
        Traceback (most recent call last):
        ...
        ValueError: the new table has no column 'a'; it has b
        >>> compare_tables("a\\n1", "a\\n1", [])
        Traceback (most recent call last):
        ...
        ValueError: keys is empty
        >>> compare_tables("a\\n1", "a\\n1", ["a"], max_listed=-1)
        Traceback (most recent call last):
        ...
        ValueError: max_listed must be 0 or more, not -1
        >>> compare_tables("a\\n1,2", "a\\n1", ["a"])
        Traceback (most recent call last):
        ...
        ValueError: line 2 of the table has more cells than the header
    """
    if not keys:
        raise ValueError("keys is empty")
    if max_listed < 0:
        raise ValueError(f"max_listed must be 0 or more, not {max_listed}")
    old_header, old_cells = _read_table(old, delimiter, encoding)
    new_header, new_cells = _read_table(new, delimiter, encoding)
    old_rows, new_rows = _by_key("old", old_header, old_cells, keys), _by_key("new", new_header, new_cells, keys)
    common = [name for name in old_header if name in new_header]
    added = [row for key, row in new_rows.items() if key not in old_rows]
    removed = [row for key, row in old_rows.items() if key not in new_rows]
    changed = []
    rows_changed = 0
    for key, row in old_rows.items():
        if key in new_rows:
            names = [name for name in common if row[name] != new_rows[key][name]]
            rows_changed += bool(names)
            for name in names:
                named_key = dict(zip(keys, key))
                changed.append({"key": named_key, "column": name, "old": row[name], "new": new_rows[key][name]})
    columns_added = [name for name in new_header if name not in old_header]
    columns_removed = [name for name in old_header if name not in new_header]
    return {
        "equal": not (added or removed or changed or columns_added or columns_removed),
        "columns_added": columns_added,
        "columns_removed": columns_removed,
        "rows_added": len(added),
        "rows_removed": len(removed),
        "rows_changed": rows_changed,
        "rows_unchanged": len(old_rows) - len(removed) - rows_changed,
        "cells_changed": len(changed),
        "added": added[:max_listed],
        "removed": removed[:max_listed],
        "changed": changed[:max_listed],
    }


def _by_key(
    age: str, header: list[str], rows: list[list[str]], keys: list[str]
) -> dict[tuple[str, ...], dict[str, str]]:
    for key in keys:
        if key not in header:
            raise ValueError(f"the {age} table has no column {key!r}; it has {', '.join(header)}")
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for cells in rows:
        row = {name: cell.strip() for name, cell in zip(header, cells)}
        key_values = tuple(row[key] for key in keys)
        if key_values in found:
            raise ValueError(f"the {age} table has two rows with the key {', '.join(key_values)}")
        found[key_values] = row
    return found


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
