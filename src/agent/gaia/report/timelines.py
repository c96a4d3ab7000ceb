"""What happened during an attempt, from the journal of its run: every call with its time and cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.errors import RunError
from agent.gaia.report.effort import finite
from agent.steps import preview
from agent.store.ids import ID
from agent.traces.read import trace_of
from agent.traces.terminal import FORMS
from agent.traces.trace import Call, Trace, TraceStep
from mcp_tools.text import one_line

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
    return [Made(name, _cut(code)) for name, code in found.items()]


def _cut(code: str) -> str:
    if len(code) <= LONGEST_CODE:
        return code
    return f"{code[:LONGEST_CODE]}\n# … {len(code):,} characters in all"
