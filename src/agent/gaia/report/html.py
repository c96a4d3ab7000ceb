"""A report as one HTML page with its plots: opens from disk, reaches no network, runs no script but its own."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import accumulate, pairwise
from math import log10
from pathlib import Path
from statistics import median

from agent.gaia.attempt import Attempt
from agent.gaia.report.figures import Share, Summary, finite
from agent.gaia.report.opened import Report, count, interval_text, money_text, of_text, percent, price, seconds_text
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
    page = files("agent.gaia.report") / "page"
    style, script = ((page / name).read_text(encoding="utf-8").strip() for name in ("report.css", "report.js"))
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
    data = json.dumps(rows.rows, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_IN_SCRIPT)
    yield f'<script type="application/json" id="data">{data}</script>'
    yield f"<script>{script}</script></body></html>"


def _cards(report: Report) -> Iterator[str]:
    summary, effort = report.summary, report.summary.effort
    known = summary.is_scored and summary.share.of
    money = money_text(effort.money).partition(" (")[0]
    times = f" ({summary.questions:,} questions × {summary.epochs} epochs)" if summary.epochs > 1 else ""
    cards = [
        ("accuracy", percent(summary.share.value) if known else "unknown", "over all selected questions"),
        ("right", f"{summary.share.right:,}" if known else "unknown", f"of {summary.share.of:,}{times}"),
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


def _plots(report: Report, redactor: Redactor) -> Iterator[str]:
    last = [cell.attempt for cell in report.cells if cell.attempt is not None]
    yield '<section class="plots" aria-label="Plots">'
    yield accuracy_by_level(report.summary)
    yield accuracy_by_cost(last)
    yield redactor.text(outcomes(last))
    yield reuse_of_tools(report.attempts)
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


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


WIDTH, HEIGHT = 320, 220
MOST_MARKS = 1_500
"""Marks of one plot; of more attempts evenly many are drawn, and that is told."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 14, 34
_BINS = 5
_ROWS = 8

Draw = Callable[[float, float], tuple[float, float]]


def accuracy_by_level(summary: Summary) -> str:
    """A dot with its interval for all questions and for each level."""
    groups = [("all", summary.share), *((f"level {g.name}", g.share) for g in summary.levels)][:_ROWS]
    rows = [(name.replace("level no level", "no level"), share) for name, share in groups if share.of]
    if not rows or not summary.is_scored:
        return _nothing("Accuracy by level", "nothing was scored")
    step = min(42.0, (HEIGHT - _TOP - 24) / len(rows))
    height = round(_TOP + step * len(rows) + 24)
    return _figure("Accuracy by level", "95 % intervals (Wilson)", "".join(_level_rows(rows, step)), height)


def accuracy_by_cost(attempts: Sequence[Attempt]) -> str:
    """The accuracy of the cheapest fifth of the attempts, of the next, and so on."""
    noun, cost_of, text = _measure(attempts)
    scored = sorted((a for a in attempts if a.correct is not None), key=cost_of)
    title = f"Accuracy against {noun}"
    if len(scored) < _BINS:
        return _nothing(title, "too few scored attempts")
    edges = [round(n * len(scored) / _BINS) for n in range(_BINS + 1)]
    bins = [scored[start:end] for start, end in pairwise(edges)]
    middles = [median(map(cost_of, part)) for part in bins]
    place = _scaled(_log_range(middles), (0.0, 1.0))
    marks = [*_y_axis([0, 0.5, 1], percent_tick, place), *_x_axis(middles, text, place)]
    points = []
    for part, middle in zip(bins, middles, strict=True):
        share = Share(sum(a.correct is True for a in part), len(part), len({a.task_id for a in part}))
        low, high = share.interval
        x, y = place(log10(max(middle, _SMALLEST)), share.right / share.of)
        top, bottom = place(0, high)[1], place(0, low)[1]
        points.append((x, y))
        told = f"{of_text(share)} right = {percent(share.value)}, median {text(middle)}"
        marks.append(f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>')
        marks.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(told)}</title></circle>')
    marks.insert(0, f'<polyline class="line" points="{_path(points)}"/>')
    return _figure(title, f"fifths of the attempts, cheapest first; {noun} on a logarithmic scale", "".join(marks))


