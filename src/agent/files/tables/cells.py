"""Reads sheets with openpyxl: formulas, formats, colours, merged and hidden cells, comments."""

from __future__ import annotations

import colorsys
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from openpyxl.cell.rich_text import CellRichText  # type: ignore[import-untyped]  # it has no types
from openpyxl.reader.excel import ExcelReader  # type: ignore[import-untyped]  # it has no types
from openpyxl.styles.colors import COLOR_INDEX  # type: ignore[import-untyped]  # it has no types
from openpyxl.worksheet.worksheet import Worksheet  # type: ignore[import-untyped]  # it has no types

from agent.files.contents import first_of
from agent.files.documents.package import parse_xml
from agent.files.tables.rows import as_text, column_letters
from agent.files.tables.sheets import Sheet
from mcp_tools.text import one_line

MAX_COLUMNS_WITH_EMPTY = 60
"""Maximum width of a sheet whose empty columns are shown. In a wider sheet, they are left out."""
_MAX_REMARKS = 10  # comments or links in a preview
_LOOKS = ("Fill colours", "Font colours", "Marked text", "Number formats")
_MAX_STRUCK_CHARS = 200  # of a text that is partly struck through
_OTHER_PARTS = re.compile(rb"<(?:\w+:)?Relationship\s[^<>]*relationships/(?:drawing|pivotTable)[\"'][^<>]*>")
_Place = tuple[int, int]  # row and column, from 1
_THEME_ORDER = ("lt1", "dk1", "lt2", "dk2", *(f"accent{n}" for n in range(1, 7)), "hlink", "folHlink")
_HUES = ((15, "red"), (45, "orange"), (70, "yellow"), (165, "green"), (200, "cyan"), (260, "blue"), (290, "purple"))


