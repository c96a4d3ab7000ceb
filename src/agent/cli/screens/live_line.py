"""One line at the bottom of the screen that changes while a turn works."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.cells import cell_len

from mcp_tools.text import printable

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ERASE_BELOW = "\x1b[J"


class LiveLine:
    """Draws a line, draws over it, and removes it; whatever else is printed comes in between.

    Args:
        stream: A terminal.
        width: Its present columns.
    """

    def __init__(self, stream: TextIO, width: Callable[[], int] = lambda: shutil.get_terminal_size().columns) -> None:
        self._stream = stream
        self._width = width
        self._drawn: list[int] = []
        """Columns of each row that stands there."""
        self._frame = 0

    def draw(self, text: str, above: Sequence[str] = ()) -> None:
        """Shows a text, cut to one row, with the next frame of the spinner before it.

        Args:
            text: Plain text.
            above: Rows above it, which may be coloured and fit the width.
        """
        self._frame = (self._frame + 1) % len(FRAMES)
        line = f"{FRAMES[self._frame]} {text}"
        while cell_len(line) >= self._width() and line:
            line = line[:-1]
        rows = [*above, line]
        self._stream.write(self._removal() + "\n".join(rows))
        self._stream.flush()
        self._drawn = [cell_len(printable(row)) for row in rows]

    def clear(self) -> None:
        """Removes it."""
        removal = self._removal()
        if removal:
            self._stream.write(removal)
            self._stream.flush()
            self._drawn = []

    def _removal(self) -> str:
        """Back to where it began. A terminal that became narrower has broken each row into several."""
        if not self._drawn:
            return ""
        width = max(self._width(), 1)
        rows = sum(max(columns - 1, 0) // width + 1 for columns in self._drawn)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "") + _ERASE_BELOW
