"""Renders a report for the terminal and as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from agent.gaia.report.figures import Counted
from agent.gaia.report.report import Report
from agent.traces.page import Item, PageSection, StaticPage
from mcp_tools.text import one_line

_LONGEST_CELL = 400
_FIGURE = 25


def as_terminal(report: Report, *, width: int | None = None) -> str:
    """Render a report as plain text in columns."""
    from rich.console import Console
    from rich.table import Table as Columns
    from rich.text import Text

    def add(columns: Columns, rows: Sequence[Sequence[str]]) -> Columns:
        for row in rows:
            columns.add_row(*(Text(one_line(cell, _LONGEST_CELL)) for cell in row))
        return columns

    console = Console(width=width or 10_000, color_system=None)
    with console.capture() as capture:
        console.print(Text(report.headline))
        console.print(add(Columns.grid(padding=(0, 1)), [("!", notice) for notice in report.notices]))
        console.print(add(Columns.grid(padding=(0, 2)), [(fact.name, fact.text) for fact in report.facts if fact.text]))
        for table in report.tables:
            console.print(Text(f"\n{table.title}" + (f" ({table.note})" if table.note else "")))
            columns = Columns(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            for place, name in enumerate(table.head):
                columns.add_column(name, no_wrap=place > 0 and all(len(row[place]) < _FIGURE for row in table.rows))
            console.print(add(columns, table.shown_rows))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def as_html(report: Report) -> str:
    """Render a page with the tables and every question."""
    runs = f"{report.title.removesuffix('.jsonl').removesuffix('.ledger')}.runs"
    note = f"The steps of a run: ALITA_RUNS_DIR={runs} alita traces show RUN"
    facts = [(fact.name, fact.text) for fact in report.facts]
    sections = [PageSection("Questions", note, [*map(item_of, report.cells)])]
    return StaticPage(report.title, facts, sections, report.headline, report.notices, report.tables).as_html()


def item_of(cell: Counted) -> Item:
    """Return a question and its answer as an expandable line."""
    made, level = cell.attempt, cell.part("level")
    facts = [("question", cell.task.question), ("file", cell.task.file_name)]
    outcome = "right" if cell.right else "not attempted"
    if made is not None:
        if made.status == "missing-file":
            outcome = "file missing"
        elif not cell.right:
            unscored = "answered, not scored" if made.answer else "no answer"
            outcome = unscored if made.correct is None else "wrong"
        facts += [
            ("answer", made.answer),
            ("raw answer", made.raw_answer),
            ("score", made.reason),
            ("error", made.error),
            ("resolution", made.resolution),
            ("route", cell.part("route")),
            ("tools created", ", ".join(made.tools_created)),
            ("tools reused", ", ".join(made.tools_reused)),
            ("leaks", ", ".join(made.leaks)),
            ("seconds", f"{made.seconds:.1f}"),
            ("tokens", f"{made.input_tokens + made.output_tokens:,}"),
            ("run", made.run_id),
        ]
    epoch = f" epoch {cell.epoch}" if cell.epoch > 1 else ""
    mood = {"right": "good", "wrong": "bad"}.get(outcome, "")
    brief = made.answer if made else ""
    return Item(
        outcome, one_line(cell.task.task_id, 80) + epoch, f"level {level} · {cell.status}", brief, mood, facts=facts
    )
