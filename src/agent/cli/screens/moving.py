"""A terminal with a cursor that may move: lines that scroll up, one live line below them, answers as Markdown."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len

from agent.cli.output import print_text, rows_of
from agent.cli.screens.lines import Line
from agent.cli.screens.screen import Screen
from agent.events import Event, ModelStarting
from mcp_tools.text import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

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
        """Columns of each row that is drawn."""
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


class MovingScreen(Screen):
    """A screen with a live line below what scrolls up, and with colour.

    Args:
        console: Of the terminal; it knows whether colour is wanted.
        live: Its live line.
        answers: Where answers go besides, when standard output is no terminal.
        animated: Whether there is a live line; not where colour alone is wanted, in a file.
    """

    def __init__(
        self, console: Console, live: LiveLine, answers: TextIO | None = None, *, animated: bool = True
    ) -> None:
        super().__init__(sys.stdout, answers=answers)
        self.animated = animated
        self._console = console
        self._live = live
        self._working = ""
        self._growing: list[str] = []
        """The newest rows of an answer that is being written."""

    @property
    def width(self) -> int:
        """Columns."""
        return self._console.width

    def event(self, event: Event, *, verbose: bool = False) -> None:
        """The event's line, if it has one; the live line shows how far a download is."""
        if not isinstance(event, ModelStarting):
            super().event(event, verbose=verbose)

    def line(self, line: Line) -> None:
        """One line, cut to the width unless it must be whole."""
        from rich.text import Text

        if line.whole:
            super().line(line)
        else:
            self._print(Text(line.plain(self.width), style=line.style, overflow="crop", no_wrap=True))

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

    def code(self, source: str, *, first: int | None = None) -> None:
        """Syntax in colour, behind line numbers."""
        from rich.padding import Padding
        from rich.syntax import Syntax

        shown = Syntax(
            printable(source).rstrip("\n"),
            "python",
            theme="ansi_dark",
            line_numbers=True,
            word_wrap=True,
            background_color="default",
            line_range=(None, first),
        )
        self._print(Safe(Padding(shown, (0, 0, 0, 2))))

    def working(self, text: str) -> None:
        """Draws the live line, or removes it."""
        self._working = text
        if text:
            self._live.draw(printable(text), self._growing)
        else:
            self._growing = []
            self._live.clear()

    def _rows(self, text: str, *, head: str = "  ", indent: str = "  ", style: str = "") -> None:
        from rich.text import Text

        rows = rows_of(text, self.width, head=head, indent=indent)
        self._print(Text("\n".join(rows), style=style, overflow="crop", no_wrap=True))

    def _print(self, shown: RenderableType) -> None:
        self._growing = []
        self._live.clear()
        self._console.print(Safe(shown))
        if self._working:
            self._live.draw(printable(self._working))


_BLOCKS = re.compile(
    r"^ {0,3}(?:#{1,6} |```|~~~|> |\|.*\||[-*+] \S|\d{1,3}[.)] \S)|\*\*\S[^*\n]*\*\*|\[[^\]\n]+\]\([^)\s]+\)",
    re.MULTILINE,
)


def is_markdown(text: str) -> bool:
    """Whether a text of several lines is written in Markdown. A single line is a result, and is shown as it stands."""
    return "\n" in text.strip() and _BLOCKS.search(text) is not None


class Safe:
    """What another renderable shows, character by character fit for a terminal.

    Markdown may spell characters as entities, so that cleaning the source is not enough.
    """

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lines without links and other controls, and without blanks at their ends, which a narrower window wraps."""
        from rich.segment import Segment

        for line in console.render_lines(self._inner, options, pad=False):
            kept = [(printable(text), style) for text, style, control in line if not control]
            while kept and not kept[-1][0].strip():
                kept.pop()
            for number, (text, style) in enumerate(kept, 1):
                shown = text.rstrip() if number == len(kept) else text
                yield Segment(shown, style.update_link(None) if style else None)
            yield Segment.line()


def answer_text(text: str) -> RenderableType:
    """An answer: Markdown where it is written so, else the text with its own line ends."""
    from rich.padding import Padding
    from rich.text import Text

    clean = printable(text).strip("\n")
    shown: RenderableType = _markdown(clean) if is_markdown(clean) else Text(clean, overflow="fold")
    return Safe(Padding(shown, (0, 0, 0, 2)))


def _markdown(text: str) -> RenderableType:
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown

    shown = Markdown(text, code_theme="ansi_dark", hyperlinks=False)
    # rich leaves out what it takes for HTML: `list<int>` would lose its half.
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    shown.parsed = parser.parse(text)
    return shown
