"""What the variables hold, for whoever writes a program with them."""

from __future__ import annotations

import json
from typing import Any

from agent.small.programs.inside.documents import around_tables

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
