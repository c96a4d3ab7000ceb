"""Workbooks with the formulas of cells and their saved values, in one pass: openpyxl itself gives either."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import openpyxl.worksheet._reader as reading  # type: ignore[import-untyped]  # it has no types
from openpyxl import load_workbook


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
