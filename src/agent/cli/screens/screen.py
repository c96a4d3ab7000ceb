"""Where runs and sessions are shown: the seam between what happens and how it looks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol, TextIO

from agent.cli.screens.lines import Line
from agent.events import Event
from mcp_tools.errors import AlitaError


class Screen(Protocol):
    """Shows text for people.

    Whatever it is given may come from a model: it cannot move the cursor, and no row of it begins where a prompt does.
    """

    @property
    def animated(self) -> bool:
        """Whether a live line is shown, so that it has to be kept up to date."""
        ...

    @property
    def width(self) -> int:
        """Columns."""
        ...

    def note(self, text: str) -> None:
        """A remark of ours."""
        ...

    def error(self, error: AlitaError) -> None:
        """What happened and what to do next."""
        ...

    def event(self, event: Event, *, verbose: bool = False) -> None:
        """What an event of a run tells, if anything."""
        ...

    def line(self, line: Line) -> None:
        """One line of the account of a run."""
        ...

    def rows(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Columns, the last one as long as it likes."""
        ...

    def answer(self, text: str) -> None:
        """The text of an answer."""
        ...

    def streamed(self, text: str) -> None:
        """The answer as far as it is written; `answer` takes its place."""
        ...

    def quote(self, text: str) -> None:
        """Somebody's text of several lines, set off from ours."""
        ...

    def code(self, source: str, *, first: int | None = None) -> None:
        """A source with its line numbers; with `first`, so many lines of it."""
        ...

    def working(self, text: str) -> None:
        """What is happening now; an empty text removes the live line."""
        ...


def open_screen(stream: TextIO, *, spoken: bool = False, quiet: bool = False, answers: TextIO | None = None) -> Screen:
    """The screen that suits a stream: with a moving cursor, without, or read aloud.

    Args:
        stream: A terminal or a file.
        spoken: Whether it is read aloud.
        quiet: Whether only warnings are shown.
        answers: Where answers go besides.
    """
    is_terminal = stream.isatty()
    moves = is_terminal and os.environ.get("TERM", "dumb") not in {"", "dumb", "unknown"}
    if not quiet and not spoken and (moves or (not is_terminal and os.environ.get("FORCE_COLOR"))):
        from rich.console import Console

        from agent.cli.screens.moving import LiveLine, MovingScreen

        console = Console(file=stream, highlight=False, markup=False, emoji=False)
        return MovingScreen(console, LiveLine(stream, lambda: console.width), answers, animated=moves)
    from agent.cli.screens.plain import PlainScreen, QuietScreen

    if quiet:
        return QuietScreen(stream, folds=is_terminal)
    return PlainScreen(stream, spoken=spoken, answers=answers, folds=is_terminal)
