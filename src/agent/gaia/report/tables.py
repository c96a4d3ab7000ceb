"""A summary as tables of text: terminal, Markdown and page show the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.gaia.report.opened import Report
from agent.gaia.report.summary import Group, Summary
from agent.gaia.report.words import (
    UNKNOWN,
    count,
    interval_text,
    money_text,
    number,
    of_text,
    percent,
    seconds_text,
)

_LONGEST = 40
"""Rows of one table; what is left out is told."""
_ROUTE = "actions in the order of their first use"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a title. The first column is text, the others are figures, the dearest first."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    texts: tuple[int, ...] = ()
    """Places of other columns that are text."""


def headline(summary: Summary) -> str:
    """The one figure that stands first: over all selected questions."""
    of = count(summary.questions, "selected question")
    if summary.epochs > 1:
        of += f" × {summary.epochs} epochs"
    if not summary.is_scored:
        return f"accuracy {UNKNOWN}: no attempt at the {of} could be compared with a true answer"
    share = summary.share
    if not share.of:
        return "no question was selected"
    return (
        f"{percent(share.value)} right: {of_text(share)} ({of}), 95 % interval {interval_text(share.interval)} (Wilson)"
    )


def facts(report: Report) -> list[tuple[str, str]]:
    """Name and value of what is known of the whole run."""
    summary, effort = report.summary, report.summary.effort
    each = f"median {number(effort.median_tokens)} a question"
    waited = f", and {seconds_text(effort.waited)} of waiting for endpoints" if effort.waited else ""
    middle = f"median {seconds_text(effort.median_seconds)} a question, nine of ten within"
    return [
        ("attempted", f"{summary.attempted:,} of {summary.share.of:,}"),
        ("errors", f"{summary.errors:,}"),
        ("missing", f"{summary.missing:,}"),
        ("status", ", ".join(f"{name} {n:,}" for name, n in summary.statuses.items())),
        ("mean pass@1", _pass_at_1(summary)),
        ("model", ", ".join(summary.models)),
        ("tokens", f"{effort.input_tokens:,} read + {effort.output_tokens:,} written; {each}"),
        ("cost", money_text(effort.money)),
        ("time", f"{seconds_text(effort.seconds)} of work; {middle} {seconds_text(effort.p90_seconds)}{waited}"),
        ("tried again", _retried(summary.retried)),
        ("begun", report.created),
        ("configuration", " · ".join(f"{name} {value}" for name, value in report.configuration.items() if value)),
    ]


def tables(summary: Summary) -> list[Table]:
    """Every table that has a row."""
    repeats = [_repeats(summary)] if summary.epochs > 1 and summary.is_scored else []
    shown = [
        _of_groups("By level", "level", summary.levels, is_scored=summary.is_scored),
        _of_groups("By file type", "file", summary.file_types, is_scored=summary.is_scored),
        _of_groups("By route", "route", summary.routes, is_scored=summary.is_scored, note=_ROUTE),
        *repeats,
        _tools(summary),
        _counts("How attempts resolved", "resolution", summary.resolutions),
        Table(
            "Leak guard", ("question", "met"), _cut([(q, ", ".join(m)) for q, m in summary.leaks.items()]), texts=(1,)
        ),
    ]
    return [table for table in shown if table.rows]


def _retried(attempts: int) -> str:
    return f"{count(attempts, 'attempt')}; tokens, cost and time hold the earlier ones too" if attempts else ""


def _pass_at_1(summary: Summary) -> str:
    repeats = summary.repeats
    if not summary.is_scored:
        return UNKNOWN
    if repeats.spread is None:
        return f"{percent(repeats.mean)} (one epoch: its spread is unknown)"
    low, high = percent(min(repeats.by_epoch)), percent(max(repeats.by_epoch))
    spread = f"standard deviation {100 * repeats.spread:.1f} points"
    return f"{percent(repeats.mean)} ± {spread}, {low} to {high} over {summary.epochs} epochs"


def _of_groups(title: str, noun: str, groups: Sequence[Group], *, is_scored: bool, note: str = "") -> Table:
    head = (noun, "right", "accuracy", "95 % interval", "errors", "median time", "cost", "median tokens", "attempted")
    return Table(title, head, _cut([_of_group(group, is_scored=is_scored) for group in groups]), note)


def _of_group(group: Group, *, is_scored: bool) -> tuple[str, ...]:
    share, effort = group.share, group.effort
    money = money_text(effort.money).partition(" (")[0]
    return (
        group.name,
        of_text(share) if is_scored else UNKNOWN,
        percent(share.value) if is_scored else UNKNOWN,
        interval_text(share.interval) if is_scored else UNKNOWN,
        f"{group.errors:,}",
        seconds_text(effort.median_seconds),
        money,
        number(effort.median_tokens),
        f"{group.attempted:,}",
    )


def _repeats(summary: Summary) -> Table:
    repeats = summary.repeats
    rows = tuple(_of_repeats(summary, repeats.majority))
    return Table("Over the epochs", ("figure", "value", "what it says"), rows, texts=(2,))


def _of_repeats(summary: Summary, majority: float | None) -> Iterator[tuple[str, ...]]:
    repeats = summary.repeats
    for epoch, accuracy in enumerate(repeats.by_epoch, start=1):
        yield (f"epoch {epoch}", percent(accuracy), "accuracy over all selected questions")
    for k, value in repeats.pass_at.items():
        said = f"at least one of {k} attempts is right, unbiased" if k > 1 else "one attempt is right: the epochs' mean"
        yield (f"pass@{k}", percent(value), said)
    for k, value in repeats.pass_hat.items():
        if k > 1:
            yield (f"pass^{k}", percent(value), f"all of {k} attempts are right, unbiased")
    yield (f"majority@{summary.epochs}", percent(majority), "the answer given most often; the vote never saw the truth")


def _tools(summary: Summary) -> Table:
    rows = [
        (tool.name, f"{tool.created:,}", f"{tool.reused:,}", f"{tool.reused_right:,}", f"{tool.failed:,}")
        for tool in summary.tools
    ]
    total = (
        f"created {sum(t.created for t in summary.tools):,}, reused {sum(t.reused for t in summary.tools):,} times, "
        f"failed {sum(t.failed for t in summary.tools):,} times"
    )
    return Table("Tools", ("tool", "created", "reused", "reused and right", "failed"), _cut(rows), total)


def _counts(title: str, noun: str, counts: dict[str, int]) -> Table:
    return Table(title, (noun, "attempts"), _cut([(name, f"{n:,}") for name, n in counts.items()]))


def _cut(rows: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    if len(rows) <= _LONGEST:
        return tuple(rows)
    told = (f"… and {len(rows) - _LONGEST:,} more", *("" for _ in rows[0][1:]))
    return (*rows[:_LONGEST], told)
