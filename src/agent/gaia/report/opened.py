"""A report: the results of a benchmark as they are opened, in words and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from agent.errors import RunError
from agent.gaia.attempt import Attempt, Task
from agent.gaia.ledger import Records, chosen_of, read_ledger
from agent.gaia.report.figures import Counted, Effort, Group, Money, Share, Summary, counted, summarise, tasks_of
from agent.gaia.report.statistics import Interval
from agent.traces.trace import duration
from mcp_tools.text import one_line
from mcp_tools.tool import Json

UNKNOWN = "unknown"


def percent(share: float | None) -> str:
    """A share from 0 to 1."""
    return UNKNOWN if share is None else f"{100 * share:.1f} %"


def interval_text(interval: Interval, to: str = " to ") -> str:
    """Both ends of an interval."""
    return f"{100 * interval.low:.1f}{to}{100 * interval.high:.1f} %"


def of_text(share: Share) -> str:
    """How many of how many."""
    return f"{share.right:,} of {share.of:,}"


def price(dollars: float | None) -> str:
    """One price; an unknown one is never nothing."""
    if dollars is None:
        return UNKNOWN
    if dollars == 0:
        return "$0"
    return f"${dollars:,.4f}" if dollars < 10 else f"${dollars:,.2f}"


def money_text(money: Money) -> str:
    """A sum of prices; where one is unknown, so is the sum."""
    if not money.attempts:
        return "none"
    if not money.unpriced:
        return price(money.known)
    if money.unpriced == money.attempts:
        return UNKNOWN
    return f"{UNKNOWN} (at least {price(money.known)}; {money.unpriced:,} of {money.attempts:,} attempts have no price)"


def seconds_text(seconds: float | None) -> str:
    """A time, up to hours."""
    if seconds is None:
        return "–"
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    return "0 s" if seconds == 0 else duration(seconds)


def number(value: float | None) -> str:
    """A count."""
    return "–" if value is None else f"{value:,.0f}"


def count(how_many: int, noun: str) -> str:
    """A count with its noun."""
    return f"{how_many:,} {noun}{'' if how_many == 1 else 's'}"


_SHOWN_FLAWS = 20


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that any form of a report is made of."""

    name: str
    """The ledger's file name."""
    created: str
    """When the ledger was begun; empty where it does not say."""
    configuration: dict[str, Json]
    attempts: tuple[Attempt, ...]
    selected: tuple[Task, ...]
    cells: tuple[Counted, ...]
    summary: Summary
    notices: tuple[str, ...]
    """What a reader must know before believing a figure, one sentence each."""
    flaws: tuple[str, ...] = ()
    """Those of them that concern the ledger itself, and any figure that is made of it."""


def open_report(
    path: Path, tasks: Sequence[Task] = (), *, epochs: int | None = None, configuration: str = ""
) -> Report:
    """Reads a ledger.

    Args:
        path: The ledger.
        tasks: The selected questions; without them, those that the ledger names as selected, or else those that
            it holds an attempt of.
        epochs: How often each was to be answered; without it, as the ledger says.
        configuration: The beginning of the fingerprint of the attempts that count; without it, that of the newest.

    Raises:
        RunError: There is no ledger, a later version wrote it, or it has no such configuration.
    """
    records = read_ledger(path)
    flaws = [one_line(problem, 300) for problem in records.problems[:_SHOWN_FLAWS]]
    if len(records.problems) > _SHOWN_FLAWS:
        flaws.append(f"{len(records.problems) - _SHOWN_FLAWS:,} more lines of the ledger cannot be read")
    fingerprint, others = _configuration(records, configuration)
    if others:
        flaws.append(
            f"the ledger mixes configurations: these figures are of {fingerprint}; "
            f"see others with --configuration {', '.join(others)}"
        )
    chosen = chosen_of(records.choices, fingerprint) or next(reversed(records.choices), None)
    selected = tuple(tasks) or (chosen.tasks if chosen else tasks_of(records.attempts))
    notices = []
    if not tasks and chosen is None:
        notices.append(
            "the ledger does not say which questions were selected: only those that it holds an attempt of count; "
            "name the others with --questions FILE"
        )
    header = next((h for h in reversed(records.headers) if h.fingerprint == fingerprint), None)
    return report_of(
        [attempt for attempt in records.attempts if attempt.fingerprint == fingerprint],
        selected,
        epochs=epochs or (chosen.epochs if chosen else 1),
        name=path.name,
        created=header.created if header else "",
        configuration=header.configuration if header else {},
        flaws=flaws,
        notices=notices,
    )


