"""A report for the terminal: drawn with rich where there is one, plain columns elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from agent.gaia.report.opened import Report
from agent.gaia.report.tables import Table, facts, headline, tables
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

    from agent.store.redact import Redactor

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
