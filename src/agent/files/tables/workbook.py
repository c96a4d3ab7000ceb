"""Workbooks: all that a sheet shows where the file is of a usual size, the values alone where it is large."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from agent.files.contents import Contents, ReadLimits, Section, Source, locked
from agent.files.documents.package import open_package
from agent.files.previews import CELL, Part, part_of
from agent.files.tables.rows import (
    Sheet,
    as_table,
    as_text,
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

FULL = 8 << 20
"""Bytes of sheets, unpacked, up to which everything is read; openpyxl takes seconds for them."""
_MOST_PICTURES = 50
_SAMPLE_ROWS = 100
_NOTES = 0.4
"""Share of a page that notes below the table may take."""
_TITLES = 20
"""Sheets that the summary describes."""
_LAST_ROW = 1 << 20
_FORMULA = re.compile(r" ?\[[={].*\]", re.DOTALL)
"""What stands behind the value of a cell that has a formula."""
_UNSHOWN = {"xl/charts/chart": "charts", "xl/pivotTables/pivot": "pivot tables", "xl/vbaProject.bin": "macros"}
_ONLY_VALUES = "only values are read, not formulas, colours, number formats, comments or error values (#DIV/0!)"


def open_workbook(source: Source, limits: ReadLimits) -> WorkbookContents:
    """Opens an xlsx file."""
    lost: list[str] = []
    pictures: dict[str, bytes] = {}
    with open_package(source, limits) as archive:
        size = sum(one.file_size for one in archive.infolist() if one.filename.startswith("xl/worksheets/"))
        names = archive.namelist()
        for number, name in enumerate([one for one in names if one.startswith("xl/media/")][:_MOST_PICTURES], 1):
            pictures[f"picture-{number}{Path(name).suffix.lower()}"] = archive.read(name)
    counts = {what: sum(name.startswith(place) for name in names) for place, what in _UNSHOWN.items()}
    if unshown := ", ".join(f"{count} {what}" for what, count in counts.items() if count):
        lost.append(f"Not shown: {unshown}.")
    sheets: list[Sheet] = []
    if size > FULL:
        lost.append(f"The workbook is large: {_ONLY_VALUES}. Use openpyxl with read_only=True for them.")
    else:
        from agent.files.tables.cells import full_sheets

        try:
            sheets, told = full_sheets(source.path)
            lost += told
        except (SyntaxError, zipfile.BadZipFile, zlib.error, EOFError):
            raise
        except Exception as error:  # noqa: BLE001 - openpyxl refuses much that other programs write and read
            lost.append(f"Only values could be read, not formulas, colours or comments ({type(error).__name__}).")
    contents = WorkbookContents(source.kind, sheets or _plain_sheets(source, lost), lost, limits.section, pictures)
    if pictures:
        named = ", ".join(f"[picture {name}]" for name in pictures)
        contents.lost.append(f"Pictures that stand on its sheets, saved apart: {named}.")
    return contents


def open_values(source: Source, limits: ReadLimits) -> WorkbookContents:
    """Opens an xls, xlsb or ods file: its values."""
    if source.kind != "xls":
        open_package(source, limits).close()
    lost = [f"Of {source.kind} files {_ONLY_VALUES}."]
    return WorkbookContents(source.kind, _plain_sheets(source, lost), lost, limits.section)


class WorkbookContents(Contents):
    """A workbook: each page is a part of one sheet.

    Args:
        kind: The kind of the file.
        sheets: Its sheets, in order.
        lost: What they do not show.
        section: Characters of a page.
        pictures: By the names of the files that they are saved as.
    """

    def __init__(
        self,
        kind: str,
        sheets: list[Sheet],
        lost: list[str],
        section: int,
        pictures: dict[str, bytes] | None = None,
    ) -> None:
        self.kind, self.lost, self.facts = kind, lost, {}
        self._section, self._pictures = section, pictures or {}
        self._sheets = [
            (sheet, rows_per_page([cells for _, cells in islice(sheet.rows(), _SAMPLE_ROWS)], section))
            for sheet in sheets
        ]
        self.count = sum(_pages(sheet, size) for sheet, size in self._sheets)
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
        return [_part(sheet) for sheet, _ in self._sheets]

    def save_data(self, folder: Path) -> list[Path]:
        """The pictures alone: for the cells the file itself is best."""
        for name, content in self._pictures.items():
            (folder / name).write_bytes(content)
        return [folder / name for name in self._pictures]

    def _page(self, sheet: Sheet, rows: list[tuple[int, list[str]]]) -> Section:
        first, last = rows[0][0], rows[-1][0]
        notes, room = "\n".join(sheet.notes(first, last)), int(self._section * _NOTES)
        where = f"{sheet.title}, rows {first:,}-{last:,}"
        if len(notes) > room:
            notes = notes[:room].rpartition("\n")[0] or notes[:room]
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
    head = line_of("", names, CELL) if rows else ""
    if has_header(cells[:200]):
        names = [f"{letter} {name}" for letter, name in zip(names, cells.pop(0), strict=True)]
        total -= 1
    return part_of(
        (line_of(number, row, CELL) for number, row in rows),
        sheet.listed,
        name=sheet.title,
        head=head,
        notes=sheet.notes(1, _LAST_ROW, brief=True),
        columns=columns_told(names, cells, total=total),
    )


class PlainSheet(Sheet):
    """A sheet by its values alone.

    Args:
        sheet: What calamine read.
        hidden: Whether the sheet is hidden.
    """

    def __init__(self, sheet: CalamineSheet, hidden: bool) -> None:
        self._sheet = sheet
        self.title = f"{'hidden ' if hidden else ''}sheet {sheet.name}"
        (self._top, left), end = sheet.start or (0, 0), sheet.end
        right = end[1] if end else -1
        self.columns = list(range(left + 1, right + 2))
        self.listed = sheet.height
        self.span = f"{letters(left + 1)}{self._top + 1}:{letters(right + 1)}{end[0] + 1}" if end else ""
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


def _plain_sheets(source: Source, lost: list[str]) -> list[Sheet]:
    from python_calamine import CalamineWorkbook, PasswordError, SheetVisibleEnum

    try:
        book = CalamineWorkbook.from_path(source.path)
    except PasswordError as error:
        raise locked(source.name) from error
    sheets: list[Sheet] = []
    for data in book.sheets_metadata:
        if str(data.typ).endswith("WorkSheet"):
            sheet = book.get_sheet_by_name(data.name)
            sheets.append(PlainSheet(sheet, hidden=data.visible != SheetVisibleEnum.Visible))
        else:
            lost.append(f"Sheet {data.name} is no table of cells: it is not shown.")
    return sheets
