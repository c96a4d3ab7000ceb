"""A terminal with a cursor that may move: lines that scroll up, and one live line below them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len

from agent.cli.output import print_text
from agent.cli.screens.lines import Line, line_of
from agent.cli.screens.rich_text import Safe, answer_text, code_text
from agent.cli.screens.wrapping import rows_of
from agent.events import Event
from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


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


MOST_STREAMED = 12
"""Rows of a growing answer that are shown; what scrolled away could not be drawn over."""


class MovingScreen:
    """See `agent.cli.screens.screen.Screen`.

    Args:
        console: Of the terminal; it knows whether colour is wanted.
        live: Its live line.
        answers: Where answers go besides, when standard output is no terminal.
        animated: Whether there is a live line.
    """

    def __init__(
        self, console: Console, live: LiveLine, answers: TextIO | None = None, *, animated: bool = True
    ) -> None:
        self._console = console
        self._live = live
        self._answers = answers
        self._animated = animated
        self._working = ""
        self._growing: list[str] = []
        """The newest rows of an answer that is being written."""

    @property
    def animated(self) -> bool:
        """Whether there is a live line; not where colour alone is wanted, in a file."""
        return self._animated

    @property
    def width(self) -> int:
        """Columns."""
        return self._console.width

    def note(self, text: str) -> None:
        """A remark of ours."""
        self._rows(text, head="", style="dim")

    def error(self, error: AlitaError) -> None:
        """What happened and what to do next."""
        self._rows(error.message, head="✗ ", style="red")
        if error.remedy:
            self._rows(error.remedy, style="")

    def event(self, event: Event, *, verbose: bool = False) -> None:
        """The event's line, if it has one."""
        if (line := line_of(event, verbose=verbose)) is not None:
            self.line(line)

    def line(self, line: Line) -> None:
        """One line, cut to the width unless it must be whole."""
        from rich.text import Text

        if line.whole:
            self._rows(line.text, head=f"{line.mark} {line.label:<7} ", indent=" " * 10, style=line.style)
        else:
            self._print(Text(line.plain(self.width), style=line.style, overflow="crop", no_wrap=True))

    def rows(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Columns that share the width; the last one is broken into rows of its own."""
        for head, last in columns(rows, self.width):
            self._rows(last, head=head, indent=hanging(head, self.width), style="")

    def answer(self, text: str) -> None:
        """The text of an answer."""
        self._print(answer_text(text))
        if self._answers is not None:
            print_text(text)

    def streamed(self, text: str) -> None:
        """The newest rows of the growing answer, above the live line; the next of anything else removes them."""
        with self._console.capture() as rendered:
            self._console.print(answer_text(text))
        most = min(MOST_STREAMED, max(self._console.height // 2, 1))
        self._growing = rendered.get().rstrip("\n").split("\n")[-most:]

    def quote(self, text: str) -> None:
        """Somebody's text, indented."""
        self._rows(text, style="")

    def code(self, source: str, *, first: int | None = None) -> None:
        """Syntax in colour, behind line numbers."""
        self._print(code_text(source, first=first))

    def working(self, text: str) -> None:
        """Draws the live line, or removes it."""
        self._working = text
        if text:
            self._live.draw(printable(text), self._growing)
        else:
            self._growing = []
            self._live.clear()

    def _rows(self, text: str, *, head: str = "  ", indent: str = "  ", style: str) -> None:
        from rich.text import Text

        rows = rows_of(text, self.width, head=head, indent=indent)
        self._print(Text("\n".join(rows), style=style, overflow="crop", no_wrap=True))

    def _print(self, shown: RenderableType) -> None:
        self._growing = []
        self._live.clear()
        self._console.print(Safe(shown))
        if self._working:
            self._live.draw(printable(self._working))


def columns(rows: Sequence[tuple[str, ...]], width: int) -> list[tuple[str, str]]:
    """Rows as a head of columns, each as wide as its widest cell within reason, and the last cell."""
    if not rows:
        return []
    widest = max(width // 2, 12)
    safe = [tuple(one_line(cell, widest) for cell in row[:-1]) for row in rows]
    widths = [max(len(row[i]) for row in safe) for i in range(len(safe[0]))]
    heads = ("  " + "".join(f"{c.ljust(w)}  " for c, w in zip(row, widths, strict=True)) for row in safe)
    return [(head, " ".join(printable(row[-1]).split())) for head, row in zip(heads, rows, strict=True)]


def hanging(head: str, width: int) -> str:
    """What the further rows of a last column begin with: blanks below it, where that leaves room."""
    return " " * (len(head) if len(head) <= width // 2 else 6)
