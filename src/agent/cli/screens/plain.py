"""A terminal whose cursor stays where it is, and a screen that is read aloud: text, one row after the other."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TextIO

from agent.cli.output import print_text
from agent.cli.screens.lines import Line, ended, line_of
from agent.cli.screens.moving import columns, hanging
from agent.cli.screens.rich_text import numbered
from agent.cli.screens.wrapping import rows_of
from agent.events import Event, ModelStarting, Warned
from mcp_tools.errors import AlitaError
from mcp_tools.text import printable

_UNSPOKEN = {ord(sign): " " for sign in "│├└─●"}
"""Signs that draw, of which a reader would say the names."""
_WIDTH_OF_A_FILE = 160
_UNFOLDED = 1_000_000


class PlainScreen:
    """See `agent.cli.screens.screen.Screen`.

    Args:
        stream: The terminal.
        spoken: Whether it is read aloud: whole sentences, no signs.
        answers: Where answers go instead, when standard output is no terminal.
        folds: Whether what is long goes on in further rows, as suits a terminal; in a file it stays one line.
    """

    animated = False

    def __init__(
        self, stream: TextIO, *, spoken: bool = False, answers: TextIO | None = None, folds: bool = True
    ) -> None:
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
        self._rows(text, head="")

    def error(self, error: AlitaError) -> None:
        """What happened and what to do next."""
        self._rows(ended(error.message), head="Error: ")
        if error.remedy:
            self._rows(error.remedy)

    def event(self, event: Event, *, verbose: bool = False) -> None:
        """The event's line or sentence, if it has one."""
        if isinstance(event, ModelStarting) and not self._is_news(event):
            return
        line = line_of(event, verbose=verbose)
        if isinstance(event, ModelStarting):
            line = Line("model", event.progress)
        if line is not None:
            self.line(line)

    def line(self, line: Line) -> None:
        """One line of the account of a run."""
        if self._spoken:
            self._rows(line.spoken)
        elif line.whole and self._folds:
            self._rows(line.text, head=f"{line.mark} {line.label:<7} ", indent=" " * 10)
        else:
            self._write(line.plain(self.width))

    def rows(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Columns; where it is read aloud, a sentence for each row."""
        if self._spoken:
            for row in rows:
                self._rows(ended(", ".join(cell for cell in row if cell.strip())))
        else:
            for head, last in columns(rows, self.width):
                self._rows(last, head=head, indent=hanging(head, self.width))

    def answer(self, text: str) -> None:
        """The text of an answer, as it was written."""
        if self._answers is not None:
            print_text(text)
            return
        if self._spoken:
            self._write("The answer is:")
        self._rows(text)

    def streamed(self, text: str) -> None:
        """Nothing: what was printed stays."""

    def quote(self, text: str) -> None:
        """Somebody's text, indented."""
        self._rows(text)

    def code(self, source: str, *, first: int | None = None) -> None:
        """Lines behind their numbers."""
        lines = printable(source).rstrip("\n").split("\n")
        for row in numbered(lines[:first]):
            for part in rows_of(row, self.width, head="", indent=" " * 7):
                self._write(part)

    def working(self, text: str) -> None:
        """Nothing: there is no live line."""

    def _is_news(self, event: ModelStarting) -> bool:
        """A new text or a further fifth, not each percent."""
        told = (event.text, -1 if event.fraction is None else int(event.fraction * 5))
        news, self._fetching = told != self._fetching, told
        return news

    def _rows(self, text: str, *, head: str = "  ", indent: str = "  ") -> None:
        for row in rows_of(text, self.width if self._folds else _UNFOLDED, head=head, indent=indent):
            self._write(row)

    def _write(self, text: str) -> None:
        if self._spoken:
            text = text.translate(_UNSPOKEN)
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        self._stream.flush()


class QuietScreen(PlainScreen):
    """Shows warnings only."""

    def event(self, event: Event, *, verbose: bool = False) -> None:
        """A warning."""
        if isinstance(event, Warned):
            self.note(f"alita: {event.text}")
