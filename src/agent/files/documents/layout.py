"""Pieces of text that stand somewhere on a page, as lines in which columns stay columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

_WIDEST = 300
"""Characters of a line, however far apart its pieces stand."""
_COLUMN_GAP = 1.5
"""Heights of a line between two columns at least."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text in a rectangle. Positions grow to the right and downwards."""

    left: float
    top: float
    right: float
    bottom: float
    text: str = ""

    @property
    def height(self) -> float:
        """How high it is."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Its place from top to bottom."""
        return (self.top + self.bottom) / 2


def rows_of(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """The pieces line by line from the top, each line from the left."""
    row: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: one.middle):
        if row and piece.middle - row[0].middle > 0.5 * max(row[-1].height, piece.height):
            yield sorted(row, key=lambda one: one.left)
            row = []
        row.append(piece)
    if row:
        yield sorted(row, key=lambda one: one.left)


def has_columns(pieces: Sequence[Piece]) -> bool:
    """Whether there is a table: lines with gaps in them that are not the two or three columns of a printed text."""
    if len(pieces) < 4:
        return False
    width = max(one.right for one in pieces) - min(one.left for one in pieces)
    tabular = prose = 0
    for row in rows_of(pieces):
        parts = _parts(row)
        if len(parts) > 1:
            wide = sum(right - left > 0.25 * width for left, right in parts)
            prose += wide > 1
            tabular += wide <= 1
    return tabular > 1 and tabular > prose


def laid_out(pieces: Sequence[Piece]) -> str:
    """The text of the pieces; what stands below each other on the page does so in the lines."""
    pieces = [one for one in pieces if one.text.strip()]
    if not pieces:
        return ""
    width = median((one.right - one.left) / len(one.text) for one in pieces) or 1.0
    left = min(one.left for one in pieces)
    return "\n".join(_line(row, left, width) for row in rows_of(pieces))


def _line(row: list[Piece], left: float, width: float) -> str:
    line, right = "", left
    for piece in row:
        gap = piece.left - right
        if gap > _COLUMN_GAP * piece.height or not line:
            column = min(round((piece.left - left) / width), _WIDEST)
            line = line.ljust(max(column, len(line) + 2 if line else 0))
        elif gap > 0.15 * piece.height and not line.endswith(" "):
            line += " "
        line += piece.text.strip()
        right = max(right, piece.right)
    return line


def _parts(row: list[Piece]) -> list[tuple[float, float]]:
    """Where the parts of a line begin and end that a gap sets apart."""
    parts: list[tuple[float, float]] = []
    for piece in row:
        if parts and piece.left - parts[-1][1] <= _COLUMN_GAP * piece.height:
            parts[-1] = (parts[-1][0], max(parts[-1][1], piece.right))
        else:
            parts.append((piece.left, piece.right))
    return parts
