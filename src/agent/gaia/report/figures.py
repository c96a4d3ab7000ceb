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


@dataclass(frozen=True, slots=True)
class Money:
    """US dollars, as far as prices are known."""

    known: float = 0.0
    """Of the attempts whose price is known."""
    unpriced: int = 0
    """Attempts whose price is unknown."""
    attempts: int = 0
    """All of them."""

    @property
    def total(self) -> float | None:
        """Of all attempts; None when the price of one is unknown."""
        return None if self.unpriced else self.known


@dataclass(frozen=True, slots=True)
class Effort:
    """What a number of attempts took together, and in the middle."""

    attempts: int
    input_tokens: int
    output_tokens: int
    steps: int
    money: Money
    seconds: float
    """Of work, without queueing and without waiting for a rate limit."""
    waited: float
    """Seconds of waiting for rate limits."""
    median_seconds: float | None
    p90_seconds: float | None
    """Nine of ten attempts took no longer."""
    median_tokens: float | None
    """Read and written."""


def effort_of(attempts: Sequence[Attempt]) -> Effort:
    """What these attempts took; a time that is no number counts as none."""
    seconds = sorted(finite(attempt.seconds) for attempt in attempts)
    tokens = [attempt.input_tokens + attempt.output_tokens for attempt in attempts]
    return Effort(
        attempts=len(attempts),
        input_tokens=sum(attempt.input_tokens for attempt in attempts),
        output_tokens=sum(attempt.output_tokens for attempt in attempts),
        steps=sum(attempt.steps for attempt in attempts),
        money=money_of(attempts),
        seconds=sum(seconds),
        waited=sum(finite(attempt.waited) for attempt in attempts),
        median_seconds=median(seconds) if seconds else None,
        p90_seconds=seconds[ceil(0.9 * len(seconds)) - 1] if seconds else None,
        median_tokens=median(tokens) if tokens else None,
    )


def money_of(attempts: Sequence[Attempt]) -> Money:
    """What these attempts cost; an unknown price is counted as unknown, never as nothing."""
    known = [attempt.cost for attempt in attempts if attempt.cost is not None and isfinite(attempt.cost)]
    return Money(sum(known), len(attempts) - len(known), len(attempts))


def finite(seconds: float) -> float:
    """The time, where it is one."""
    return seconds if isfinite(seconds) and seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Share:
    """How many were right, of all of them."""

    right: int
    of: int
    """Questions times epochs: the missing and the broken ones are among them."""
    questions: int
    """Different questions: what the interval counts as independent."""

    @property
    def value(self) -> float | None:
        """From 0 to 1; None of nothing."""
        return self.right / self.of if self.of else None

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval; epochs of one question are taken as one observation, their mean."""
        return wilson(min(self.right * self.questions / self.of, self.questions) if self.of else 0, self.questions)


@dataclass(frozen=True, slots=True)
class Group:
    """A part of the questions: a level, a type of file, a route."""

    name: str
    share: Share
    attempted: int
    errors: int
    effort: Effort
    """Of the attempts that count."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """What the epochs say, each figure under its own name."""

    by_epoch: tuple[float, ...]
    """Accuracy of each epoch, over all selected questions."""
    mean: float
    """Mean pass@1."""
    spread: float | None
    """Sample standard deviation of the epochs; None of a single one."""
    pass_at: dict[int, float]
    """Unbiased pass@k by k: at least one of k attempts is right."""
    pass_hat: dict[int, float]
    """pass^k by k: all of k attempts are right."""
    majority: float | None
    """Accuracy of the answer given most often, chosen without the truth; None of a single epoch."""


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """What became of one tool."""

    name: str
    created: int
    reused: int
    reused_right: int
    """Attempts that reused it and were right."""
    failed: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything that a report says, derived from a ledger and its selected questions."""

    share: Share
    is_scored: bool
    """False when no attempt could be compared with a true answer."""
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
    statuses: dict[str, int]
    levels: tuple[Group, ...]
    file_types: tuple[Group, ...]
    routes: tuple[Group, ...]
    repeats: Repeats
    effort: Effort
    """Of all attempts, the replaced ones too: it was spent. A run that went on is in it once."""
    tools: tuple[ToolRecord, ...]
    resolutions: dict[str, int]
    leaks: dict[str, tuple[str, ...]]
    """What the leak guard met, by question."""
    leaked_right: int
    """Right answers of attempts that met a copy of the dataset."""
    fingerprints: tuple[str, ...]
    models: tuple[str, ...]
    unselected: int
    """Attempts at questions that were not selected: in no figure."""