def _configuration(records: Records, wanted: str) -> tuple[str, list[str]]:
    """The fingerprint of the attempts that count, and those of the others."""
    known = list(dict.fromkeys(attempt.fingerprint for attempt in records.attempts))
    known = known or [header.fingerprint for header in records.headers][-1:]
    fitting = [fingerprint for fingerprint in known if fingerprint.startswith(wanted)]
    if wanted and len(fitting) != 1:
        raise RunError(
            f"The ledger has {'several' if fitting else 'no'} configurations that begin with {wanted!r}.",
            remedy=f"It has: {', '.join(known) or 'none'}",
        )
    newest = records.attempts[-1].fingerprint if records.attempts else "".join(known)
    chosen = fitting[0] if wanted else newest
    return chosen, [fingerprint for fingerprint in known if fingerprint != chosen]


def report_of(
    attempts: Sequence[Attempt],
    selected: Sequence[Task],
    *,
    epochs: int = 1,
    name: str = "",
    created: str = "",
    configuration: dict[str, Json] | None = None,
    flaws: Sequence[str] = (),
    notices: Sequence[str] = (),
) -> Report:
    """A report of attempts that are at hand.

    Args:
        attempts: In the order of the ledger.
        selected: Every question that was to be answered.
        epochs: How often each.
        name: What the ledger is called.
        created: When it was begun.
        configuration: What the answers depend on.
        flaws: What is wrong with the ledger, whatever figure is made of it.
        notices: What else is already known.
    """
    summary = summarise(attempts, selected, epochs=epochs)
    return Report(
        name=name,
        created=created,
        configuration=configuration or {},
        attempts=tuple(attempts),
        selected=tuple(selected),
        cells=tuple(counted(attempts, selected, epochs)),
        summary=summary,
        notices=(*flaws, *notices, *_notices(summary)),
        flaws=tuple(flaws),
    )


def _notices(summary: Summary) -> list[str]:
    found = []
    if summary.is_scored and summary.unscored:
        found.append(f"{summary.unscored:,} finished attempts have no true answer to compare with, and count as wrong")
    if summary.unselected:
        found.append(f"{summary.unselected:,} attempts at questions that were not selected are in no figure")
    if summary.leaks:
        found.append(
            f"the leak guard met copies of the dataset in {count(len(summary.leaks), 'question')}; "
            f"right attempts among those that met one: {summary.leaked_right:,}"
        )
    return found


SCHEMA = 1
"""Members are added within it, never changed or removed."""


def as_json(report: Report) -> dict[str, Json]:
    """The object that `--format json` prints. What is unknown is null, never 0."""
    return {
        "schema": SCHEMA,
        "ledger": report.name,
        "created": report.created,
        "configuration": report.configuration,
        "notices": list(report.notices),
        **_summary(report.summary),
        "attempts": [
            {"task_id": cell.task.task_id, "epoch": cell.epoch, "status": cell.status, "right": cell.right}
            for cell in report.cells
        ],
    }


def share_json(share: Share) -> dict[str, Json]:
    """Right, of how many, accuracy, and its interval."""
    return {"right": share.right, "of": share.of, "accuracy": share.value, "interval95": list(share.interval)}


def effort_json(effort: Effort) -> dict[str, Json]:
    """What attempts took."""
    money = effort.money
    data = {name: value for name, value in asdict(effort).items() if name != "money"}
    return {**data, "cost": money.total, "cost_of_priced": money.known, "unpriced": money.unpriced}


def _summary(summary: Summary) -> dict[str, Json]:
    repeats = summary.repeats
    is_known = summary.is_scored
    return {
        "overall": share_json(summary.share) | ({} if is_known else {"accuracy": None, "interval95": None}),
        "questions": summary.questions,
        "epochs": summary.epochs,
        "attempted": summary.attempted,
        "errors": summary.errors,
        "missing": summary.missing,
        "unscored": summary.unscored,
        "retried": summary.retried,
        "unselected": summary.unselected,
        "status": summary.statuses,
        "level": [_group(group) for group in summary.levels],
        "file_type": [_group(group) for group in summary.file_types],
        "route": [_group(group) for group in summary.routes],
        "mean_pass_at_1": repeats.mean if is_known else None,
        "pass_at_1_stdev": repeats.spread,
        "pass_at_1_by_epoch": list(repeats.by_epoch),
        "pass_at_k": {str(k): value for k, value in repeats.pass_at.items()},
        "pass_hat_k": {str(k): value for k, value in repeats.pass_hat.items()},
        "majority_at_k": {str(summary.epochs): repeats.majority} if repeats.majority is not None else {},
        "effort": effort_json(summary.effort),
        "tools": [asdict(tool) for tool in summary.tools],
        "resolutions": summary.resolutions,
        "leaks": {question: list(met) for question, met in summary.leaks.items()},
        "leaked_right": summary.leaked_right,
        "models": list(summary.models),
        "fingerprints": list(summary.fingerprints),
    }


def _group(group: Group) -> dict[str, Json]:
    return {
        "name": group.name,
        **share_json(group.share),
        "attempted": group.attempted,
        "errors": group.errors,
        "effort": effort_json(group.effort),
    }
