"""Columns as numbers, dates and texts, and a sheet as a table below its header."""

from __future__ import annotations

import re
from typing import Any

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


def typed(column: Any, decimal: str) -> Any:
    """A column of text as numbers or dates where every value is one; codes such as 007 stay text."""
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

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
        names.append(f"{name}_{number}" if name in names else name)
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
