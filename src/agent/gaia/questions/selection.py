"""Which questions are asked: a choice among the set, and what of it is still to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent.errors import UsageError
from agent.gaia.attempt import Attempt, AttemptStatus
from agent.gaia.questions.task import Task
from agent.gaia.records import Choice

DONE: frozenset[AttemptStatus] = frozenset({"ok", "limit", "timeout"})
"""What counts as a result. A limit that was reached is one: another attempt would be a second chance."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What the user chose."""

    levels: tuple[int, ...] = ()
    """Empty for all."""
    ids: tuple[str, ...] = ()
    """Empty for all."""
    max_questions: int | None = None
    """Of those still to do."""
    epochs: int = 1
    """How often each question is asked."""
    retry_errors: bool = True
    """Whether what ended in an error is done again."""

    def tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """The chosen tasks, in the order of the set.

        Raises:
            UsageError: An id or a level that the set does not have.
        """
        known = {task.task_id for task in tasks}
        if unknown := [task_id for task_id in self.ids if task_id not in known]:
            raise UsageError(f"The question set has no task {unknown[0]!r}.", remedy=_near(unknown[0], known))
        levels = {task.level for task in tasks}
        if missing := [level for level in self.levels if level not in levels]:
            told = ", ".join(str(level) for level in sorted(level for level in levels if level is not None))
            raise UsageError(f"The question set has no level {missing[0]}.", remedy=f"It has: {told or 'no levels'}.")
        return [
            task
            for task in tasks
            if (not self.ids or task.task_id in self.ids) and (not self.levels or task.level in self.levels)
        ]


@dataclass(frozen=True, slots=True)
class Todo:
    """One attempt that is to be made."""

    task: Task
    epoch: int
    before: Attempt | None = None
    """An earlier attempt that came to no result."""


def newest(attempts: Iterable[Attempt], fingerprint: str) -> dict[tuple[str, int], Attempt]:
    """The attempt that counts for each question and epoch of a configuration: the last one."""
    return {attempt.key: attempt for attempt in attempts if attempt.fingerprint == fingerprint}


def still_to_do(selection: Selection, tasks: Sequence[Task], done: dict[tuple[str, int], Attempt]) -> list[Todo]:
    """The attempts that are missing, of so many questions at most: what was begun, what is new, what went wrong.

    What goes wrong each time comes last, so that it never keeps a limited run from getting on.

    Args:
        selection: Says how often each question is asked, and of how many.
        tasks: The chosen ones.
        done: What counts so far.
    """
    finished = DONE if selection.retry_errors else DONE | {"error"}
    left = [
        Todo(task, epoch, done.get((task.task_id, epoch)))
        for epoch in range(1, selection.epochs + 1)
        for task in tasks
        if (before := done.get((task.task_id, epoch))) is None or before.status not in finished
    ]
    left.sort(key=_turn)
    if selection.max_questions is None:
        return left
    wanted = list(dict.fromkeys(todo.task.task_id for todo in left))[: selection.max_questions]
    return [todo for todo in left if todo.task.task_id in set(wanted)]


def counting(
    tasks: Sequence[Task],
    before: Choice | None,
    done: Mapping[tuple[str, int], Attempt],
    todo: Sequence[Todo],
    epochs: int,
) -> Choice:
    """What counts from now on: what was chosen before, is done, or is to be done now.

    A ledger is one benchmark: what an earlier run of it chose stays in the denominator. What is chosen now but beyond
    `--max-questions` is not in it yet.

    Args:
        tasks: The whole set.
        before: What the earlier runs chose.
        done: What counts so far.
        todo: What is to be done now.
        epochs: How often each question is asked now.
    """
    ids = {task_id for task_id, _ in done} | {one.task.task_id for one in todo}
    ids |= {task.task_id for task in before.tasks} if before else set()
    most = max([epochs, before.epochs if before else 1, *(epoch for _, epoch in done)])
    return Choice(tuple(task for task in tasks if task.task_id in ids), most)


def _turn(todo: Todo) -> int:
    if todo.before is None:
        return 1
    return 0 if todo.before.status == "interrupted" else 2


def _near(task_id: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(task_id, list(known), n=1)
    return f"Did you mean {near[0]}?" if near else "The ids are the task_id of the question file."
