"""A report as tables: in Markdown and on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    from rich.console import RenderableType

    from agent.store.redact import Redactor


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


_LONGEST_CELL = 400
_MEANS_SOMETHING = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|#~$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def as_markdown(report: Report) -> str:
    """The whole report; nothing in a text of others is markup."""
    return "\n".join(_lines(report)) + "\n"


def table_lines(table: Table) -> Iterator[str]:
    """One table with its title."""
    yield f"## {plain(table.title)}"
    yield ""
    if table.note:
        yield plain(table.note)
        yield ""
    yield f"| {' | '.join(map(plain, table.head))} |"
    yield f"|{'|'.join('---' if place in (0, *table.texts) else '--:' for place in range(len(table.head)))}|"
    yield from (f"| {' | '.join(map(plain, row))} |" for row in table.rows)
    yield ""


def plain(text: str) -> str:
    """The text on one line, with every character that Markdown or HTML would take for markup escaped."""
    return one_line(text, _LONGEST_CELL).translate(_MEANS_SOMETHING)


def _lines(report: Report) -> Iterator[str]:
    yield f"# {plain(report.name or 'Benchmark')}"
    yield ""
    yield f"**{plain(headline(report.summary))}**"
    yield ""
    for notice in report.notices:
        yield f"> Note: {plain(notice)}"
        yield ">"
    if report.notices:
        yield ""
    yield from (f"- {name}: {plain(value)}" for name, value in facts(report) if value)
    yield ""
    for table in tables(report.summary):
        yield from table_lines(table)


_WIDEST = 60
"""Characters of a first column, which may be the text of a model."""
_KEPT = 5
"""Columns that every terminal shows."""


class Shown(NamedTuple):
    """What the terminal shows: one sentence, what a reader must know, what is known of the whole, and tables."""

    headline: str
    notices: Sequence[str]
    facts: Sequence[tuple[str, str]]
    tables: Sequence[Table]


def shown(report: Report) -> Shown:
    """A report as the terminal shows it."""
    known = [(name, value) for name, value in facts(report) if value]
    return Shown(headline(report.summary), report.notices, known, tables(report.summary))


def masked(parts: Shown, redactor: Redactor) -> Shown:
    """The same without keys."""
    clean = redactor.text
    return Shown(
        clean(parts.headline),
        [clean(notice) for notice in parts.notices],
        [(name, clean(value)) for name, value in parts.facts],
        [replace(table, rows=tuple(tuple(map(clean, row)) for row in table.rows)) for table in parts.tables],
    )


def as_terminal(parts: Shown) -> str:
    """Plain text in columns."""
    return "\n".join(_plain(parts)) + "\n"


def draw(parts: Shown, *, width: int | None = None) -> None:
    """Draws on stdout, in colour unless NO_COLOR says otherwise.

    Args:
        parts: What is shown.
        width: Columns; those of the terminal if not given.
    """
    from rich.console import Console

    console = Console(highlight=False, markup=False, width=width)
    for part in _drawn(parts, console.width):
        console.print(part)


def _plain(parts: Shown) -> Iterator[str]:
    yield parts.headline
    yield from (f"! {one_line(notice, 400)}" for notice in parts.notices)
    yield ""
    yield from columns([(name, one_line(value, 400)) for name, value in parts.facts])
    for table in parts.tables:
        yield ""
        yield table.title + (f" ({table.note})" if table.note else "")
        yield from columns([table.head, *table.rows])


def columns(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    """Rows as columns: the first to the left, the last as long as it likes."""
    if not rows:
        return []
    safe = [(one_line(row[0], _WIDEST), *(one_line(cell, 400) for cell in row[1:])) for row in rows]
    widths = [max(len(row[i]) for row in safe) for i in range(len(safe[0]))]
    widths[-1] = 0
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in safe]


def _drawn(parts: Shown, width: int) -> Iterator[RenderableType]:
    from rich.table import Table as Drawn
    from rich.text import Text

    yield Text(parts.headline, style="bold")
    for notice in parts.notices:
        yield Text(f"! {one_line(notice, 400)}", style="yellow")
    grid = Drawn.grid(padding=(0, 2))
    for name, value in parts.facts:
        grid.add_row(Text(name, style="dim"), Text(one_line(value, 400)))
    yield grid
    for table in (_fitting(table, width) for table in parts.tables):
        yield Text()
        drawn = Drawn(title=Text(table.title, style="bold"), title_justify="left", box=None, padding=(0, 2, 0, 0))
        drawn.caption = Text(table.note) if table.note else None
        drawn.caption_justify = "left"
        for place, name in enumerate(table.head):
            drawn.add_column(Text(name, style="dim"), justify="left" if place in (0, *table.texts) else "right")
        for row in table.rows:
            drawn.add_row(Text(one_line(row[0], _WIDEST)), *(Text(one_line(cell, 200)) for cell in row[1:]))
        yield drawn


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
