"""The questions of a report as the page's script reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from agent.gaia.report.counted import Counted
from agent.gaia.report.opened import Report
from agent.gaia.report.timelines import Timeline, timeline_of
from agent.store.redact import Redactor
from mcp_tools.text import printable
from mcp_tools.tool import Json

MOST_TIMELINES = 24 * 2**20
"""Characters of all timelines of a page: what is more would make it slow to open."""
_LONGEST = 4_000
_FIRST = {False: 0, True: 1}


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
    order = sorted(range(len(rows)), key=lambda n: _FIRST[report.cells[n].right])
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
        told = _timeline(timeline)
        size += sum(_size(member) for member in told.values())
        rows[place] |= told
    return Rows([_clean(row, redactor) for row in rows], left_out, lost)


def _row(cell: Counted) -> dict[str, Json]:
    row: dict[str, Json] = {
        "id": cell.task.task_id,
        "question": _cut(cell.task.question),
        "file": cell.task.file_name,
        "epoch": cell.epoch,
        "level": cell.level,
        "type": cell.file_type,
        "route": cell.route,
        "status": cell.status,
        "outcome": "right" if cell.right else "no score" if _is_open(cell) else "wrong",
    }
    return row | (_attempt(cell) if cell.attempt else {})


def _is_open(cell: Counted) -> bool:
    """Whether nobody could say if it is right: it is wrong only where an answer was compared, or something broke."""
    return cell.attempt is not None and cell.attempt.correct is None and cell.status == "ok"


def _attempt(cell: Counted) -> dict[str, Json]:
    attempt = cell.attempt
    assert attempt is not None
    return {
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


def _timeline(timeline: Timeline) -> dict[str, Json]:
    events = [{name: value for name, value in asdict(event).items() if value != ""} for event in timeline.events]
    made = [asdict(tool) for tool in timeline.made]
    known = {"question": _cut(timeline.question)} if timeline.question else {}
    return {**known, "events": events, "made": made, "flaws": list(timeline.flaws)}


def _size(value: Json) -> int:
    if isinstance(value, dict):
        return sum(len(name) + 4 + _size(member) for name, member in value.items())
    return sum(map(_size, value)) if isinstance(value, list) else len(str(value)) + 2


def _clean(row: dict[str, Json], redactor: Redactor) -> dict[str, Json]:
    return {name: _cleaned(value, redactor) for name, value in row.items() if value not in ("", [])}


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
