"""Runs inside the sandbox, as the module `attached`: opens files as tables, trees and texts, and tells what they hold.

Nothing of the project can be imported here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_NUMBER = re.compile(r"[-+(]?\s?[$€£]?\s?[-+]?\d[\d.,' ]*(?:e[-+]?\d+)?\s?[%€$£]?\)?", re.IGNORECASE)
_CODE = re.compile(r"[-+]?0\d+$")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?$")
_TOTAL = re.compile(r"(?:grand |sub)?(?:total|sum|summe|gesamt)\b", re.IGNORECASE)
_LARGE = 50_000_000
"""Bytes from which on a table is read by pandas alone, which takes less memory."""
_SHOWN_COLUMNS = 40
_SHOWN_VALUES = 12
_SHOWN_ROWS = 3
_SHOWN_TEXT = 700
_COLOURS = {
    "black": (0, 0, 0), "white": (255, 255, 255), "red": (255, 0, 0), "green": (0, 160, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "orange": (255, 165, 0), "purple": (128, 0, 128), "pink": (255, 170, 200),
    "grey": (160, 160, 160), "brown": (140, 70, 20), "light green": (146, 208, 80), "light blue": (0, 176, 240),
}  # fmt: skip


def load(files: list[dict[str, Any]]) -> dict[str, Any]:
    """What the files hold, by the names of variables.

    Args:
        files: Each with name, path, kind, facts, the path of its text where it has one, and of a workbook the looks of
            cells that are asked for: where they differ, it is a table of its cells.
    """
    found = [(label, value) for file in files for label, value in _opened(file)]
    if len(found) == 1 or (len(files) == 1 and not any(hasattr(value, "columns") for _, value in found)):
        return {_usual_name(value): value for _, value in found}
    named: dict[str, Any] = {}
    for label, value in found:
        name = base = _identifier(label, _usual_name(value))
        number = 2
        while name in named:
            name, number = f"{base}_{number}", number + 1
        named[name] = value
    return named


def tell(named: dict[str, Any]) -> str:
    """What the variables hold, for whoever writes a program with them."""
    return "\n".join(_told(name, value) for name, value in named.items())


def _opened(file: dict[str, Any]) -> list[tuple[str, Any]]:
    kind, path, name = file["kind"], file["path"], file["name"]
    if kind in ("csv", "tsv"):
        return [(name, _delimited(path, file["facts"]))]
    if kind in ("xlsx", "xls", "xlsb", "ods"):
        return _workbook(path, name, cells=file["cells"])
    if kind == "sqlite":
        return _database(path)
    if kind in ("json", "jsonld", "jsonl"):
        return [(name, _records(_json(path, kind)))]
    if kind == "xml":
        return [(name, _elements(path))]
    return [
        (name if isinstance(value, str) else f"{name} pages", value) for value in _texts(file["text"], file["facts"])
    ]


def _delimited(path: str, facts: dict[str, Any]) -> Any:
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

    options: dict[str, Any] = {
        "sep": facts.get("delimiter", ","),
        "encoding": facts.get("encoding", "utf-8"),
        "encoding_errors": "replace",
        "header": 0 if facts.get("header") else None,
        "on_bad_lines": "warn",
    }
    if Path(path).stat().st_size > _LARGE:
        table = pd.read_csv(path, decimal=facts.get("decimal", "."), **options)
    else:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True, **options)
        for column in table.columns:
            table[column] = _typed(table[column], facts.get("decimal", "."))
    if not facts.get("header"):
        table.columns = [f"column_{number}" for number in range(1, len(table.columns) + 1)]
    return _named_columns(table)


def _typed(column: Any, decimal: str) -> Any:
    """A column of text as numbers or dates where every value is one; codes such as 007 stay text."""
    import pandas as pd

    stripped = column.str.strip()
    given = stripped[stripped != ""]
    if given.empty:
        return stripped
    if given.map(lambda text: bool(_NUMBER.fullmatch(text))).all() and not given.map(_is_code).any():
        numbers = stripped.map(lambda text: _number(text, decimal))
        if numbers[stripped != ""].notna().all():
            whole = numbers.notna().all() and (numbers % 1 == 0).all() and not given.str.contains(r"[.,]\d{1,2}$").any()
            return numbers.astype("int64") if whole and numbers.abs().max() < 2**53 else numbers
    if given.map(lambda text: bool(_DATE.fullmatch(text))).all():
        try:
            return pd.to_datetime(stripped.where(stripped != ""))
        except ValueError:
            return stripped
    return stripped.where(stripped != "", None)


def _is_code(text: str) -> bool:
    return bool(_CODE.match(text))


def _number(text: str, decimal: str) -> float | None:
    """A number as people write it; None where it is none."""
    negative = text.startswith("(") and text.endswith(")")
    bare = re.sub(r"[$€£%()\s']", "", text)
    bare = bare.replace(".", "").replace(",", ".") if decimal == "," else bare.replace(",", "")
    try:
        return -float(bare) if negative else float(bare)
    except ValueError:
        return None


def _workbook(path: str, name: str, *, cells: list[str]) -> list[tuple[str, Any]]:
    import pandas as pd

    if cells and set(cells) & set((looks := _cells(path)).columns):
        return [("cells", looks)]
    sheets = pd.read_excel(path, sheet_name=None, header=None, engine="calamine")
    tables = [(str(title), _framed(raw)) for title, raw in sheets.items()]
    tables = [(title, table) for title, table in tables if len(table.columns)]
    return [(name if len(tables) == 1 else title, table) for title, table in tables]


def _framed(raw: Any) -> Any:
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
    return _without_total(_named_columns(table.infer_objects()))


def _is_header(raw: Any, at: int) -> bool:
    row = raw.iloc[at]
    given = row.dropna()
    if len(given) < max(1, 0.6 * len(raw.columns)) or at + 1 >= len(raw):
        return False
    texts = sum(isinstance(value, str) for value in given)
    return texts == len(given) or (texts > 0 and all(isinstance(v, str) or 1500 <= _float(v) <= 2100 for v in given))


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return -1.0


def _named_columns(table: Any) -> Any:
    names: list[str] = []
    for number, column in enumerate(table.columns, 1):
        name = " ".join(str(column).split()) if column is not None and column == column else f"column_{number}"
        names.append(f"{name}_{number}" if name in names else name)
    table.columns = names
    return table


def _without_total(table: Any) -> Any:
    """The table without a last row of totals, which would be counted twice; `attrs` keeps it."""
    if len(table) > 2 and isinstance(table.iloc[-1, 0], str) and _TOTAL.match(table.iloc[-1, 0].strip()):
        table.attrs["total"] = {str(k): str(v) for k, v in table.iloc[-1].dropna().items()}
        return _with_attrs(table.iloc[:-1].infer_objects(), table.attrs)
    return table


def _with_attrs(table: Any, attrs: dict[Any, Any]) -> Any:
    table.attrs.update(attrs)
    return table


def _cells(path: str) -> Any:
    """Every cell with a value or a look of its own: address, header, value, fill, font, comment, formula."""
    import openpyxl  # type: ignore[import-untyped]  # it has no types
    import pandas as pd

    values, formulas = openpyxl.load_workbook(path, data_only=True), openpyxl.load_workbook(path)
    rows = []
    for sheet in values.worksheets:
        headers: dict[int, str] = {}
        for line in sheet.iter_rows():
            headers = headers or _headers(line, sheet.max_column)
            hidden = sheet.sheet_state != "visible" or sheet.row_dimensions[line[0].row].hidden
            for cell in line:
                source = formulas[sheet.title][cell.coordinate].value
                row = {
                    **_cell(cell, headers),
                    "formula": source if str(source).startswith("=") else "",
                    "hidden": hidden,
                }
                if cell.value is not None or row["fill"] or row["comment"]:
                    rows.append({"sheet": sheet.title, **row})
    table = pd.DataFrame(rows)
    return table[[name for name in table.columns if name == "value" or table[name].nunique() > 1]]


def _cell(cell: Any, headers: dict[int, str]) -> dict[str, Any]:
    return {
        "address": cell.coordinate,
        "row": cell.row,
        "column": cell.column,
        "header": headers.get(cell.column, ""),
        "value": cell.value,
        "fill": _colour(cell.fill.fgColor) if cell.fill and cell.fill.fill_type else "",
        "font_colour": _colour(cell.font.color) if cell.font and cell.font.color else "",
        "bold": bool(cell.font and cell.font.b),
        "comment": cell.comment.text if cell.comment else "",
    }


def _headers(line: Any, columns: int) -> dict[int, str]:
    """The names of columns that a row gives; none where it is no header."""
    given = {cell.column: cell.value for cell in line if cell.value is not None}
    named = len(given) >= max(1, 0.6 * columns) and all(isinstance(value, str) for value in given.values())
    return {column: str(value) for column, value in given.items()} if named else {}


def _colour(colour: Any) -> str:
    """A colour's nearest common name."""
    text = colour.rgb if isinstance(colour.rgb, str) else ""
    if len(text) != 8:
        return f"theme {colour.theme}" if colour.type == "theme" else ""
    seen = [int(text[at : at + 2], 16) for at in (2, 4, 6)]
    distance = {n: sum((a - b) ** 2 for a, b in zip(seen, rgb, strict=True)) for n, rgb in _COLOURS.items()}
    return min(distance, key=lambda name: distance[name])


