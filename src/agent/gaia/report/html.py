"""A report as one HTML page: opens from disk, reaches no network, runs no script but its own."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path

from agent.gaia.report import plots
from agent.gaia.report.figures import Summary
from agent.gaia.report.opened import Report, count, interval_text, money_text, percent, seconds_text
from agent.gaia.report.page_rows import Rows, facets, rows_of
from agent.gaia.report.tables import Table, facts, headline, tables
from agent.store.redact import Redactor
from mcp_tools.text import one_line, printable

_NAMES = {
    "outcome": "Outcome",
    "level": "Level",
    "status": "Status",
    "type": "File",
    "route": "Route",
    "epoch": "Epoch",
}
_SORTS = {
    "": "as selected",
    "seconds": "slowest",
    "tokens": "most tokens",
    "cost": "most costly",
    "steps": "most steps",
}
_PERCENT = "\u00a0%"
"""A sign that stays with its number."""
_IN_SCRIPT = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def as_html(report: Report, runs: Path, redactor: Redactor) -> str:
    """The whole page.

    Args:
        report: What is shown.
        runs: The folder of the runs, whose journals give the timelines.
        redactor: Takes keys out of every text.
    """
    rows = rows_of(report, runs, redactor)
    return "\n".join(_lines(report, rows, runs.name, redactor)) + "\n"


def _lines(report: Report, rows: Rows, runs: str, redactor: Redactor) -> Iterator[str]:
    style, script = _part("report.css"), _part("report.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )

    def clean(text: str) -> str:
        return escape(redactor.text(printable(text))).replace(" %", _PERCENT)

    yield '<!DOCTYPE html>\n<html lang="en">'
    yield f'<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
    yield f"<title>{clean(one_line(report.name or 'Benchmark', 120))}</title>"
    yield f"<style>{style}</style></head><body>"
    yield '<a class="skip" href="#questions">To the questions</a><main>'
    yield f"<header><h1>{clean(one_line(report.name or 'Benchmark', 120))}</h1>"
    yield '<button type="button" id="theme" hidden>Dark or light</button></header>'
    about = [", ".join(report.summary.models), f"begun {report.created}" if report.created else ""]
    yield f'<p class="soft about">{clean(" · ".join(filter(None, about)))}</p>'
    yield f'<p class="headline">{clean(headline(report.summary))}</p>'
    yield from _cards(report)
    yield from (f'<p class="notice">{clean(notice)}</p>' for notice in (*report.notices, *_left_out(rows, runs)))
    yield from _plots(report, redactor)
    yield '<section class="tables">'
    yield '<details><summary>The whole run</summary><dl class="facts">'
    yield from (f"<dt>{clean(name)}</dt><dd>{clean(value)}</dd>" for name, value in facts(report) if value)
    yield "</dl></details>"
    for place, table in enumerate(tables(report.summary)):
        yield from _table(table, redactor, is_open=place == 0)
    yield "</section>"
    yield from _questions(rows, redactor)
    yield "</main>"
    yield f'<script type="application/json" id="data">{_data(rows)}</script>'
    yield f"<script>{script}</script></body></html>"


def _cards(report: Report) -> Iterator[str]:
    summary, effort = report.summary, report.summary.effort
    known = summary.is_scored and summary.share.of
    money = money_text(effort.money).partition(" (")[0]
    cards = [
        ("accuracy", percent(summary.share.value) if known else "unknown", "over all selected questions"),
        ("right", f"{summary.share.right:,}" if known else "unknown", f"of {summary.share.of:,}{_times(summary)}"),
        ("95 % interval", interval_text(summary.share.interval, "–") if known else "unknown", "Wilson"),
        ("errors", f"{summary.errors:,}", f"{summary.attempted:,} attempted"),
        ("missing", f"{summary.missing:,}", "not attempted"),
        ("time", seconds_text(effort.median_seconds), f"median; {seconds_text(effort.seconds)} of work in all"),
        ("tokens", f"{effort.input_tokens + effort.output_tokens:,}", "read and written"),
        ("cost", money, "of all attempts"),
    ]
    yield '<dl class="cards">'
    for name, value, note in cards:
        figure = escape(value).replace(" %", _PERCENT)
        yield f"<div><dt>{escape(name)}</dt><dd>{figure} <small>{escape(note)}</small></dd></div>"
    yield "</dl>"


def _times(summary: Summary) -> str:
    return f" ({summary.questions:,} questions × {summary.epochs} epochs)" if summary.epochs > 1 else ""


def _plots(report: Report, redactor: Redactor) -> Iterator[str]:
    last = [cell.attempt for cell in report.cells if cell.attempt is not None]
    yield '<section class="plots" aria-label="Plots">'
    yield plots.accuracy_by_level(report.summary)
    yield plots.accuracy_by_cost(last)
    yield redactor.text(plots.outcomes(last))
    yield plots.reuse_of_tools(report.attempts)
    yield "</section>"


def _table(table: Table, redactor: Redactor, *, is_open: bool) -> Iterator[str]:
    note = f" <small>{escape(table.note)}</small>" if table.note else ""
    yield f"<details{' open' if is_open else ''}><summary>{escape(table.title)}{note}</summary>"
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}"><table><thead><tr>'
    head = (f'<th scope="col"{_kind(table, place)}>{escape(name)}</th>' for place, name in enumerate(table.head))
    yield "".join(head) + "</tr></thead><tbody>"
    for row in table.rows:
        first, *others = (escape(redactor.text(one_line(cell, 200))) for cell in row)
        cells = (f"<td{_kind(table, place)}>{cell}</td>" for place, cell in enumerate(others, start=1))
        yield f'<tr><th scope="row">{first}</th>' + "".join(cells) + "</tr>"
    yield "</tbody></table></div></details>"


def _kind(table: Table, place: int) -> str:
    return ' class="words"' if place in table.texts else ""


def _questions(rows: Rows, redactor: Redactor) -> Iterator[str]:
    yield '<section id="questions"><h2>Questions</h2><noscript>The list needs JavaScript.</noscript>'
    yield '<form id="filters" autocomplete="off"><label class="search">Search '
    yield '<input type="search" name="text" placeholder="id, question, answer, error, tool   ( / )"></label>'
    for name, values in facets(rows.rows):
        options = "".join(f'<option value="{escape(v)}">{escape(one_line(v, 60))}</option>' for v in values)
        yield f'<label>{_NAMES[name]} <select name="{name}"><option value="">all</option>{options}</select></label>'
    sorts = "".join(f'<option value="{value}">{text}</option>' for value, text in _SORTS.items())
    yield f'<label>Order <select name="sort">{sorts}</select></label><button type="reset">Reset</button></form>'
    yield '<p id="count" role="status"></p><div id="list"></div>'
    yield '<button type="button" id="more" hidden>Show more</button></section>'


def _left_out(rows: Rows, runs: str) -> Iterator[str]:
    if rows.left_out:
        yield (
            f"{count(rows.left_out, 'timeline')} would have made this page too large: "
            f"`ALITA_RUNS_DIR={runs} alita traces show RUN` shows each of them"
        )
    if rows.lost:
        yield f"the journals of {count(rows.lost, 'attempt')} are not there any more: they have no timeline"


def _data(rows: Rows) -> str:
    return json.dumps(rows.rows, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_IN_SCRIPT)


def _part(name: str) -> str:
    return (files("agent.gaia.report") / "page" / name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
