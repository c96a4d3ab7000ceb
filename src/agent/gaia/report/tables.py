"""Figures in words, a report as tables, and tables in Markdown, on a terminal, and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from agent.gaia.report.figures import Group, Report
from agent.gaia.report.statistics import Interval
from agent.store.redact import Redactor
from agent.traces.trace import duration
from mcp_tools.text import count_of, one_line, printable

UNKNOWN = "unknown"
_LONGEST = 40
"""Rows of one table; what is left out is told."""
_LONGEST_CELL = 400
_FIGURE = 25


def percent(share: float | None) -> str:
    """A share from 0 to 1."""
    return UNKNOWN if share is None else f"{100 * share:.1f} %"


def interval_text(interval: Interval | None) -> str:
    """Both ends of an interval."""
    return UNKNOWN if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def price(dollars: float | None) -> str:
    """One price; an unknown one is never nothing."""
    if dollars is None:
        return UNKNOWN
    return "$0" if dollars == 0 else f"${dollars:,.4f}" if dollars < 10 else f"${dollars:,.2f}"


def seconds_text(seconds: float | None) -> str:
    """A time, up to hours."""
    if seconds is not None and seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    return "–" if seconds is None else "0 s" if seconds == 0 else duration(seconds)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a title, the dearest columns first."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown: a title, one sentence, what a reader must know, what is known of the whole, and tables."""

    title: str
    headline: str
    notices: Sequence[str]
    facts: Sequence[tuple[str, str]]
    tables: Sequence[Table]


def shown(report: Report) -> Shown:
    """What is shown of a report."""
    facts = [(name, value) for name, value in _facts(report) if value]
    tables = [table for table in _tables(report) if table.rows]
    return Shown(report.ledger or "Benchmark", headline(report), report.notices, facts, tables)


def headline(report: Report) -> str:
    """The one figure that stands first: over all selected questions."""
    of, group = count_of(report.questions, "selected question"), report.overall
    if report.epochs > 1:
        of += f" × {report.epochs} epochs"
    if group.interval95 is None:
        return f"accuracy {UNKNOWN}: no attempt at the {of} could be compared with a true answer"
    if not group.of:
        return "no question was selected"
    interval = f"95 % interval {interval_text(group.interval95)} (Wilson)"
    return f"{percent(group.accuracy)} right: {group.right:,} of {group.of:,} ({of}), {interval}"


def _facts(report: Report) -> list[tuple[str, str]]:
    effort = report.effort
    waited = f", and {seconds_text(effort.waited)} waiting for endpoints" if effort.waited else ""
    again = f"{count_of(report.retried, 'attempt')}; tokens, cost and time hold the earlier ones too"
    tokens = f"{effort.input_tokens:,} read + {effort.output_tokens:,} written"
    return [
        ("attempted", f"{report.attempted:,} of {report.overall.of:,}"),
        ("errors", f"{report.errors:,}"),
        ("missing", f"{report.missing:,}"),
        ("status", ", ".join(f"{name} {n:,}" for name, n in report.status.items())),
        ("mean pass@1", _pass_at_1(report)),
        ("model", ", ".join(report.models)),
        ("tokens", f"{tokens}; median {_number(effort.median_tokens)} a question"),
        ("cost", price(effort.cost)),
        (
            "time",
            f"{seconds_text(effort.seconds)} of work; median {seconds_text(effort.median_seconds)} a question{waited}",
        ),
        ("tried again", again if report.retried else ""),
        ("begun", report.created),
        ("configuration", " · ".join(f"{name} {value}" for name, value in report.configuration.items() if value)),
    ]


def _pass_at_1(report: Report) -> str:
    if report.mean_pass_at_1 is None:
        return UNKNOWN
    mean = percent(report.mean_pass_at_1)
    if report.pass_at_1_stdev is None:
        return f"{mean} (one epoch: its spread is unknown)"
    low, high = percent(min(report.pass_at_1_by_epoch)), percent(max(report.pass_at_1_by_epoch))
    spread = f"standard deviation {100 * report.pass_at_1_stdev:.1f} points"
    return f"{mean} ± {spread}, {low} to {high} over {report.epochs} epochs"


