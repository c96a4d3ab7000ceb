"""One line at the bottom of the screen that changes while a turn works."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TextIO

from rich.cells import cell_len

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
        self._drawn = 0
        """Columns of what stands there; 0 for nothing."""
        self._frame = 0

    def draw(self, text: str) -> None:
        """Shows a text, shorter than the terminal is wide, with the next frame of the spinner before it."""
        self._frame = (self._frame + 1) % len(FRAMES)
        line = f"{FRAMES[self._frame]} {text}"
        while cell_len(line) >= self._width() and line:
            line = line[:-1]
        self._stream.write(f"{self._removal()}{line}")
        self._stream.flush()
        self._drawn = cell_len(line)

    def clear(self) -> None:
        """Removes it."""
        removal = self._removal()
        if removal:
            self._stream.write(removal)
            self._stream.flush()
            self._drawn = 0

    def _removal(self) -> str:
        """Back to where it began. A terminal that became narrower has broken it into rows."""
        if not self._drawn:
            return ""
        above = (self._drawn - 1) // max(self._width(), 1)
        return "\r" + (f"\x1b[{above}A" if above else "") + _ERASE_BELOW