def _database(path: str) -> list[tuple[str, Any]]:
    import sqlite3

    import pandas as pd

    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    names = connection.execute(
        "select name from sqlite_master where type in ('table','view') and name not like 'sqlite_%'"
    )
    tables = [str(name) for (name,) in names]
    quoted = {name: '"' + name.replace('"', '""') + '"' for name in tables}
    return [(name, pd.read_sql(f"select * from {quoted[name]}", connection)) for name in tables]  # noqa: S608 - quoted


def _json(path: str, kind: str) -> Any:
    with Path(path).open(encoding="utf-8-sig") as file:
        return [json.loads(line) for line in file if line.strip()] if kind == "jsonl" else json.load(file)


def _records(data: Any) -> Any:
    """A list of flat objects as a table; anything else as it is."""
    if not (isinstance(data, list) and data and all(isinstance(item, dict) for item in data)):
        return data
    inner = [value for item in data for value in item.values()]
    if any(isinstance(value, dict | list) for value in inner):
        return data
    import pandas as pd

    return pd.DataFrame(data)


def _elements(path: str) -> Any:
    """Repeated elements of an XML file as a table; else its root."""
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
        table[column] = _typed(table[column].fillna(""), ".")
    return table


def _texts(path: str, facts: dict[str, Any]) -> list[Any]:
    """A file's text, and where it has pages also a list of these."""
    if path.endswith(".transcript.json"):
        return [_json(path, "json")["text"]]
    if path.endswith(".pages.jsonl"):
        pages = [page["text"] for page in _json(path, "jsonl")]
        return ["\n".join(pages), pages]
    return [_text(path, facts)]


