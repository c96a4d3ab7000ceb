"""Where runs and sessions are shown: text, one row after the other, on a terminal, in a file or read aloud."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import TextIO

from agent.cli.output import print_text, rows_of
from agent.cli.screens.lines import Line, ended, line_of
from agent.events import Event, ModelStarting, Warned
from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line, printable

_UNSPOKEN = {ord(sign): " " for sign in "│├└─●"}
"""Signs that draw, of which a reader would say the names."""
_WIDTH_OF_A_FILE = 160
_UNFOLDED = 1_000_000


class Screen:
    """Shows text for people, without moving the cursor.

    Whatever it is given may come from a model: it cannot steer the terminal, and no row of it begins where a prompt
    does.

    Args:
        stream: The terminal.
        spoken: Whether it is read aloud: whole sentences, no signs.
        answers: Where answers go instead, when standard output is no terminal.
        folds: Whether what is long goes on in further rows, as suits a terminal; in a file it stays one line.
    """

    def __init__(
        self, stream: TextIO, *, spoken: bool = False, answers: TextIO | None = None, folds: bool = True
    ) -> None:
        self.animated = False
        """Whether a live line is shown, so that it has to be kept up to date."""
        self._stream = stream
        self._spoken = spoken
        self._answers = answers
        self._folds = folds
        self._fetching = ("", -1)

    @property
    def width(self) -> int:
        """Columns."""
        return shutil.get_terminal_size().columns if self._folds else _WIDTH_OF_A_FILE

    def note(self, text: str) -> None:
        """A remark of ours."""
        self._rows(text, head="", style="dim")

    def error(self, error: AlitaError) -> None:
        """What happened and what to do next."""
        self._rows(ended(error.message), head="Error: ", style="red")
        if error.remedy:
            self._rows(error.remedy)

    def event(self, event: Event, *, verbose: bool = False) -> None:
        """The line of an event of a run, if it has one."""
        line = line_of(event, verbose=verbose)
        if isinstance(event, ModelStarting):
            news = (event.text, -1 if event.fraction is None else int(event.fraction * 5))
            if news != self._fetching:  # a new text or a further fifth, not each percent
                line, self._fetching = Line("model", event.progress), news
        if line is not None:
            self.line(line)

    def line(self, line: Line) -> None:
        """One line of the account of a run, cut to the width unless it must be whole."""
        if self._spoken:
            self._rows(line.spoken)
        elif line.whole and self._folds:
            self._rows(line.text, head=f"{line.mark} {line.label:<7} ", indent=" " * 10, style=line.style)
        else:
            self._write(line.plain(self.width))

    def rows(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Columns, the last one as long as it likes; where it is read aloud, a sentence for each row."""
        if self._spoken or not rows:
            for row in rows:
                self._rows(ended(", ".join(cell for cell in row if cell.strip())))
            return
        widest = max(self.width // 2, 12)
        safe = [tuple(one_line(cell, widest) for cell in row[:-1]) for row in rows]
        widths = [max(len(row[i]) for row in safe) for i in range(len(safe[0]))]
        for cells, row in zip(safe, rows, strict=True):
            head = "  " + "".join(f"{cell.ljust(width)}  " for cell, width in zip(cells, widths, strict=True))
            indent = " " * (len(head) if len(head) <= self.width // 2 else 6)
            self._rows(" ".join(printable(row[-1]).split()), head=head, indent=indent)

    def answer(self, text: str) -> None:
        """The text of an answer, as it was written."""
        if self._answers is not None:
            print_text(text)
            return
        if self._spoken:
            self._write("The answer is:")
        self._rows(text)

    def streamed(self, text: str) -> None:
        """The answer as far as it is written; `answer` takes its place. Here nothing, as what was printed stays."""

    def quote(self, text: str) -> None:
        """Somebody's text of several lines, indented."""
        self._rows(text)

    def code(self, source: str, *, first: int | None = None) -> None:
        """A source behind its line numbers; with `first`, so many lines of it."""
        for number, line in enumerate(printable(source).rstrip("\n").split("\n")[:first], 1):
            self._rows(line, head=f"  {number:>3}  ", indent=" " * 7)

    def working(self, text: str) -> None:
        """What is happening now, as the live line; an empty text removes it. Here there is none."""

    def _rows(self, text: str, *, head: str = "  ", indent: str = "  ", style: str = "") -> None:
        for row in rows_of(text, self.width if self._folds else _UNFOLDED, head=head, indent=indent):
            self._write(row)

    def _write(self, text: str) -> None:
        if self._spoken:
            text = text.translate(_UNSPOKEN)
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        self._stream.flush()


class QuietScreen(Screen):
    """Shows warnings only."""

    def event(self, event: Event, *, verbose: bool = False) -> None:
        """A warning."""
        if isinstance(event, Warned):
            self.note(f"alita: {event.text}")


def open_screen(stream: TextIO, *, spoken: bool = False, quiet: bool = False, answers: TextIO | None = None) -> Screen:
    """The screen that suits a stream: with a moving cursor, without, or read aloud.

    Args:
        stream: A terminal or a file.
        spoken: Whether it is read aloud.
        quiet: Whether only warnings are shown.
        answers: Where answers go besides.
    """
    is_terminal = stream.isatty()
    if quiet:
        return QuietScreen(stream, folds=is_terminal)
    moves = is_terminal and os.environ.get("TERM", "dumb") not in {"", "dumb", "unknown"}
    if not spoken and (moves or (not is_terminal and os.environ.get("FORCE_COLOR"))):
        from rich.console import Console

        from agent.cli.screens.moving import LiveLine, MovingScreen

        console = Console(file=stream, highlight=False, markup=False, emoji=False)
        return MovingScreen(console, LiveLine(stream, lambda: console.width), answers, animated=moves)
    return Screen(stream, spoken=spoken, answers=answers, folds=is_terminal)
