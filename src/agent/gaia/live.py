"""Shows a benchmark while it runs: a live table on a terminal, plain lines elsewhere. Always on stderr."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Protocol

from agent.gaia.attempt import Attempt
from agent.gaia.progress import Count, Ended, Event, Planned, Said, Stepped, Tally, duration, money
from agent.gaia.questions.selection import DONE
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_ANSWER_WIDTH = 60
_LISTED = 8
"""Questions under way that are named."""


class Display(Protocol):
    """Shows what happens."""

    def show(self, event: Event) -> None:
        """Takes in an event."""
        ...

    def say(self, text: str) -> None:
        """A sentence of the runner itself."""
        ...

    def close(self) -> None:
        """Ends the display; what it showed last stays."""
        ...


def open_display(*, verbose: bool, plain: bool) -> Display:
    """The display that fits where stderr goes."""
    if plain or not sys.stderr.isatty():
        return PlainDisplay(verbose=verbose)
    from rich.console import Console

    return TableDisplay(Console(stderr=True, highlight=False), verbose=verbose)


class PlainDisplay:
    """One line for each attempt that ends; with `verbose` for each step too."""

    def __init__(self, *, verbose: bool) -> None:
        self._tally = Tally()
        self._verbose = verbose

    def show(self, event: Event) -> None:
        """Takes in an event."""
        self._tally.note(event)
        for line in lines_of(event, self._tally, verbose=self._verbose):
            self.say(line)

    def say(self, text: str) -> None:
        """Prints a line; where nobody reads it any more, the benchmark goes on all the same."""
        encoding = sys.stderr.encoding or "utf-8"
        with contextlib.suppress(OSError):
            print(one_line(text, 500).encode(encoding, "replace").decode(encoding), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is open."""


class TableDisplay:
    """A table that is drawn anew, by level, with lines scrolling up above it.

    Args:
        console: Of the terminal.
        verbose: Whether every attempt and step gets a line, and not only what went wrong.
    """

    def __init__(self, console: Console, *, verbose: bool) -> None:
        from rich.live import Live

        self._tally = Tally()
        self._verbose = verbose
        self._console = console
        self._live = Live(console=console, refresh_per_second=4, get_renderable=self._table, transient=False)
        self._live.start()

    def show(self, event: Event) -> None:
        """Takes in an event."""
        self._tally.note(event)
        if self._verbose or _is_trouble(event):
            for line in lines_of(event, self._tally, verbose=self._verbose):
                self.say(line)

    def say(self, text: str) -> None:
        """Prints a line above the table."""
        from rich.text import Text

        self._console.print(Text(one_line(text, 500)), soft_wrap=True)

    def close(self) -> None:
        """Leaves the table as it is now."""
        self._tally.running.clear()
        self._live.stop()

    def _table(self) -> RenderableType:
        return table_of(self._tally)


def table_of(tally: Tally) -> RenderableType:
    """The table: a row for each level, one for all, and a line about what is under way."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    asked = "questions" if tally.epochs == 1 else f"questions × {tally.epochs}"
    for name in ("level", asked, "done", "right", "wrong", "errors", "tokens", "cost"):
        table.add_column(name, justify="left" if name == "level" else "right", no_wrap=True)
    counts = tally.counts()
    if len(counts) > 1:
        for level, count in counts.items():
            table.add_row("none" if level is None else str(level), *_cells(count))
    table.add_row("all", *_cells(tally.total()), style="bold")
    left = tally.seconds_left
    about = [f"{tally.made} of {tally.todo} attempts"]
    about += [f"about {duration(left)} left"] if left else []
    named = [f"{one_line(task_id, 24)} {action}" for (task_id, _), action in list(tally.running.items())[:_LISTED]]
    more = len(tally.running) - len(named)
    under_way = "; ".join(named) + (f"; {more} more" if more > 0 else "")
    return Group(table, Text(", ".join(about)), Text(under_way, style="dim", overflow="ellipsis", no_wrap=True))


def _cells(count: Count) -> list[str]:
    numbers = (count.selected, count.done, count.right, count.wrong, count.errors, count.tokens)
    return [*(f"{number:,}" for number in numbers), money(count.cost)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def lines_of(event: Event, tally: Tally, *, verbose: bool) -> list[str]:
    """What is said of an event in plain words."""
    match event:
        case Planned():
            done = sum(attempt.status in DONE for attempt in event.done)
            before = f", {done} done before" if done else ""
            asked = _count(len(event.selected), "question") + (f" × {event.epochs} epochs" if event.epochs > 1 else "")
            return [f"{asked}{before}; {_count(event.todo, 'attempt')} to make.", *event.problems]
        case Ended():
            return [_line_of(event.attempt, tally)]
        case Stepped() if verbose:
            reason = f" ({event.reason})" if event.reason else ""
            return [f"  {event.task_id}: {event.action}{reason}"]
        case Said() if verbose:
            return [f"  {event.task_id}: {event.text}"]
    return []


def _line_of(attempt: Attempt, tally: Tally) -> str:
    verdict = {True: "right", False: "wrong", None: "answered"}[attempt.correct]
    if attempt.status != "ok":
        verdict = attempt.status + (f" ({verdict})" if attempt.status == "limit" else "")
    said = one_line(attempt.error or attempt.answer, _ANSWER_WIDTH) or "no answer"
    tokens = attempt.input_tokens + attempt.output_tokens
    epoch = f" epoch {attempt.epoch}" if attempt.epoch > 1 else ""
    total, left = tally.total(), tally.seconds_left
    ahead = f", about {duration(left)} left" if left else ""
    return (
        f"[{tally.made}/{tally.todo}] {attempt.task_id}{epoch}: {verdict}: {said}"
        f" ({duration(attempt.seconds)}, {tokens:,} tokens, {money(attempt.cost)})"
        f"; {total.right} right of {total.selected}{ahead}"
    )


def _is_trouble(event: Event) -> bool:
    if isinstance(event, Planned):
        return bool(event.problems)
    return isinstance(event, Ended) and event.attempt.status in {"error", "timeout", "missing-file"}
