"""Sheets of a workbook or tables of a database, divided into pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from agent.files.contents import Contents, Section
from agent.files.previews import CELL, ListPreview, PreviewText, preview_of_lists
from agent.files.tables.rows import as_table, describe_columns, has_header, line_of, rows_per_page, rows_to_inspect

_SAMPLE_ROWS = 100
_MAX_NOTES_SHARE = 0.4  # of a page
_LAST_ROW = 1 << 20
_FORMULA = re.compile(r" ?\[[={].*\]", re.DOTALL)
"""The formula after a cell's value."""


class Sheet:
    """A sheet of a workbook or a table of a database."""

    title: str
    """Title shown to users: `sheet Costs`, `hidden sheet Costs`, `table costs`."""
    column_names: list[str]
    """Letters or names of the columns."""
    row_count: int
    """Number of rows; in a workbook, empty rows are not counted."""
    span = ""
    """The range with values, such as `A1:E120`."""
    create_statement = ""
    """The SQL statement that created a table; empty for a sheet."""

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows with their numbers, from index `start`."""
        raise NotImplementedError

    def notes(self, first: int, last: int, *, brief: bool = False) -> list[str]:
        """Return details that the cells do not show, such as colours and comments, for rows `first` to `last`.

        With `brief`, only the first cells are listed, and the rest are counted.
        """
        return []


class SheetsContents(Contents):
    """A workbook or a database. After the sections in `before`, each page is a part of one sheet."""

    def __init__(
        self,
        kind: str,
        summary: str,
        sheets: Sequence[Sheet],
        lost: list[str],
        section: int,
        *,
        before: Sequence[Section] = (),
        data: Mapping[str, bytes] | None = None,
    ) -> None:
        self._section, self._before = section, before
        self._sheets = [
            (sheet, rows_per_page([cells for _, cells in islice(sheet.rows(), _SAMPLE_ROWS)], section))
            for sheet in sheets
        ]
        count = len(before) + sum(_pages(sheet, size) for sheet, size in self._sheets)
        super().__init__(kind, summary, lost, count=count, data=data)

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yield the pages from number `first`."""
        yield from self._before[first - 1 :]
        before = len(self._before)
        for sheet, size in self._sheets:
            pages = _pages(sheet, size)
            start = max(0, first - 1 - before)
            before += pages
            if start < pages and not sheet.row_count:
                yield Section(sheet.title, "\n".join(["(no cells)", *sheet.notes(1, 1)]))
            elif start < pages:
                rows = sheet.rows(start * size)
                yield from (self._page(sheet, list(islice(rows, size))) for _ in range(start, pages))

    def preview(self) -> PreviewText:
        """Return the beginning of each sheet and a description of its columns."""
        return preview_of_lists(self.lists())

    def lists(self) -> list[ListPreview]:
        """Return the sheets as lists of rows for a preview."""
        return [_column_preview(sheet) for sheet, _ in self._sheets]

    def _page(self, sheet: Sheet, rows: list[tuple[int, list[str]]]) -> Section:
        first, last = rows[0][0], rows[-1][0]
        notes, room = "\n".join(sheet.notes(first, last)), int(self._section * _MAX_NOTES_SHARE)
        where = f"{sheet.title}, rows {first:,}-{last:,}"
        if len(notes) > room:
            notes = notes[:room].rpartition("\n")[0] or notes[:room]
            self.lost.append(f"{where}: some notes about cells are not shown; openpyxl can read them all.")
        text, cut = as_table(sheet.column_names, rows, self._section - len(notes))
        if cut:
            self.lost.append(f"{where}: {cut} long cells were shortened.")
        return Section(where, f"{text}\n\n{notes}" if notes else text)


def _pages(sheet: Sheet, size: int) -> int:
    return max(1, -(-sheet.row_count // size))


def _column_preview(sheet: Sheet) -> ListPreview:
    names = sheet.column_names
    rows = list(islice(sheet.rows(), rows_to_inspect(len(names))))
    cells = [[_FORMULA.sub("", cell) if "[" in cell else cell for cell in row] for _, row in rows]
    total = sheet.row_count
    head = line_of("", names, CELL) if rows or sheet.create_statement else ""
    if not sheet.create_statement and has_header(cells[:200]):
        names = [f"{letter} {name}" for letter, name in zip(names, cells.pop(0), strict=True)]
        total -= 1
    return ListPreview(
        (line_of(number, row, CELL) for number, row in rows),
        sheet.row_count,
        name=sheet.title,
        head=f"{sheet.create_statement}\n{head}".lstrip("\n"),
        notes=sheet.notes(1, _LAST_ROW, brief=True),
        columns=describe_columns(names, cells, total=total),
    )
