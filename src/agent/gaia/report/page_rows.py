"""The questions of a report as the page's script reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from agent.errors import RunError
from agent.gaia.report.figures import Counted, finite
from agent.gaia.report.opened import Report
from agent.steps import preview
from agent.store.redact import Redactor
from agent.store.runs import ID
from agent.traces.read import trace_of
from agent.traces.terminal import FORMS
from agent.traces.trace import Call, Trace, TraceStep
from mcp_tools.text import one_line, printable
from mcp_tools.tool import Json

EventKind = Literal["model", "tool", "file", "web", "other"]

LONGEST_TEXT = 900
LONGEST_CODE = 20_000
_KINDS: dict[str, EventKind] = {
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


@dataclass(frozen=True, slots=True)
class Event:
    """One call."""

    kind: EventKind
    step: int
    action: str
    """What its step did."""
    title: str
    start: float | None
    """Seconds since the first call; None where the journal does not say."""
    seconds: float
    tokens: int
    cost: float | None
    """US dollars of a model call; None when unknown, and 0 of what costs nothing."""
    ok: bool
    asked: str
    """The last of what went in; of a long text its two ends."""
    came: str
    """The first of what came out; of a long text its two ends."""


@dataclass(frozen=True, slots=True)
class Made:
    """A tool that the attempt wrote and registered."""

    name: str
    code: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run as its events."""

    question: str
    events: tuple[Event, ...]
    made: tuple[Made, ...]
    flaws: tuple[str, ...]
    """What of the journal cannot be read."""


def timeline_of(runs: Path, run_id: str) -> Timeline | None:
    """The timeline of a run; None where its folder is not there any more, or cannot be read."""
    if not ID.fullmatch(run_id):
        return None
    try:
        trace = trace_of(runs, run_id)
    except RunError:
        return None
    return Timeline(trace.run.question, tuple(_events(trace)), tuple(_made(trace)), trace.flaws)


def _events(trace: Trace) -> list[Event]:
    began = min((call.at for call in trace.calls if call.at is not None), default=0.0)
    return [_event(step, call, began) for step in trace.steps for call in step.calls]


def _event(step: TraceStep, call: Call, began: float) -> Event:
    usage = call.usage
    return Event(
        kind=_KINDS.get(call.kind, "other"),
        step=step.number,
        action=step.action,
        title=_title(call),
        start=None if call.at is None else round(call.at - began, 3),
        seconds=finite(call.seconds),
        tokens=usage.input_tokens + usage.output_tokens if usage else 0,
        cost=usage.cost if usage else 0.0,
        ok=call.ok,
        asked=_asked(call),
        came=preview(call.came[0].text, LONGEST_TEXT) if call.came else "",
    )


def _asked(call: Call) -> str:
    texts = [passage.text for passage in call.given if passage.label not in FORMS]
    return preview(texts[-1], LONGEST_TEXT) if texts else ""


def _title(call: Call) -> str:
    """Who or what was called; of kinds that a trace does not know, what they were asked."""
    title = call.title
    if title == call.kind and call.given:
        title = one_line(call.given[0].text.translate(_JSON_SIGNS), 100)
    return title if _KINDS.get(call.kind) == call.kind else f"{call.kind}: {title}"


def _made(trace: Trace) -> list[Made]:
    found = {}
    for call in trace.calls:
        if call.kind == "library" and [passage.label for passage in call.came] == ["kept"]:
            code = next((passage.text for passage in call.given if passage.label == "code"), "")
            found[call.came[0].text] = code
    return [Made(name, _cut_code(code)) for name, code in found.items()]


def _cut_code(code: str) -> str:
    if len(code) <= LONGEST_CODE:
        return code
    return f"{code[:LONGEST_CODE]}\n# … {len(code):,} characters in all"


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
