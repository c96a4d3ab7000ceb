"""A report as one HTML page with its plots: opens from disk, reaches no network, runs no script but its own."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from agent.errors import RunError
from agent.gaia.report.figures import Counted, finite
from agent.gaia.report.opened import Report
from agent.gaia.report.plots import accuracy_by_level, outcomes, tools_over_time
from agent.gaia.report.tables import count, shown
from agent.steps import preview
from agent.store.redact import Redactor
from agent.store.runs import ID
from agent.traces.read import trace_of
from agent.traces.trace import FORMS, RecordedCall, TraceStep
from mcp_tools.text import one_line, printable
from mcp_tools.tool import Json

MOST_TIMELINES = 24 * 2**20
"""Characters of all timelines of a page: what is more would make it slow to open."""
_LONGEST, _LONGEST_TEXT, _LONGEST_CODE = 4_000, 900, 20_000
_KINDS = {"model": "model", "file": "file", "web": "web", "browse": "web"} | dict.fromkeys(
    ("sandbox", "session", "library", "external", "approval"), "tool"
)
_IN_SCRIPT = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def as_html(report: Report, runs: Path, redactor: Redactor) -> str:
    """The whole page; the journals in the folder of the runs give the timelines, and no text keeps a key."""
    from jinja2 import Environment
    from markupsafe import Markup

    def clean(value: object) -> object:
        return redactor.text(printable(value)).replace(" %", "\u00a0%") if type(value) is str else value

    rows, notices = rows_of(report, runs, redactor)
    folder = files("agent.gaia.report") / "page"
    style, script, template = (
        (folder / f"report.{kind}").read_text(encoding="utf-8").strip() for kind in ("css", "js", "html")
    )
    # Every value that is shown passes through `clean`, and is escaped after it; markup is what the template holds.
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=clean)
    page.filters["line"] = one_line
    last = [cell.attempt for cell in report.cells if cell.attempt is not None]
    facets = {
        name: sorted({str(row.get(name, "")) for row in rows})
        for name in ("outcome", "level", "status", "type", "route", *(("epoch",) if report.summary.epochs > 1 else ()))
    }
    data = json.dumps(rows, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = page.from_string(template).render(
        about=[*report.summary.models, *([f"begun {report.created}"] if report.created else [])],
        shown=shown(report),
        notices=[*report.notices, *notices],
        plots=[accuracy_by_level(report.summary), outcomes(last), tools_over_time(report.attempts)],
        facets=facets,
        data=Markup(data.translate(_IN_SCRIPT)),  # noqa: S704 - JSON without a sign that could end the script
        style=Markup(style),  # noqa: S704 - our own
        script=Markup(script),  # noqa: S704 - our own
        hashes=[Markup(_hash(text)) for text in (style, script)],  # noqa: S704 - of our own
    )
    return f"{text}\n"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def rows_of(
    report: Report, runs: Path, redactor: Redactor, *, most: int = MOST_TIMELINES
) -> tuple[list[dict[str, Any]], list[str]]:
    """The selected questions and epochs as the page's script reads them, and what is to be said of them.

    Timelines may have `most` characters together; those of wrong answers are kept first.
    """
    rows = [_row(cell) for cell in report.cells]
    left_out = lost = size = 0
    for place in sorted(range(len(rows)), key=lambda n: report.cells[n].right):
        if not (run_id := rows[place].get("run_id")):
            continue
        if size > most:
            left_out += 1
        elif (timeline := timeline_of(runs, run_id)) is None:
            lost += 1
        else:
            size += len(json.dumps(timeline, ensure_ascii=False))
            rows[place] |= timeline
    notices = []
    if left_out:
        notices.append(
            f"{count(left_out, 'timeline')} would have made this page too large: "
            f"`ALITA_RUNS_DIR={runs.name} alita traces show RUN` shows each of them"
        )
    if lost:
        notices.append(f"the journals of {count(lost, 'attempt')} no longer exist, so these have no timeline")
    return redactor.json([_full(row) for row in rows]), notices


def _row(cell: Counted) -> dict[str, Any]:
    attempt, row = cell.attempt, dict[str, Any]()
    if attempt is not None:
        row = asdict(attempt) | {"seconds": finite(attempt.seconds), "waited": finite(attempt.waited)}
        row |= {"raw_answer": attempt.raw_answer if attempt.raw_answer != attempt.answer else "", "tries": cell.tries}
        row |= dict.fromkeys(("fingerprint", "question_sha256", "routes"), "")
        if attempt.cost is not None and not attempt.cost < float("inf"):
            row["cost"] = None
    # Wrong only where an answer was compared, or something broke.
    is_open = attempt is not None and attempt.correct is None and cell.status == "ok"
    row |= {
        "task_id": cell.task.task_id,
        "question": cell.task.question,
        "file": cell.task.file_name,
        "epoch": cell.epoch,
        "level": cell.level,
        "type": cell.file_type,
        "route": cell.route,
        "status": cell.status,
        "outcome": "right" if cell.right else "no score" if is_open else "wrong",
    }
    return {name: _shown(value) for name, value in row.items()}


def timeline_of(runs: Path, run_id: str) -> dict[str, Any] | None:
    """What a row holds of its run: its question, its calls with their times from the first one on, and its tools.

    None where the run's folder is not there any more, or cannot be read.
    """
    if not ID.fullmatch(run_id):
        return None
    try:
        trace = trace_of(runs, run_id)
    except RunError:
        return None
    began = min((call.at for call in trace.calls if call.at is not None), default=0.0)
    made = {
        call.came[0].text: _cut(call.given[-1].text, _LONGEST_CODE)
        for call in trace.calls
        if call.kind == "library" and call.title.startswith("register ") and call.came and call.ok
    }
    return {
        "question": _cut(trace.run.question),
        "events": [_event(step, call, began) for step in trace.steps for call in step.calls],
        "made": [{"name": name, "code": code} for name, code in made.items()],
        "flaws": list(trace.flaws),
    }


def _event(step: TraceStep, call: RecordedCall, began: float) -> dict[str, Json]:
    usage, kind = call.usage, _KINDS.get(call.kind, "other")
    asked = [passage.text for passage in call.given if passage.label not in FORMS]
    return _full(
        {
            "kind": kind,
            "step": step.number,
            "action": step.action,
            "title": printable(call.title if kind == call.kind else f"{call.kind}: {call.title}"),
            "start": None if call.at is None else round(call.at - began, 3),
            "seconds": finite(call.seconds),
            "tokens": usage.input_tokens + usage.output_tokens if usage else 0,
            "cost": usage.cost if usage else 0.0,
            "ok": call.ok,
            "asked": preview(asked[-1], _LONGEST_TEXT) if asked else "",
            "came": preview(call.came[0].text, _LONGEST_TEXT) if call.came else "",
        }
    )


def _full(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in ("", [])}


def _shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_cut(item) for item in value]
    return _cut(value) if isinstance(value, str) else value


def _cut(text: str, longest: int = _LONGEST) -> str:
    text = printable(text)
    return text if len(text) <= longest else f"{text[:longest]}\n# … {len(text):,} characters in all"
