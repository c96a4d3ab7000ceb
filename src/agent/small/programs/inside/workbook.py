"""A workbook as tables."""

from __future__ import annotations

from typing import Any

from agent.small.programs.inside.columns import framed


def workbook(path: str, name: str) -> list[tuple[str, Any]]:
    """The sheets as tables, each with its title; a single one with the workbook's name."""
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

    sheets = pd.read_excel(path, sheet_name=None, header=None, engine="calamine")
    tables = [(str(title), framed(raw)) for title, raw in sheets.items()]
    tables = [(title, table) for title, table in tables if len(table.columns)]
    hidden = _hidden_sheets(path)
    for title, table in tables:
        if title in hidden:
            table.attrs["place"] = "on a hidden sheet"
    return [(name if len(tables) == 1 else title, table) for title, table in tables]


def _hidden_sheets(path: str) -> set[str]:
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    with CalamineWorkbook.from_path(path) as book:
        return {sheet.name for sheet in book.sheets_metadata if sheet.visible != SheetVisibleEnum.Visible}
