"""A report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from agent.gaia.report.opened import Report
from agent.gaia.report.tables import Table, facts, headline, tables
from mcp_tools.text import one_line

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
