"""The figures of a benchmark: what counts, what it took, and the report on both; the unknown is None, never 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path, PurePath
from statistics import fmean, median, stdev

from agent.gaia.attempt import Attempt, Task
from agent.gaia.ledger import Header, read_ledger
from agent.gaia.report.statistics import Interval, pass_at_k, pass_hat_k, wilson
from agent.gaia.report.tables import (
    UNKNOWN,
    Fact,
    Shown,
    Table,
    interval_text,
    number,
    percent,
    price,
    seconds_text,
    table_of,
)
from agent.records import as_plain
from mcp_tools.text import count_of, one_line
from mcp_tools.tool import Json

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
    """Of the ledger."""
    header: Header = field(default_factory=Header)
    flaws: Sequence[str] = ()
    """What is wrong with the ledger, and so with any figure that is made of it, one sentence each."""
    source: str = ""
    """The question file or folder, as the ledger names it."""

    @property
    def cells(self) -> list[Counted]:
        """Each selected question in each epoch."""
        return counted(self.attempts, self.selected, self.epochs)


def open_results(path: Path, tasks: Sequence[Task] = ()) -> Results:
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
    selected = tuple(tasks) or (chosen.tasks if chosen else tuple(known.values()))
    epochs, source = (chosen.epochs, chosen.source) if chosen else (1, "")
    return Results(attempts, selected, epochs, path.name, records.header or Header(), flaws, source)


def report_of(results: Results) -> Shown:
    """The report on a benchmark: its accuracy over all selected questions comes first."""
    cells, chosen = results.cells, {task.task_id for task in results.selected}
    mine = [attempt for attempt in results.attempts if attempt.task_id in chosen]
    last = [cell.attempt for cell in cells if cell.attempt is not None]
    is_scored = not last or any(attempt.correct is not None for attempt in last)
    overall = group_of("all", cells, is_scored=is_scored)
    questions = list(by_question(cells).values())
    epochs = len(questions[0]) if questions else results.epochs
    ends = {(attempt.key, attempt.run_id): attempt for attempt in mine}
    spent = [a for a in mine if not a.run_id or ends[a.key, a.run_id] is a]  # a run that went on is in it once
    unscored = sum(attempt.correct is None and attempt.status == "ok" for attempt in last)
    unselected = len(results.attempts) - len(mine)
    leaks: dict[str, dict[str, None]] = {}  # each place that was met once, in order
    for attempt in mine:
        if attempt.leaks:
            leaks.setdefault(attempt.task_id, {}).update(dict.fromkeys(attempt.leaks))
    leaked_right = sum(cell.right and bool(cell.attempt and cell.attempt.leaks) for cell in cells)
    notices = [*results.flaws]
    if is_scored and unscored:
        notices.append(f"{unscored:,} finished attempts have no true answer to compare with and count as wrong")
    if unselected:
        notices.append(f"{unselected:,} attempts at questions that were not selected are not counted")
    if leaks:
        notices.append(
            f"the leak guard met copies of the dataset in {count_of(len(leaks), 'question')}; "
            f"right attempts among those that met one: {leaked_right:,}"
        )
    retried, missing = sum(max(cell.tries - 1, 0) for cell in cells), len(cells) - overall.attempted
    again = f"{count_of(retried, 'attempt')}; tokens, cost and time hold the earlier ones too"
    status = dict(Counter(cell.status for cell in cells).most_common())
    models = list(dict.fromkeys(attempt.model for attempt in mine if attempt.model))
    configuration = results.header.configuration
    by_epoch = [fmean(question[n].right for question in questions) for n in range(epochs)] if questions else []
    facts = [
        Fact("all", as_plain(overall)),
        Fact("questions", len(chosen)),
        Fact("epochs", epochs),
        Fact("attempted", overall.attempted, f"{overall.attempted:,} of {overall.of:,}"),
        Fact("errors", overall.errors, f"{overall.errors:,}"),
        Fact("missing", missing),
        Fact("not attempted", missing, f"{missing:,}"),
        Fact("without a true answer", unscored),
        Fact("not selected", unselected),
        Fact("right after a leak", leaked_right),
        Fact("status", status, ", ".join(f"{name} {n:,}" for name, n in status.items())),
        *_pass_at_1(by_epoch, is_scored=is_scored),
        Fact("model", models, ", ".join(models)),
        *_took(effort_of(spent)),
        Fact("tried again", retried, again if retried else ""),
        Fact("begun", results.header.created, results.header.created),
        Fact(
            "configuration", configuration, " · ".join(f"{key} {said}" for key, said in configuration.items() if said)
        ),
    ]
    parts = ("level", "file type", "route", "confidence")
    tables = [_part(noun, cells, is_scored=is_scored) for noun in parts]
    if epochs > 1 and is_scored:
        rights = [sum(cell.right for cell in question) for question in questions]
        tables.append(table_of("Over the epochs", _over_epochs(by_epoch, rights)))
    tables.append(_tools(spent))
    resolved = Counter(attempt.resolution for attempt in last if attempt.resolution).most_common()
    tables.append(table_of("How attempts resolved", [{"resolution": name, "attempts": n} for name, n in resolved]))
    tables.append(table_of("Leak guard", [{"question": q, "met": ", ".join(met)} for q, met in leaks.items()]))
    of = count_of(len(chosen), "selected question") + (f" × {epochs} epochs" if epochs > 1 else "")
    interval = f"95 % interval {interval_text(overall.interval95)} (Wilson)"
    headline = f"{percent(overall.accuracy)} right: {overall.right:,} of {overall.of:,} ({of}), {interval}"
    if not is_scored:
        headline = f"accuracy {UNKNOWN}: no attempt at the {of} could be compared with a true answer"
    elif not cells:
        headline = "no question was selected"
    return Shown(
        results.name or "Benchmark",
        headline,
        notices,
        facts,
        [table for table in tables if table.rows],
        cells,
    )


def _pass_at_1(by_epoch: Sequence[float], *, is_scored: bool) -> Iterator[Fact]:
    """The mean of the epochs and their sample standard deviation, which a single one does not have."""
    mean = (fmean(by_epoch) if by_epoch else 0.0) if is_scored else None
    spread = stdev(by_epoch) if len(by_epoch) > 1 else None
    said = percent(mean)
    if mean is not None and spread is None:
        said += " (one epoch: its spread is unknown)"
    elif spread is not None and is_scored:
        low, high = percent(min(by_epoch)), percent(max(by_epoch))
        said += f" ± standard deviation {100 * spread:.1f} points, {low} to {high} over {len(by_epoch)} epochs"
    yield Fact("mean pass@1", mean, said)
    yield Fact("standard deviation of pass@1", spread)


def _took(effort: Effort) -> Iterator[Fact]:
    """What all attempts took, the replaced ones too: it was spent."""
    tokens = f"{effort.input_tokens:,} read + {effort.output_tokens:,} written"
    waited = f", and {seconds_text(effort.waited)} waiting for endpoints" if effort.waited else ""
    time = f"{seconds_text(effort.seconds)} of work; median {seconds_text(effort.median_seconds)} a question{waited}"
    yield Fact("effort", as_plain(effort))
    yield Fact(
        "tokens",
        effort.input_tokens + effort.output_tokens,
        f"{tokens}; median {number(effort.median_tokens)} a question",
    )
    yield Fact("cost", effort.cost, price(effort.cost))
    yield Fact("time", effort.seconds, time)


def _part(noun: str, cells: Sequence[Counted], *, is_scored: bool) -> Table:
    parts = _by(cells, attrgetter(noun.replace(" ", "_")))
    groups = [group_of(name, members, is_scored=is_scored) for name, members in parts.items()]
    groups.sort(key=lambda group: (0 if noun == "level" else -group.of, group.name))
    return of_groups(f"By {noun}", noun, groups)


def of_groups(title: str, noun: str, groups: Sequence[Group]) -> Table:
    """What became of each group."""
    rows = [
        (
            group.name,
            UNKNOWN if group.interval95 is None else f"{group.right:,} of {group.of:,}",
            percent(group.accuracy),
            interval_text(group.interval95),
            f"{group.errors:,}",
            seconds_text(group.effort.median_seconds),
            number(group.effort.median_tokens),
            price(group.effort.cost),
        )
        for group in groups
    ]
    head = (noun, "right", "accuracy", "95 % interval", "errors", "time", "tokens", "cost")
    return Table(title, head, rows, [as_plain(group) for group in groups], "time and tokens: medians")


def _over_epochs(by_epoch: Sequence[float], rights: Sequence[int]) -> list[dict[str, Json]]:
    """Accuracies, and pass@k and pass^k, from how often each question was right."""
    epochs = len(by_epoch)
    told: list[tuple[str, float, str]] = [
        (f"epoch {n}", accuracy, "accuracy over all selected questions") for n, accuracy in enumerate(by_epoch, 1)
    ]
    for k in range(1, epochs + 1):
        says = f"at least one of {k} attempts is right, unbiased" if k > 1 else "one attempt is right: the epochs' mean"
        told.append((f"pass@{k}", fmean(pass_at_k(right, epochs, k) for right in rights), says))
    for k in range(2, epochs + 1):
        every = fmean(pass_hat_k(right, epochs, k) for right in rights)
        told.append((f"pass^{k}", every, f"all of {k} attempts are right, unbiased"))
    return [{"figure": name, "value": value, "what it says": says} for name, value, says in told]


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


def _tools(attempts: Sequence[Attempt]) -> Table:
    created = Counter(name for attempt in attempts for name in set(attempt.tools_created))
    reused = Counter(name for attempt in attempts for name in set(attempt.tools_reused))
    right = Counter(name for attempt in attempts if attempt.correct for name in set(attempt.tools_reused))
    failed = Counter(name for attempt in attempts for name in set(attempt.tools_failed))
    names = sorted(created.keys() | reused.keys() | failed.keys(), key=lambda n: (-reused[n], -failed[n], n))
    counts = {"created": created, "reused": reused, "reused and right": right, "failed": failed}
    rows: list[dict[str, Json]] = [
        {"tool": name, **{what: count[name] for what, count in counts.items()}} for name in names
    ]
    note = f"created {created.total():,}, reused {reused.total():,} times, failed {failed.total():,} times"
    return table_of("Tools", rows, note)
