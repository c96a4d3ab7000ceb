"""What a run of a benchmark came to, over all questions that were selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from agent.gaia.attempt import Attempt
from agent.gaia.report.counted import Counted, counted
from agent.gaia.report.effort import Effort, effort_of
from agent.gaia.report.intervals import Interval, wilson
from agent.gaia.report.repeats import pass_at_k, pass_hat_k, shown_ks, voted
from agent.gaia.task import Task


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
