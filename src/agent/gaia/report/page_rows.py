"""The questions of a report as the page's script reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.errors import RunError
from agent.gaia.report.figures import Counted, finite
from agent.gaia.report.opened import Report
from agent.steps import preview
from agent.store.redact import Redactor
from agent.store.runs import ID
from agent.traces.read import trace_of
from agent.traces.terminal import FORMS
from agent.traces.trace import Call, TraceStep
from mcp_tools.text import one_line, printable
from mcp_tools.tool import Json

LONGEST_TEXT = 900
LONGEST_CODE = 20_000
_KINDS: dict[str, str] = {
    "model": "model",
    "sandbox": "tool",
    "library": "tool",
    "external": "tool",
    "approval": "tool",
    "file": "file",
    "files": "file",
    "read_file": "file",
    "reading": "file",
    "preview": "file",
    "web": "web",
    "search": "web",
    "browse": "web",
    "page": "web",
    "browser": "web",
}
_JSON_SIGNS = str.maketrans("", "", '{}"')


def timeline_of(runs: Path, run_id: str) -> dict[str, Json] | None:
    """What a row holds of its run; None where the run's folder is not there any more, or cannot be read.

    `question` as it was asked; `events`, one for each call: its kind, `step` and `action`, `title`, `start` (seconds
    since the first call; None where the journal does not say), `seconds`, `tokens`, `cost` (US dollars of a model call;
    None when unknown), `ok`, and `asked` and `came`, the two ends of what went in last and came out first; `made`, the
    `name` and `code` of each tool that was registered; `flaws`, what of the journal cannot be read.
    """
    if not ID.fullmatch(run_id):
        return None
    try:
        trace = trace_of(runs, run_id)
    except RunError:
        return None
    began = min((call.at for call in trace.calls if call.at is not None), default=0.0)
    events = [_event(step, call, began) for step in trace.steps for call in step.calls]
    tools: dict[str, str] = {}
    for call in trace.calls:
        if call.kind == "library" and [passage.label for passage in call.came] == ["kept"]:
            code = next((passage.text for passage in call.given if passage.label == "code"), "")
            more = f"\n# … {len(code):,} characters in all" if len(code) > LONGEST_CODE else ""
            tools[call.came[0].text] = code[:LONGEST_CODE] + more
    return {
        **({"question": _cut(trace.run.question)} if trace.run.question else {}),
        "events": [{name: value for name, value in event.items() if value != ""} for event in events],
        "made": [{"name": name, "code": code} for name, code in tools.items()],
        "flaws": list(trace.flaws),
    }


def _event(step: TraceStep, call: Call, began: float) -> dict[str, Json]:
    usage, title = call.usage, call.title
    if title == call.kind and call.given:  # of kinds that a trace does not know: what they were asked
        title = one_line(call.given[0].text.translate(_JSON_SIGNS), 100)
    asked = [passage.text for passage in call.given if passage.label not in FORMS]
    return {
        "kind": _KINDS.get(call.kind, "other"),
        "step": step.number,
        "action": step.action,
        "title": title if _KINDS.get(call.kind) == call.kind else f"{call.kind}: {title}",
        "start": None if call.at is None else round(call.at - began, 3),
        "seconds": finite(call.seconds),
        "tokens": usage.input_tokens + usage.output_tokens if usage else 0,
        "cost": usage.cost if usage else 0.0,
        "ok": call.ok,
        "asked": preview(asked[-1], LONGEST_TEXT) if asked else "",
        "came": preview(call.came[0].text, LONGEST_TEXT) if call.came else "",
    }


MOST_TIMELINES = 24 * 2**20
"""Characters of all timelines of a page: what is more would make it slow to open."""
_LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class Rows:
    """What the page's script shows."""

    rows: list[dict[str, Json]]
    """One for each selected question and epoch, in that order; members that are empty are left out."""
    left_out: int
    """Attempts whose timeline would have made the page too large."""
    lost: int
    """Attempts whose run's journal is not there any more."""


def rows_of(report: Report, runs: Path, redactor: Redactor, *, most: int = MOST_TIMELINES) -> Rows:
    """The questions with their timelines, cleaned of keys and of characters that nobody sees.

    Args:
        report: What is shown.
        runs: The folder of the runs whose journals are read.
        redactor: Takes keys out.
        most: Characters of all timelines; those of wrong answers are kept first.
    """
    rows = [_row(cell) for cell in report.cells]
    order = sorted(range(len(rows)), key=lambda n: report.cells[n].right)
    left_out = lost = size = 0
    for place in order:
        attempt = report.cells[place].attempt
        if attempt is None or not attempt.run_id:
            continue
        if size > most:
            left_out += 1
            continue
        timeline = timeline_of(runs, attempt.run_id)
        if timeline is None:
            lost += 1
            continue
        size += len(json.dumps(timeline, ensure_ascii=False))
        rows[place] |= timeline
    clean = [{name: _cleaned(value, redactor) for name, value in row.items() if value not in ("", [])} for row in rows]
    return Rows(clean, left_out, lost)


def _row(cell: Counted) -> dict[str, Json]:
    attempt = cell.attempt
    # Wrong only where an answer was compared, or something broke.
    is_open = attempt is not None and attempt.correct is None and cell.status == "ok"
    row: dict[str, Json] = {
        "id": cell.task.task_id,
        "question": _cut(cell.task.question),
        "file": cell.task.file_name,
        "epoch": cell.epoch,
        "level": cell.level,
        "type": cell.file_type,
        "route": cell.route,
        "status": cell.status,
        "outcome": "right" if cell.right else "no score" if is_open else "wrong",
    }
    if attempt is None:
        return row
    return row | {
        "answer": _cut(attempt.answer),
        "raw": _cut(attempt.raw_answer) if attempt.raw_answer != attempt.answer else "",
        "reason": _cut(attempt.reason),
        "error": _cut(attempt.error),
        "seconds": attempt.seconds,
        "waited": attempt.waited,
        "read": attempt.input_tokens,
        "written": attempt.output_tokens,
        "cost": attempt.cost,
        "steps": attempt.steps,
        "created": list(attempt.tools_created),
        "reused": list(attempt.tools_reused),
        "failed": list(attempt.tools_failed),
        "resolution": attempt.resolution,
        "leaks": list(attempt.leaks),
        "set_apart": list(attempt.set_apart),
        "run": attempt.run_id,
        "model": attempt.model,
        "started": attempt.started,
        "tries": cell.tries,
    }


def _cleaned(value: Json, redactor: Redactor) -> Json:
    if isinstance(value, str):
        return redactor.text(printable(value))
    if isinstance(value, dict):
        return {name: _cleaned(member, redactor) for name, member in value.items()}
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return [_cleaned(member, redactor) for member in value] if isinstance(value, Sequence) else value


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def facets(rows: Sequence[dict[str, Json]]) -> Iterator[tuple[str, list[str]]]:
    """What can be chosen: each filter's name and its values, in their order."""
    for name in ("outcome", "level", "status", "type", "route", "epoch"):
        values = sorted({str(row[name]) for row in rows})
        if len(values) > 1 or name != "epoch":
            yield name, values
