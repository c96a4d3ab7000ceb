"""Renders benchmarks as HTML. Questions, answers and names are untrusted and always escaped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.gaia.configuration import BenchmarkPaths
from agent.gaia.report.render import item_of
from agent.gaia.report.report import percent, price, seconds_text
from agent.page import runs_tab
from agent.page.html import text
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Dataset
    from agent.gaia.report.figures import Counted
    from agent.gaia.report.report import Report
    from agent.gaia.submission import Submission
    from agent.page.benchmark.running import Running
    from agent.traces.page import Table

_LAST = 12
"""Number of progress lines shown of a running benchmark."""
_MOST_ROWS = 2_000
_ANSWER = 120
OPENS = """let top = 0;
element.addEventListener('click', event => {
    const row = event.target.closest('[data-row]');
    if (row && element.contains(row)) trigger('click', {row: row.dataset.row});
});
element.addEventListener('scroll', event => { top = event.target.scrollTop; }, true);
watch('value', () => { const box = element.querySelector('.rows'); if (box) box.scrollTop = top; });"""
"""Browser script: a click on a row opens it, and new rows keep the scroll position."""
KEEPS = """const open = new Set();
element.addEventListener('toggle', event => {
    event.target.open ? open.add(event.target.className) : open.delete(event.target.className);
}, true);
watch('value', () => element.querySelectorAll('details').forEach(one => { one.open = open.has(one.className); }));"""
"""Browser script: opened sections stay open when the figures change."""


def figures(report: Report, running: Running | None) -> str:
    """Render a report's figures and plots, and the progress of its benchmark."""
    notices = "".join(f'<li class="bad">{text(one)}</li>' for one in report.notices)
    facts = "".join(f"<tr><th>{text(one.name)}</th><td>{text(one.text)}</td></tr>" for one in report.facts if one.text)
    plots = "".join(map(_plot, report.tables))
    tables = "".join(map(_table, report.tables))
    return (
        f'<div class="tool">{_progress(report, running)}<p class="lead">{text(report.headline)}</p>'
        f'<ul class="notices">{notices}</ul><div class="plots">{plots}</div>'
        f'<details class="all"><summary>All figures</summary><table>{facts}</table>{tables}</details></div>'
    )


def _progress(report: Report, running: Running | None) -> str:
    if running is None:
        return ""
    lines = [*running.log.lines]
    if not running.is_busy:
        mood = "good" if running.is_good else "bad"
        return f'<pre class="{mood}" role="status">{text(running.ending)}</pre>'
    known = {fact.name: fact.value for fact in report.facts}
    epochs, asked = known.get("epochs"), known.get("questions")
    of = epochs * asked if isinstance(epochs, int) and isinstance(asked, int) else 0
    done = known.get("attempted")
    bar = f'<progress value="{done}" max="{of}"></progress>' if of and isinstance(done, int) else ""
    shown = text("\n".join(lines))
    older = f'<details class="lines"><summary>{len(lines)} lines</summary><pre>{shown}</pre></details>'
    newest = text("\n".join(lines[-_LAST:]))
    return f'<p class="busy" role="status">Running: {done} of {of}</p>{bar}<pre>{newest}</pre>{older}'


def _plot(table: Table) -> str:
    """Render a table of shares as bars, with 95 % intervals if known."""
    bars = []
    for row in table.values:
        name, share = str(next(iter(row.values()), "")), row.get("accuracy")
        if isinstance(share, int | float):
            interval, of = row.get("interval95"), f"{row['right']} of {row['of']}"
            bars.append(_bar(name, float(share), f"{percent(float(share))} · {of}", interval))
        elif {*row} == {"resolution", "attempts"}:
            counts = [float(one["attempts"]) for one in table.values if isinstance(one["attempts"], int)]
            count = row["attempts"]
            if isinstance(count, int) and (total := sum(counts)):
                bars.append(_bar(name, count / total, f"{count:,}"))
    return f"<figure><figcaption>{text(table.title)}</figcaption>{''.join(bars)}</figure>" if bars else ""