def _tables(report: Report) -> Iterator[Table]:
    parts = {
        "level": report.level,
        "file type": report.file_type,
        "route": report.route,
        "confidence": report.confidence,
    }
    for noun, groups in parts.items():
        yield of_groups(f"By {noun}", noun, groups)
    if report.epochs > 1 and report.mean_pass_at_1 is not None:
        yield Table("Over the epochs", ("figure", "value", "what it says"), list(_repeats(report)))
    tools = report.tools
    created, reused, failed = (sum(getattr(tool, name) for tool in tools) for name in ("created", "reused", "failed"))
    rows = [[t.name, *(f"{n:,}" for n in (t.created, t.reused, t.reused_right, t.failed))] for t in tools]
    head = ("tool", "created", "reused", "reused and right", "failed")
    yield Table("Tools", head, _cut(rows), f"created {created:,}, reused {reused:,} times, failed {failed:,} times")
    resolved = [(name, f"{n:,}") for name, n in report.resolutions.items()]
    yield Table("How attempts resolved", ("resolution", "attempts"), resolved)
    yield Table("Leak guard", ("question", "met"), _cut([(q, ", ".join(met)) for q, met in report.leaks.items()]))


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
            _number(group.effort.median_tokens),
            price(group.effort.cost),
        )
        for group in groups
    ]
    head = (noun, "right", "accuracy", "95 % interval", "errors", "time", "tokens", "cost")
    return Table(title, head, _cut(rows), "time and tokens: medians")


def _repeats(report: Report) -> Iterator[tuple[str, ...]]:
    for epoch, accuracy in enumerate(report.pass_at_1_by_epoch, start=1):
        yield (f"epoch {epoch}", percent(accuracy), "accuracy over all selected questions")
    for k, value in report.pass_at_k.items():
        said = f"at least one of {k} attempts is right, unbiased" if k > 1 else "one attempt is right: the epochs' mean"
        yield (f"pass@{k}", percent(value), said)
    for k, value in report.pass_hat_k.items():
        if k > 1:
            yield (f"pass^{k}", percent(value), f"all of {k} attempts are right, unbiased")


def _cut(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    told = [[f"… and {len(rows) - _LONGEST:,} more", *("" for _ in rows[0][1:])]] if len(rows) > _LONGEST else []
    return [*rows[:_LONGEST], *told]


_MEANS_SOMETHING = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|#~$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def as_markdown(parts: Shown) -> str:
    """The whole as Markdown; nothing in a text of others is markup."""

    def plain(text: str) -> str:
        return one_line(text, _LONGEST_CELL).translate(_MEANS_SOMETHING)

    lines = [f"# {plain(parts.title)}", "", f"**{plain(parts.headline)}**", ""]
    for notice in parts.notices:
        lines += [f"> Note: {plain(notice)}", ">"]
    lines += ["", *(f"- {name}: {plain(value)}" for name, value in parts.facts), ""]
    for table in parts.tables:
        lines += [f"## {plain(table.title)}", "", *([plain(table.note), ""] if table.note else [])]
        lines += [f"| {' | '.join(map(plain, table.head))} |", f"|{'|'.join('---' for _ in table.head)}|"]
        lines += [*(f"| {' | '.join(map(plain, row))} |" for row in table.rows), ""]
    return "\n".join(lines) + "\n"


def as_terminal(parts: Shown, *, width: int | None = None) -> str:
    """Plain text in columns."""
    from rich.console import Console
    from rich.table import Table as Columns
    from rich.text import Text

    def add(columns: Columns, rows: Sequence[Sequence[str]]) -> Columns:
        for row in rows:
            columns.add_row(*(Text(one_line(cell, _LONGEST_CELL)) for cell in row))
        return columns

    console = Console(width=width or 10_000, color_system=None)
    with console.capture() as capture:
        console.print(Text(parts.headline))
        console.print(add(Columns.grid(padding=(0, 1)), [("!", notice) for notice in parts.notices]))
        console.print(add(Columns.grid(padding=(0, 2)), parts.facts))
        for table in parts.tables:
            console.print(Text(f"\n{table.title}" + (f" ({table.note})" if table.note else "")))
            columns = Columns(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            for place, name in enumerate(table.head):
                columns.add_column(name, no_wrap=place > 0 and all(len(row[place]) < _FIGURE for row in table.rows))
            console.print(add(columns, table.rows))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def as_html(report: Report, redactor: Redactor) -> str:
    """One page without network and script: the tables, and every question with its answers; no text keeps a key."""
    from jinja2 import Environment

    def clean(value: object) -> object:
        return redactor.text(printable(value)) if isinstance(value, str) else value

    # Every value that is shown passes through `clean`, and is escaped after it.
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=clean)
    page.filters["line"] = one_line
    template = files("agent.gaia.report").joinpath("page.html").read_text(encoding="utf-8")
    runs = f"{report.ledger.removesuffix('.jsonl').removesuffix('.ledger')}.runs"
    return page.from_string(template).render(shown=shown(report), cells=report.cells, runs=runs) + "\n"
