"""What a benchmark tells whoever shows it: frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from agent.gaia.attempt import Attempt
from agent.gaia.task import Task


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