def full_sheets(book_file: Path | BytesIO) -> tuple[list[Sheet], list[str]]:
    """Return the sheets of a workbook, and a sentence about each thing that is not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about parts other than cells
        book = _CellReader(book_file, rich_text=True).book()
        sheets = [sheet for sheet in book.worksheets if isinstance(sheet, Worksheet)]
        computed: dict[str, Any] = {}
        if any(cell.data_type == "f" for sheet in sheets for cell in sheet._cells.values()):
            computed = {sheet.title: sheet for sheet in _CellReader(book_file, data_only=True).book().worksheets}
    theme = theme_colours(book.loaded_theme)
    read = [FullSheet(sheet, computed.get(sheet.title), theme) for sheet in sheets]
    return list(read), [sentence for sheet in read for sentence in sheet.lost]


class _CellReader(ExcelReader):  # type: ignore[misc]  # it has no types
    """Reads only cells, since openpyxl refuses a workbook with a chart or pivot table that it does not support."""

    def __init__(self, file: Path | BytesIO, **options: bool) -> None:
        self._file = file.open("rb") if isinstance(file, Path) else file  # for a path, openpyxl checks the suffix
        super().__init__(self._file, keep_links=False, **options)
        self.archive = _CellArchive(self._file)

    def book(self) -> Any:
        """Read the workbook and close its file."""
        try:
            self.read()
            return self.wb
        finally:
            if not isinstance(self._file, BytesIO):
                self._file.close()

    def read_workbook(self) -> None:
        """Read the list of sheets, without the caches of pivot tables."""
        super().read_workbook()
        self.parser.caches = []

    def read_properties(self) -> None:
        """Skip parts that are not cells."""

    read_custom = read_properties

    def read_chartsheet(self, *_: Any) -> None:
        """Skip sheets that are charts."""


class _CellArchive(ZipFile):
    """The ZIP file of a workbook. Relations from sheets to drawings and pivot tables are removed."""

    def read(self, name: Any, pwd: bytes | None = None) -> bytes:
        """Return the bytes of a part."""
        content = super().read(name, pwd)
        return _OTHER_PARTS.sub(b"", content) if str(name).endswith(".rels") and "sheets/" in str(name) else content


class FullSheet(Sheet):
    """A sheet with its notes. `computed` is the same sheet with saved values in place of formulas."""

    def __init__(self, sheet: Any, computed: Any, theme: list[str]) -> None:
        self._sheet, self._computed, self._theme = sheet, computed, theme
        self.title = f"{'hidden ' if sheet.sheet_state != 'visible' else ''}sheet {sheet.title}"
        self._texts: dict[int, dict[int, str]] = {}
        self._looks = {title: defaultdict[str, list[_Place]](list) for title in _LOOKS}
        self._remarks: dict[_Place, str] = {}
        self._links: dict[_Place, str] = {}
        uncomputed, patterns = list[str](), list[_Place]()
        for place, cell in sheet._cells.items():
            value, formula = cell.value, ""
            if isinstance(value, CellRichText):
                if mark := _struck_through(value):
                    self._looks["Marked text"][mark].append(place)
                value = str(value)
            if cell.data_type == "f":
                value, formula = computed._cells[place].value, f" [{_formula(value)}]"
                uncomputed += [cell_name(place)] if value is None else []
            is_filled = cell.has_style and self._style(place, cell, value, patterns)
            if cell.comment:
                author = f" ({cell.comment.author})" if cell.comment.author else ""
                self._remarks[place] = " ".join(cell.comment.text.split()) + author
            if cell.hyperlink and cell.hyperlink.target:
                self._links[place] = cell.hyperlink.target
            text = f"{as_text(value)}{formula}".lstrip() if formula else as_text(value)
            if text or is_filled or place in self._remarks:
                self._texts.setdefault(place[0], {})[place[1]] = text
        used = sorted({column for row in self._texts.values() for column in row})
        self._numbers = sorted(self._texts)
        self._columns = (
            list(range(used[0], used[-1] + 1)) if used and used[-1] - used[0] < MAX_COLUMNS_WITH_EMPTY else used
        )
        self.column_names = [column_letters(column) for column in self._columns]
        self.row_count = len(self._numbers)
        self.span = (
            f"{column_letters(used[0])}{self._numbers[0]}:{column_letters(used[-1])}{self._numbers[-1]}" if used else ""
        )
        rules = [where for one in sheet.conditional_formatting for where in str(one.sqref).split()]
        losses = {
            "the fills of {}, patterns, gradients or system colours, are not shown": cell_ranges(patterns),
            "colours from conditional formats in {} are not shown": rules,
            "the formulas in {} have no saved value; they must be computed": uncomputed,
        }
        self.lost = [f"{self.title}: {text.format(first_of(cells))}." for text, cells in losses.items() if cells]

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows that are not empty, from index `start`, each with its number in the sheet."""
        for number in self._numbers[start:]:
            row = self._texts[number]
            yield number, [row.get(column, "") for column in self._columns]

    def notes(self, first: int, last: int, *, brief: bool = False) -> list[str]:
        """Return notes: colours, struck-through and italic text, formats, merged and hidden cells, comments, links."""
        listed = first_of if brief else ", ".join
        lines = []
        for title, groups in self._looks.items():
            here = {key: [place for place in places if first <= place[0] <= last] for key, places in groups.items()}
            lines += [f"{title}:"] if any(here.values()) else []
            lines += [f"- {key}: {listed(cell_ranges(places))}" for key, places in here.items() if places]
        merged = [str(one) for one in self._sheet.merged_cells.ranges if one.min_row <= last and one.max_row >= first]
        lines += [f"Merged cells: {listed(merged)}"] if merged else []
        dimensions = self._sheet.row_dimensions
        if rows := sorted(number for number in dimensions if dimensions[number].hidden and first <= number <= last):
            lines.append(f"Hidden rows: {', '.join(_run(one, str) for one in _spans(rows))}")
        hidden = [one for one in self._sheet.column_dimensions.values() if one.hidden]
        if columns := [_run((one.min or 0, one.max or 0), column_letters) for one in hidden]:
            lines.append(f"Hidden columns: {', '.join(columns)}")
        for what, texts in (("Comment on", self._remarks), ("Link of", self._links)):
            told = [f"{what} {cell_name(at)}: {text}" for at, text in sorted(texts.items()) if first <= at[0] <= last]
            lines += (
                [*told[:_MAX_REMARKS], f"and {len(told) - _MAX_REMARKS} more like that"]
                if brief and len(told) > _MAX_REMARKS
                else told
            )
        return lines

    def _style(self, place: _Place, cell: Any, value: Any, patterns: list[_Place]) -> bool:
        """Record the colours, marks and format of a cell. Return True if the cell has a fill colour."""
        fill, font = cell.fill, cell.font
        filled = colour_of(fill.fgColor, self._theme) if fill.fill_type == "solid" else ""
        patterns += [place] if fill.fill_type and not filled else []
        written = colour_of(font.color, self._theme) if font else ""
        is_number = not cell.is_date and isinstance(value, int | float)
        for title, look in (
            ("Fill colours", filled and f"#{filled} ({colour_word(filled)})"),
            ("Font colours", written and written != "000000" and f"#{written} ({colour_word(written)})"),
            ("Marked text", font and font.strike and "struck through"),
            ("Marked text", font and font.i and "italic"),
            ("Number formats", is_number and cell.number_format not in ("General", "@") and f"`{cell.number_format}`"),
        ):
            if look and (value is not None or title == "Fill colours"):
                self._looks[title][look].append(place)
        return bool(filled)


