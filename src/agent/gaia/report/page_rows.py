"""The questions of a report as the page's script reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.errors import RunError
from agent.gaia.report.figures import Counted, finite
from agent.gaia.report.opened import Report
from agent.steps import preview
from agent.store.redact import Redactor
from agent.store.runs import ID
from agent.traces.read import trace_of
from agent.traces.trace import FORMS, Call, TraceStep
from mcp_tools.text import printable
from mcp_tools.tool import Json

_LONGEST_TEXT = 900
_LONGEST_CODE = 20_000
_LONGEST = 4_000
_KINDS = {"model": "model", "file": "file", "web": "web", "browse": "web"} | dict.fromkeys(
    ("sandbox", "session", "library", "external", "approval"), "tool"
)
MOST_TIMELINES = 24 * 2**20
"""Characters of all timelines of a page: what is more would make it slow to open."""


def timeline_of(runs: Path, run_id: str) -> dict[str, Any] | None:
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


def _event(step: TraceStep, call: Call, began: float) -> dict[str, Json]:
    usage, kind = call.usage, _KINDS.get(call.kind, "other")
    asked = [passage.text for passage in call.given if passage.label not in FORMS]
    event: dict[str, Json] = {
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
    return {name: value for name, value in event.items() if value != ""}


@dataclass(frozen=True, slots=True)
class Rows:
    """What the page's script shows."""

    rows: list[dict[str, Any]]
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
    left_out = lost = size = 0
    for place in sorted(range(len(rows)), key=lambda n: report.cells[n].right):
        attempt = report.cells[place].attempt
        if attempt is None or not attempt.run_id:
            continue
        if size > most:
            left_out += 1
        elif (timeline := timeline_of(runs, attempt.run_id)) is None:
            lost += 1
        else:
            size += len(json.dumps(timeline, ensure_ascii=False))
            rows[place] |= timeline
    full = [{name: value for name, value in row.items() if value not in ("", [])} for row in rows]
    return Rows(redactor.json(full), left_out, lost)


def _row(cell: Counted) -> dict[str, Any]:
    attempt = cell.attempt
    # Wrong only where an answer was compared, or something broke.
    is_open = attempt is not None and attempt.correct is None and cell.status == "ok"
    row: dict[str, Any] = {
        "id": cell.task.task_id,
        "question": cell.task.question,
        "file": cell.task.file_name,
        "epoch": cell.epoch,
        "level": cell.level,
        "type": cell.file_type,
        "route": cell.route,
        "status": cell.status,
        "outcome": "right" if cell.right else "no score" if is_open else "wrong",
    }
    if attempt is not None:
        row |= {
            "answer": attempt.answer,
            "raw": attempt.raw_answer if attempt.raw_answer != attempt.answer else "",
            "reason": attempt.reason,
            "error": attempt.error,
            "seconds": finite(attempt.seconds),
            "waited": finite(attempt.waited),
            "read": attempt.input_tokens,
            "written": attempt.output_tokens,
            "cost": attempt.cost if attempt.cost is None or attempt.cost < float("inf") else None,
            "steps": attempt.steps,
            "created": attempt.tools_created,
            "reused": attempt.tools_reused,
            "failed": attempt.tools_failed,
            "resolution": attempt.resolution,
            "leaks": attempt.leaks,
            "set_apart": attempt.set_apart,
            "run": attempt.run_id,
            "model": attempt.model,
            "started": attempt.started,
            "tries": cell.tries,
        }
    return {name: _shown(value) for name, value in row.items()}


def _shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_cut(item) for item in value]
    return _cut(value) if isinstance(value, str) else value


def _cut(text: str, longest: int = _LONGEST) -> str:
    text = printable(text)
    return text if len(text) <= longest else f"{text[:longest]}\n# … {len(text):,} characters in all"


def facets(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """What can be chosen: each filter's name and its values, in their order."""
    for name in ("outcome", "level", "status", "type", "route", "epoch"):
        values = sorted({str(row.get(name, "")) for row in rows})
        if len(values) > 1 or name != "epoch":
            yield name, values
