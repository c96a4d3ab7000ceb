"""Whether the saved value of a formula is what it gives: plain sums and arithmetic are computed, nothing else.

Nobody computes formulas on reading. A saved value that differs from what stands in the cells was saved by a program
that did not compute either.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from agent.files.tables.rows import number_of_letters

_MOST_CELLS = 10_000
"""Cells of a range up to which it is added up."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<range>\$?[A-Z]{1,3}\$?\d{1,7}:\$?[A-Z]{1,3}\$?\d{1,7})"
    r"|(?P<cell>\$?[A-Z]{1,3}\$?\d{1,7})(?![(\w])|(?P<name>[A-Z]+)(?=\()|(?P<sign>[-+*/(),]))"
)
_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "SUM": math.fsum,
    "AVERAGE": statistics.fmean,
    "MIN": min,
    "MAX": max,
    "COUNT": len,
    "PRODUCT": math.prod,
}
Place = tuple[int, int]
"""Row and column, from 1."""


class _Unknown(Exception):
    """The formula has something that is not computed here."""


def differs(formula: str, saved: Any, values: Mapping[Place, Any]) -> bool:
    """Whether a formula gives another number than the saved one; False where that is not known.

    Args:
        formula: As it stands in the cell, with its `=`.
        saved: The saved value.
        values: The saved values of the sheet's cells.
    """
    if isinstance(saved, bool) or not isinstance(saved, int | float) or len(formula) > 500:
        return False
    try:
        given = _Formula(formula.removeprefix("="), values).value()
    except (_Unknown, ArithmeticError, statistics.StatisticsError, ValueError, RecursionError):
        return False
    return not math.isclose(given, saved, rel_tol=1e-9, abs_tol=1e-9)


class _Formula:
    """Reads a formula from left to right: sums of products of numbers, cells, calls and brackets."""

    def __init__(self, text: str, values: Mapping[Place, Any]) -> None:
        self._values = values
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if not found:
                raise _Unknown
            self._tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
            at = found.end()
        self._at = 0

    def value(self) -> float:
        """What it gives."""
        value = self._sum()
        if self._at < len(self._tokens):
            raise _Unknown
        return value

    def _next(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise _Unknown
        self._at += 1
        return self._tokens[self._at - 1]

    def _sees(self, signs: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][1] in list(signs)

    def _sum(self) -> float:
        value = self._product()
        while self._sees("+-"):
            value = value + self._product() if self._next()[1] == "+" else value - self._product()
        return value

    def _product(self) -> float:
        value = self._factor()
        while self._sees("*/"):
            value = value * self._factor() if self._next()[1] == "*" else value / self._factor()
        return value

    def _factor(self) -> float:
        kind, text = self._next()
        if kind == "number":
            return float(text)
        if kind == "cell":
            return self._number(self._values.get(_place(text), 0))
        if kind == "name" and text in _FUNCTIONS:
            return float(_FUNCTIONS[text](self._arguments()))
        if text in ("-", "+"):
            return -self._factor() if text == "-" else self._factor()
        if text == "(":
            value = self._sum()
            self._expect(")")
            return value
        raise _Unknown

    def _arguments(self) -> list[float]:
        self._expect("(")
        numbers: list[float] = []
        while True:
            if self._at < len(self._tokens) and self._tokens[self._at][0] == "range":
                numbers += self._range(self._next()[1])
            else:
                numbers.append(self._sum())
            if not self._sees(","):
                break
            self._next()
        self._expect(")")
        return numbers

    def _range(self, text: str) -> list[float]:
        """The numbers in it: text, truth values and empty cells do not count."""
        (top, left), (bottom, right) = (_place(one) for one in text.split(":"))
        if (bottom - top + 1) * (right - left + 1) > _MOST_CELLS:
            raise _Unknown
        cells = [self._values.get((row, column)) for row in range(top, bottom + 1) for column in range(left, right + 1)]
        return [float(cell) for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]

    def _number(self, cell: Any) -> float:
        if cell is None:
            return 0.0
        if isinstance(cell, bool) or not isinstance(cell, int | float):
            raise _Unknown
        return float(cell)

    def _expect(self, sign: str) -> None:
        if self._next()[1] != sign:
            raise _Unknown


def _place(name: str) -> Place:
    letters, digits = re.fullmatch(r"([A-Z]+)(\d+)", name.replace("$", "")).groups()  # type: ignore[union-attr]  # a cell
    return int(digits), number_of_letters(letters)
