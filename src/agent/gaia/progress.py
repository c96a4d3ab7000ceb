"""How far a benchmark has come: what it tells whoever shows it, and the counts of that."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from agent.gaia.attempt import Attempt
from agent.gaia.questions.task import Task


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
        whole = Count(selected=len(self.selected) * self.epochs)
        for attempt in self.latest.values():
            whole.add(attempt)
        return whole

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
