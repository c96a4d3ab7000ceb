"""Reader of workbooks. In large workbooks, only values are read."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from agent.files.contents import Contents, ReadLimits, Source, first_of, locked
from agent.files.documents.ooxml import Package
from agent.files.documents.package import open_package
from agent.files.documents.spreadsheet import Spreadsheet
from agent.files.tables.objects import MAX_XML_BYTES, Objects, objects_of
from agent.files.tables.rows import as_text, column_letters
from agent.files.tables.sheets import Sheet, SheetsContents
from mcp_tools.text import count_of

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

MAX_FULL_BYTES = 8 << 20
"""Maximum size of the unpacked sheets for a full reading. In larger workbooks, only values are read, because openpyxl
would take too long."""
_MAX_SPANNED_CELLS = 1 << 20  # by merged cells and links: openpyxl creates an object for each cell
_SPAN = re.compile(
    rb"<(?:[\w.-]{1,40}:)?(?:mergeCell|hyperlink)\s[^<>]{0,400}?\bref\s*=\s*[\"']\$?([A-Z]{1,3})\$?(\d{1,7})"
    rb":\$?([A-Z]{1,3})\$?(\d{1,7})[\"']"
)
_MAX_PICTURES = 50
_MAX_TITLES = 20
_SHARED = ("xl/sharedstrings.xml",)
_PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".emf", ".wmf", ".svg")
_ONLY_VALUES = "only values are read, not formulas, colours, number formats, comments or error values (#DIV/0!)"


def open_workbook(source: Source, limits: ReadLimits) -> Contents:
    """Open an xlsx file."""
    lost: list[str] = []
    pictures: dict[str, bytes] = {}
    with Package(source, limits) as package:
        names = package.names()
        own = [one for one in names if one.startswith("xl/worksheets/sheet")]
        size = sum(package.size(one) for one in own)
        spanned = 0 if size > MAX_FULL_BYTES else sum(_spanned(package.member(one)) for one in own)
        media = [one for one in names if one.startswith("xl/media/") and one.endswith(_PICTURE_SUFFIXES)]
        for number, name in enumerate(media[:_MAX_PICTURES], 1):
            pictures[f"picture-{number}{Path(name).suffix}"] = package.member(name)
        book = package.normalised() if package.is_odd() else source.path
        objects = objects_of(package)
        described, title = package.described(), package.properties().get("title", "")
        if size <= MAX_FULL_BYTES and any(b"<rPh" in package.member(one) for one in [*own, *_SHARED] if one in names):
            lost.append("The phonetic guides of texts are not shown.")
        lost += package.unread("xl/worksheets/", "xl/comments", "xl/workbook.", "xl/drawings/vml")
    sheets: list[Sheet] = []
    if size > MAX_FULL_BYTES or spanned > _MAX_SPANNED_CELLS:
        lost.append(f"The workbook is large: {_ONLY_VALUES}. Use openpyxl with read_only=True for them.")
    else:
        from agent.files.tables.cells import full_sheets

        try:
            sheets, notes = full_sheets(book)
            lost += notes
        except (SyntaxError, zipfile.BadZipFile, zlib.error, EOFError):
            raise
        except Exception as error:  # noqa: BLE001 - openpyxl refuses much that other programs write and read
            lost.append(f"Only values could be read, not formulas, colours or comments ({type(error).__name__}).")
    if pictures:
        named = ", ".join(f"[picture {name}]" for name in pictures)
        lost.append(f"Pictures on its sheets, saved separately: {named}.")
    sheets = sheets or _sheets_of_values(source, lost, book)
    summary = _summary(source, sheets, title) + described
    shown = [*sheets, *([objects] if objects.row_count else [])]
    return SheetsContents(source.kind, summary, shown, lost, limits.section, data=pictures)


def _spanned(sheet: bytes) -> int:
    """Return the number of cells that the merged cells and links of a sheet span."""
    from openpyxl.utils import column_index_from_string as column  # type: ignore[import-untyped]  # has no types

    ranges = [(a.decode(), int(b), c.decode(), int(d)) for a, b, c, d in _SPAN.findall(sheet)]
    return sum((column(right) - column(left) + 1) * (bottom - top + 1) for left, top, right, bottom in ranges)


def open_values(source: Source, limits: ReadLimits) -> Contents:
    """Open an xls, xlsb or ods file. Only values are read."""
    only = _ONLY_VALUES.replace(", comments or", " or") if source.kind == "ods" else _ONLY_VALUES
    lost = [f"Of {source.kind} files {only}."]
    shown, pictures, described = list[Sheet](), dict[str, bytes](), ""
    if source.kind != "xls":
        with open_package(source, limits) as archive:
            if source.kind == "ods" and archive.getinfo("content.xml").file_size > MAX_XML_BYTES:
                lost.append("The workbook is large: comments, charts and other objects are not read.")
            elif source.kind == "ods":
                book = Spreadsheet(source, archive)
                shown, pictures = [Objects(book.rows)] if book.rows else [], book.pictures
                lost, described = [*lost, *book.lost], book.described
    sheets = _sheets_of_values(source, lost)
    summary = _summary(source, sheets) + described
    return SheetsContents(source.kind, summary, [*sheets, *shown], lost, limits.section, data=pictures)


def _summary(source: Source, sheets: list[Sheet], title: str = "") -> str:
    described = [
        f"{sheet.title} ({f'{sheet.span}, {sheet.row_count:,} rows' if sheet.row_count else 'empty'})"
        for sheet in sheets
    ]
    named = f" “{title}”" if title else ""
    return f"Workbook{named} ({source.kind}), {count_of(len(sheets), 'sheet')}: {first_of(described, _MAX_TITLES)}"


class SheetOfValues(Sheet):
    """A sheet with only its values."""

    def __init__(self, sheet: CalamineSheet, hidden: bool) -> None:
        self._sheet = sheet
        self.title = f"{'hidden ' if hidden else ''}sheet {sheet.name}"
        (self._top, left), end = sheet.start or (0, 0), sheet.end
        right = end[1] if end else -1
        self.column_names = [column_letters(column) for column in range(left + 1, right + 2)]
        self.row_count = sheet.height
        self.span = f"{column_letters(left + 1)}{self._top + 1}:{column_letters(right + 1)}{end[0] + 1}" if end else ""
        self._merged = sheet.merged_cell_ranges or []

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows from index `start`, each with its number in the sheet."""
        width = len(self.column_names)
        # calamine yields rows from the range's top, but with all columns
        for number, row in enumerate(islice(self._sheet.iter_rows(), start, None), self._top + 1 + start):
            yield number, [as_text(value) for value in row[-width:]]

    def notes(self, first: int, last: int, *, brief: bool = False) -> list[str]:
        """Return the merged cells."""
        merged = [
            f"{column_letters(left + 1)}{top + 1}:{column_letters(right + 1)}{bottom + 1}"
            for (top, left), (bottom, right) in self._merged
            if top < last and bottom >= first - 1
        ]
        return [f"Merged cells: {first_of(merged) if brief else ', '.join(merged)}"] if merged else []


def _sheets_of_values(source: Source, lost: list[str], opened: Path | BytesIO | None = None) -> list[Sheet]:
    from python_calamine import CalamineWorkbook, PasswordError, SheetVisibleEnum

    try:
        book = CalamineWorkbook.from_object(opened or source.path)
    except PasswordError as error:
        raise locked(source.name) from error
    sheets: list[Sheet] = []
    for data in book.sheets_metadata:
        if str(data.typ).endswith("WorkSheet"):
            sheet = book.get_sheet_by_name(data.name)
            sheets.append(SheetOfValues(sheet, hidden=data.visible != SheetVisibleEnum.Visible))
        else:
            lost.append(f"Sheet {data.name} has no table of cells and is not shown.")
    return sheets
