"""A report: what counts, what it took, and the figures of a benchmark's results; the unknown is None, never 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath
from statistics import fmean, median, stdev

from agent.gaia.attempt import Attempt, Task
from agent.gaia.ledger import Header, read_ledger
from agent.gaia.report.statistics import Interval, pass_at_k, pass_hat_k, wilson
from mcp_tools.text import count_of, one_line
from mcp_tools.tool import Json

SCHEMA = 1
_SHOWN_FLAWS = 20

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
    def status(self) -> str:
        """That of its attempt, or `missing`."""
        return self.attempt.status if self.attempt else "missing"

    @property
    def attempted(self) -> bool:
        """Whether it was attempted to the end; what was interrupted goes on."""
        return self.status not in {"missing", "interrupted"}

    @property
    def level(self) -> str:
        """The question's level as text."""
        level = self.task.level if self.task.level is not None or self.attempt is None else self.attempt.level
        return "no level" if level is None else str(level)

    @property
    def file_type(self) -> str:
        """The extension of the question's file, without its dot."""
        suffix = PurePath(self.task.file_name).suffix or (self.attempt.file_type if self.attempt else "")
        return suffix.lstrip(".").lower() or ("unknown" if self.task.file_name else "no file")

    @property
    def confidence(self) -> str:
        """How sure the answer was judged to be."""
        return (self.attempt.confidence if self.attempt else "") or "not judged"

    @property
    def route(self) -> str:
        """The actions that were taken, each once, in the order of their first use."""
        if self.attempt is None:
            return "not attempted"
        taken = dict.fromkeys(action for action in self.attempt.routes if action not in _NOT_OF_A_ROUTE)
        return " → ".join(taken) or "no action"


def counted(attempts: Sequence[Attempt], selected: Sequence[Task], epochs: int = 1) -> list[Counted]:
    """Each selected question in each epoch, in the order of selection; the last attempt at it counts.

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
    """What a number of attempts took together, and in the middle."""

    attempts: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float
    """Of work, without queueing and without waiting for a rate limit."""
    waited: float
    median_seconds: float | None
    median_tokens: float | None


def effort_of(attempts: Sequence[Attempt]) -> Effort:
    """What these attempts took; one unknown price makes the cost unknown."""
    tokens = [attempt.input_tokens + attempt.output_tokens for attempt in attempts]
    costs = [attempt.cost for attempt in attempts if attempt.cost is not None]
    return Effort(
        attempts=len(attempts),
        input_tokens=sum(attempt.input_tokens for attempt in attempts),
        output_tokens=sum(attempt.output_tokens for attempt in attempts),
        cost=sum(costs) if len(costs) == len(attempts) else None,
        seconds=sum(attempt.seconds for attempt in attempts),
        waited=sum(attempt.waited for attempt in attempts),
        median_seconds=median(attempt.seconds for attempt in attempts) if attempts else None,
        median_tokens=median(tokens) if tokens else None,
    )


@dataclass(frozen=True, slots=True)
class Group:
    """What became of a part of the questions: a level, a type of file, a route, or all of them."""

    name: str
    right: int
    of: int
    """Questions times epochs: the missing and the broken ones are among them."""
    accuracy: float | None
    """From 0 to 1; None of nothing, and where no true answer is known."""
    interval95: Interval | None
    """Wilson's; epochs of one question are taken as one observation, their mean."""
    attempted: int
    wrong: int
    errors: int
    interrupted: int
    """Neither done nor errors: they go on with --resume."""
    effort: Effort
    """Of the attempts that count."""


