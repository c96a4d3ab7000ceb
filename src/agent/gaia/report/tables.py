"""What is shown of a benchmark, and its four formats: JSON, Markdown, a terminal's text, and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from agent.gaia.report.statistics import Interval
from agent.traces.render import filled_page
from mcp_tools.text import duration, one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.gaia.report.figures import Counted

SCHEMA = 2
UNKNOWN = "unknown"
_LONGEST = 40
"""Rows of one table that people are shown."""
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


def cost_text(dollars: float | None) -> str:
    """One price in a sentence."""
    return "cost unknown" if dollars is None else price(dollars)


def seconds_text(seconds: float | None) -> str:
    """A time; one that there is not is a dash."""
    return "–" if seconds is None else duration(seconds)


def number(value: float | None) -> str:
    """A count; one that there is not is a dash."""
    return "–" if value is None else f"{value:,.0f}"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a title."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    values: Sequence[Mapping[str, Json]]
    """The same rows as JSON has them: objects."""
    note: str = ""

    @property
    def shown_rows(self) -> list[Sequence[str]]:
        """So many rows as people read; what is left out is told."""
        left = len(self.rows) - _LONGEST
        more = [[f"… and {left:,} more", *("" for _ in self.head[1:])]] if left > 0 else []
        return [*self.rows[:_LONGEST], *more]


def table_of(title: str, values: Sequence[Mapping[str, Json]], note: str = "") -> Table:
    """A table of objects with the same members, which are its columns; a broken number is a share."""

    def text(value: Json) -> str:
        return percent(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)

    rows = [[text(value) for value in each.values()] for each in values]
    return Table(title, tuple(values[0]) if values else (), rows, values, note)


class Fact(NamedTuple):
    """What is known of the whole: a value for JSON, and words for people; without words, JSON alone has it."""

    name: str
    value: Json
    text: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A report or a comparison, as all formats show it."""

    title: str
    headline: str
    """One sentence with the figure that matters most."""
    notices: Sequence[str]
    """What a reader must know before believing a figure, one sentence each."""
    facts: Sequence[Fact]
    tables: Sequence[Table]
    """Only those that have rows; the dearest columns first."""
    cells: Sequence[Counted] = ()
    """Every question, for the page and for JSON."""

    def as_json(self) -> dict[str, Json]:
        """The object that `--format json` prints."""
        attempts: list[Json] = [
            {"task_id": cell.task.task_id, "epoch": cell.epoch, "status": cell.status, "right": cell.right}
            for cell in self.cells
        ]
        return {
            "schema": SCHEMA,
            "title": self.title,
            "headline": self.headline,
            "notices": [*self.notices],
            "facts": {fact.name: fact.value for fact in self.facts},
            "tables": {table.title: [*table.values] for table in self.tables},
            **({"attempts": attempts} if attempts else {}),
        }


_MEANS_SOMETHING = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|#~$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def as_markdown(parts: Shown) -> str:
    """The whole as Markdown; nothing in a text of others is markup."""

    def plain(text: str) -> str:
        return one_line(text, _LONGEST_CELL).translate(_MEANS_SOMETHING)

    lines = [f"# {plain(parts.title)}", "", f"**{plain(parts.headline)}**", ""]
    for notice in parts.notices:
        lines += [f"> Note: {plain(notice)}", ">"]
    lines += ["", *(f"- {fact.name}: {plain(fact.text)}" for fact in parts.facts if fact.text), ""]
    for table in parts.tables:
        lines += [f"## {plain(table.title)}", "", *([plain(table.note), ""] if table.note else [])]
        lines += [f"| {' | '.join(map(plain, table.head))} |", f"|{'|'.join('---' for _ in table.head)}|"]
        lines += [*(f"| {' | '.join(map(plain, row))} |" for row in table.shown_rows), ""]
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
        console.print(add(Columns.grid(padding=(0, 2)), [(fact.name, fact.text) for fact in parts.facts if fact.text]))
        for table in parts.tables:
            console.print(Text(f"\n{table.title}" + (f" ({table.note})" if table.note else "")))
            columns = Columns(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            for place, name in enumerate(table.head):
                columns.add_column(name, no_wrap=place > 0 and all(len(row[place]) < _FIGURE for row in table.rows))
            console.print(add(columns, table.shown_rows))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def as_html(parts: Shown) -> str:
    """One page without network and script: the tables, and every question with its answers."""
    runs = f"{parts.title.removesuffix('.jsonl').removesuffix('.ledger')}.runs"
    return filled_page("agent.gaia.report", shown=parts, runs=runs) + "\n"
