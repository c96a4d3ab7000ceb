"""Runs inside the sandbox, as a module beside a program: opens attached files, and tells what they hold.

It imports libraries and nothing else of the project: the rest is not there.
"""

from __future__ import annotations

import json
import re
import warnings
from itertools import groupby
from pathlib import Path
from typing import Any

_LARGE = 50_000_000
"""Bytes from which on a table is read by pandas alone, which takes less memory."""
_NUMBER = re.compile(
    r"(?P<bracket>\()?\s?(?P<sign>[-+]?)\s?(?P<before>[$€£]?)\s?(?P<inner>[-+]?)"
    r"(?P<digits>\d[\d.,'\u00a0\u202f ]*?)(?P<power>e[-+]?\d+)?\s?(?P<after>[%€$£]?)(?(bracket)\))",
    re.IGNORECASE,
)
_WHOLE = {
    mark: re.compile(rf"\d+|\d{{1,3}}(?:(?P<between>[{separators}'\u00a0\u202f ])\d{{3}})(?:(?P=between)\d{{3}})*")
    for mark, separators in ((".", ","), (",", "."))
}
"""The digits before a decimal mark: in groups of three, if in any, so that `1,5` is never 15."""
_CODE = re.compile(r"[-+]?0\d+$")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?$")
_TOTAL = re.compile(r"(?:grand |sub)?(?:total|sum|summe|gesamt)\b", re.IGNORECASE)
_ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?\s*)?$")
_CELL = re.compile(r"(?<!\\)\|")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)$")
_LABELLED = re.compile(r"\s*(\S[^:|]{0,60}?)\s*[:=]\s*([-+]?[$€£]?\s?\d[\d.,]*)\s*(\D{0,30}?)\s*$")
_MARKS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_FEWEST = 3
"""Items of a list, labelled lines, and tables of the same columns, from which on they are one table."""
_SHORT = 40
"""Characters of a line above a table that is its heading."""


def load(files: list[dict[str, Any]]) -> dict[str, Any]:
    """What the files hold, by the names of variables.

    Args:
        files: Each with name, path, kind, facts, the path of its text where it has one, and whether that holds tables.
    """
    found = [
        (label, label if label in ("items", "lines") else _usual_name(value), value)
        for file in files
        for label, value in _opened(file)
    ]
    is_single = len(files) == 1
    alone = is_single and sum(_usual_name(value) == "table" for _, _, value in found) < 2
    named: dict[str, Any] = {}
    for label, usual, value in found:
        name = base = usual if alone or (is_single and usual != "table") else _identifier(label, usual)
        number = 2
        while name in named:
            name, number = f"{base}_{number}", number + 1
        named[name] = value
    return named


def _opened(file: dict[str, Any]) -> list[tuple[str, Any]]:
    kind, path, name = file["kind"], file["path"], file["name"]
    if kind in ("csv", "tsv"):
        return [(name, _delimited(path, file["facts"]))]
    if kind in ("xlsx", "xls", "xlsb", "ods"):
        return workbook(path, name)
    if kind == "sqlite":
        return _database(path)
    if kind in ("json", "jsonld", "jsonl"):
        return [(name, _records(_json(path, kind)))]
    if kind == "xml":
        return [(name, _elements(path))]
    texts = _texts(file["text"], file["facts"])
    named = [(name if isinstance(value, str) else f"{name} pages", value) for value in texts]
    return [*(tables_in(texts[0]) if file["tables"] else []), *named]


def _delimited(path: str, facts: dict[str, Any]) -> Any:
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

    options: dict[str, Any] = {
        "sep": facts.get("delimiter", ","),
        "encoding": facts.get("encoding", "utf-8"),
        "encoding_errors": "replace",
        "skiprows": facts.get("lines_above", 0),
        "header": 0 if facts.get("header") else None,
        "on_bad_lines": "warn",
    }
    is_large = Path(path).stat().st_size > _LARGE
    if is_large:
        options |= {"decimal": facts.get("decimal", ".")}
    else:
        options |= {"dtype": str, "keep_default_na": False, "skipinitialspace": True}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        table = pd.read_csv(path, **options)
    if not is_large:
        for column in table.columns:
            table[column] = typed(table[column], facts.get("decimal", "."))
    if skipped := sum(str(warning.message).count("Skipping line") for warning in warned):
        table.attrs["skipped"] = skipped
    if not facts.get("header"):
        table.columns = [f"column_{number}" for number in range(1, len(table.columns) + 1)]
    return named_columns(table)


