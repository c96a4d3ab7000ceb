"""The progress of a benchmark: its events and counts, shown on stderr."""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from agent.gaia.attempt import DONE, Attempt, Task
from agent.gaia.report.figures import counted, group_of
from agent.gaia.report.tables import count, price, seconds_text
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class AttemptsPlanned:
    """The attempts to make are known."""

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
    """An attempt ended and is in the ledger."""

    attempt: Attempt


Event: TypeAlias = AttemptsPlanned | Began | Said | Ended


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
            case AttemptsPlanned():
                self._tasks = {task.task_id: task for task in event.selected}
                self._latest = {attempt.key: attempt for attempt in event.done if attempt.task_id in self._tasks}
                self._epochs, self._todo, self._began = event.epochs, event.todo, time.monotonic()
                done = sum(attempt.status in DONE for attempt in event.done)
                epochs = f" × {event.epochs} epochs" if event.epochs > 1 else ""
                asked = count(len(event.selected), "question") + epochs
                before = f", {done} done before" if done else ""
                lines = [f"{asked}{before}; {count(event.todo, 'attempt')} to make.", *event.problems]
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

    def table(self) -> RenderableType:
        """A row for each level, one for all, and a line about what is under way."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        asked = "questions" if self._epochs == 1 else f"questions × {self._epochs}"
        for name in ("level", asked, "done", "right", "wrong", "errors", "tokens", "cost"):
            table.add_column(name, justify="left" if name == "level" else "right", no_wrap=True)
        cells = counted(list(self._latest.values()), list(self._tasks.values()), self._epochs)
        levels = sorted({cell.level for cell in cells}, key=lambda level: (level == "no level", level))
        groups = [group_of(level, [cell for cell in cells if cell.level == level]) for level in levels]
        for group in (*(groups if len(groups) > 1 else ()), group_of("all", cells)):
            tokens = group.effort.input_tokens + group.effort.output_tokens
            numbers = (group.of, group.attempted, group.right, group.wrong, group.errors, tokens)
            style = "bold" if group.name == "all" else ""
            table.add_row(group.name, *(f"{n:,}" for n in numbers), price(group.effort.cost), style=style)
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
        tokens = attempt.input_tokens + attempt.output_tokens
        right = sum(latest.correct is True for latest in self._latest.values())
        return (
            f"[{self._made}/{self._todo}] {attempt.task_id}{epoch}: {verdict}: {said}"
            f" ({seconds_text(attempt.seconds)}, {tokens:,} tokens, {price(attempt.cost)})"
            f"; {right} right of {len(self._tasks) * self._epochs}{self._left()}"
        )
