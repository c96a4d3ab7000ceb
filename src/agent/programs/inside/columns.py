"""Columns as numbers, dates and texts, and a sheet as a table below its header."""

from __future__ import annotations

import re
from typing import Any

_NUMBER = re.compile(r"[-+(]?\s?[$€£]?\s?[-+]?\d[\d.,' ]*(?:e[-+]?\d+)?\s?[%€$£]?\)?", re.IGNORECASE)
_CODE = re.compile(r"[-+]?0\d+$")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?$")
_TOTAL = re.compile(r"(?:grand |sub)?(?:total|sum|summe|gesamt)\b", re.IGNORECASE)


def typed(column: Any, decimal: str) -> Any:
    """A column of text as numbers or dates where every value is one; codes such as 007 stay text."""
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

    stripped = column.str.strip()
    given = stripped[stripped != ""]
    if given.empty:
        return stripped
    if given.map(lambda text: bool(_NUMBER.fullmatch(text))).all() and not given.map(_is_code).any():
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


def _is_code(text: str) -> bool:
    return bool(_CODE.match(text))


def number(text: str, decimal: str) -> float | None:
    """A number as people write it; None where it is none."""
    negative = text.startswith("(") and text.endswith(")")
    bare = re.sub(r"[$€£%()\s']", "", text)
    bare = bare.replace(".", "").replace(",", ".") if decimal == "," else bare.replace(",", "")
    try:
        return -float(bare) if negative else float(bare)
    except ValueError:
        return None


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
    return _without_total(named_columns(table.infer_objects()))


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


def named_columns(table: Any) -> Any:
    """The table, each column under a name of its own."""
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