def _database(path: str) -> list[tuple[str, Any]]:
    import sqlite3

    import pandas as pd

    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    names = connection.execute(
        "select name from sqlite_master where type in ('table','view') and name not like 'sqlite_%'"
    )
    quoted = {str(name): str(name).replace('"', '""') for (name,) in names}
    return [(name, pd.read_sql(f'select * from "{inner}"', connection)) for name, inner in quoted.items()]  # noqa: S608 - quoted


def _json(path: str, kind: str) -> Any:
    with Path(path).open(encoding="utf-8-sig") as file:
        return [json.loads(line) for line in file if line.strip()] if kind == "jsonl" else json.load(file)


def _records(data: Any) -> Any:
    """A list of flat objects as a table; anything else as it is."""
    import pandas as pd

    is_list = isinstance(data, list) and data and all(isinstance(item, dict) for item in data)
    is_flat = is_list and not any(isinstance(value, dict | list) for item in data for value in item.values())
    return pd.DataFrame(data) if is_flat else data


def _elements(path: str) -> Any:
    import xml.etree.ElementTree as ET

    import pandas as pd

    root = ET.parse(path).getroot()  # noqa: S314 - in the sandbox, under its limits
    parents = [root, *root]
    rows = max(parents, key=len)
    if len(rows) < 2 or len({child.tag for child in rows}) > 1:
        return root
    flat = [
        {**child.attrib, **{part.tag: (part.text or "").strip() for part in child if not len(part)}} for child in rows
    ]
    if any(len(part) for child in rows for part in child) or not any(flat):
        return root
    table = pd.DataFrame(flat)
    for column in table.columns:
        table[column] = typed(table[column].fillna(""), ".")
    return table


def _texts(path: str, facts: dict[str, Any]) -> list[Any]:
    if path.endswith(".transcript.json"):
        return [_json(path, "json")["text"]]
    if path.endswith(".pages.jsonl"):
        pages = [page["text"] for page in _json(path, "jsonl")]
        return ["\n".join(pages), pages]
    with Path(path).open(encoding=str(facts.get("encoding") or "utf-8"), errors="replace") as file:
        return [file.read().removeprefix("\ufeff")]


def _usual_name(value: Any) -> str:
    if hasattr(value, "columns"):
        return "table"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "pages"
    return "root" if hasattr(value, "tag") else "data"


def _identifier(label: str, otherwise: str) -> str:
    stem = label.rpartition("/")[2]
    stem = re.sub(r"\.\w{1,5}(?= pages$|$)", "", stem) or stem
    name = re.sub(r"\W+", "_", stem.strip()).strip("_").lower()
    if not name:
        return otherwise
    return f"{otherwise}_{name}" if name[0].isdigit() else name


_SHOWN_COLUMNS = 40
_SHOWN_VALUES = 12
_SHOWN_ROWS = 3
_SHOWN_TEXT = 700


def tell(named: dict[str, Any]) -> str:
    """What the variables hold, for whoever writes a program with them."""
    tables = any(hasattr(value, "columns") for value in named.values())
    return "\n".join(filter(None, (_told(name, value, tables=tables) for name, value in named.items())))


