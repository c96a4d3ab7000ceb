"""How far a benchmark has come: its events, their counts, and how both are shown on stderr."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from agent.gaia.attempt import DONE, Attempt, Task
from agent.gaia.report.tables import count as counted
from agent.gaia.report.tables import price, seconds_text
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class Planned:
    """It is settled what is to be done."""

    selected: tuple[Task, ...]
    done: tuple[Attempt, ...]
    """The last attempts of earlier runs, with and without a result."""
    todo: int
    problems: tuple[str, ...] = ()
    """Lines of the ledger that cannot be read."""
    epochs: int = 1


@dataclass(frozen=True, slots=True)
class Began:
    """An attempt begins."""

    task: Task
    epoch: int


@dataclass(frozen=True, slots=True)
class Said:
    """What a question under way does or says."""

    task_id: str
    epoch: int
    text: str
    action: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt came to its end, and is in the ledger."""

    attempt: Attempt


Event: TypeAlias = Planned | Began | Said | Ended


@dataclass(slots=True)
class Count:
    """Attempts of one level, or of all."""

    selected: int = 0
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
            count.interrupted += attempt.status == "interrupted"
            count.done += attempt.status != "interrupted"
            count.errors += attempt.status == "error"
            count.right += attempt.correct is True
            count.wrong += attempt.correct is False and attempt.status != "error"
            count.tokens += attempt.input_tokens + attempt.output_tokens
            count.cost = None if count.cost is None or attempt.cost is None else count.cost + attempt.cost
        return count


_ANSWER_WIDTH = 60
_LISTED = 8
"""Questions under way that are named."""


class Display:
    """The state of a benchmark as its events tell it, on stderr.

    On a terminal a table by level that is drawn anew, with lines scrolling up above it for what went wrong; elsewhere a
    line for each attempt. Each question and epoch counts once, as it was last.

    Args:
        verbose: Whether each attempt and step gets a line.
        plain: Whether there is no table.
    """

    def __init__(self, *, verbose: bool = False, plain: bool = False) -> None:
        self._verbose = verbose
        self._tasks: dict[str, Task] = {}
        self._epochs = 1
        self._latest: dict[tuple[str, int], Attempt] = {}
        self._running: dict[tuple[str, int], str] = {}
        self._todo = self._made = 0
        self._began = time.monotonic()
        self._live = None
        if not plain and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, highlight=False)
            self._live = Live(console=console, refresh_per_second=4, get_renderable=self.table, transient=False)
            self._live.start()

    def show(self, event: Event) -> None:
        """Takes in an event."""
        lines, is_trouble = [], False
        match event:
            case Planned():
                self._tasks = {task.task_id: task for task in event.selected}
                self._latest = {attempt.key: attempt for attempt in event.done if attempt.task_id in self._tasks}
                self._epochs, self._todo, self._began = event.epochs, event.todo, time.monotonic()
                done = sum(attempt.status in DONE for attempt in event.done)
                epochs = f" × {event.epochs} epochs" if event.epochs > 1 else ""
                asked = counted(len(event.selected), "question") + epochs
                before = f", {done} done before" if done else ""
                lines = [f"{asked}{before}; {counted(event.todo, 'attempt')} to make.", *event.problems]
                is_trouble = bool(event.problems)
            case Began():
                self._running[event.task.task_id, event.epoch] = "plan"
            case Said():
                if event.action:
                    self._running[event.task_id, event.epoch] = event.action
                lines = [f"  {event.task_id}: {event.text}"] if self._verbose else []
            case Ended(attempt):
                self._running.pop(attempt.key, None)
                self._latest[attempt.key] = attempt
                self._made += 1
                lines, is_trouble = [self._line_of(attempt)], attempt.status in {"error", "timeout", "missing-file"}
        if self._live is None or self._verbose or is_trouble:
            for line in lines:
                self.say(line)

    def say(self, text: str) -> None:
        """A sentence; where nobody reads it any more, the benchmark goes on all the same."""
        text = one_line(text, 500)
        if self._live is not None:
            from rich.text import Text

            self._live.console.print(Text(text), soft_wrap=True)
            return
        encoding = sys.stderr.encoding or "utf-8"
        with contextlib.suppress(OSError):
            print(text.encode(encoding, "replace").decode(encoding), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Ends the display; what it showed last stays."""
        self._running.clear()
        if self._live is not None:
            self._live.stop()

    @property
    def total(self) -> Count:
        """Counts of all levels."""
        return Count.of(self._latest.values(), len(self._tasks) * self._epochs)

    def table(self) -> RenderableType:
        """A row for each level, one for all, and a line about what is under way."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        asked = "questions" if self._epochs == 1 else f"questions × {self._epochs}"
        for name in ("level", asked, "done", "right", "wrong", "errors", "tokens", "cost"):
            table.add_column(name, justify="left" if name == "level" else "right", no_wrap=True)
        counts = {"all": self.total}
        levels = sorted({task.level for task in self._tasks.values()}, key=lambda level: (level is None, level or 0))
        for level in levels if len(levels) > 1 else ():
            ids = {task.task_id for task in self._tasks.values() if task.level == level}
            attempts = (attempt for attempt in self._latest.values() if attempt.task_id in ids)
            counts["none" if level is None else str(level)] = Count.of(attempts, len(ids) * self._epochs)
        for name, c in (*list(counts.items())[1:], ("all", counts["all"])):
            numbers = (c.selected, c.done, c.right, c.wrong, c.errors, c.tokens)
            table.add_row(name, *(f"{n:,}" for n in numbers), price(c.cost), style="bold" if name == "all" else "")
        about = f"{self._made} of {self._todo} attempts{self._left()}"
        named = [f"{one_line(key[0], 24)} {action}" for key, action in list(self._running.items())[:_LISTED]]
        more = f"; {len(self._running) - len(named)} more" if len(self._running) > len(named) else ""
        return Group(table, Text(about), Text("; ".join(named) + more, style="dim", overflow="ellipsis", no_wrap=True))

    def _left(self) -> str:
        """As long as so far for each attempt that is left."""
        left = (time.monotonic() - self._began) / self._made * (self._todo - self._made) if self._made else 0
        return f", about {seconds_text(left)} left" if left >= 1 else ""

    def _line_of(self, attempt: Attempt) -> str:
        verdict = {True: "right", False: "wrong", None: "answered"}[attempt.correct]
        if attempt.status != "ok":
            verdict = attempt.status + (f" ({verdict})" if attempt.status == "limit" else "")
        said = one_line(attempt.error or attempt.answer, _ANSWER_WIDTH) or "no answer"
        epoch = f" epoch {attempt.epoch}" if attempt.epoch > 1 else ""
        tokens, total = attempt.input_tokens + attempt.output_tokens, self.total
        return (
            f"[{self._made}/{self._todo}] {attempt.task_id}{epoch}: {verdict}: {said}"
            f" ({seconds_text(attempt.seconds)}, {tokens:,} tokens, {price(attempt.cost)})"
            f"; {total.right} right of {total.selected}{self._left()}"
        )