def summarise(attempts: Sequence[Attempt], selected: Sequence[Task], *, epochs: int = 1) -> Summary:
    """What the attempts came to.

    Args:
        attempts: Every attempt of the ledger, in its order; the last of a question and epoch counts.
        selected: Every question that was to be answered: the denominator, whatever became of it.
        epochs: How often each was to be answered.
    """
    chosen = {task.task_id for task in selected}
    mine = [attempt for attempt in attempts if attempt.task_id in chosen]
    cells = counted(mine, selected, epochs)
    attempted = sum(cell.attempted for cell in cells)
    last = [cell.attempt for cell in cells if cell.attempt is not None]
    leaks: dict[str, tuple[str, ...]] = {}
    for attempt in mine:
        if attempt.leaks:
            leaks[attempt.task_id] = tuple(dict.fromkeys((*leaks.get(attempt.task_id, ()), *attempt.leaks)))
    return Summary(
        share=share_of(cells),
        is_scored=not last or any(attempt.correct is not None for attempt in last),
        questions=len(chosen),
        epochs=len({cell.epoch for cell in cells}) or epochs,
        attempted=attempted,
        errors=_errors(cells),
        missing=len(cells) - attempted,
        unscored=sum(attempt.correct is None and attempt.status == "ok" for attempt in last),
        retried=sum(max(cell.tries - 1, 0) for cell in cells),
        statuses=_frequent(cell.status for cell in cells),
        levels=_groups(cells, lambda cell: cell.level, by_name=True),
        file_types=_groups(cells, lambda cell: cell.file_type),
        routes=_groups(cells, lambda cell: cell.route),
        repeats=_repeats(cells),
        effort=effort_of(_spent(mine)),
        tools=_tools(_spent(mine)),
        resolutions=_frequent(attempt.resolution for attempt in last if attempt.resolution),
        leaks=leaks,
        leaked_right=sum(cell.right and bool(cell.attempt and cell.attempt.leaks) for cell in cells),
        fingerprints=tuple(dict.fromkeys(attempt.fingerprint for attempt in mine if attempt.fingerprint)),
        models=tuple(dict.fromkeys(attempt.model for attempt in mine if attempt.model)),
        unselected=len(attempts) - len(mine),
    )


def _spent(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Without those whose run a later attempt went on with: it holds what they took."""
    last = {(attempt.key, attempt.run_id): attempt for attempt in attempts}
    return [a for a in attempts if not a.run_id or last[a.key, a.run_id] is a]


def share_of(cells: Sequence[Counted]) -> Share:
    """How many of these are right."""
    return Share(sum(cell.right for cell in cells), len(cells), len({cell.task.task_id for cell in cells}))


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


def _groups(cells: Sequence[Counted], name_of: Callable[[Counted], str], *, by_name: bool = False) -> tuple[Group, ...]:
    found: dict[str, list[Counted]] = {}
    for cell in cells:
        found.setdefault(name_of(cell), []).append(cell)
    groups = [_group(name, members) for name, members in found.items()]
    return tuple(sorted(groups, key=lambda g: (g.name if by_name else -g.share.of, g.name)))


def _group(name: str, cells: Sequence[Counted]) -> Group:
    last = [cell.attempt for cell in cells if cell.attempt is not None]
    return Group(name, share_of(cells), sum(cell.attempted for cell in cells), _errors(cells), effort_of(last))


def _errors(cells: Sequence[Counted]) -> int:
    return sum(cell.status == "error" for cell in cells)


def _repeats(cells: Sequence[Counted]) -> Repeats:
    questions = list(by_question(cells).values())
    if not questions:
        return Repeats((), 0.0, None, {}, {}, None)
    epochs = len(questions[0])
    by_epoch = tuple(fmean(question[n].right for question in questions) for n in range(epochs))
    rights = [sum(cell.right for cell in question) for question in questions]
    ks = shown_ks(epochs)
    return Repeats(
        by_epoch=by_epoch,
        mean=fmean(by_epoch),
        spread=stdev(by_epoch) if epochs > 1 else None,
        pass_at={k: fmean(pass_at_k(right, epochs, k) for right in rights) for k in ks},
        pass_hat={k: fmean(pass_hat_k(right, epochs, k) for right in rights) for k in ks},
        majority=fmean(verdict(question) for question in questions) if epochs > 1 else None,
    )


def _tools(attempts: Sequence[Attempt]) -> tuple[ToolRecord, ...]:
    created = Counter(name for attempt in attempts for name in set(attempt.tools_created))
    reused = Counter(name for attempt in attempts for name in set(attempt.tools_reused))
    right = Counter(name for attempt in attempts if attempt.correct for name in set(attempt.tools_reused))
    failed = Counter(name for attempt in attempts for name in set(attempt.tools_failed))
    names = sorted(created.keys() | reused.keys() | failed.keys(), key=lambda n: (-reused[n], -failed[n], n))
    return tuple(ToolRecord(name, created[name], reused[name], right[name], failed[name]) for name in names)


def _frequent(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())
