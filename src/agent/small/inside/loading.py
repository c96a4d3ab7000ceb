"""Attached files as tables, trees and texts, by the names of variables."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

from agent.small.inside.documents import around_tables, tables_in
from agent.small.inside.tables import named_columns, typed, workbook

_LARGE = 50_000_000
"""Bytes from which on a table is read by pandas alone, which takes less memory."""


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
