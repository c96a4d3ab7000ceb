"""The progress of a benchmark: its events and counts, shown on stderr."""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import dataclass
from typing import TypeAlias

from agent.gaia.attempt import DONE, Attempt, Task
from agent.gaia.report.tables import price, seconds_text
from mcp_tools.text import count_of, one_line


@dataclass(frozen=True, slots=True)
class AttemptsPlanned:
    """The attempts to make are known."""

    selected: tuple[Task, ...]
    done: tuple[Attempt, ...]
    """The last attempts of earlier runs, with and without a result."""
    todo: int
    problems: tuple[str, ...] = ()
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


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt ended and is in the ledger."""

    attempt: Attempt


Event: TypeAlias = AttemptsPlanned | Began | Said | Ended


_ANSWER_WIDTH = 60


class Display:
    """A line on stderr for each attempt. Each question and epoch counts once, as it was last."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._tasks: set[str] = set()
        self._epochs = 1
        self._latest: dict[tuple[str, int], Attempt] = {}
        self._todo = self._made = 0
        self._began = time.monotonic()

    def show(self, event: Event) -> None:
        """Takes in an event."""
        match event:
            case AttemptsPlanned():
                self._tasks = {task.task_id for task in event.selected}
                self._latest = {attempt.key: attempt for attempt in event.done if attempt.task_id in self._tasks}
                self._epochs, self._todo, self._began = event.epochs, event.todo, time.monotonic()
                done = sum(attempt.status in DONE for attempt in event.done)
                epochs = f" × {event.epochs} epochs" if event.epochs > 1 else ""
                asked = count_of(len(event.selected), "question") + epochs
                before = f", {done} done before" if done else ""
                self.say(f"{asked}{before}; {count_of(event.todo, 'attempt')} to make.")
                for problem in event.problems:
                    self.say(problem)
            case Said():
                if self._verbose:
                    self.say(f"  {event.task_id}: {event.text}")
            case Ended(attempt):
                self._latest[attempt.key] = attempt
                self._made += 1
                self.say(self._line_of(attempt))

    def say(self, text: str) -> None:
        """A sentence; where nobody reads it any more, the benchmark goes on all the same."""
        text = one_line(text, 500)
        encoding = sys.stderr.encoding or "utf-8"
        with contextlib.suppress(OSError):
            print(text.encode(encoding, "replace").decode(encoding), file=sys.stderr, flush=True)

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
