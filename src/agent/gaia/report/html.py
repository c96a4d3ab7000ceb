"""A report as one HTML page with its plots: opens from disk, reaches no network, runs no script but its own."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from importlib.resources import files
from pathlib import Path

from agent.gaia.report.opened import Report
from agent.gaia.report.page_rows import Rows, facets, rows_of
from agent.gaia.report.plots import accuracy_by_level, outcomes, tools_over_time
from agent.gaia.report.tables import count, interval_text, money_text, percent, seconds_text, shown
from agent.store.redact import Redactor
from mcp_tools.text import one_line, printable

_IN_SCRIPT = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def as_html(report: Report, runs: Path, redactor: Redactor) -> str:
    """The whole page.

    Args:
        report: What is shown.
        runs: The folder of the runs, whose journals give the timelines.
        redactor: Takes keys out of every text.
    """
    from jinja2 import Environment
    from markupsafe import Markup

    def clean(value: object) -> object:
        return redactor.text(printable(value)).replace(" %", "\u00a0%") if type(value) is str else value

    rows = rows_of(report, runs, redactor)
    folder = files("agent.gaia.report") / "page"
    style, script, template = (
        (folder / f"report.{kind}").read_text(encoding="utf-8").strip() for kind in ("css", "js", "html")
    )
    # Every value that is shown passes through `clean`, and is escaped after it; markup is what the template holds.
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=clean)
    page.filters["line"] = one_line
    last = [cell.attempt for cell in report.cells if cell.attempt is not None]
    data = json.dumps(rows.rows, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = page.from_string(template).render(
        about=[*report.summary.models, *([f"begun {report.created}"] if report.created else [])],
        shown=shown(report),
        cards=_cards(report),
        notices=[*report.notices, *_left_out(rows, runs.name)],
        plots=[accuracy_by_level(report.summary), outcomes(last), tools_over_time(report.attempts)],
        facets=list(facets(rows.rows)),
        data=Markup(data.translate(_IN_SCRIPT)),  # noqa: S704 - JSON without a sign that could end the script
        style=Markup(style),  # noqa: S704 - our own
        script=Markup(script),  # noqa: S704 - our own
        hashes=[Markup(_hash(text)) for text in (style, script)],  # noqa: S704 - of our own
    )
    return f"{text}\n"


def _cards(report: Report) -> list[tuple[str, str, str]]:
    """Name, figure and what is to be said of it."""
    summary, effort, overall = report.summary, report.summary.effort, report.summary.overall
    times = f" ({summary.questions:,} questions × {summary.epochs} epochs)" if summary.epochs > 1 else ""
    interval = interval_text(overall.interval95, "–") if overall.of else "unknown"
    return [
        ("accuracy", percent(overall.accuracy), "over all selected questions"),
        ("right", f"{overall.right:,}" if overall.accuracy is not None else "unknown", f"of {overall.of:,}{times}"),
        ("95 % interval", interval, "Wilson"),
        ("errors", f"{summary.errors:,}", f"{summary.attempted:,} attempted"),
        ("missing", f"{summary.missing:,}", "not attempted"),
        ("time", seconds_text(effort.median_seconds), f"median; {seconds_text(effort.seconds)} of work in all"),
        ("tokens", f"{effort.input_tokens + effort.output_tokens:,}", "read and written"),
        ("cost", money_text(effort).partition(" (")[0], "of all attempts"),
    ]


def _left_out(rows: Rows, runs: str) -> list[str]:
    found = []
    if rows.left_out:
        found.append(
            f"{count(rows.left_out, 'timeline')} would have made this page too large: "
            f"`ALITA_RUNS_DIR={runs} alita traces show RUN` shows each of them"
        )
    if rows.lost:
        found.append(f"the journals of {count(rows.lost, 'attempt')} are not there any more: they have no timeline")
    return found


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
