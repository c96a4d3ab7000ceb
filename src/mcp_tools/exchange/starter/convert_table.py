# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.alita]
# write = true
# ///

import csv
import io
import json
import re
from typing import Literal

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")
WORDS = {"": None, "true": True, "false": False, "null": None}
SEPARATORS = {"csv": ",", "csv_semicolon": ";", "tsv": "\t"}

Format = Literal["csv", "csv_semicolon", "tsv", "json", "json_lines", "markdown"]


def convert_table(
    table: str,
    source: Format,
    target: Format,
    output_name: str = "",
    infer_types: bool = False,
    encoding: str = "utf-8",
) -> dict:
    """Converts a table between CSV, TSV, JSON, JSON lines and Markdown, as a file or as text.

    Also known as: CSV to JSON, JSON to CSV, CSV to Markdown, NDJSON, JSONL, spreadsheet export, reformat a table

    Args:
        table: The table: the path of a file, or the text of the table itself, with a line break in it.
        source: The format of `table`:
            "csv", "csv_semicolon", "tsv": a header line, then one line for each row, with cells between commas,
            semicolons or tabs, and double quotes around cells that need them; blank lines are skipped, short rows
            filled up;
            "json": a list of objects; "json_lines": one object on each line, blank lines are skipped; in both, the
            columns are all keys in the order of their first occurrence, and a missing key is null;
            "markdown": a table with | between the cells, whose second line has hyphens; "\\|" in a cell is "|", "<br>"
            a line break.
        target: The format of the result. CSV and TSV use double quotes only where needed; null becomes an empty cell,
            true and false these words, lists and objects JSON. Markdown writes the same, with line breaks as "<br>".
            "json", too, has one object per line, between lines with [ and ].
        output_name: The name of the file that is written (UTF-8, lines end with LF): a plain name with an extension,
            such as "table.json". "" writes none and returns the text.
        infer_types: Whether cells of CSV, TSV and Markdown become numbers (such as -3, 2.5 or 1e6, but not 007 or +3),
            true, false or null (the word or nothing) where they look so; else all cells are texts.
        encoding: The character encoding of a file that is read, such as "utf-8" (with or without a byte order mark) or
            "cp1252".

    Returns:
        A dict with "rows" (how many there are), "columns" (their names), "file" (the name of the written file or null)
        and "text" (the converted table, whose last line has a line end, or null if a file was written).

    Raises:
        ValueError: If the file cannot be read, if the encoding is unknown or wrong, if the table is empty, is not in
            the source format, has a column name twice, or a row longer than its header, or if the output name is not
            plain.

    Examples:
        >>> convert_table("a,b\\n1,x\\n,\\"y, z\\"", "csv", "json_lines")
        {'rows': 2, 'columns': ['a', 'b'], 'file': None, 'text': '{"a": "1", "b": "x"}\\n{"a": "", "b": "y, z"}\\n'}
        >>> convert_table("a,b\\n1,x\\n,007", "csv", "json", infer_types=True)
        {'rows': 2, 'columns': ['a', 'b'], 'file': None, 'text': '[\\n{"a": 1, "b": "x"},\\n{"a": null, "b": "007"}\\n]\\n'}
        >>> convert_table('{"a": 1.5, "b": "é;"}\\n{"c": [true], "a": null}', "json_lines", "csv_semicolon")
        {'rows': 2, 'columns': ['a', 'b', 'c'], 'file': None, 'text': 'a;b;c\\n1.5;"é;";\\n;;[true]\\n'}
        >>> convert_table('[{"a": "x|y", "b": true},\\n{"a": "1\\\\n2"}]', "json", "markdown")
        {'rows': 2, 'columns': ['a', 'b'], 'file': None, 'text': '| a | b |\\n| --- | --- |\\n| x\\\\|y | true |\\n| 1<br>2 |  |\\n'}
        >>> convert_table("| a | b |\\n|:--|--:|\\n| x\\\\|y | 1<br>2 |\\n", "markdown", "tsv")
        {'rows': 1, 'columns': ['a', 'b'], 'file': None, 'text': 'a\\tb\\nx|y\\t"1\\n2"\\n'}
        >>> convert_table("a\\n1\\n", "tsv", "csv", output_name="out.csv")
        {'rows': 1, 'columns': ['a'], 'file': 'out.csv', 'text': None}
        >>> convert_table("a,b\\n1,2,3", "csv", "json")
        Traceback (most recent call last):
        ...
        ValueError: a row has 3 cells, but the header has 2
        >>> convert_table("a,a\\n1,2", "csv", "json")
        Traceback (most recent call last):
        ...
        ValueError: a column name stands twice: a, a
        >>> convert_table('{"a": 1}\\n[2]', "json_lines", "csv")
        Traceback (most recent call last):
        ...
        ValueError: each row must be a JSON object, not [2]
        >>> convert_table("a | b\\nc | d", "markdown", "csv")
        Traceback (most recent call last):
        ...
        ValueError: the second line of a Markdown table must have hyphens, not 'c | d'
        >>> convert_table("a\\n1", "csv", "json", output_name="../a.json")
        Traceback (most recent call last):
        ...
        ValueError: output_name must be a plain name with an extension, not '../a.json'
    """
    if output_name and not re.fullmatch(r"\w[^/\\\x00-\x1f]*\.\w+", output_name):
        raise ValueError(f"output_name must be a plain name with an extension, not {output_name!r}")
    text = (table if "\n" in table else _file_text(table, encoding)).removeprefix("\ufeff")
    if source in ("json", "json_lines"):
        columns, rows = _from_json(text, source)
    else:
        columns, rows = _from_cells(_markdown_cells(text) if source == "markdown" else _csv_cells(text, source))
        if infer_types:
            rows = [[_inferred(str(cell)) for cell in row] for row in rows]
    written = _written(columns, rows, target)
    if output_name:
        with open(output_name, "w", encoding="utf-8", newline="") as file:
            file.write(written)
    return {
        "rows": len(rows),
        "columns": columns,
        "file": output_name or None,
        "text": None if output_name else written,
    }


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


