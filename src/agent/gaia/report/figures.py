"""What counts, what it took, and the figures of a benchmark's results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from pathlib import PurePath
from statistics import fmean, median, stdev

from agent.gaia.attempt import Attempt, Task
from agent.gaia.report.statistics import Interval, pass_at_k, pass_hat_k, shown_ks, voted, wilson

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
    steps: int
    cost: float | None
    cost_of_priced: float
    unpriced: int
    seconds: float
    """Of work, without queueing and without waiting for a rate limit."""
    waited: float
    median_seconds: float | None
    p90_seconds: float | None
    """Nine of ten attempts took no longer."""
    median_tokens: float | None


def effort_of(attempts: Sequence[Attempt]) -> Effort:
    """What these attempts took; a time that is no number counts as none, and an unknown price as unknown."""
    seconds = sorted(finite(attempt.seconds) for attempt in attempts)
    tokens = [attempt.input_tokens + attempt.output_tokens for attempt in attempts]
    known = [attempt.cost for attempt in attempts if attempt.cost is not None and isfinite(attempt.cost)]
    return Effort(
        attempts=len(attempts),
        input_tokens=sum(attempt.input_tokens for attempt in attempts),
        output_tokens=sum(attempt.output_tokens for attempt in attempts),
        steps=sum(attempt.steps for attempt in attempts),
        cost=sum(known) if len(known) == len(attempts) else None,
        cost_of_priced=sum(known),
        unpriced=len(attempts) - len(known),
        seconds=sum(seconds),
        waited=sum(finite(attempt.waited) for attempt in attempts),
        median_seconds=median(seconds) if seconds else None,
        p90_seconds=seconds[ceil(0.9 * len(seconds)) - 1] if seconds else None,
        median_tokens=median(tokens) if tokens else None,
    )


def finite(seconds: float) -> float:
    """The time, where it is one."""
    return seconds if isfinite(seconds) and seconds > 0 else 0.0


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
    """What became of these.

    Args:
        name: What they have in common.
        cells: Each question and epoch.
        is_scored: Whether a true answer is known for any question.
        right: How many questions a vote of their epochs got right; then a question counts once.
    """
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
class Summary:
    """Everything that a report says, derived from a ledger and its selected questions; its names are those of JSON."""

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
    majority_at_k: dict[int, float]
    """Accuracy of the answer given most often in all epochs, chosen without the truth; empty of a single epoch."""
    effort: Effort
    """Of all attempts, the replaced ones too: it was spent. A run that went on is in it once."""
    tools: tuple[ToolRecord, ...]
    resolutions: dict[str, int]
    leaks: dict[str, tuple[str, ...]]
    leaked_right: int
    """Right answers of attempts that met a copy of the dataset."""
    models: tuple[str, ...]
    fingerprints: tuple[str, ...]


def summarise(attempts: Sequence[Attempt], selected: Sequence[Task], *, epochs: int = 1) -> Summary:
    """What the attempts came to.

    Args:
        attempts: Every attempt of the ledger, in its order; the last of a question and epoch counts.
        selected: Every question that was to be answered: the denominator, whatever became of it.
        epochs: How often.
    """
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
    ks = shown_ks(epochs) if questions else []
    return Summary(
        overall=overall,
        questions=len(chosen),
        epochs=epochs,
        attempted=overall.attempted,
        errors=overall.errors,
        missing=len(cells) - overall.attempted,
        unscored=sum(attempt.correct is None and attempt.status == "ok" for attempt in last),
        retried=sum(max(cell.tries - 1, 0) for cell in cells),
        unselected=len(attempts) - len(mine),
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
        majority_at_k={epochs: fmean(map(verdict, questions))} if len(by_epoch) > 1 else {},
        effort=effort_of(spent),
        tools=_tools(spent),
        resolutions=_frequent(attempt.resolution for attempt in last if attempt.resolution),
        leaks=leaks,
        leaked_right=sum(cell.right and bool(cell.attempt and cell.attempt.leaks) for cell in cells),
        models=tuple(dict.fromkeys(attempt.model for attempt in mine if attempt.model)),
        fingerprints=tuple(dict.fromkeys(attempt.fingerprint for attempt in mine if attempt.fingerprint)),
    )


def by_question(cells: Iterable[Counted]) -> dict[str, list[Counted]]:
    """The epochs of each question, in their order."""
    found: dict[str, list[Counted]] = {}
    for cell in cells:
        found.setdefault(cell.task.task_id, []).append(cell)
    return found


def verdict(epochs: Sequence[Counted]) -> bool:
    """Whether a question was answered: by its one attempt, or by the answer that several voted for."""
    if len(epochs) == 1:
        return epochs[0].right
    # What broke has no vote: the text of a failure is no answer.
    answers = [cell.attempt.answer if cell.attempt and cell.status != "error" else "" for cell in epochs]
    winner = voted(answers)
    return winner is not None and epochs[winner].right


def _groups(cells: Sequence[Counted], name_of: Callable[[Counted], str], is_scored: bool) -> tuple[Group, ...]:
    """The parts that have a name in common, the largest first."""
    found: dict[str, list[Counted]] = {}
    for cell in cells:
        found.setdefault(name_of(cell), []).append(cell)
    groups = (group_of(name, members, is_scored=is_scored) for name, members in found.items())
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