def _told(name: str, value: Any, *, tables: bool) -> str:
    if hasattr(value, "columns"):
        return _table_told(name, value)
    if isinstance(value, str):
        size = f"{name}: str, {len(value)} characters in {len(value.splitlines())} lines."
        if tables and (around := around_tables(value)) != value:  # shown twice, tables are taken from the text
            is_prose = any(line.strip() and not line.startswith("#") for line in around.splitlines())
            return f"{size} Around the tables it says:\n{around[:_SHOWN_TEXT]}" if is_prose else ""
        return f"{size} It begins:\n{value[:_SHOWN_TEXT]}"
    if hasattr(value, "tag"):
        import xml.etree.ElementTree as ET

        return f"{name}: xml.etree.ElementTree.Element. It begins:\n{ET.tostring(value, 'unicode')[:_SHOWN_TEXT]}"
    if name.endswith("pages") and isinstance(value, list):
        return f"{name}: list of {len(value)} str, the text of each page"
    size = f" of {len(value)}" if isinstance(value, dict | list) else ""
    shown = json.dumps(value, ensure_ascii=False, default=str)[: 2 * _SHOWN_TEXT]
    return f"{name}: {type(value).__name__}{size}, from JSON. It begins:\n{shown}"


def _table_told(name: str, table: Any) -> str:
    place = f", {table.attrs['place']}," if table.attrs.get("place") else ""
    lines = [f"{name}: DataFrame of {len(table)} rows{place} with the columns:"]
    lines += [f"  {column!r}: {_column_told(table[column])}" for column in list(table.columns)[:_SHOWN_COLUMNS]]
    if len(table.columns) > _SHOWN_COLUMNS:
        lines.append(f"  and {len(table.columns) - _SHOWN_COLUMNS} more")
    if total := table.attrs.get("total"):
        lines.append(f"A last row of totals is left out: {total}")
    if above := table.attrs.get("above"):
        lines.append(f"Above its header stands: {above}")
    if count := table.attrs.get("skipped"):
        lines.append(f"Left out are {count} lines of the file that have more values than the header.")
    first = table.head(_SHOWN_ROWS).iloc[:, :_SHOWN_COLUMNS].to_csv(index=False).strip()
    return "\n".join([*lines, "Its first rows:", *(line[:300] for line in first.splitlines())])


def _column_told(column: Any) -> str:
    given = column.dropna()
    empty = f", {len(column) - len(given)} empty" if len(given) < len(column) else ""
    if given.empty:
        return "empty"
    kind = str(column.dtype)
    if kind == "bool":
        return f"True ({int(given.sum())} times) or False"
    if kind.startswith("datetime"):
        return f"datetime from {given.min()} to {given.max()}{empty}"
    if kind.startswith(("int", "float")):
        return f"number from {given.min()} to {given.max()}{empty}"
    texts = given.astype(str)
    different = list(dict.fromkeys(texts))
    shown = ", ".join(repr(text[:40]) for text in different[:_SHOWN_VALUES])
    more = "" if len(different) <= _SHOWN_VALUES else " …"
    return f"text, {len(different)} different: {shown}{more}{empty}"


def typed(column: Any, decimal: str) -> Any:
    """A column of text as numbers or dates where every value is one; codes such as 007 stay text."""
    import pandas as pd

    stripped = column.str.strip()
    given = stripped[stripped != ""]
    if given.empty:
        return stripped
    if _is_one_unit(given) and not given.str.match(_CODE).any():
        numbers = stripped.map(lambda text: number(text, decimal))
        if numbers[stripped != ""].notna().all():
            whole = numbers.notna().all() and (numbers % 1 == 0).all() and not given.str.contains(r"[.,]\d{1,2}$").any()
            return numbers.astype("int64") if whole and numbers.abs().max() < 2**53 else numbers
    if given.map(lambda text: bool(_DATE.fullmatch(text))).all():
        try:
            return pd.to_datetime(stripped.where(stripped != ""))
        except ValueError:
            return stripped
    return stripped.where(stripped != "", None)


def _is_one_unit(given: Any) -> bool:
    """Whether all values are numbers of one unit: a sum of 5 % and 5, or of $5 and €5, would mean nothing."""
    found = [_NUMBER.fullmatch(text) for text in given]
    units = {one["before"] + one["after"] for one in found if one}
    return all(found) and (len(units) == 1 or (len(units - {""}) == 1 and "%" not in units))