def cell_name(place: _Place) -> str:
    """Return the name of a cell, such as `B7`."""
    return f"{column_letters(place[1])}{place[0]}"


def cell_ranges(places: Iterable[_Place]) -> list[str]:
    """Return cells as ranges: `A1:C7`, `E9`."""
    columns: dict[_Place, list[int]] = {}
    for column, group in groupby(sorted(places, key=lambda p: (p[1], p[0])), key=lambda p: p[1]):
        for span in _spans([row for row, _ in group]):
            columns.setdefault(span, []).append(column)
    corners = sorted(
        ((top, left), (bottom, right)) for (top, bottom), used in columns.items() for left, right in _spans(used)
    )
    return [cell_name(first) + (f":{cell_name(last)}" if first != last else "") for first, last in corners]


def _spans(numbers: list[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans


def _run(span: tuple[int, int], named: Any) -> str:
    return str(named(span[0])) if span[0] == span[1] else f"{named(span[0])}-{named(span[1])}"


def _struck_through(runs: Iterable[Any]) -> str:
    """Return `struck through`, the text with its struck parts marked, or an empty string if nothing is struck."""
    parts = [(str(run), bool(getattr(run, "font", None) and run.font.strike)) for run in runs if str(run)]
    struck = [is_struck for text, is_struck in parts if text.strip()]
    if all(struck):
        return "struck through" if struck else ""
    marked = "".join(f"~~{text}~~" if is_struck else text for text, is_struck in parts)
    return f"struck through in part, {one_line(marked, _MAX_STRUCK_CHARS)}" if any(struck) else ""


def _formula(value: Any) -> str:
    """Return the formula of a cell; array formulas and data tables show their range."""
    where = getattr(value, "ref", "")
    text = getattr(value, "text", None) or value
    return f"{{{text}}} over {where}" if where else str(text)


def colour_of(color: Any, theme: list[str]) -> str:
    """Return a colour as `FF0000`; empty if there is none."""
    if color is None:
        return ""
    if color.type == "rgb" and isinstance(color.rgb, str):
        return color.rgb[-6:].upper()  # without alpha: most programs write 00, but mean opaque
    if color.type == "indexed" and color.indexed < len(COLOR_INDEX):
        return str(COLOR_INDEX[color.indexed])[-6:].upper()
    if color.type != "theme" or color.theme >= len(theme):
        return ""
    tint = color.tint or 0.0  # darker below 0, lighter above
    hue, light, saturation = _hls(theme[color.theme])
    light = light * (1 + tint) if tint < 0 else light * (1 - tint) + tint
    return "".join(f"{round(255 * part):02X}" for part in colorsys.hls_to_rgb(hue, light, saturation))


def theme_colours(theme: bytes | None) -> list[str]:
    """Return the colours of a workbook's theme. Cells refer to them by their index."""
    if not theme:
        return []
    scheme = next(parse_xml(theme).iter("{*}clrScheme"), ())
    found = {entry.tag.rpartition("}")[2]: entry[0].get("lastClr") or entry[0].get("val") or "" for entry in scheme}
    return [found.get(name, "000000").upper() for name in _THEME_ORDER]


def colour_word(rgb: str) -> str:
    """Return the name of a colour: `red`, `light blue`, `dark grey`."""
    hue, light, saturation = _hls(rgb)
    if light > 0.97 or light < 0.06:
        return "white" if light > 0.5 else "black"
    shade = "light " if light > 0.75 else "dark " if light < 0.3 else ""
    if saturation < 0.12:
        return f"{shade}grey"
    degrees = hue * 360
    return shade + next((word for most, word in _HUES if degrees < most), "pink" if degrees < 335 else "red")


def _hls(rgb: str) -> tuple[float, float, float]:
    red, green, blue = (int(rgb[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return colorsys.rgb_to_hls(red, green, blue)
