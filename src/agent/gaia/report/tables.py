"""A report as tables: in Markdown and on a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from agent.gaia.report.figures import Group, Summary
from agent.gaia.report.opened import (
    UNKNOWN,
    Report,
    count,
    interval_text,
    money_text,
    number,
    of_text,
    percent,
    seconds_text,
)
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.store.redact import Redactor


_LONGEST = 40
"""Rows of one table; what is left out is told."""
_ALL = "tokens, cost and time hold the earlier ones too"
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
        ("tried again", f"{count(summary.retried, 'attempt')}; {_ALL}" if summary.retried else ""),
        ("begun", report.created),
        ("configuration", " · ".join(f"{name} {value}" for name, value in report.configuration.items() if value)),
    ]


def tables(summary: Summary) -> list[Table]:
    """Every table that has a row."""
    repeats = tuple(_repeats(summary)) if summary.epochs > 1 and summary.is_scored else ()
    shown = [
        _of_groups("By level", "level", summary.levels, is_scored=summary.is_scored),
        _of_groups("By file type", "file", summary.file_types, is_scored=summary.is_scored),
        _of_groups("By route", "route", summary.routes, is_scored=summary.is_scored, note=_ROUTE),
        Table("Over the epochs", ("figure", "value", "what it says"), repeats, texts=(2,)),
        _tools(summary),
        Table(
            "How attempts resolved",
            ("resolution", "attempts"),
            _cut([(name, f"{n:,}") for name, n in summary.resolutions.items()]),
        ),
        Table(
            "Leak guard", ("question", "met"), _cut([(q, ", ".join(m)) for q, m in summary.leaks.items()]), texts=(1,)
        ),
    ]
    return [table for table in shown if table.rows]


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


def _repeats(summary: Summary) -> Iterator[tuple[str, ...]]:
    repeats = summary.repeats
    for epoch, accuracy in enumerate(repeats.by_epoch, start=1):
        yield (f"epoch {epoch}", percent(accuracy), "accuracy over all selected questions")
    for k, value in repeats.pass_at.items():
        said = f"at least one of {k} attempts is right, unbiased" if k > 1 else "one attempt is right: the epochs' mean"
        yield (f"pass@{k}", percent(value), said)
    for k, value in repeats.pass_hat.items():
        if k > 1:
            yield (f"pass^{k}", percent(value), f"all of {k} attempts are right, unbiased")
    yield (
        f"majority@{summary.epochs}",
        percent(repeats.majority),
        "the answer given most often; the vote never saw the truth",
    )


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


def _cut(rows: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    if len(rows) <= _LONGEST:
        return tuple(rows)
    told = (f"… and {len(rows) - _LONGEST:,} more", *("" for _ in rows[0][1:]))
    return (*rows[:_LONGEST], told)


_LONGEST_CELL = 400
_MEANS_SOMETHING = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|#~$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})
_WIDEST = 60
"""Characters of a first column, which may be the text of a model."""
_KEPT = 5
"""Columns that every terminal shows."""


class Shown(NamedTuple):
    """What is shown: a title, one sentence, what a reader must know, what is known of the whole, and tables."""

    title: str
    headline: str
    notices: Sequence[str]
    facts: Sequence[tuple[str, str]]
    tables: Sequence[Table]


def shown(report: Report) -> Shown:
    """What is shown of a report."""
    known = [(name, value) for name, value in facts(report) if value]
    return Shown(report.name or "Benchmark", headline(report.summary), report.notices, known, tables(report.summary))


def masked(parts: Shown, redactor: Redactor) -> Shown:
    """The same without keys."""
    clean = redactor.text
    return Shown(
        clean(parts.title),
        clean(parts.headline),
        [clean(notice) for notice in parts.notices],
        [(name, clean(value)) for name, value in parts.facts],
        [replace(table, rows=tuple(tuple(map(clean, row)) for row in table.rows)) for table in parts.tables],
    )


def as_markdown(parts: Shown) -> str:
    """The whole as Markdown; nothing in a text of others is markup."""
    lines = [f"# {plain(parts.title)}", "", f"**{plain(parts.headline)}**", ""]
    for notice in parts.notices:
        lines += [f"> Note: {plain(notice)}", ">"]
    lines += ["", *(f"- {name}: {plain(value)}" for name, value in parts.facts), ""]
    for table in parts.tables:
        sides = ("---" if place in (0, *table.texts) else "--:" for place in range(len(table.head)))
        lines += [f"## {plain(table.title)}", "", *([plain(table.note), ""] if table.note else [])]
        lines += [f"| {' | '.join(map(plain, table.head))} |", f"|{'|'.join(sides)}|"]
        lines += [*(f"| {' | '.join(map(plain, row))} |" for row in table.rows), ""]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """The text on one line, with every character that Markdown or HTML would take for markup escaped."""
    return one_line(text, _LONGEST_CELL).translate(_MEANS_SOMETHING)


def as_terminal(parts: Shown, *, width: int | None = None) -> str:
    """Plain text in columns.

    Args:
        parts: What is shown.
        width: Columns of the terminal; lines are as long as they like if not given.
    """

    def filled(text: str, indent: int = 0) -> str:
        return textwrap.fill(text, width, subsequent_indent=" " * indent) if width else text

    lines = [filled(parts.headline), *(filled(f"! {one_line(notice, 400)}", 2) for notice in parts.notices), ""]
    longest = max((len(name) for name, _ in parts.facts), default=0)
    lines += [filled(f"{name.ljust(longest)}  {one_line(value, 400)}", longest + 2) for name, value in parts.facts]
    for table in (_fitting(table, width) if width else table for table in parts.tables):
        lines += ["", filled(table.title + (f" ({table.note})" if table.note else ""))]
        limit = _WIDEST if width else _LONGEST_CELL
        whole = (table.head, *table.rows)
        rows = [[one_line(row[0], _WIDEST), *(one_line(cell, limit) for cell in row[1:])] for row in whole]
        widths = [*(max(map(len, column)) for column in zip(*(row[:-1] for row in rows), strict=True)), 0]
        lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def _fitting(table: Table, width: int) -> Table:
    """The table without its last columns, where a narrow terminal would break every line of it; this is told."""
    rows = [table.head, *table.rows]
    widths = [max(min(len(row[place]), _WIDEST) for row in rows) + 2 for place in range(len(table.head))]
    kept = len(widths)
    while kept > _KEPT and sum(widths[:kept]) > width:
        kept -= 1
    left_out = table.head[kept:]
    if not left_out:
        return table
    note = "; ".join(filter(None, (table.note, f"in a wider terminal: {', '.join(left_out)}")))
    return replace(table, head=table.head[:kept], rows=tuple(row[:kept] for row in table.rows), note=note)
