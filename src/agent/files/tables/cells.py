"""Sheets with all that openpyxl shows: formulas, formats, colours, merged cells, comments, what is hidden."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import openpyxl.worksheet._reader as reading  # type: ignore[import-untyped]  # it has no types
from openpyxl import load_workbook

from agent.files.tables.rows import first_of, letters
from agent.files.tables.workbook import as_text

if TYPE_CHECKING:
    from mcp_tools.tool import Json

WIDEST = 60
"""Columns up to which empty ones are shown too."""
_FEW = 10
"""Comments or links that are told where it is to be brief."""
_Place = tuple[int, int]
"""Row and column, from 1."""
_THEME_ORDER = ("lt1", "dk1", "lt2", "dk2", *(f"accent{n}" for n in range(1, 7)), "hlink", "folHlink")
_HUES = ((15, "red"), (45, "orange"), (70, "yellow"), (165, "green"), (200, "cyan"), (260, "blue"), (290, "purple"))


class FullSheet:
    """A sheet with its notes.

    Args:
        sheet: Of a workbook from `load_with_values`.
        theme: The colours of the workbook's theme.
    """

    def __init__(self, sheet: Any, theme: list[str]) -> None:
        self._sheet = sheet
        hidden = sheet.sheet_state != "visible"
        self.title = f"{'hidden ' if hidden else ''}sheet {sheet.title}"
        self._texts: dict[int, dict[int, str]] = {}
        self._fills: dict[str, set[_Place]] = {}
        self._other_fills: set[_Place] = set()
        self._fonts: dict[str, set[_Place]] = {}
        self._formats: dict[str, set[_Place]] = {}
        self._remarks: dict[_Place, str] = {}
        self._links: dict[_Place, str] = {}
        self.formulas = 0
        self.uncomputed: list[str] = []
        """Cells whose formula has no value."""
        for place, cell in sheet._cells.items():
            self._take(place, cell, theme)
        used = sorted({column for row in self._texts.values() for column in row})
        self._numbers = sorted(self._texts)
        self.columns = list(range(used[0], used[-1] + 1)) if used and used[-1] - used[0] < WIDEST else used
        self.listed = len(self._numbers)
        self.span = f"{letters(used[0])}{self._numbers[0]}:{letters(used[-1])}{self._numbers[-1]}" if used else ""
        self.facts: dict[str, Json] = {
            "name": sheet.title,
            "hidden": hidden,
            "range": self.span,
            "rows": self.listed,
            "columns": len(self.columns),
            "formulas": self.formulas,
            "fills": {colour: ranges_of(places)[:50] for colour, places in self._fills.items()},
            "merged": [str(one) for one in sheet.merged_cells.ranges],
            "comments": len(self._remarks),
        }

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """The rows that are not empty with their numbers in the sheet, from the one at that index on."""
        for number in self._numbers[start:]:
            row = self._texts[number]
            yield number, [row.get(column, "") for column in self.columns]

    def notes(self, first: int, last: int, *, brief: bool = False) -> list[str]:
        """Colours, formats, merged and hidden cells, comments and links of rows."""
        listed = first_of if brief else ", ".join
        lines = [
            *_grouped("Fill colours", _between(self._fills, first, last), listed, named=True),
            *_grouped("Font colours", _between(self._fonts, first, last), listed, named=True),
            *_grouped("Number formats", _between(self._formats, first, last), listed, named=False),
        ]
        merged = [str(one) for one in self._sheet.merged_cells.ranges if one.min_row <= last and one.max_row >= first]
        if merged:
            lines.append(f"Merged cells: {listed(merged)}")
        dimensions = self._sheet.row_dimensions
        if rows := [number for number in dimensions if dimensions[number].hidden and first <= number <= last]:
            lines.append(f"Hidden rows: {_runs(sorted(rows))}")
        if columns := self._hidden_columns():
            lines.append(f"Hidden columns: {', '.join(columns)}")
        for what, said in (("Comment on", self._remarks), ("Link of", self._links)):
            told = [f"{what} {name_of(at)}: {text}" for at, text in sorted(said.items()) if first <= at[0] <= last]
            lines += [*told[:_FEW], f"and {len(told) - _FEW} more like that"] if brief and len(told) > _FEW else told
        return lines

    def lost(self) -> list[str]:
        """The colours that the notes do not tell."""
        said = []
        if cells := ranges_of(self._other_fills):
            said.append(f"{self.title}: the fills of {first_of(cells)}, patterns or gradients, are not shown.")
        if rules := [where for one in self._sheet.conditional_formatting for where in str(one.sqref).split()]:
            said.append(f"{self.title}: what conditional formats colour in {first_of(rules)} is not shown.")
        return said

    def _take(self, place: _Place, cell: Any, theme: list[str]) -> None:
        value = cell.value
        if isinstance(value, Formula):
            self.formulas += 1
            formula, value = _formula(value.written), value.saved
            if value is None:
                self.uncomputed.append(name_of(place))
            text = f"{as_text(value)} [{formula}]".lstrip()
        else:
            text = as_text(value)
        if cell.has_style:
            self._style(place, cell, value, theme)
        if cell.comment:
            author = f" ({cell.comment.author})" if cell.comment.author else ""
            self._remarks[place] = " ".join(cell.comment.text.split()) + author
        if cell.hyperlink and cell.hyperlink.target:
            self._links[place] = cell.hyperlink.target
        if text or place in self._remarks or any(place in places for places in self._fills.values()):
            self._texts.setdefault(place[0], {})[place[1]] = text

    def _style(self, place: _Place, cell: Any, value: Any, theme: list[str]) -> None:
        fill = cell.fill
        if fill.fill_type == "solid" and (colour := colour_of(fill.fgColor, theme)):
            self._fills.setdefault(colour, set()).add(place)
        elif fill.fill_type:
            self._other_fills.add(place)
        if value is None:
            return
        colour = colour_of(cell.font.color, theme) if cell.font else ""
        if colour and colour != "000000":
            self._fonts.setdefault(colour, set()).add(place)
        shown = cell.number_format
        if shown not in ("General", "@") and not cell.is_date and isinstance(value, int | float):
            self._formats.setdefault(shown, set()).add(place)

    def _hidden_columns(self) -> list[str]:
        hidden = []
        for dimension in self._sheet.column_dimensions.values():
            if dimension.hidden:
                first, last = dimension.min or 0, dimension.max or 0
                hidden.append(letters(first) if first == last else f"{letters(first)}-{letters(last)}")
        return hidden


def name_of(place: _Place) -> str:
    """`B7`."""
    return f"{letters(place[1])}{place[0]}"


def ranges_of(places: Iterable[_Place]) -> list[str]:
    """Cells as few ranges: `A1:C7`, `E9`."""
    columns: dict[_Place, list[int]] = {}
    for column, group in groupby(sorted(places, key=lambda p: (p[1], p[0])), key=lambda p: p[1]):
        for first, last in _spans([row for row, _ in group]):
            columns.setdefault((first, last), []).append(column)
    ranges = [
        (top, left, f"{letters(left)}{top}" + (f":{letters(right)}{bottom}" if (top, left) != (bottom, right) else ""))
        for (top, bottom), used in columns.items()
        for left, right in _spans(used)
    ]
    return [text for _, _, text in sorted(ranges)]


def _spans(numbers: list[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans


def _runs(numbers: list[int]) -> str:
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in _spans(numbers))


def _between(groups: dict[str, set[_Place]], first: int, last: int) -> dict[str, list[_Place]]:
    """The places in these rows."""
    here = {key: [place for place in places if first <= place[0] <= last] for key, places in groups.items()}
    return {key: places for key, places in here.items() if places}


def _grouped(
    title: str, groups: dict[str, list[_Place]], listed: Callable[[list[str]], str], *, named: bool
) -> list[str]:
    lines = []
    for key, places in groups.items():
        shown = f"#{key} ({colour_word(key)})" if named else f"`{key}`"
        lines.append(f"- {shown}: {listed(ranges_of(places))}")
    return [f"{title}:", *lines] if lines else []


def _formula(value: Any) -> str:
    """The formula, also of an array or a data table."""
    text = getattr(value, "text", None) or value
    where = getattr(value, "ref", "")
    return f"{{{text}}} over {where}" if where else str(text)


class Formula(NamedTuple):
    """The value of a cell that has a formula."""

    written: Any
    """The formula as openpyxl gives it: text, or an array's or a data table's."""
    saved: Any
    """The value that was computed when it was last saved."""


class _Parser(reading.WorkSheetParser):  # type: ignore[misc]  # it has no types
    col_counter: int

    def parse_formula(self, element: Any) -> Formula:
        column = self.col_counter  # counted up by each reading of a cell without a name
        self.data_only = True
        saved = self.parse_cell(element)["value"]
        self.data_only, self.col_counter = False, column
        return Formula(super().parse_formula(element), saved)


def load_with_values(path: Path) -> Any:
    """A workbook of openpyxl in which the value of a cell with a formula is a `Formula`."""
    usual = reading.WorkSheetParser
    reading.WorkSheetParser = _Parser
    try:
        with path.open("rb") as file:  # of a path openpyxl would look at the suffix
            return load_workbook(file)
    finally:
        reading.WorkSheetParser = usual


def colour_of(color: Any, theme: list[str]) -> str:
    """`FF0000` of a colour of openpyxl; empty where there is none.

    Args:
        color: What openpyxl read.
        theme: The colours of the workbook's theme, `theme_colours`.
    """
    if color is None:
        return ""
    if color.type == "rgb" and isinstance(color.rgb, str):
        # an alpha of 00 is what most programs write, and none of them means it
        return color.rgb[-6:].upper()
    if color.type == "indexed":
        return _indexed(color.indexed)
    if color.type == "theme" and color.theme < len(theme):
        return _tinted(theme[color.theme], color.tint or 0.0)
    return ""


def _indexed(number: int) -> str:
    from openpyxl.styles.colors import COLOR_INDEX  # type: ignore[import-untyped]  # it has no types

    return str(COLOR_INDEX[number])[-6:].upper() if number < len(COLOR_INDEX) else ""


def theme_colours(theme: bytes | None) -> list[str]:
    """The colours of a workbook's theme, in the order in which cells count them."""
    if not theme:
        return []
    from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]  # it has no types

    found: dict[str, str] = {}
    for scheme in fromstring(theme).iter():
        if not str(scheme.tag).endswith("}clrScheme"):
            continue
        for entry in scheme:
            for colour in entry:
                found[str(entry.tag).rpartition("}")[2]] = colour.get("lastClr") or colour.get("val") or ""
    return [found.get(name, "000000").upper() for name in _THEME_ORDER]


def _tinted(rgb: str, tint: float) -> str:
    """A theme's colour, darker (below 0) or lighter."""
    if not tint:
        return rgb
    hue, light, saturation = colorsys.rgb_to_hls(*_fractions(rgb))
    light = light * (1 + tint) if tint < 0 else light * (1 - tint) + tint
    return "".join(f"{round(255 * part):02X}" for part in colorsys.hls_to_rgb(hue, light, saturation))


def colour_word(rgb: str) -> str:
    """What people call a colour: `red`, `light blue`, `dark grey`."""
    hue, light, saturation = colorsys.rgb_to_hls(*_fractions(rgb))
    if light > 0.97:
        return "white"
    if light < 0.06:
        return "black"
    shade = "light " if light > 0.75 else "dark " if light < 0.3 else ""
    if saturation < 0.12:
        return f"{shade}grey"
    degrees = hue * 360
    name = next((word for most, word in _HUES if degrees < most), "pink" if degrees < 335 else "red")
    return f"{shade}{name}"


def _fractions(rgb: str) -> tuple[float, float, float]:
    red, green, blue = (int(rgb[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return red, green, blue
