"""The figures of a benchmark; the unknown is None, never 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from statistics import median

from agent.gaia.attempt import Attempt, Task
from agent.gaia.ledger import Header, read_ledger
from agent.gaia.report.statistics import Interval, wilson
from mcp_tools.text import one_line

_SHOWN_FLAWS = 20
_NOT_OF_A_ROUTE = {"plan", "answer", "evaluate"}


@dataclass(frozen=True, slots=True)
class Counted:
    """One selected question in one epoch."""

    task: Task
    epoch: int
    attempt: Attempt | None
    """The last one; None without an attempt."""
    tries: int = 0
    """Number of attempts: more than one if an error was retried, but not if a run was interrupted and resumed."""

    @property
    def right(self) -> bool:
        """True if its answer was scored as correct."""
        return self.attempt is not None and self.attempt.correct is True

    @property
    def status(self) -> str:
        """The status of its attempt, or `missing`."""
        return self.attempt.status if self.attempt else "missing"

    def part(self, noun: str) -> str:
        """The group it belongs to, by `question`, `level`, `file type` or `route` (its actions, by first use)."""
        made = self.attempt
        if noun == "question":
            return self.task.task_id
        if noun == "level":
            level = self.task.level if self.task.level is not None or made is None else made.level
            return "no level" if level is None else str(level)
        if noun == "file type":
            suffix = PurePath(self.task.file_name).suffix or (made.file_type if made else "")
            return suffix.lstrip(".").lower() or ("unknown" if self.task.file_name else "no file")
        if made is None:
            return "not attempted"
        return " → ".join(dict.fromkeys(a for a in made.routes if a not in _NOT_OF_A_ROUTE)) or "no action"


def counted(attempts: Sequence[Attempt], selected: Sequence[Task], epochs: int = 1) -> list[Counted]:
    """Return each selected question in each epoch, in the order of selection; the last attempt at it counts.

    There are more epochs than wanted where the attempts say more; attempts at other questions are left out.
    """
    tasks = {task.task_id: task for task in selected}
    attempts = [attempt for attempt in attempts if attempt.task_id in tasks]
    last = {attempt.key: attempt for attempt in attempts}
    tries = Counter(attempt.key for attempt in attempts if attempt.status != "interrupted")
    numbers = sorted({*range(1, epochs + 1), *(attempt.epoch for attempt in attempts)})
    return [
        Counted(task, epoch, last.get((task.task_id, epoch)), tries[task.task_id, epoch])
        for epoch in numbers
        for task in tasks.values()
    ]


@dataclass(frozen=True, slots=True)
class Effort:
    """Tokens, cost and time of a number of attempts."""

    attempts: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """None if one price is unknown."""
    seconds: float
    """Seconds of work, without queueing and waiting for rate limits."""
    waited: float
    median_seconds: float | None
    median_tokens: float | None


def effort_of(attempts: Sequence[Attempt]) -> Effort:
    """Add up what these attempts took."""
    costs = [attempt.cost for attempt in attempts if attempt.cost is not None]
    return Effort(
        attempts=len(attempts),
        input_tokens=sum(attempt.input_tokens for attempt in attempts),
        output_tokens=sum(attempt.output_tokens for attempt in attempts),
        cost=sum(costs) if len(costs) == len(attempts) else None,
        seconds=sum(attempt.seconds for attempt in attempts),
        waited=sum(attempt.waited for attempt in attempts),
        median_seconds=median(a.seconds for a in attempts) if attempts else None,
        median_tokens=median(a.input_tokens + a.output_tokens for a in attempts) if attempts else None,
    )


@dataclass(frozen=True, slots=True)
class Group:
    """Results of some questions: a level, a type of file, a route, or all."""

    name: str
    right: int
    of: int
    """Questions times epochs, the missing and broken ones included."""
    accuracy: float | None
    """From 0 to 1; None of nothing, and where no true answer is known."""
    interval95: Interval | None
    """Wilson's; epochs of one question are taken as one observation, their mean."""
    attempted: int
    wrong: int
    errors: int
    interrupted: int
    """Neither done nor failed: --resume continues them."""
    effort: Effort
    """Tokens, time and cost of the attempts that count."""


def group_of(name: str, cells: Sequence[Counted], *, is_scored: bool = True, right: int | None = None) -> Group:
    """Return the results of these; with `right`, how many questions were right in most epochs, each counts once."""
    last = [cell.attempt for cell in cells if cell.attempt is not None]
    questions = len({cell.task.task_id for cell in cells})
    of = len(cells) if right is None else questions
    right = sum(cell.right for cell in cells) if right is None else right
    return Group(
        name=name,
        right=right,
        of=of,
        accuracy=right / of if of and is_scored else None,
        interval95=wilson(min(right * questions / of, questions) if of else 0, questions) if is_scored else None,
        attempted=sum(cell.status not in {"missing", "interrupted"} for cell in cells),
        wrong=sum(a.correct is False and a.status not in {"error", "missing-file"} for a in last),
        errors=sum(a.status == "error" for a in last),
        interrupted=sum(a.status == "interrupted" for a in last),
        effort=effort_of(last),
    )


@dataclass(frozen=True, slots=True)
class Results:
    """The attempts of a benchmark, and the questions that were selected."""

    attempts: Sequence[Attempt]
    selected: Sequence[Task]
    epochs: int = 1
    name: str = ""
    """The ledger's path."""
    header: Header = field(default_factory=Header)
    flaws: Sequence[str] = ()
    """Problems of the ledger, and so of all figures, one sentence each."""
    source: str = ""
    """The question file or folder, as the ledger names it."""

    @property
    def cells(self) -> list[Counted]:
        """Each selected question in each epoch."""
        return counted(self.attempts, self.selected, self.epochs)


def open_results(path: Path, tasks: Sequence[Task] = ()) -> Results:
    """Read a ledger.

    Args:
        path: The ledger.
        tasks: The selected questions; without them, those that the ledger names as selected, or else those that
            it holds an attempt of.

    Raises:
        RunError: There is no ledger, or a later version wrote it.
    """
    records = read_ledger(path)
    flaws = [one_line(problem, 300) for problem in records.problems[:_SHOWN_FLAWS]]
    if len(records.problems) > _SHOWN_FLAWS:
        flaws.append(f"{len(records.problems) - _SHOWN_FLAWS:,} more lines of the ledger cannot be read")
    attempts, chosen = records.attempts, records.chosen
    if not tasks and chosen is None:
        flaws.append(
            "the ledger does not say which questions were selected, so only attempted ones count; "
            "to count all of them, add --questions FILE"
        )
    known = {a.task_id: Task(a.task_id, "", a.level, a.file_type and f"file.{a.file_type}") for a in attempts}
    selected = tuple(tasks) or (chosen.tasks if chosen else tuple(known.values()))
    epochs, source = (chosen.epochs, chosen.source) if chosen else (1, "")
    return Results(attempts, selected, epochs, path.name, records.header or Header(), flaws, source)


def by(cells: Iterable[Counted], noun: str) -> dict[str, list[Counted]]:
    """Group questions by one property; by `question`, each group holds its epochs."""
    found: dict[str, list[Counted]] = {}
    for cell in cells:
        found.setdefault(cell.part(noun), []).append(cell)
    return found