def outcomes(attempts: Sequence[Attempt]) -> str:
    """Each attempt by its time and cost, with what became of it."""
    noun, cost_of, text = _measure(attempts)
    title = f"Time, {noun} and outcome"
    if not attempts:
        return _nothing(title, "no attempts")
    every = -(-len(attempts) // MOST_MARKS)
    drawn = attempts[::every]
    seconds = [max(finite(a.seconds), 0.01) for a in drawn]
    costs = [max(cost_of(a), _SMALLEST) for a in drawn]
    place = _scaled(_log_range(seconds), _log_range(costs))
    ends = sorted({min(costs), max(costs)})
    marks = [*_y_axis([log10(c) for c in ends], lambda y: text(10**y), place), *_x_axis(seconds, seconds_text, place)]
    for attempt, x, y in zip(drawn, seconds, costs, strict=True):
        marks.append(_outcome(attempt, *place(log10(x), log10(y)), f"{seconds_text(x)}, {text(cost_of(attempt))}"))
    sample = f", one of {every} attempts is drawn" if every > 1 else ""
    return _figure(title, f"● right, × wrong, ○ no score; time across{sample}", "".join(marks))


def reuse_of_tools(attempts: Sequence[Attempt]) -> str:
    """How many tools were created and how many reused, as the run went on."""
    title = "Tools over time"
    created = list(accumulate((len(a.tools_created) for a in attempts), initial=0))
    reused = list(accumulate((len(a.tools_reused) for a in attempts), initial=0))
    most = max(created[-1], reused[-1])
    if not most:
        return _nothing(title, "no tool was created or reused")
    place = _scaled((0.0, float(len(attempts))), (0.0, float(most)))
    marks = list(_y_axis([0, most], lambda y: f"{y:,.0f}", place))
    marks += [_tick_x(place(x, 0)[0], f"{x:,}", anchor) for x, anchor in ((0, "start"), (len(attempts), "end"))]
    for line, (name, counts) in enumerate((("created", created), ("reused", reused))):
        points = [place(float(n), float(counts[n])) for n in _sampled(len(counts))]
        marks.append(f'<polyline class="line {name}" points="{_path(points)}"/>')
        marks.append(_label(_LEFT + 8, _TOP + 14 + 15 * line, f"{name} {counts[-1]:,}", "start", name))
    return _figure(title, "added up over the attempts, in the order of the ledger", "".join(marks))


_SMALLEST = 1e-6


def percent_tick(share: float) -> str:
    """A share on an axis."""
    return f"{100 * share:.0f} %"


def _level_rows(rows: Sequence[tuple[str, Share]], step: float) -> Iterator[str]:
    left, right = 66, WIDTH - 114
    bottom = _TOP + step * len(rows)
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + (right - left) * tick
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom:.1f}"/>'
    for tick in (0, 0.5, 1):
        yield _label(left + (right - left) * tick, bottom + 14, percent_tick(tick), "middle")
    for number, (name, share) in enumerate(rows):
        y = _TOP + step * (number + 0.5)
        low, high = (left + (right - left) * end for end in share.interval)
        x = left + (right - left) * (share.value or 0)
        yield _label(0, y + 4, one_line(name, 12), "start", "name")
        yield f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
        yield _label(right + 12, y + 4, percent(share.value), "start", "name")
        yield _label(WIDTH, y + 4, f"of {share.of:,}", "end")


def _outcome(attempt: Attempt, x: float, y: float, told: str) -> str:
    title = f"<title>{escape(one_line(f'{attempt.task_id}: {attempt.status}, {told}', 120))}</title>"
    if attempt.correct:
        return f'<circle class="right" cx="{x:.1f}" cy="{y:.1f}" r="3">{title}</circle>'
    if attempt.correct is None:
        return f'<circle class="open" cx="{x:.1f}" cy="{y:.1f}" r="3">{title}</circle>'
    return f'<path class="wrong" d="M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6">{title}</path>'


def _measure(attempts: Sequence[Attempt]) -> tuple[str, Callable[[Attempt], float], Callable[[float], str]]:
    """What an attempt cost: money where every price is known and there is one, else tokens."""
    if attempts and all(a.cost is not None for a in attempts) and any(a.cost for a in attempts):
        return "cost", lambda a: finite(a.cost or 0.0), price
    return "tokens", lambda a: float(a.input_tokens + a.output_tokens), lambda value: f"{value:,.0f}"


def _log_range(values: Sequence[float]) -> tuple[float, float]:
    low, high = log10(max(min(values), _SMALLEST)), log10(max(max(values), _SMALLEST))
    return (low - 0.05, high + 0.05) if high - low > 0.1 else (low - 0.5, high + 0.5)


def _scaled(x_range: tuple[float, float], y_range: tuple[float, float]) -> Draw:
    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - x_range[0]) / ((x_range[1] - x_range[0]) or 1)
        up = (y - y_range[0]) / ((y_range[1] - y_range[0]) or 1)
        return _LEFT + across * (WIDTH - _LEFT - _RIGHT), HEIGHT - _BOTTOM - up * (HEIGHT - _TOP - _BOTTOM)

    return place


def _y_axis(values: Sequence[float], text: Callable[[float], str], place: Draw) -> Iterator[str]:
    for value in values:
        y = place(0, value)[1]
        yield f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield _label(_LEFT - 6, y + 4, text(value), "end")


def _x_axis(values: Sequence[float], text: Callable[[float], str], place: Draw) -> Iterator[str]:
    """The smallest and the largest value under a logarithmic axis."""
    ends = sorted({min(values), max(values)})
    for value, anchor in zip(ends, ("start", "end") if len(ends) == 2 else ("middle",), strict=True):
        yield _tick_x(place(log10(max(value, _SMALLEST)), 0)[0], text(value), anchor)


def _tick_x(x: float, text: str, anchor: str) -> str:
    return _label(x, HEIGHT - _BOTTOM + 18, text, anchor)


def _label(x: float, y: float, text: str, anchor: str, style: str = "tick") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _sampled(count: int) -> list[int]:
    every = -(-count // MOST_MARKS)
    return sorted({*range(0, count, every), count - 1})


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _figure(title: str, note: str, marks: str, height: int = HEIGHT) -> str:
    return (
        f"<figure><figcaption><b>{escape(title)}</b> <span>{escape(note)}</span></figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}: {escape(note)}">'
        f"{marks}</svg></figure>"
    )


def _nothing(title: str, why: str) -> str:
    return f"<figure><figcaption><b>{escape(title)}</b></figcaption><p>{escape(why)}</p></figure>"
