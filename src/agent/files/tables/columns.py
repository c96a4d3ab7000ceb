"""What the columns of a table hold: kinds of values, how many are empty, and which there are where they are few."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_FEW = 12
"""Different values of a column that are all named."""
_CELLS = 60_000
"""Cells that are looked at."""
_MOST = 60
"""Columns that are told of."""
_WIDTH = 40
"""Characters of a value or a name."""
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)?(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)?(?:,\d+)?")
_DATE = re.compile(r"[12]\d{3}-[01]\d-[0-3]\d(?:[ T][0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")


def looked_at(columns: int) -> int:
    """How many rows of a table with so many columns are looked at."""
    return max(1000, _CELLS // max(1, columns))


def columns_told(
    names: Sequence[str], rows: Sequence[Sequence[str]], *, total: int | None, decimal: str = "."
) -> list[str]:
    """A line for each column, below a line that says over how many rows.

    Args:
        names: Of the columns.
        rows: The rows, without a header; at most as many as are `looked_at`.
        total: How many rows there are.
        decimal: The mark before decimals.
    """
    if not rows or not names:
        return []
    over = "" if len(rows) == total else f" (in the first {len(rows):,} rows)"
    columns = [Counter(row[index] if index < len(row) else "" for row in rows) for index in range(len(names))]
    lines = [
        f"- {_short(name) or f'column {number}'}: {_told(values, decimal)}"
        for number, (name, values) in enumerate(zip(names[:_MOST], columns, strict=False), 1)
    ]
    more = [f"- and {len(names) - _MOST} more columns"] if len(names) > _MOST else []
    return [f"Columns{over}:", *lines, *more]


def _told(values: Counter[str], decimal: str) -> str:
    empty = sum(count for value, count in values.items() if not value.strip())
    there = {value: count for value, count in values.items() if value.strip()}
    if not there:
        return "empty"
    kinds: dict[str, list[str]] = {}
    for value in there:
        kinds.setdefault(_kind(value, decimal), []).append(value)
    if len(kinds) == 1:
        ((kind, found),) = kinds.items()
        told = kind + _range(kind, found, decimal)
    else:
        counts = {kind: sum(there[value] for value in found) for kind, found in kinds.items()}
        told = " and ".join(f"{kind} ({counts[kind]:,})" for kind in sorted(kinds, key=lambda one: -counts[one]))
    if len(there) <= _FEW and len(there) < sum(there.values()):
        counted = sorted(there.items(), key=lambda one: (-one[1], one[0]))
        told += f"; {len(there)} values: " + ", ".join(f"{_short(value)} ({count:,})" for value, count in counted)
    elif len(there) == sum(there.values()) > 1:
        told += "; all different"
    else:
        told += f"; {len(there):,} different"
    return told + (f"; {empty:,} empty" if empty else "")


def _kind(value: str, decimal: str) -> str:
    value = value.strip()
    if any(map(str.isdigit, value)) and (_WITH_COMMA if decimal == "," else _NUMBER).fullmatch(value):
        return "number"
    return "date" if _DATE.fullmatch(value) else "text"


def _range(kind: str, values: Sequence[str], decimal: str) -> str:
    if kind == "text" or len(values) < 2:
        return ""
    if kind == "date":
        return f" {min(values).strip()} to {max(values).strip()}"
    numbers = {_as_float(value, decimal): value.strip() for value in values}
    return f" {numbers[min(numbers)]} to {numbers[max(numbers)]}"


def _as_float(value: str, decimal: str) -> float:
    return float(value.replace(".", "").replace(",", ".") if decimal == "," else value.replace(",", ""))


def _short(value: str) -> str:
    plain = " ".join(value.split())
    return plain if len(plain) <= _WIDTH else f"{plain[: _WIDTH - 1]}…"
