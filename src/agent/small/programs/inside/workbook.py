"""A workbook as tables, or as a table of its cells where their looks are asked for."""

from __future__ import annotations

from typing import Any

from agent.small.programs.inside.columns import framed

_COLOURS = {
    "black": (0, 0, 0), "white": (255, 255, 255), "red": (255, 0, 0), "green": (0, 160, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "orange": (255, 165, 0), "purple": (128, 0, 128), "pink": (255, 170, 200),
    "grey": (160, 160, 160), "brown": (140, 70, 20), "light green": (146, 208, 80), "light blue": (0, 176, 240),
}  # fmt: skip


def workbook(path: str, name: str, *, cells: list[str]) -> list[tuple[str, Any]]:
    """The sheets as tables, each with its title; before them all cells, where looks are asked for and differ."""
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

    looks = [("cells", found)] if cells and set(cells) & set((found := _cells(path)).columns) else []
    sheets = pd.read_excel(path, sheet_name=None, header=None, engine="calamine")
    tables = [(str(title), framed(raw)) for title, raw in sheets.items()]
    tables = [(title, table) for title, table in tables if len(table.columns)]
    hidden = _hidden_sheets(path)
    for title, table in tables:
        if title in hidden:
            table.attrs["place"] = "on a hidden sheet"
    return [*looks, *((name if len(tables) == 1 else title, table) for title, table in tables)]


def _hidden_sheets(path: str) -> set[str]:
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    with CalamineWorkbook.from_path(path) as book:
        return {sheet.name for sheet in book.sheets_metadata if sheet.visible != SheetVisibleEnum.Visible}


def _cells(path: str) -> Any:
    """Every cell with a value or a look of its own: where it is, what it holds, how it looks, what it covers."""
    import openpyxl  # type: ignore[import-untyped]  # it has no types
    import pandas as pd

    values, formulas = openpyxl.load_workbook(path, data_only=True), openpyxl.load_workbook(path)
    rows = []
    for sheet in values.worksheets:
        headers: dict[int, str] = {}
        covered = {(area.min_row, area.min_col): area.size for area in sheet.merged_cells.ranges}
        for line in sheet.iter_rows():
            headers = headers or _headers(line, sheet.max_column)
            hidden = sheet.sheet_state != "visible" or sheet.row_dimensions[line[0].row].hidden
            for cell in line:
                source = formulas[sheet.title][cell.coordinate].value
                area = covered.get((cell.row, cell.column), {"columns": 1, "rows": 1})
                row = {
                    **_cell(cell, headers),
                    "row_name": line[0].value,
                    "merged_columns": area["columns"],
                    "merged_rows": area["rows"],
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