def number(text: str, decimal: str) -> float | None:
    """A number as people write it; None where it is none, or might be two."""
    found = _NUMBER.fullmatch(text)
    if not found or (found["sign"] and found["inner"]):
        return None
    whole, _, fraction = found["digits"].strip().partition(decimal)
    if not _WHOLE[decimal].fullmatch(whole) or (fraction and not fraction.isdecimal()):
        return None
    value = float(f"{re.sub(r'[^0-9]', '', whole)}.{fraction or 0}{found['power'] or ''}")
    return -value if found["bracket"] or "-" in found["sign"] + found["inner"] else value


def framed(raw: Any) -> Any:
    """A sheet as a table: without empty rows and columns, below the row that names the columns."""
    raw = raw.dropna(how="all").dropna(how="all", axis=1)
    if not len(raw):
        return raw
    start = next((at for at in range(min(len(raw), 15)) if _is_header(raw, at)), None)
    if start is None:
        raw.columns = [f"column_{number}" for number in range(1, len(raw.columns) + 1)]
        return raw.reset_index(drop=True).infer_objects()
    table = raw.iloc[start + 1 :].reset_index(drop=True)
    table.columns = raw.iloc[start]
    if start:
        table.attrs["above"] = [" ".join(str(v) for v in raw.iloc[at].dropna()) for at in range(start)]
    return _without_total(named_columns(table.infer_objects()))


def _is_header(raw: Any, at: int) -> bool:
    row = raw.iloc[at]
    given = row.dropna()
    if len(given) < max(1, 0.6 * len(raw.columns)) or at + 1 >= len(raw):
        return False
    texts = sum(isinstance(value, str) for value in given)
    years = sum(isinstance(value, int | float) and 1500 <= value <= 2100 for value in given)
    return texts > 0 and texts + years == len(given)


def named_columns(table: Any) -> Any:
    """The table, each column under a name of its own."""
    names: list[str] = []
    for number, column in enumerate(table.columns, 1):
        name = " ".join(str(column).split()) if column is not None and column == column else f"column_{number}"
        while name in names:
            name = f"{name}_{number}"
        names.append(name)
    table.columns = names
    return table


def _without_total(table: Any) -> Any:
    """The table without a last row of totals, which would be counted twice; `attrs` keeps it."""
    if len(table) < 3 or not isinstance(table.iloc[-1, 0], str) or not _TOTAL.match(table.iloc[-1, 0].strip()):
        return table
    rest = table.iloc[:-1].infer_objects()
    rest.attrs |= {**table.attrs, "total": {str(k): str(v) for k, v in table.iloc[-1].dropna().items()}}
    return rest


def workbook(path: str, name: str) -> list[tuple[str, Any]]:
    """The sheets as tables, each with its title; a single one with the workbook's name."""
    import pandas as pd
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    sheets = pd.read_excel(path, sheet_name=None, header=None, engine="calamine")
    with CalamineWorkbook.from_path(path) as book:
        hidden = {sheet.name for sheet in book.sheets_metadata if sheet.visible != SheetVisibleEnum.Visible}
    tables = [(str(title), framed(raw)) for title, raw in sheets.items()]
    tables = [(title, table) for title, table in tables if len(table.columns)]
    for title, table in tables:
        if title in hidden:
            table.attrs["place"] = "on a hidden sheet"
    return [(name if len(tables) == 1 else title, table) for title, table in tables]


def tables_in(text: str) -> list[tuple[str, Any]]:
    """The tables of a text, each with a label; those of the same columns are one when there are many."""
    lines = text.splitlines()
    return [*_joined(_markdown_tables(lines)), *_items(lines), *_labelled(lines)]


def around_tables(text: str) -> str:
    """A text without the lines that `tables_in` makes tables of; the text itself when it has none."""
    lines = text.splitlines()
    is_listed = sum(_ITEM.match(line) is not None for line in lines) >= _FEWEST
    labelled = {line for line, *_ in _labelled_lines(lines)}
    kept = [line for line in lines if not (_ROW.match(line) or (is_listed and _ITEM.match(line)) or line in labelled)]
    return re.sub(r"\n\s*\n+", "\n", "\n".join(kept)).strip() if len(kept) < len(lines) else text


