"""Shows a run's events on stderr: lines everywhere, with a live status only on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from agent.cli.lines import Line, line_of, summary
from agent.cli.output import print_note
from agent.cli.sentences import sentence_of
from agent.events import Event, ModelCalled, ModelStarting, RunFinished, StepStarted, Warned
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_OF_A_FILE = 160


class Display(Protocol):
    """Where a run's events are shown."""

    def show(self, event: Event) -> None:
        """Shows one event."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """Keeps still meanwhile: someone is asked something."""
        ...

    def close(self) -> None:
        """Leaves the terminal as it was."""
        ...


class Silent:
    """Shows warnings only: `-q`."""

    def show(self, event: Event) -> None:
        """Prints a warning."""
        if isinstance(event, Warned):
            print_note(f"alita: {event.text}")

    def paused(self) -> AbstractContextManager[None]:
        """Nothing moves."""
        return nullcontext()

    def close(self) -> None:
        """Nothing."""


class Plain:
    """Lines without colour or movement; `spoken` makes them whole sentences."""

    def __init__(
        self, stream: TextIO, *, verbose: bool = False, width: int = WIDTH_OF_A_FILE, spoken: bool = False
    ) -> None:
        self._stream = stream
        self._verbose = verbose
        self._width = width
        self._spoken = spoken
        self._shown = ("", -1)

    def show(self, event: Event) -> None:
        """Prints the event's line, if it has one."""
        if isinstance(event, ModelStarting) and not self._is_news(event):
            return
        if self._spoken:
            text = sentence_of(event, verbose=self._verbose)
        else:
            line = self._line(event)
            text = line and line.plain(self._width)
        if text:
            print(text, file=self._stream, flush=True)

    def _line(self, event: Event) -> Line | None:
        if isinstance(event, ModelStarting):
            return Line("model", _progress(event))
        return summary(event.answer) if isinstance(event, RunFinished) else line_of(event, verbose=self._verbose)

    def paused(self) -> AbstractContextManager[None]:
        """Nothing moves."""
        return nullcontext()

    def close(self) -> None:
        """Nothing to tidy."""

    def _is_news(self, event: ModelStarting) -> bool:
        """A new text or a further fifth, not each percent."""
        told = (event.text, -1 if event.fraction is None else int(event.fraction * 5))
        news, self._shown = told != self._shown, told
        return news


class Live:
    """Lines, and below them what is happening now."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._status = console.status("thinking", spinner="dots")
        self._status.start()

    def show(self, event: Event) -> None:
        """Prints the event's line, and changes the status."""
        from rich.text import Text

        if isinstance(event, RunFinished):
            self._status.stop()
            line: Line | None = summary(event.answer)
        else:
            line = line_of(event, verbose=self._verbose)
        if line is not None:
            width = self._console.width
            fold: Any = {} if line.whole else {"overflow": "crop", "no_wrap": True}
            self._console.print(Text(line.plain(width), style=line.style, **fold))
        activity = _activity(event)
        if activity:
            self._status.update(Text(one_line(activity, max(self._console.width - 4, 10))))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Removes the status meanwhile."""
        self._status.stop()
        try:
            yield
        finally:
            self._status.start()

    def close(self) -> None:
        """Removes the status."""
        self._status.stop()


def _activity(event: Event) -> str | None:
    if isinstance(event, ModelStarting):
        return _progress(event)
    if isinstance(event, StepStarted):
        return f"step {event.step} of {event.of}: {event.action}"
    if isinstance(event, ModelCalled):
        return f"{event.role} answered"
    return None


def _progress(event: ModelStarting) -> str:
    return event.text if event.fraction is None else f"{event.text} {event.fraction:.0%}"


def open_display(*, quiet: bool, verbose: bool, plain: bool = False, stream: TextIO | None = None) -> Display:
    """The display that suits this stderr."""
    stream = stream or sys.stderr
    if quiet:
        return Silent()
    if plain:
        return Plain(stream, verbose=verbose, spoken=True)
    if not stream.isatty() or os.environ.get("TERM") in {"dumb", "unknown"}:
        return Plain(stream, verbose=verbose)
    if os.environ.get("NO_COLOR"):
        return Plain(stream, verbose=verbose, width=shutil.get_terminal_size().columns)
    from rich.console import Console

    return Live(Console(file=stream, highlight=False, markup=False), verbose=verbose)