def _bar(name: str, share: float, label: str, interval: Any = None) -> str:
    whisker = ""
    if isinstance(interval, list | tuple) and len(interval) == 2:
        low, high = map(float, interval)
        whisker = f'<i class="whisker" style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></i>'
    return (
        f'<div class="bar"><span>{text(one_line(name, 40))}</span><span class="track">'
        f'<i class="fill" style="width:{100 * share:.1f}%"></i>{whisker}</span><span>{text(label)}</span></div>'
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{text(name)}</th>" for name in table.head)
    rows = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in table.shown_rows)
    return f'<h4>{text(table.title)}</h4><div class="scrolled"><table><tr>{head}</tr>{rows}</table></div>'


def rows(cells: Sequence[Counted]) -> str:
    """Render a row for each question and epoch. A click on it opens the run."""
    parts = []
    for number, cell in enumerate(cells[:_MOST_ROWS]):
        item, made = item_of(cell), cell.attempt
        took = (
            (seconds_text(made.seconds), f"{made.input_tokens + made.output_tokens:,}", price(made.cost))
            if made
            else ("–", "–", "–")
        )
        asked = f"<small>{text(one_line(cell.task.question, _ANSWER))}</small>" if cell.task.question else ""
        parts.append(
            f'<tr><th><button type="button" data-row="{number}">{text(item.title)}</button>{asked}</th>'
            f'<td class="{item.mood}">{text(item.kind)}</td><td>{text(one_line(item.brief, _ANSWER))}</td>'
            f"<td>{text(item.note)}</td>" + "".join(f"<td>{text(one)}</td>" for one in took) + "</tr>"
        )
    more = f"<p>… and {len(cells) - _MOST_ROWS:,} more</p>" if len(cells) > _MOST_ROWS else ""
    head = "".join(f"<th>{name}</th>" for name in ("question", "result", "answer", "status", "time", "tokens", "cost"))
    return f'<div class="scrolled rows"><table><tr>{head}</tr>{"".join(parts)}</table>{more}</div>' if parts else ""


def runs_of(ledger: Path) -> Path:
    """Return the folder with the runs of a ledger."""
    return BenchmarkPaths(ledger.with_name(ledger.name.removesuffix(".jsonl").removesuffix(".ledger") + ".json")).runs


def attempt(settings: Settings, ledger: Path, cell: Counted) -> str:
    """Render everything the ledger knows about an attempt, and the trace of its run."""
    item = item_of(cell)
    facts = "".join(f"<tr><th>{text(name)}</th><td>{text(value)}</td></tr>" for name, value in item.facts if value)
    run = cell.attempt.run_id if cell.attempt else ""
    own = settings.model_copy(update={"runs_dir": runs_of(ledger), "database_url": None})
    trace = runs_tab.described(own, run) if run else '<p class="empty">This attempt has no run.</p>'
    return f'<div class="tool"><h4>{text(item.title)}</h4><table>{facts}</table></div>{trace}'


def questions(dataset: Dataset) -> str:
    """Render the questions of a set."""
    head = "<tr><th>question</th><th>level</th><th>file</th><th>text</th></tr>"
    lines = "".join(
        f"<tr><th>{text(task.task_id)}</th><td>{text(str(task.level or '–'))}</td>"
        f"<td>{text(one_line(task.file_name, 80) or '–')}</td><td>{text(one_line(task.question, 300))}</td></tr>"
        for task in dataset.tasks
    )
    return f'<div class="scrolled rows"><table>{head}{lines}</table></div>'


def submission(made: Submission) -> str:
    """Render the answers of a submission."""
    payload = made.payload
    lines = "".join(
        f"<tr><th>{text(str(one['task_id']))}</th><td>{text(one_line(str(one['submitted_answer']), 300))}</td></tr>"
        for one in payload["answers"]
    )
    return (
        f'<div class="tool"><p>{text(payload["username"])} · {text(payload["agent_code"])}</p>'
        f'<p class="bad">{text(made.lacking)}</p>'
        f'<div class="scrolled rows"><table><tr><th>question</th><th>answer</th></tr>{lines}</table></div></div>'
    )
