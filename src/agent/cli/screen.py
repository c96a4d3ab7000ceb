"""Shows runs and sessions, one line per event, on a terminal, in a file, or for a screen reader."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from agent import events as e
from agent.cli.inline_pictures import picture_bytes
from agent.cli.output import Result, columns, print_text, rows_of
from agent.traces.lines import Line, line_of, sentence
from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.live import Live


def _confidence(quality: Mapping[str, Any]) -> Line:
    incomplete = "" if quality["complete"] else "; the answer is incomplete"
    return Line("sure", f"{quality['confidence']} confidence: {quality['why']}{incomplete}", style="dim", whole=True)


_UNSPOKEN = {ord(sign): " " for sign in "│├└─●"}
_WIDTH_OF_A_FILE = 160
MOST_STREAMED = 12
"""Maximum number of rows shown of a growing answer, because rows that have scrolled away cannot be redrawn."""


class Screen:
    """Shows text for people on a terminal or in a file.

    Text from a model cannot control the terminal, and no row of it looks like a prompt.

    Args:
        stream: The terminal or file.
        spoken: True to write whole sentences for a screen reader, without symbols or animation.
        quiet: True to show only warnings and answers.
        answers: Another stream to which answers are written too.
        folds: True to wrap long lines; by default, they are only wrapped on a terminal.
        console: The rich console to use; by default a new one.
        scrolls: True to print complete blocks of a growing answer. Otherwise, the answer is shown above the live line.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        spoken: bool = False,
        quiet: bool = False,
        answers: TextIO | None = None,
        folds: bool | None = None,
        console: Console | None = None,
        scrolls: bool = False,
    ) -> None:
        from rich.console import Console

        self._stream = stream
        self._console = console or Console(file=stream, highlight=False, markup=False, emoji=False)
        self._styled = self._console.is_terminal and not self._console.is_dumb_terminal and not spoken
        self.animated = self._styled and stream.isatty() and bool(os.environ.get("TERM")) and not quiet
        """True if the cursor can be moved, so that a live line can be shown."""
        self.spoken = spoken
        self._quiet = quiet
        self._answers = answers
        self._folds = stream.isatty() if folds is None else folds
        self._fetching = ("", -1)
        self._live: Live | None = None
        self._growing = ""
        self._scrolls = scrolls and self.animated
        self._printed = ""
        """The part of the growing answer that has been printed."""

    @property
    def width(self) -> int:
        """The screen's width in columns."""
        if self._styled:
            return self._console.width
        return shutil.get_terminal_size().columns if self._folds else _WIDTH_OF_A_FILE

    def note(self, text: str) -> None:
        """Show a note."""
        self.quote(text, head="", style="dim")

    def clear(self) -> None:
        """Clear the terminal if the cursor can be moved."""
        if self.animated:
            self._console.clear()

    def error(self, error: AlitaError) -> None:
        """Show an error with its remedy."""
        self.quote(sentence(error.message), head="Error: ", style="red")
        if error.remedy:
            self.quote(error.remedy)

    def event(self, event: e.Event, *, verbose: bool = False) -> None:
        """Show an event of a run, if it has a line."""
        if self._quiet:
            if isinstance(event, e.Warned):
                self.note(f"alita: {event.text}")
            return
        self._finish_stream()
        if self._printed and isinstance(event, e.StepStarted) and event.action == "answer":
            return  # the answer is already shown above
        if isinstance(event, e.PictureShown) and self.picture(Path(event.copy)):
            return
        line = line_of(event, verbose=verbose)
        if verbose and isinstance(event, e.RunFinished) and event.answer.quality:
            self.line(_confidence(event.answer.quality))
        if isinstance(event, e.ModelStarting) and not self.animated:  # otherwise shown in the live line
            news = (event.text, -1 if event.fraction is None else int(event.fraction * 5))
            if news != self._fetching:  # report only new texts and every fifth of the progress
                line, self._fetching = Line("model", event.progress), news
        if line is not None:
            self.line(line)

    def picture(self, path: Path) -> bool:
        """Show a picture. Return False if the terminal does not support that."""
        shown = picture_bytes(path, os.environ, self.width) if self.animated else b""
        if shown:
            if self._live is not None:
                self._live.stop()
            self._stream.write(shown.decode("ascii"))
            self._stream.flush()
            if self._live is not None:
                self._live.start(refresh=True)
        return bool(shown)

    def line(self, line: Line) -> None:
        """Show a line of a run, cut to the screen's width unless the line must be whole."""
        if self.spoken:
            self.quote(line.spoken)
        elif line.whole and self._folds:
            self.quote(line.text, head=f"{line.mark} {line.label:<7} ", indent=" " * 10, style=line.style)
        else:
            from rich.cells import cell_len, set_cell_size

            text, width = line.plain(self.width), self.width
            fits = line.whole or cell_len(text) <= width
            self._write(text if fits else f"{set_cell_size(text, width - 1)}…", line.style)

    def rows(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Show rows in columns or, for a screen reader, as sentences."""
        if self.spoken:
            for row in rows:
                self.quote(sentence(", ".join(cell for cell in row if cell.strip())))
        elif rows:
            self._write("\n".join(columns(rows, self.width, indent="  ")))

    def result(self, result: Result) -> None:
        """Show the result of a command."""
        self.rows(result.rows)
        if result.text:
            self.quote(result.text)
        for note in (result.note, *result.warnings):
            if note:
                self.note(note)

    def answer(self, text: str) -> None:
        """Show an answer, formatted if it is Markdown."""
        if self._answers is not None:
            print_text(text)
        self._finish_stream()
        printed, self._printed = self._printed, ""
        if printed and "".join(printed.split()) == "".join(text.split()):
            return
        if self._styled:
            self._print(answer_text(text))
        elif self._answers is None:
            if self.spoken:
                self._write("The answer is:")
            self.quote(text)

    def streamed(self, text: str) -> None:
        """Show a growing answer."""
        if not self._scrolls:
            self._growing = text
            return
        if not text.startswith(self._printed):
            self._finish_stream()
            self._printed = ""
        rest = text[len(self._printed) :]
        if complete := complete_blocks(rest):
            self._print(answer_text(rest[:complete], whole=text))
            self._printed = text[: len(self._printed) + complete]
        self._growing = text[len(self._printed) :]

    def _finish_stream(self) -> None:
        """Print the rest of a growing answer."""
        if self._scrolls and self._growing:
            rest, self._growing = self._growing, ""
            self._print(answer_text(rest, whole=self._printed + rest))
            self._printed += rest

    def sent(self, message: str) -> None:
        """Show a message that the user sent during a run."""
        self._finish_stream()
        self.quote(message, head="› ", style="bold")

    def code(self, source: str, *, first: int | None = None) -> None:
        """Show source code with line numbers. If `first` is given, show only that many lines."""
        source = printable(source).rstrip("\n")
        if self._styled:
            from rich.padding import Padding
            from rich.syntax import Syntax

            look: dict[str, Any] = {"theme": "ansi_dark", "background_color": "default"}
            shown = Syntax(source, "python", line_numbers=True, word_wrap=True, line_range=(None, first), **look)
            self._print(Safe(Padding(shown, (0, 0, 0, 2))))
            return
        for number, line in enumerate(source.split("\n")[:first], 1):
            self.quote(line, head=f"  {number:>3}  ", indent=" " * 7)

    def begin_work(self, describe: Callable[[int], str], typed: Callable[[], str] = str) -> None:
        """Show a live line until `end_work` is called, with the growing answer above it and typed text below it."""
        if not self.animated or self._live is not None:
            return
        from rich.console import Group
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        spinner = Spinner("dots")

        def view() -> RenderableType:
            spinner.update(text=Text(printable(describe(max(self.width - 7, 10)))))
            rows: list[RenderableType] = [spinner]
            if self._growing:
                rows.insert(0, answer_text(self._growing, last=MOST_STREAMED, whole=self._printed + self._growing))
            if text := typed():
                rows.append(Text("› " + one_line(printable(text)[-max(self.width - 4, 10) :], max(self.width - 3, 10))))
            return Group(*rows)

        self._live = Live(
            console=self._console, get_renderable=view, refresh_per_second=10, transient=True,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._live.start(refresh=True)

    def end_work(self) -> None:
        """Remove the live line, so that other text can be shown or input can be read."""
        self._finish_stream()
        self._growing = ""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def quote(self, text: str, *, head: str = "  ", indent: str = "  ", style: str = "") -> None:
        """Show a text of several lines, indented."""
        width = self.width if self._folds else 1_000_000
        self._write("\n".join(rows_of(text, width, head=head, indent=indent)), style)

    def _write(self, text: str, style: str = "") -> None:
        """Print text that has already been wrapped."""
        from rich.text import Text

        self._finish_stream()
        self._growing = ""
        if self._styled:
            with self._alone():
                self._console.print(Text(text, style), soft_wrap=True)
        else:
            print(text.translate(_UNSPOKEN) if self.spoken else text, file=self._stream, flush=True)

    def _print(self, shown: Safe) -> None:
        with self._alone():
            self._console.print(shown)

    def _alone(self) -> AbstractContextManager[Any]:
        """Keep the live line's thread from drawing between the two steps of a print in rich, which would erase rows."""
        return nullcontext() if self._live is None else self._live._lock


_BLOCKS = re.compile(
    r"^ {0,3}(?:#{1,6} |```|~~~|> |\|.*\||[-*+] \S|\d{1,3}[.)] \S)|\*\*\S[^*\n]*\*\*|\[[^\]\n]+\]\([^)\s]+\)",
    re.MULTILINE,
)


def is_markdown(text: str) -> bool:
    """Return True if a text of several lines is Markdown. A single line is a plain result and stays unformatted."""
    return "\n" in text.strip() and _BLOCKS.search(text) is not None


class Safe:
    """Wraps a renderable so that its output is safe for a terminal. If `last` is set, only the last lines are shown.

    Cleaning the Markdown source is not enough, because entities can encode any character.
    """

    def __init__(self, inner: RenderableType, last: int | None = None) -> None:
        self._inner = inner
        self._last = last

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render lines without links, control codes or trailing spaces, which would wrap in a narrower window."""
        from rich.segment import Segment

        lines = console.render_lines(self._inner, options, pad=False)
        for line in lines[-self._last :] if self._last else lines:
            kept = [(printable(text), style) for text, style, control in line if not control]
            while kept and not kept[-1][0].strip():
                kept.pop()
            for number, (text, style) in enumerate(kept, 1):
                shown = text.rstrip() if number == len(kept) else text
                yield Segment(shown, style.update_link(None) if style else None)
            yield Segment.line()


def complete_blocks(text: str) -> int:
    """Return the length of the leading Markdown blocks that later text cannot change.

    The last block never counts: a list, table or code fence may continue.
    """
    if "\n" not in text:  # fast path, because this is called for every streamed chunk
        return 0
    from markdown_it import MarkdownIt

    blocks = [
        token.map[0] for token in MarkdownIt("commonmark").enable("table").parse(text) if token.level == 0 and token.map
    ]
    if len(set(blocks)) < 2:
        return 0
    return sum(map(len, text.splitlines(keepends=True)[: max(blocks)]))


def answer_text(text: str, *, last: int | None = None, whole: str = "") -> Safe:
    """Format an answer if it is Markdown. Otherwise, keep its line breaks.

    `whole` is the complete answer if `text` is only part of it.
    """
    from rich.markdown import Markdown
    from rich.padding import Padding
    from rich.text import Text

    clean = printable(text).strip("\n")
    shown: RenderableType = Text(clean, overflow="fold")
    if is_markdown(printable(whole) or clean):
        from markdown_it import MarkdownIt

        shown = markdown = Markdown(clean, code_theme="ansi_dark", hyperlinks=False)
        # Without this, rich would drop the HTML-like half of `list<int>`.
        markdown.parsed = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).parse(clean)
    return Safe(Padding(shown, (0, 0, 0, 2)), last)
