"""How far a benchmark has come: its events, their counts, and how both are shown on stderr."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from agent.gaia.attempt import DONE, Attempt, Task
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


@dataclass(frozen=True, slots=True)
class Planned:
    """It is settled what is to be done."""

    selected: tuple[Task, ...]
    done: tuple[Attempt, ...]
    """The last attempts of earlier runs, with and without a result."""
    todo: int
    """Attempts that are to be made now."""
    problems: tuple[str, ...] = ()
    """Lines of the ledger that cannot be read."""
    epochs: int = 1
    """How often each question is asked."""


@dataclass(frozen=True, slots=True)
class Began:
    """An attempt begins."""

    task: Task
    epoch: int


@dataclass(frozen=True, slots=True)
class Stepped:
    """The coordinator chose an action."""

    task_id: str
    epoch: int
    action: str
    reason: str


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence for the user."""

    task_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt came to its end, and is in the ledger."""

    attempt: Attempt


Event: TypeAlias = Planned | Began | Stepped | Said | Ended


@dataclass(slots=True)
class Count:
    """Attempts of one level, or of all."""

    selected: int = 0
    """Questions times epochs: all that is to be done."""
    done: int = 0
    right: int = 0
    wrong: int = 0
    errors: int = 0
    """What came to no result."""
    interrupted: int = 0
    """Neither done nor errors: they go on with --resume."""
    tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None as soon as one price is unknown."""

    @classmethod
    def of(cls, attempts: Iterable[Attempt], selected: int = 0) -> Count:
        """What these attempts add up to."""
        count = cls(selected)
        for attempt in attempts:
            count.add(attempt)
        return count

    def add(self, attempt: Attempt) -> None:
        """Counts an attempt."""
        self.interrupted += attempt.status == "interrupted"
        self.done += attempt.status != "interrupted"
        self.errors += attempt.status == "error"
        self.right += attempt.correct is True
        self.wrong += attempt.correct is False and attempt.status != "error"
        self.tokens += attempt.input_tokens + attempt.output_tokens
        known = self.cost is not None and attempt.cost is not None
        self.cost = (self.cost or 0.0) + (attempt.cost or 0.0) if known else None


@dataclass(slots=True)
class Tally:
    """The state of a benchmark as its events tell it; each question and epoch counts once, as it was last."""

    selected: dict[str, int | None] = field(default_factory=dict)
    """Level by task."""
    epochs: int = 1
    """How often each is asked."""
    latest: dict[tuple[str, int], Attempt] = field(default_factory=dict)
    running: dict[tuple[str, int], str] = field(default_factory=dict)
    """The present action of each question under way."""
    todo: int = 0
    made: int = 0
    """Attempts that ended since the start."""
    began: float = field(default_factory=time.monotonic)

    def note(self, event: Event) -> None:
        """Takes in an event."""
        match event:
            case Planned():
                self.selected = {task.task_id: task.level for task in event.selected}
                self.latest = {attempt.key: attempt for attempt in event.done if attempt.task_id in self.selected}
                self.epochs = event.epochs
                self.todo, self.began = event.todo, time.monotonic()
            case Began():
                self.running[event.task.task_id, event.epoch] = "plan"
            case Stepped():
                self.running[event.task_id, event.epoch] = event.action
            case Ended():
                self.running.pop(event.attempt.key, None)
                self.latest[event.attempt.key] = event.attempt
                self.made += 1

    def counts(self) -> dict[int | None, Count]:
        """Counts by level, easiest first."""
        found = {level: Count() for level in _ordered(self.selected.values())}
        for level in self.selected.values():
            found[level].selected += self.epochs
        for attempt in self.latest.values():
            found[self.selected[attempt.task_id]].add(attempt)
        return found

    def total(self) -> Count:
        """Counts of all levels."""
        return Count.of(self.latest.values(), len(self.selected) * self.epochs)

    @property
    def seconds_left(self) -> float | None:
        """As long as so far for each attempt; None while nothing has ended."""
        if not self.made:
            return None
        return (time.monotonic() - self.began) / self.made * (self.todo - self.made)


def _ordered(levels: Iterable[int | None]) -> list[int | None]:
    return sorted(set(levels), key=lambda level: (level is None, level or 0))


def duration(seconds: float) -> str:
    """`42 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def money(cost: float | None) -> str:
    """`$0.0312`; an unknown price is a question mark, never 0."""
    return "?" if cost is None else f"${cost:.4f}"


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
