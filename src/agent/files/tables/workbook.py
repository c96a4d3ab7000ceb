"""Workbooks: all that a sheet shows where the file is of a usual size, the values alone where it is large."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.files.contents import Contents, FileProblem, ReadLimits, Section, Source, locked, name_of, parser_failed
from agent.files.documents.package import open_package
from agent.files.previews import CELL, Part, part_of, trimmed
from agent.files.tables.rows import (
    as_table,
    columns_told,
    first_of,
    has_header,
    letters,
    line_of,
    looked_at,
    number_of_letters,
    rows_per_page,
)

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

    from mcp_tools.tool import Json

FULL = 16 << 20
"""Bytes of sheets, unpacked, up to which everything is read; openpyxl takes seconds for them."""
_SMALL = 1 << 18
"""Bytes of sheets up to which nothing is gained by looking for what is in them."""
_MOST_PICTURES = 50
_RATIO = 200
"""How many times its size a workbook of more than 64 MiB may unpack to; what people make reaches a tenth of it."""
_WIDE = 1 << 20
"""Cells that merged cells and links may span together: openpyxl makes an object of each."""
_SPAN = re.compile(
    rb"<(?:[\w.-]{1,40}:)?(?:mergeCell|hyperlink)\s[^<>]{0,400}?\bref\s*=\s*[\"']\$?([A-Z]{1,3})\$?(\d{1,7})"
    rb":\$?([A-Z]{1,3})\$?(\d{1,7})[\"']"
)
_MARKED = re.compile(
    rb"<(?:[\w.-]{1,40}:)?(?:f[\s>]|mergeCell\s|conditionalFormatting|hyperlink\s)|\st=[\"']e[\"']|\shidden="
)
"""What of a sheet its values alone do not show: formulas, errors, links, merged or hidden cells."""
_STYLED = re.compile(
    rb"""patternType=["'](?!none|gray125)|gradientFill
    |<(?:[\w.-]{1,40}:)?color\s[^>]*(?:rgb=["']..(?!000000)|indexed=["'](?!(?:0|8|64|81)["'])|theme=["'](?!1["'])|tint=)
    |formatCode=["'](?!General["']|@["']|[^"']*(?:yy|mm|dd|hh|ss))
    |numFmtId=["'](?:[1-9]|1[0-3]|3[7-9]|4[0-4]|48)["']""",
    re.VERBOSE | re.IGNORECASE,
)
"""A fill, a colour that text has not anyway, or a format of numbers that is not one of dates."""
_QUOTED = re.compile(rb"&quot;.*?&quot;")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_SAMPLE_ROWS = 100
_NOTES = 0.4
"""Share of a page that notes below the table may take."""
_TITLES = 20
"""Sheets that the summary describes."""
_LAST_ROW = 1 << 20
_FORMULA = re.compile(r" ?\[[={].*\]", re.DOTALL)
"""What stands behind the value of a cell that has a formula."""


def open_workbook(source: Source, limits: ReadLimits) -> WorkbookContents:
    """Opens an xlsx file.

    Raises:
        FileProblem: It is encrypted, damaged, cut off, or unpacks to too much.
    """
    parts = _parts(source, limits)
    lost = _unshown(parts)
    contents = _with_marks(source, limits, parts, lost) or _plain(source, limits, lost)
    contents.pictures = _pictures(source, parts)
    if contents.pictures:
        named = ", ".join(f"[picture {name}]" for name in contents.pictures)
        contents.lost.append(f"Pictures that stand on its sheets, saved apart: {named}.")
    return contents


def open_values(source: Source, limits: ReadLimits) -> WorkbookContents:
    """Opens an xls, xlsb or ods file: its values.

    Raises:
        FileProblem: It is encrypted, damaged, or unpacks to too much.
    """
    if source.kind != "xls":
        _parts(source, limits)
    lost = [f"Of {source.kind} files only values are read, not formulas, colours, number formats, comments or errors."]
    return _plain(source, limits, lost)


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
            (sheet, rows_per_page([cells for _, cells in islice(sheet.rows(), _SAMPLE_ROWS)], section))
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


def _with_marks(
    source: Source, limits: ReadLimits, parts: list[zipfile.ZipInfo], lost: list[str]
) -> WorkbookContents | None:
    """A workbook with all that its sheets show; None where its values are all that is there or can be read."""
    sheets = [one for one in parts if re.fullmatch(r"xl/worksheets/[^/]+\.xml", one.filename)]
    size = sum(one.file_size for one in sheets)
    if size > FULL:
        lost.append(
            "The workbook is large: only values are read, not formulas, colours, number formats, comments or error"
            " values (#DIV/0!), which are shown as empty. Use openpyxl with read_only=True for them."
        )
        return None
    texts, styles = list[bytes](), b""
    with contextlib.suppress(*_DAMAGE), zipfile.ZipFile(source.path) as archive:  # openpyxl says what is wrong
        texts = [archive.read(one) for one in sheets]
        styles = archive.read("xl/styles.xml") if "xl/styles.xml" in archive.namelist() else b""
    spanned = sum(
        (1 + abs(int(bottom) - int(top)))
        * (1 + abs(number_of_letters(right.decode()) - number_of_letters(left.decode())))
        for text in texts
        for left, top, right, bottom in _SPAN.findall(text)
    )
    if spanned > _WIDE:
        lost.append(
            f"Merged cells and links span {spanned:,} cells, so only values are read, not formulas, colours, number"
            " formats or comments. Use openpyxl with read_only=True for them."
        )
        return None
    has_marks = any("comment" in one.filename.lower() for one in parts) or _STYLED.search(_QUOTED.sub(b"", styles))
    if size > _SMALL and texts and not has_marks and not any(map(_MARKED.search, texts)):
        return None
    if any(b":conditionalFormattings" in text for text in texts):  # an extension, which openpyxl leaves out
        lost.append("What conditional formats of newer kinds colour is not shown.")
    try:
        return _full(source, limits, lost)
    except (SyntaxError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise parser_failed(name_of(source), source.kind, error) from error
    except Exception as error:  # noqa: BLE001 - openpyxl refuses much that other programs write and read
        lost.append(f"Only values could be read, not formulas, colours or comments ({type(error).__name__}).")
        return None


def _plain(source: Source, limits: ReadLimits, lost: list[str]) -> WorkbookContents:
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetVisibleEnum

    sheets: list[Sheet] = []
    try:
        book = CalamineWorkbook.from_path(source.path)
        for data in book.sheets_metadata:
            hidden = data.visible != SheetVisibleEnum.Visible
            if str(data.typ).endswith("WorkSheet"):
                sheets.append(PlainSheet(book.get_sheet_by_name(data.name), hidden))
            else:
                lost.append(f"Sheet {data.name} is no table of cells: it is not shown.")
    except PasswordError as error:
        raise locked(source) from error
    except CalamineError as error:
        raise FileProblem("damaged", f"{name_of(source)} cannot be read as {source.kind}: {error}.") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a fault in Rust becomes; it is no Exception
            raise
        raise parser_failed(name_of(source), source.kind, error) from error
    return WorkbookContents(source.kind, sheets, lost, limits.section)


def _full(source: Source, limits: ReadLimits, lost: list[str]) -> WorkbookContents:
    from openpyxl.worksheet.worksheet import Worksheet  # type: ignore[import-untyped]  # it has no types

    from agent.files.tables.cells import FullSheet, load_with_values, theme_colours

    book = load_with_values(source.path)
    theme = theme_colours(book.loaded_theme)
    sheets = [FullSheet(sheet, theme) for sheet in book.worksheets if isinstance(sheet, Worksheet)]
    told = [f"Sheet {one.title} is a chart: it is not shown." for one in book.chartsheets]
    told += [one for sheet in sheets for one in sheet.lost()]
    told += [
        f"{sheet.title}: the formulas in {first_of(sheet.uncomputed)} have no saved value; they must be computed."
        for sheet in sheets
        if sheet.uncomputed
    ]
    if any(sheet.formulas > len(sheet.uncomputed) for sheet in sheets) and _asks_for_computing(source):
        told.append("The workbook asks for its formulas to be computed anew: their saved values may be out of date.")
    contents = WorkbookContents(source.kind, list[Sheet](sheets), [*lost, *told], limits.section)
    contents.facts["names"] = {name: defined.attr_text for name, defined in book.defined_names.items()}
    return contents


def _asks_for_computing(source: Source) -> bool:
    """Whether it says so itself: openpyxl says so of every workbook."""
    with zipfile.ZipFile(source.path) as archive:
        found = re.search(rb"<(?:\w+:)?calcPr[^>]*>", archive.read("xl/workbook.xml"))
    return found is not None and any(mark in found[0] for mark in (b'fullCalcOnLoad="1"', b'calcMode="manual"'))


def _parts(source: Source, limits: ReadLimits) -> list[zipfile.ZipInfo]:
    """The parts of a packed workbook.

    Raises:
        FileProblem: It is encrypted, cut off, or unpacks to too much.
    """
    with open_package(source, limits) as archive:
        parts = archive.infolist()
    total = sum(one.file_size for one in parts)
    packed = source.path.stat().st_size
    if total > 64 << 20 and total > packed * _RATIO:
        name = name_of(source)
        raise FileProblem("bomb", f"{name} has {packed:,} bytes and would unpack to {total:,}: it is not read.")
    return parts


def _pictures(source: Source, parts: list[zipfile.ZipInfo]) -> dict[str, bytes]:
    """The pictures of a workbook by the names to save them as."""
    media = [one for one in parts if one.filename.startswith("xl/media/")]
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(source.path) as archive:
        for number, one in enumerate(media[:_MOST_PICTURES], 1):
            suffix = re.search(r"\.\w{1,5}\Z", one.filename)
            with contextlib.suppress(*_DAMAGE):
                found[f"picture-{number}{suffix[0].lower() if suffix else ''}"] = archive.read(one)
    return found


def _unshown(parts: list[zipfile.ZipInfo]) -> list[str]:
    """What is in the workbook, and in no cell."""
    names = [one.filename for one in parts]
    counts = {
        "charts": sum(name.startswith("xl/charts/chart") for name in names),
        "pivot tables": sum(name.startswith("xl/pivotTables/pivot") for name in names),
        "macros": sum(name.endswith("vbaProject.bin") for name in names),
    }
    found = [f"{count} {what}" for what, count in counts.items() if count]
    return [f"Not shown: {', '.join(found)}."] if found else []
