"""The figures of a benchmark. Unknown values are None, never 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from statistics import median

from agent.errors import RunError
from agent.gaia.attempt import Attempt, Task
from agent.gaia.ledger import Header, read_ledger
from agent.gaia.report.statistics import Interval, wilson
from mcp_tools.text import one_line

_SHOWN_FLAWS = 20
_MAX_CELLS = 1_000_000
_NOT_OF_A_ROUTE = {"plan", "answer", "evaluate"}


@dataclass(frozen=True, slots=True)
class Counted:
    """One selected question in one epoch."""

    task: Task
    epoch: int
    attempt: Attempt | None
    """The last attempt; None if the question was not attempted in this epoch."""
    tries: int = 0
    """Number of attempts. A retry after a failure adds one, but resuming an interrupted attempt does not."""

    @property
    def right(self) -> bool:
        """True if the answer was scored as correct."""
        return self.attempt is not None and self.attempt.correct is True

    @property
    def status(self) -> str:
        """Status of the attempt, or `missing`."""
        return self.attempt.status if self.attempt else "missing"

    def part(self, noun: str) -> str:
        """Return its group by `question`, `level`, `file type` or `route`, which is the distinct actions in order."""
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
    """Return each selected question in each epoch with its last attempt, in the order of selection.

    Extra epochs are added if attempts have them. Attempts at other questions are ignored.
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
    """Total tokens, cost and time of some attempts."""

    attempts: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """Total cost in US dollars; None if any price is unknown."""
    seconds: float
    """Working time, without queueing and rate-limit waits."""
    waited: float
    median_seconds: float | None
    median_tokens: float | None


def effort_of(attempts: Sequence[Attempt]) -> Effort:
    """Return the total tokens, cost and time of attempts."""
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
    """Results of a group of questions, such as a level or file type."""

    name: str
    right: int
    of: int
    """Number of questions times epochs, including missing and failed attempts."""
    accuracy: float | None
    """Accuracy from 0 to 1; None if the group is empty or has no reference answers."""
    interval95: Interval | None
    """Wilson interval of the accuracy, in which all epochs of a question count as one observation."""
    attempted: int
    wrong: int
    errors: int
    interrupted: int
    """Number of interrupted attempts, which `--resume` continues."""
    effort: Effort
    """Totals over the last attempts."""


def group_of(name: str, cells: Sequence[Counted], *, is_scored: bool = True, right: int | None = None) -> Group:
    """Return the results of a group. `right`, if given, is the number of questions that were right in most epochs."""
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
    """The attempts of a benchmark and its selected questions."""

    attempts: Sequence[Attempt]
    selected: Sequence[Task]
    epochs: int = 1
    name: str = ""
    """File name of the ledger."""
    header: Header = field(default_factory=Header)
    flaws: Sequence[str] = ()
    """A sentence for each problem in the ledger."""
    source: str = ""
    """Question file or folder, as recorded in the ledger."""

    @property
    def cells(self) -> list[Counted]:
        """Each selected question in each epoch."""
        return counted(self.attempts, self.selected, self.epochs)


def open_results(path: Path, tasks: Sequence[Task] = ()) -> Results:
    """Read a ledger.

    Args:
        path: The ledger.
        tasks: The selected questions; by default, those recorded in the ledger, or else all attempted questions.

    Raises:
        RunError: The ledger is missing, was written by a later version, or counts too many questions.
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
    if len(selected) * max(epochs, len({attempt.epoch for attempt in attempts})) > _MAX_CELLS:
        raise RunError(
            f"The ledger {path} counts {len(selected):,} questions in {epochs:,} epochs. "
            f"A report can count at most {_MAX_CELLS:,} results.",
            remedy="Give the ledger of a smaller benchmark.",
        )
    return Results(attempts, selected, epochs, path.name, records.header or Header(), flaws, source)


def by(cells: Iterable[Counted], noun: str) -> dict[str, list[Counted]]:
    """Group questions by a property. Grouped by `question`, each group contains all its epochs."""
    found: dict[str, list[Counted]] = {}
    for cell in cells:
        found.setdefault(cell.part(noun), []).append(cell)
    return found
