"""Sheets of a workbook as pages of text, and the values of sheets as `calamine` gives them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.files.contents import Contents, Section
from agent.files.previews import CELL, Part, part_of, trimmed
from agent.files.tables.rows import (
    as_table,
    columns_told,
    first_of,
    has_header,
    letters,
    line_of,
    looked_at,
    rows_per_page,
)

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

    from mcp_tools.tool import Json

SAMPLE_ROWS = 100
_NOTES = 0.4
"""Share of a page that notes below the table may take."""
_TITLES = 20
"""Sheets that the summary describes."""
_LAST_ROW = 1 << 20
_FORMULA = re.compile(r" ?\[[={].*\]", re.DOTALL)
"""What stands behind the value of a cell that has a formula."""


class Sheet(Protocol):
    """A sheet that can be shown in pages."""

    title: str
    """`sheet Costs`, `hidden sheet Costs`."""
    facts: dict[str, Json]
    columns: list[int]
    """The columns that are shown, from 1."""
    listed: int
    """Rows that are shown."""
    span: str
    """`A1:E120`; empty for a sheet without cells."""

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """The rows that are shown with their numbers in the sheet, from the one at that index on."""
        ...

    def notes(self, first: int, last: int, *, brief: bool = False) -> list[str]:
        """What a table cannot show of the rows with these numbers: colours, comments, formats.

        Args:
            first: Number of the first row.
            last: Of the last one.
            brief: Whether of many places only the first are named, and it is said how many more there are.
        """
        ...


class WorkbookContents(Contents):
    """A workbook: each page is a part of one sheet.

    Args:
        kind: The kind of the file.
        sheets: Its sheets, in order.
        lost: What they do not show.
        section: Characters of a page.
    """

    def __init__(self, kind: str, sheets: list[Sheet], lost: list[str], section: int) -> None:
        self.kind = kind
        self.lost = lost
        self._section = section
        self.pictures: dict[str, bytes] = {}
        """By the names of the files that they are saved as."""
        self._sheets = [
            (sheet, rows_per_page([cells for _, cells in islice(sheet.rows(), SAMPLE_ROWS)], section))
            for sheet in sheets
        ]
        self.count = sum(_pages(sheet, size) for sheet, size in self._sheets)
        self.facts = {"sheets": [sheet.facts for sheet in sheets]}
        described = ", ".join(
            f"{sheet.title} ({sheet.span}, {sheet.listed:,} rows)" if sheet.listed else f"{sheet.title} (empty)"
            for sheet in sheets[:_TITLES]
        )
        more = f", and {len(sheets) - _TITLES} more sheets" if len(sheets) > _TITLES else ""
        counted = f"{len(sheets)} sheet{'s' if len(sheets) != 1 else ''}"
        self.summary = f"Workbook ({kind}), {counted}: {described}{more}"

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The pages from that number on."""
        before = 0
        for sheet, size in self._sheets:
            pages = _pages(sheet, size)
            start = max(0, first - 1 - before)
            before += pages
            if start < pages and not sheet.listed:
                yield Section(sheet.title, "\n".join(["(no cells)", *sheet.notes(1, 1)]))
            elif start < pages:
                rows = sheet.rows(start * size)
                yield from (self._page(sheet, list(islice(rows, size))) for _ in range(start, pages))

    def preview(self) -> list[Part]:
        """How each sheet begins, and what its columns hold."""
        parts: list[Part] = []
        for sheet, _ in self._sheets:
            parts.append(_part(sheet))
            if len(parts) % 100 == 0:  # what was kept of hundreds of sheets would take memory for nothing
                parts = trimmed(parts)
        return parts

    def save_data(self, folder: Path) -> list[Path]:
        """The pictures alone: for the cells the file itself is best."""
        for name, content in self.pictures.items():
            (folder / name).write_bytes(content)
        return [folder / name for name in self.pictures]

    def _page(self, sheet: Sheet, rows: list[tuple[int, list[str]]]) -> Section:
        first, last = rows[0][0], rows[-1][0]
        notes = "\n".join(sheet.notes(first, last))
        where = f"{sheet.title}, rows {first:,}-{last:,}"
        if len(notes) > self._section * _NOTES:
            notes = notes[: int(self._section * _NOTES)].rpartition("\n")[0] or notes[: int(self._section * _NOTES)]
            self.lost.append(f"{where}: not all notes about cells are shown; openpyxl has them all.")
        text, cut = as_table([letters(one) for one in sheet.columns], rows, self._section - len(notes))
        if cut:
            self.lost.append(f"{where}: {cut} long cells were shortened.")
        return Section(where, f"{text}\n\n{notes}" if notes else text)


def _pages(sheet: Sheet, size: int) -> int:
    return max(1, -(-sheet.listed // size))


def _part(sheet: Sheet) -> Part:
    names = [letters(one) for one in sheet.columns]
    rows = list(islice(sheet.rows(), looked_at(len(names))))
    cells = [[_FORMULA.sub("", cell) if "[" in cell else cell for cell in row] for _, row in rows]
    total = sheet.listed
    if has_header(cells[:200]):
        names = [f"{letter} {name}" for letter, name in zip(names, cells.pop(0), strict=True)]
        total -= 1
    return part_of(
        (line_of(number, row, CELL) for number, row in rows),
        sheet.listed,
        name=sheet.title,
        head=line_of("", [letters(one) for one in sheet.columns], CELL) if rows else "",
        notes=sheet.notes(1, _LAST_ROW, brief=True),
        columns=columns_told(names, cells, total=total),
    )


class PlainSheet:
    """A sheet by its values alone.

    Args:
        sheet: What calamine read.
        hidden: Whether the sheet is hidden.
    """

    def __init__(self, sheet: CalamineSheet, hidden: bool) -> None:
        self._sheet = sheet
        self.title = f"{'hidden ' if hidden else ''}sheet {sheet.name}"
        start, end = sheet.start, sheet.end
        self._top, left = start or (0, 0)
        right = end[1] if end else -1
        self.columns = list(range(left + 1, right + 2))
        self.listed = sheet.height
        self.span = f"{letters(left + 1)}{self._top + 1}:{letters(right + 1)}{end[0] + 1}" if end else ""
        self.facts: dict[str, Json] = {
            "name": sheet.name, "hidden": hidden, "range": self.span, "rows": sheet.height, "columns": sheet.width,
        }  # fmt: skip
        self._merged = sheet.merged_cell_ranges or []

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """The rows that are shown with their numbers in the sheet, from the one at that index on."""
        width = len(self.columns)
        # the rows begin at the top of the sheet, the first cell with a value at the range's left
        for number, row in enumerate(islice(self._sheet.iter_rows(), start, None), self._top + 1 + start):
            yield number, [as_text(value) for value in row[-width:]]

    def notes(self, first: int, last: int, *, brief: bool = False) -> list[str]:
        """The merged cells."""
        merged = [
            f"{letters(left + 1)}{top + 1}:{letters(right + 1)}{bottom + 1}"
            for (top, left), (bottom, right) in self._merged
            if top < last and bottom >= first - 1
        ]
        return [f"Merged cells: {first_of(merged) if brief else ', '.join(merged)}"] if merged else []


def as_text(value: Any) -> str:
    """A cell's value: whole numbers without a point, dates as in ISO 8601."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e18 else f"{value:.15g}"
    if isinstance(value, dt.datetime):
        midnight = value.time() == dt.time()
        return value.date().isoformat() if midnight else value.isoformat(sep=" ", timespec="auto")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return str(value)