def _markdown_tables(lines: list[str]) -> list[tuple[str, Any]]:
    """Each Markdown table with the line above it; its first row names the columns."""
    found: list[tuple[str, Any]] = []
    above, at = "", 0
    while at < len(lines):
        if at + 1 < len(lines) and _ROW.match(lines[at]) and _RULE.match(lines[at + 1]):
            end = next((k for k in range(at + 2, len(lines)) if not _ROW.match(lines[k])), len(lines))
            found.append((above, _table([_cells(lines[k]) for k in (at, *range(at + 2, end))])))
            at = end
            continue
        if lines[at].strip():
            heading = _HEADING.match(lines[at])
            above = _plain(heading[1] if heading else lines[at])
        at += 1
    return found


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [_plain(cell.replace("\\|", "|")) for cell in _CELL.split(inner)]


def _plain(text: str) -> str:
    return _MARKS.sub("", text).strip()


def _table(rows: list[list[str]]) -> Any:
    import pandas as pd

    width = max(map(len, rows))
    head, *body = [row + [""] * (width - len(row)) for row in rows if row is rows[0] or any(row)]
    table = pd.DataFrame(body, columns=head, dtype=str)
    for number in range(width):
        table.isetitem(number, typed(table.iloc[:, number], "."))
    table.columns = [name or f"column_{number}" for number, name in enumerate(head, 1)]
    return named_columns(table)


def _joined(tables: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The tables with their labels, many of the same columns as one, with what stands above each as a column."""
    import pandas as pd

    kinds: dict[tuple[str, ...], list[tuple[str, Any]]] = {}
    for above, table in tables:
        kinds.setdefault(tuple(table.columns), []).append((above, table))
    joined: list[tuple[str, Any]] = []
    for columns, alike in kinds.items():
        if len(alike) >= _FEWEST:
            name = "above" if "above" not in columns else "above_it"
            parts = [table.assign(**{name: above}) for above, table in alike]
            joined.append(("table", pd.concat(parts, ignore_index=True)[[name, *columns]]))
            continue
        for above, table in alike:
            table.attrs["place"] = f"below {above!r}" if above else ""
            joined.append((above if 0 < len(above) <= _SHORT else "table", table))
    return joined


def _items(lines: list[str]) -> list[tuple[str, Any]]:
    import pandas as pd

    rows: list[dict[str, Any]] = []
    heading = ""
    for line in lines:
        if found := _HEADING.match(line):
            heading = _plain(found[1])
        elif found := _ITEM.match(line):
            rows.append({"heading": heading, "item": _plain(found[2]), "ticked": found[1]})
    if len(rows) < _FEWEST:
        return []
    table = pd.DataFrame(rows)
    has_boxes = table["ticked"].notna().any()
    table["ticked"] = [row["ticked"] in ("x", "X") for row in rows]
    table = table if has_boxes else table.drop(columns="ticked")
    table.attrs["place"] = "the items of lists in the text"
    return [("items", table)]


def _labelled(lines: list[str]) -> list[tuple[str, Any]]:
    """Lines such as `Soap: 25 boxes`, where several follow each other."""
    import pandas as pd

    rows = [row for _, *row in _labelled_lines(lines)]
    if not rows:
        return []
    table = pd.DataFrame(rows, columns=["label", "number", "unit"], dtype=str)
    table["number"] = typed(table["number"], ".")
    table = table if table["unit"].str.len().any() else table.drop(columns="unit")
    table.attrs["place"] = f"lines of the text such as {': '.join(rows[0][:2])!r}"
    return [("lines", table)]


def _labelled_lines(lines: list[str]) -> list[tuple[str, str, str, str]]:
    """Enough lines of a label and a number that follow each other: each with its label, number and unit."""
    found = [(line, None if _ITEM.match(line) or _ROW.match(line) else _LABELLED.match(line)) for line in lines]
    runs = [
        list(run)
        for is_one, run in groupby(filter(lambda one: one[0].strip(), found), lambda one: bool(one[1]))
        if is_one
    ]
    return [
        (line, _plain(match[1]), match[2], match[3])
        for run in runs
        if len(run) >= _FEWEST
        for line, match in run
        if match
    ]