def group_of(name: str, cells: Sequence[Counted], *, is_scored: bool = True, right: int | None = None) -> Group:
    """What became of these; with `right`, how many questions were right in most of their epochs, each counts once."""
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
        attempted=sum(cell.attempted for cell in cells),
        wrong=sum(a.correct is False and a.status != "error" for a in last),
        errors=sum(a.status == "error" for a in last),
        interrupted=sum(a.status == "interrupted" for a in last),
        effort=effort_of(last),
    )


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """What became of one tool."""

    name: str
    created: int
    reused: int
    reused_right: int
    failed: int


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a report says, derived from a ledger and its selected questions; its names are those of JSON."""

    ledger: str
    """Its name."""
    created: str
    """When it was begun; empty where it does not say."""
    configuration: dict[str, Json]
    notices: tuple[str, ...]
    """What a reader must know before believing a figure, one sentence each."""
    flaws: tuple[str, ...]
    """Those of them that concern the ledger itself, and any figure that is made of it."""
    cells: tuple[Counted, ...]
    overall: Group
    questions: int
    epochs: int
    attempted: int
    """Questions times epochs with an attempt that was not interrupted."""
    errors: int
    missing: int
    unscored: int
    """Finished, but without a true answer to compare with: counted as not right."""
    retried: int
    """Attempts that a later one replaced; a run that went on is one."""
    unselected: int
    """Attempts at questions that were not selected: in no figure."""
    status: dict[str, int]
    level: tuple[Group, ...]
    file_type: tuple[Group, ...]
    route: tuple[Group, ...]
    confidence: tuple[Group, ...]
    """Beside it, the accuracy tells whether the judgement is worth anything."""
    mean_pass_at_1: float | None
    pass_at_1_stdev: float | None
    """Sample standard deviation of the epochs; None of a single one."""
    pass_at_1_by_epoch: tuple[float, ...]
    pass_at_k: dict[int, float]
    """By k, unbiased: at least one of k attempts is right."""
    pass_hat_k: dict[int, float]
    """By k, unbiased: all of k attempts are right."""
    effort: Effort
    """Of all attempts, the replaced ones too: it was spent. A run that went on is in it once."""
    tools: tuple[ToolRecord, ...]
    resolutions: dict[str, int]
    leaks: dict[str, tuple[str, ...]]
    leaked_right: int
    """Right answers of attempts that met a copy of the dataset."""
    models: tuple[str, ...]

    def as_json(self) -> dict[str, Json]:
        """The object that `--format json` prints."""
        told = asdict(replace(self, cells=()))
        del told["cells"], told["flaws"]
        attempts = [
            {"task_id": cell.task.task_id, "epoch": cell.epoch, "status": cell.status, "right": cell.right}
            for cell in self.cells
        ]
        return {"schema": SCHEMA, **told, "attempts": attempts}


def report_of(
    attempts: Sequence[Attempt],
    selected: Sequence[Task],
    *,
    epochs: int = 1,
    name: str = "",
    header: Header | None = None,
    flaws: Sequence[str] = (),
) -> Report:
    """A report of attempts that are at hand."""
    chosen = {task.task_id for task in selected}
    mine = [attempt for attempt in attempts if attempt.task_id in chosen]
    cells = counted(mine, selected, epochs)
    last = [cell.attempt for cell in cells if cell.attempt is not None]
    is_scored = not last or any(attempt.correct is not None for attempt in last)
    overall = group_of("all", cells, is_scored=is_scored)
    leaks: dict[str, tuple[str, ...]] = {}
    for attempt in mine:
        if attempt.leaks:
            leaks[attempt.task_id] = tuple(dict.fromkeys((*leaks.get(attempt.task_id, ()), *attempt.leaks)))
    ends = {(attempt.key, attempt.run_id): attempt for attempt in mine}
    spent = [a for a in mine if not a.run_id or ends[a.key, a.run_id] is a]
    questions = list(by_question(cells).values())
    epochs = len(questions[0]) if questions else epochs
    by_epoch = tuple(fmean(question[n].right for question in questions) for n in range(epochs)) if questions else ()
    rights = [sum(cell.right for cell in question) for question in questions]
    ks = range(1, epochs + 1) if questions else ()
    unscored = sum(attempt.correct is None and attempt.status == "ok" for attempt in last)
    unselected = len(attempts) - len(mine)
    leaked_right = sum(cell.right and bool(cell.attempt and cell.attempt.leaks) for cell in cells)
    notices = [*flaws]
    if is_scored and unscored:
        notices.append(f"{unscored:,} finished attempts have no true answer to compare with and count as wrong")
    if unselected:
        notices.append(f"{unselected:,} attempts at questions that were not selected are not counted")
    if leaks:
        notices.append(
            f"the leak guard met copies of the dataset in {count_of(len(leaks), 'question')}; "
            f"right attempts among those that met one: {leaked_right:,}"
        )
    header = header or Header()
    return Report(
        ledger=name,
        created=header.created,
        configuration=header.configuration,
        notices=tuple(notices),
        flaws=tuple(flaws),
        cells=tuple(cells),
        overall=overall,
        questions=len(chosen),
        epochs=epochs,
        attempted=overall.attempted,
        errors=overall.errors,
        missing=len(cells) - overall.attempted,
        unscored=unscored,
        retried=sum(max(cell.tries - 1, 0) for cell in cells),
        unselected=unselected,
        status=_frequent(cell.status for cell in cells),
        level=tuple(sorted(_groups(cells, lambda cell: cell.level, is_scored), key=lambda group: group.name)),
        file_type=_groups(cells, lambda cell: cell.file_type, is_scored),
        route=_groups(cells, lambda cell: cell.route, is_scored),
        confidence=_groups(cells, lambda cell: cell.confidence, is_scored),
        mean_pass_at_1=(fmean(by_epoch) if by_epoch else 0.0) if is_scored else None,
        pass_at_1_stdev=stdev(by_epoch) if len(by_epoch) > 1 else None,
        pass_at_1_by_epoch=by_epoch,
        pass_at_k={k: fmean(pass_at_k(right, epochs, k) for right in rights) for k in ks},
        pass_hat_k={k: fmean(pass_hat_k(right, epochs, k) for right in rights) for k in ks},
        effort=effort_of(spent),
        tools=_tools(spent),
        resolutions=_frequent(attempt.resolution for attempt in last if attempt.resolution),
        leaks=leaks,
        leaked_right=leaked_right,
        models=tuple(dict.fromkeys(attempt.model for attempt in mine if attempt.model)),
    )


def by_question(cells: Iterable[Counted]) -> dict[str, list[Counted]]:
    """The epochs of each question, in their order."""
    return _by(cells, lambda cell: cell.task.task_id)


def _by(cells: Iterable[Counted], name_of: Callable[[Counted], str]) -> dict[str, list[Counted]]:
    found: dict[str, list[Counted]] = {}
    for cell in cells:
        found.setdefault(name_of(cell), []).append(cell)
    return found


def verdict(epochs: Sequence[Counted]) -> bool:
    """Whether a question was answered: in more than half of its epochs."""
    return sum(cell.right for cell in epochs) * 2 > len(epochs)


def _groups(cells: Sequence[Counted], name_of: Callable[[Counted], str], is_scored: bool) -> tuple[Group, ...]:
    groups = (group_of(name, members, is_scored=is_scored) for name, members in _by(cells, name_of).items())
    return tuple(sorted(groups, key=lambda group: (-group.of, group.name)))


def _tools(attempts: Sequence[Attempt]) -> tuple[ToolRecord, ...]:
    created = Counter(name for attempt in attempts for name in set(attempt.tools_created))
    reused = Counter(name for attempt in attempts for name in set(attempt.tools_reused))
    right = Counter(name for attempt in attempts if attempt.correct for name in set(attempt.tools_reused))
    failed = Counter(name for attempt in attempts for name in set(attempt.tools_failed))
    names = sorted(created.keys() | reused.keys() | failed.keys(), key=lambda n: (-reused[n], -failed[n], n))
    return tuple(ToolRecord(name, created[name], reused[name], right[name], failed[name]) for name in names)


def _frequent(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())


def open_report(path: Path, tasks: Sequence[Task] = ()) -> Report:
    """Reads a ledger.

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
    return report_of(
        attempts,
        tuple(tasks) or (chosen.tasks if chosen else tuple(known.values())),
        epochs=chosen.epochs if chosen else 1,
        name=path.name,
        header=records.header,
        flaws=flaws,
    )