def _csv_cells(text: str, source: str) -> list[list[str]]:
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=SEPARATORS[source], strict=True)
        return [row for row in reader if row]
    except csv.Error as error:
        raise ValueError(f"the table is not {source}: {error}") from None


def _markdown_cells(text: str) -> list[list[str]]:
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", text) if line.strip()]
    cells = []
    for line in lines:
        inner = re.sub(r"(?<!\\)\|$", "", line.removeprefix("|"))
        parts = re.split(r"(?<!\\)\|", inner)
        cells.append([part.strip().replace("\\|", "|").replace("<br>", "\n") for part in parts])
    header, ruler, rows = cells[:1], cells[1:2], cells[2:]
    if not ruler or not all(re.fullmatch(":?-+:?", cell) for cell in ruler[0]):
        shown = "".join(lines[1:2])
        raise ValueError(f"the second line of a Markdown table must have hyphens, not {shown!r}")
    return header + rows


def _from_cells(cells: list[list[str]]) -> tuple[list[str], list[list]]:
    if not cells:
        raise ValueError("the table is empty")
    columns, rows = [name.strip() for name in cells[0]], cells[1:]
    if len(set(columns)) < len(columns):
        raise ValueError(f"a column name stands twice: {', '.join(columns)}")
    for row in rows:
        if len(row) > len(columns):
            raise ValueError(f"a row has {len(row)} cells, but the header has {len(columns)}")
    return columns, [row + [""] * (len(columns) - len(row)) for row in rows]


def _from_json(text: str, source: str) -> tuple[list[str], list[list]]:
    try:
        if source == "json":
            records = json.loads(text, parse_constant=_constant)
        else:
            records = [json.loads(line, parse_constant=_constant) for line in text.split("\n") if line.strip()]
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"the table is not {source}: {error}") from None
    if not isinstance(records, list) or not records:
        raise ValueError("the table is empty or no list of objects")
    columns: dict[str, None] = {}
    for record in records:
        if not isinstance(record, dict):
            raise ValueError(f"each row must be a JSON object, not {json.dumps(record)}")
        columns |= dict.fromkeys(record)
    return list(columns), [[record.get(name) for name in columns] for record in records]


def _constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _inferred(text: str) -> object:
    plain = text.strip()
    if plain.lower() in WORDS:
        return WORDS[plain.lower()]
    return json.loads(plain) if NUMBER.fullmatch(plain) else text


def _written(columns: list[str], rows: list[list], target: str) -> str:
    if target in ("json", "json_lines"):
        lines = [json.dumps(dict(zip(columns, row)), ensure_ascii=False) for row in rows]
        return (
            "\n".join(["[", ",\n".join(lines), "]", ""]) if target == "json" else "".join(f"{line}\n" for line in lines)
        )
    cells = [[_cell(value) for value in row] for row in rows]
    if target == "markdown":
        lines = [_markdown_line(columns), _markdown_line(["---"] * len(columns)), *map(_markdown_line, cells)]
        return "".join(f"{line}\n" for line in lines)
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=SEPARATORS[target], lineterminator="\n").writerows([columns, *cells])
    return buffer.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _markdown_line(cells: list[str]) -> str:
    shown = [re.sub(r"\r\n|\r|\n", "<br>", cell.replace("|", "\\|")) for cell in cells]
    return f"| {' | '.join(shown)} |"