def _text(path: str, facts: dict[str, Any]) -> str:
    with Path(path).open(encoding=str(facts.get("encoding") or "utf-8"), errors="replace") as file:
        return file.read().removeprefix("\ufeff")


def _usual_name(value: Any) -> str:
    if hasattr(value, "columns"):
        return "cells" if "address" in value.columns and "fill" in value.columns else "table"
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


def _told(name: str, value: Any) -> str:
    if hasattr(value, "columns"):
        return _table_told(name, value)
    if isinstance(value, str):
        lines = value.splitlines()
        shown = value[:_SHOWN_TEXT]
        return f"{name}: str, {len(value)} characters in {len(lines)} lines. It begins:\n{shown}"
    if hasattr(value, "tag"):
        import xml.etree.ElementTree as ET

        return f"{name}: xml.etree.ElementTree.Element. It begins:\n{ET.tostring(value, 'unicode')[:_SHOWN_TEXT]}"
    if name.endswith("pages") and isinstance(value, list):
        return f"{name}: list of {len(value)} str, the text of each page"
    size = f" of {len(value)}" if isinstance(value, dict | list) else ""
    shown = json.dumps(value, ensure_ascii=False, default=str)[: 2 * _SHOWN_TEXT]
    return f"{name}: {type(value).__name__}{size}, from JSON. It begins:\n{shown}"


def _table_told(name: str, table: Any) -> str:
    lines = [f"{name}: DataFrame of {len(table)} rows with the columns:"]
    lines += [f"  {column!r}: {_column_told(table[column])}" for column in list(table.columns)[:_SHOWN_COLUMNS]]
    if len(table.columns) > _SHOWN_COLUMNS:
        lines.append(f"  and {len(table.columns) - _SHOWN_COLUMNS} more")
    if total := table.attrs.get("total"):
        lines.append(f"A last row of totals is left out: {total}")
    first = table.head(_SHOWN_ROWS).iloc[:, :_SHOWN_COLUMNS].to_csv(index=False).strip()
    return "\n".join([*lines, "Its first rows:", *(line[:300] for line in first.splitlines())])


def _column_told(column: Any) -> str:
    given = column.dropna()
    empty = f", {len(column) - len(given)} empty" if len(given) < len(column) else ""
    if given.empty:
        return "empty"
    kind = str(column.dtype)
    if kind.startswith("datetime"):
        return f"datetime from {given.min()} to {given.max()}{empty}"
    if kind.startswith(("int", "float")):
        return f"number from {given.min()} to {given.max()}{empty}"
    texts = given.astype(str)
    different = list(dict.fromkeys(texts))
    shown = ", ".join(repr(text[:40]) for text in different[:_SHOWN_VALUES])
    more = "" if len(different) <= _SHOWN_VALUES else " …"
    return f"text, {len(different)} different: {shown}{more}{empty}"
