"""Which attempts count: one for each selected question and epoch, whatever was tried before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from agent.gaia.attempt import Attempt
from agent.gaia.task import Task

NO_FILE = "no file"
NOT_ATTEMPTED = "not attempted"
_NO_ROUTE = "no action"
_NOT_OF_A_ROUTE = {"plan", "answer", "evaluate"}


@dataclass(frozen=True, slots=True)
class Counted:
    """One selected question in one epoch."""

    task: Task
    epoch: int
    attempt: Attempt | None
    """The last one; None when there is none yet."""
    tries: int = 0
    """Attempts in all: more than one where an error was tried again, not where a run was interrupted and went on."""

    @property
    def right(self) -> bool:
        """Whether its answer was scored as correct; what is missing or broken is not."""
        return self.attempt is not None and self.attempt.correct is True

    @property
    def attempted(self) -> bool:
        """Whether it was attempted to the end; what was interrupted goes on."""
        return self.attempt is not None and self.attempt.status != "interrupted"

    @property
    def status(self) -> str:
        """That of its attempt, or `missing`."""
        return self.attempt.status if self.attempt else "missing"

    @property
    def level(self) -> str:
        """The question's level as text."""
        level = self.task.level if self.task.level is not None or self.attempt is None else self.attempt.level
        return "no level" if level is None else str(level)

    @property
    def file_type(self) -> str:
        """The extension of the question's file, without its dot."""
        of_attempt = self.attempt.file_type if self.attempt else ""
        suffix = PurePath(self.task.file_name).suffix or of_attempt
        return suffix.lstrip(".").lower() or ("unknown" if self.task.file_name else NO_FILE)

    @property
    def route(self) -> str:
        """The actions that were taken, each once, in the order of their first use."""
        if self.attempt is None:
            return NOT_ATTEMPTED
        taken = dict.fromkeys(action for action in self.attempt.routes if action not in _NOT_OF_A_ROUTE)
        return " → ".join(taken) or _NO_ROUTE


def counted(attempts: Sequence[Attempt], selected: Sequence[Task], epochs: int = 1) -> list[Counted]:
    """Each selected question in each epoch, in the order of selection; other attempts are left out.

    Args:
        attempts: In the order of the ledger: the last one of a question and epoch counts.
        selected: What was to be answered, attempted or not.
        epochs: How often it was to be answered; more where the attempts say more.
    """
    tasks = {task.task_id: task for task in selected}
    attempts = [attempt for attempt in attempts if attempt.task_id in tasks]
    last = {attempt.key: attempt for attempt in attempts}
    tries: dict[tuple[str, int], int] = {}
    for attempt in attempts:
        tries[attempt.key] = tries.get(attempt.key, 0) + (attempt.status != "interrupted")
    numbers = sorted({*range(1, epochs + 1), *(attempt.epoch for attempt in attempts)})
    return [
        Counted(task, epoch, last.get((task.task_id, epoch)), tries.get((task.task_id, epoch), 0))
        for epoch in numbers
        for task in tasks.values()
    ]


def tasks_of(attempts: Sequence[Attempt]) -> tuple[Task, ...]:
    """The questions that a ledger holds, where nothing else says which were selected."""
    known = {attempt.task_id: attempt for attempt in attempts}
    return tuple(
        Task(task_id, "", attempt.level, f"file.{attempt.file_type}" if attempt.file_type else "")
        for task_id, attempt in known.items()
    )
